//! Requests and their answers, in tables.

mod admission;
mod changes;
mod cluster;
mod custom;
mod deletion;
mod objects;
mod reading;
