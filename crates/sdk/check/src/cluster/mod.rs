//! A cluster to be read: page by page, slowly, and more than once where it does not answer.

mod patience;
mod reader;

use std::sync::Arc;

use kube::api::{ApiResource, DynamicObject};
use kube::{Client, Resource};

use crate::{CannotTell, memory};
use patience::{Failure, Pace};

pub use patience::Patience;
pub use reader::Reader;

/// Objects of one kind that a check looks at: as many as the largest clusters have pods.
pub const MOST_OBJECTS: usize = 300_000;

/// A cluster to be read. There is no way to write: a check changes nothing.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    pace: Arc<Pace>,
    memory: Option<u64>,
}

impl Cluster {
    /// The cluster that the client speaks to.
    pub fn new(client: Client, patience: Patience) -> Self {
        Self { client, pace: Arc::new(Pace::new(patience)), memory: None }
    }

    /// The same, for a process that may use so many bytes of memory.
    #[must_use]
    pub fn within(self, memory: u64) -> Self {
        Self { memory: Some(memory), ..self }
    }

    /// Objects of a kind, of which the check brings the type.
    pub fn read<K: Resource<DynamicType = ()>>(&self) -> Reader<K> {
        Reader::new(self.clone(), ())
    }

    /// Objects of a kind that is known by its name alone.
    pub fn read_kind(&self, kind: &ApiResource) -> Reader<DynamicObject> {
        Reader::new(self.clone(), kind.clone())
    }

    /// The answer to a request that may have to be sent several times.
    async fn ask<T, F>(&self, request: impl Fn() -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, kube::Error>>,
    {
        let mut attempt = 0;
        loop {
            self.pace.turn().await;
            let failure = match self.pace.in_time(request()).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            match self.pace.patience().pause(attempt, &failure) {
                Some(pause) => self.pace.wait(pause).await,
                None => return Err(failure),
            }
            attempt += 1;
        }
    }

    /// Whether there is memory for another page.
    fn has_room(&self) -> Result<(), CannotTell> {
        match (self.memory, memory::used()) {
            (Some(most), Some(used)) if used > most => Err(CannotTell::OutOfMemory(most)),
            _ => Ok(()),
        }
    }
}
