//! The service with real sockets.

mod conditional;
mod contract;
mod crowds;
mod hostile;
mod operations;
mod reload;
mod shutdown;
mod support;
mod tls;
mod vectors;
