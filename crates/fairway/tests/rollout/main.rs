//! A platform from its installation through its updates: real releases, real pods, the real program.

mod killed;
mod platform;
