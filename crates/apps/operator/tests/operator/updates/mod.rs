//! The stage `updates` against update services, valid and invalid ones.

mod asking;
mod bad_services;
mod platform;
mod proxy;
mod real_service;
mod service;
mod stage;
mod trust;
