//! The service with real sockets.

mod conditional;
mod contract;
mod hostile;
mod operations;
mod reload;
mod shutdown;
mod support;
mod tls;
mod vectors;
