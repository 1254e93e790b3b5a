//! Server-side apply: its guarantees, and comparison with an API server.

mod api_server;
mod guarantees;
mod kinds;
mod scripts;
