//! Core crates compared with the implementations that they follow, from Debian's packages.

mod promql;
mod yaml;
