//! Requests for updates, from the spec to acceptance or refusal.

mod gates;
mod olm;
mod platform;
mod preflight;
mod resuming;
mod retrieval;
mod stock_client;
