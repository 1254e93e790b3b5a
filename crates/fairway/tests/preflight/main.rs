//! A release is asked about a platform before the platform is updated to it: real releases, real
//! pods, the real program.

mod audit;
mod commands;
mod greedy;
mod ground;
mod moving;
mod retargets;
mod story;
mod targets;
mod update;
