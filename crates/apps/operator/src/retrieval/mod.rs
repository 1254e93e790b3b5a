//! Getting releases: verified first, then read. It is what the stages `target` and `preflight` have
//! in common: neither knows of the other.
//!
//! What is `asked` for is looked at first. A `job` tries to `retrieve` a release until it succeeds,
//! with what the cluster's `surroundings` say about images and signatures.

mod asked;
mod job;
mod retrieve;
mod surroundings;

pub(crate) use asked::Asked;
pub(crate) use job::{Failure, Job, Progress};
pub(crate) use retrieve::{Order, Retrieved, Retriever, Signed, Ways};
