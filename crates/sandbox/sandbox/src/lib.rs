//! A Kubernetes API in one process, with controllers and nodes whose pods run.
//!
//! What decides is a function of its arguments: [`store`], [`catalog`], [`builtin`], [`definition`],
//! [`patch`], [`apply`], [`rbac`] and their like. [`api`] makes answers of their decisions,
//! [`server`] speaks HTTP, [`controllers`] and [`node`] act by themselves, and [`sandbox`] starts
//! and ends all of it.

pub mod api;
pub mod apply;
pub mod builtin;
pub mod catalog;
pub mod controllers;
pub mod definition;
pub mod faults;
pub mod init;
pub mod metadata;
pub mod node;
mod openapi;
pub mod patch;
pub mod pki;
pub mod port;
pub mod rbac;
mod recorder;
mod registry;
pub mod sandbox;
pub mod schema;
pub mod selector;
pub mod server;
pub mod store;
pub mod table;
pub mod token;
pub mod webhook;

pub use fairway_schema::field_error;

/// The version of Kubernetes that it follows.
pub const KUBERNETES: &str = "1.33.0";
