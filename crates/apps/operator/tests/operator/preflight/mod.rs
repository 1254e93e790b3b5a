//! The stage `preflight` against a Kubernetes API. The tests themselves are the target release: they
//! write what a run would, or something else.

mod checks;
mod hostile;
mod runs;
mod stage;
