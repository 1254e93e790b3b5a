//! Updates during which things break, at moments that nobody has chosen. However it went, the
//! cluster ends as it would have without: the same objects, the same history.

mod components;
mod dice;
mod operator;
mod platform;
mod survival;
mod trouble;
mod witness;
mod world;
