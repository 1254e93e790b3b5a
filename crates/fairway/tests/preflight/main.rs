//! A release is asked about a platform before the platform is updated to it: real releases, real
//! pods, the real program.

mod audit;
mod ground;
mod retargets;
mod story;
