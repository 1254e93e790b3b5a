//! The sandbox beside a real API server: the same questions, the same answers.

mod apply;
mod builtin;
mod catalog;
mod definition;
mod patch;
mod rbac;
mod store;
mod table;
