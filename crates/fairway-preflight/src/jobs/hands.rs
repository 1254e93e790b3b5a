//! Who creates Jobs: the runner itself may write nothing.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use fairway_findings::jobs::{ANSWERS, JobAnswers, JobRequests, REQUESTS};
use futures::future::BoxFuture;

use crate::results;

/// Bytes of the answers: a line or two for each Job.
const MOST_BYTES: u64 = 1 << 20;

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
}

impl Operator {
    /// The one that shares the directory.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }
}

impl Hands for Operator {
    fn ask<'a>(&'a self, requests: &'a JobRequests) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async { results::write(&self.directory, REQUESTS, requests) })
    }

    fn answers(&self) -> BoxFuture<'_, JobAnswers> {
        // A file that is not there yet, or cannot be read, answers nothing.
        Box::pin(async { read(&self.directory.join(ANSWERS)).unwrap_or_default() })
    }
}

fn read(path: &Path) -> io::Result<JobAnswers> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}
