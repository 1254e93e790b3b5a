//! The stage `updates` against update services, valid and invalid ones.

mod asking;
mod bad_services;
mod connections;
mod real_service;
mod service;
mod stage;
