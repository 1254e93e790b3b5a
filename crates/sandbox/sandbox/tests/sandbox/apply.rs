//! Server-side apply, by its promises and beside a real API server.

mod promises;
mod real;
mod scripts;
mod subject;
