//! The stage `updates` against update services: a real one, and all kinds of bad ones.

mod asking;
mod bad_services;
mod platform;
mod proxy;
mod real_service;
mod service;
mod stage;
mod trust;
