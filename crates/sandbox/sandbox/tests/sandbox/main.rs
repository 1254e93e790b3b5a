//! The sandbox beside a real API server: the same questions, the same answers. `server` is the
//! sandbox alone, from outside.

mod apply;
mod builtin;
mod catalog;
mod definition;
mod patch;
mod rbac;
mod server;
mod store;
mod table;
