//! Who creates Jobs: the runner itself may write nothing.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;

use fairway_findings::jobs::{ANSWERS, JobAnswers, JobRequests, MAX_BYTES, REQUESTS};
use futures::future::BoxFuture;

use crate::results;

/// Whoever creates Jobs that are asked for, after a look at each, and deletes those that are asked
/// for no more.
pub trait Hands: Send + Sync {
    /// Says which Jobs are to exist now.
    fn ask<'a>(&'a self, requests: &'a JobRequests) -> BoxFuture<'a, io::Result<()>>;

    /// What became of them so far.
    fn answers(&self) -> BoxFuture<'_, JobAnswers>;
}

/// The operator of the running release, which reads and writes files beside the results.
#[derive(Clone, Debug)]
pub struct Operator {
    directory: PathBuf,
    run: String,
}

impl Operator {
    /// The one that shares the directory of a run.
    pub fn new(directory: PathBuf, run: String) -> Self {
        Self { directory, run }
    }

    fn read(&self) -> io::Result<JobAnswers> {
        let mut bytes = Vec::new();
        let file = File::open(self.directory.join(ANSWERS))?;
        file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        JobAnswers::read(&bytes, &self.run).map_err(io::Error::other)
    }
}

impl Hands for Operator {
    fn ask<'a>(&'a self, requests: &'a JobRequests) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async { results::write(&self.directory, REQUESTS, requests) })
    }

    fn answers(&self) -> BoxFuture<'_, JobAnswers> {
        // A file that is not there yet, or cannot be read, answers nothing.
        Box::pin(async { self.read().unwrap_or_default() })
    }
}
