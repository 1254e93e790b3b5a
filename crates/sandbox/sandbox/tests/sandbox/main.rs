//! Comparison of the sandbox with an API server. `server` tests the sandbox alone, from outside.

mod apply;
mod builtin;
mod catalog;
mod crd;
mod merge_schemas;
mod server;
mod table;
