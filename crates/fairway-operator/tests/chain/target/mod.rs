//! From the request for an update to its beginning, or to its refusal.

mod gates;
mod on_update;
mod platform;
mod resuming;
mod retrieval;
mod stock_client;
