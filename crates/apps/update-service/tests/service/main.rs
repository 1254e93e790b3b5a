//! The service with real sockets.

mod conditional;
mod contract;
mod crowds;
mod hostile;
mod image;
mod operations;
#[path = "../../../../io/registry/tests/registry/releases/proxy.rs"]
mod proxy;
mod registry;
mod reload;
mod shutdown;
mod support;
mod tls;
mod vectors;
