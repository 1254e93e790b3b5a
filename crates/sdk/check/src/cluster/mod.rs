//! Read-only access to a cluster, with pages, a rate limit and retries.

mod policy;
mod reader;

use std::sync::Arc;

use kube::api::{ApiResource, DynamicObject};
use kube::{Client, Resource};

use crate::{CannotTell, memory};
use policy::{Failure, RateLimiter};

pub use policy::RequestPolicy;
pub use reader::Reader;

/// Maximum number of objects of a kind: the pods of the largest clusters.
pub const MAX_OBJECTS: usize = 300_000;

/// Read-only access to a cluster.
#[derive(Clone)]
pub struct Cluster {
    client: Client,
    pace: Arc<RateLimiter>,
    memory: Option<u64>,
}

impl Cluster {
    /// Wraps a client.
    pub fn new(client: Client, policy: RequestPolicy) -> Self {
        Self { client, pace: Arc::new(RateLimiter::new(policy)), memory: None }
    }

    /// Sets the memory limit of the process, in bytes.
    #[must_use]
    pub fn within(self, memory: u64) -> Self {
        Self { memory: Some(memory), ..self }
    }

    /// Reader for objects of a typed kind.
    pub fn read<K: Resource<DynamicType = ()>>(&self) -> Reader<K> {
        Reader::new(self.clone(), ())
    }

    /// Reader for objects of a dynamic kind.
    pub fn read_kind(&self, kind: &ApiResource) -> Reader<DynamicObject> {
        Reader::new(self.clone(), kind.clone())
    }

    /// Sends a request, with retries.
    async fn send<T, F>(&self, request: impl Fn() -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, kube::Error>>,
    {
        let mut attempt = 0;
        loop {
            self.pace.wait_turn().await;
            let failure = match self.pace.with_timeout(request()).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            match self.pace.policy().delay(attempt, &failure) {
                Some(delay) => self.pace.wait(delay).await,
                None => return Err(failure),
            }
            attempt += 1;
        }
    }

    /// Fails if there is no memory for another page.
    fn check_memory(&self) -> Result<(), CannotTell> {
        match (self.memory, memory::used()) {
            (Some(most), Some(used)) if used > most => Err(CannotTell::OutOfMemory(most)),
            _ => Ok(()),
        }
    }
}
