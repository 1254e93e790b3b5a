//! A platform from its installation through its updates: real releases, real pods, the real program.

mod drift;
mod killed;
mod refusals;
mod story;
mod way_back;
