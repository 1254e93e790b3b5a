//! A Kubernetes API in one process, with controllers and nodes whose pods run.
//!
//! [`store`], [`catalog`], [`builtin`], [`crd`], [`patch`], [`apply`] and [`rbac`] are pure logic.
//! [`api`] handles requests with them, [`server`] serves HTTP, [`controllers`] and [`node`] run
//! the cluster's components, and [`sandbox`] starts and stops everything.

pub mod api;
pub mod apply;
mod bootstrap;
pub mod builtin;
pub mod catalog;
pub mod controllers;
pub mod crd;
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

#[doc(hidden)]
pub use crd as definition;
pub use fairway_schema::field_error;

/// The version of Kubernetes whose API is served.
pub const KUBERNETES: &str = "1.33.0";
