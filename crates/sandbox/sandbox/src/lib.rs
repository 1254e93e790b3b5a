//! A Kubernetes API in one process, with controllers and nodes whose pods run.
//!
//! [`Sandbox::start`](sandbox::Sandbox::start) starts all of it. [`server`] authenticates and
//! authorizes an HTTP request, reads its body, and passes it to [`Api::handle`](api::Api::handle),
//! the only entry point for changes. Controllers and nodes use the same API in process. Objects are
//! in a [`Store`](store::Store) in memory; lists and watches are streamed from it.
//!
//! The decisions are pure functions: kinds, patches, apply, selectors, RBAC, tables, and the `plan`
//! modules of controllers. Tests compare them with a real API server. The suite `tests/behaviour`
//! runs against the sandbox and against Kubernetes and expects the same results; its module
//! `differences` lists the exceptions.
//!
//! Pods are processes of the host. [`node`] decides about containers, and [`init`] is the first
//! process of one: the binary executes itself, enters namespaces, and mounts the files of the
//! container. It ends when the sandbox ends, and the kernel kills the other processes with it.
//!
//! | module | content |
//! | --- | --- |
//! | [`sandbox`] | start and shutdown of a cluster |
//! | [`server`] | HTTP server of the API |
//! | [`api`] | request handling after authorization |
//! | [`builtin`], [`metadata`] | rules of built-in kinds, and of the metadata of all objects |
//! | [`crd`] | CRDs: their validation, and the processing of custom resources |
//! | [`catalog`], `openapi` | served resources, discovery, paths, `OpenAPI` documents |
//! | [`store`], [`selector`] | objects by revision, lists and watches, selectors |
//! | [`patch`], [`apply`], [`schema`] | patches, server-side apply, merge schemas |
//! | [`table`] | tables for `kubectl get` |
//! | [`rbac`], [`pki`], [`token`] | access control, certificates, ServiceAccount tokens |
//! | [`webhook`] | matching and reviews of validating webhooks |
//! | [`controllers`] | workload controllers, scheduler, garbage collector, namespaces |
//! | [`node`], [`init`] | pods and their containers, and processes of a container |
//! | `registry` | read-only registry with the images of the nodes |
//! | [`faults`] | fault injection for tests of clients |
//! | `bootstrap`, `recorder`, [`port`] | default objects, events, ports for pods |

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

pub use fairway_schema::field_error;

/// The version of Kubernetes whose API is served.
pub const KUBERNETES: &str = "1.33.0";
