//! A Kubernetes API in one process.
//!
//! This crate grows from the inside out: what decides is here first, as functions of their
//! arguments, without a network or a clock.

pub mod api;
pub mod apply;
pub mod builtin;
pub mod catalog;
pub mod controllers;
pub mod definition;
pub mod faults;
pub mod field_error;
pub mod init;
pub mod metadata;
pub mod node;
mod openapi;
pub mod patch;
pub mod pki;
pub mod rbac;
pub mod sandbox;
pub mod schema;
pub mod selector;
pub mod server;
pub mod store;
pub mod table;
pub mod token;
