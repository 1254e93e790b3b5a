//! The stage `updates` against update services, valid and invalid ones.

mod bad_services;
mod connections;
mod real_service;
mod requests;
mod service;
mod stage;
