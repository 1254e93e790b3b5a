//! The harness, and the generated CRDs on a real API server.

mod api_server;
mod harness;
