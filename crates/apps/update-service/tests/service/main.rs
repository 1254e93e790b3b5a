//! Integration tests of the service with real sockets.

mod connections;
mod contract;
mod hostile;
mod image;
mod operations;
#[path = "../../../../io/registry/tests/registry/releases/proxy.rs"]
mod proxy;
mod registry;
mod reload;
mod support;
mod vectors;
