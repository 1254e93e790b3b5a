//! From the request for an update to its beginning, or to its refusal.

mod gates;
mod olm;
mod platform;
mod preflight;
mod resuming;
mod retrieval;
mod stock_client;
