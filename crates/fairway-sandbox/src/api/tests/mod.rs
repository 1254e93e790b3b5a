//! Requests and their answers, in tables.

mod cluster;
mod custom;
mod objects;
