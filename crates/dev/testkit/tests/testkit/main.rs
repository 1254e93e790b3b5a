//! The test kit, and what a real API server makes of the generated CustomResourceDefinitions.

mod api_server;
mod kit;
