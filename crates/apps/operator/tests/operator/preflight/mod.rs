//! The stage `preflight` against a Kubernetes API. The tests act as the target release and write
//! its files.

mod runs;
mod stage;
mod untrusted;
