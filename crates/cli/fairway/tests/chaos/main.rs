//! Updates during which faults occur at random times. The cluster has to end in the same state as
//! without faults: the same objects and the same history.

mod components;
mod fault;
mod monitor;
mod platform;
mod random;
mod release;
mod updates;
