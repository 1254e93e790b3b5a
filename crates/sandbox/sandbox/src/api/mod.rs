//! What an API server does with a request, once it is known who asks and that they may.
//!
//! Whatever comes from outside the process and whatever the cluster's own components want goes
//! through [`Api::answer`]: there is no second way to change an object.

mod admission;
mod binding;
mod body;
mod call;
mod client;
mod create;
mod custom;
mod definitions;
mod delete;
mod delete_options;
mod deletion;
mod events;
mod lifecycle;
mod meta;
mod options;
mod patch;
mod pods;
mod random;
mod read;
mod refusal;
mod refusals;
mod request;
mod review;
mod scale;
mod services;
mod settle;
mod strategy;
#[cfg(test)]
mod tests;
mod turn;
mod update;
mod write;

use std::sync::{Arc, PoisonError, RwLock};

use jiff::Timestamp;

use crate::catalog::{Catalog, Subresource, Verb};
use crate::store::Store;
use definitions::Served;
use request::Request;
use turn::Turns;
use write::ATTEMPTS;

pub use call::{Body, Call, PatchKind, Query, Reply};
pub use client::{Client, Propagation};
pub use refusal::{Cause, Details, Refusal};
pub use review::{Change, Nobody, Operation, Reviewer};

/// The objects of a cluster, what they are, and the rules by which they change. Clones are handles
/// to the same cluster.
#[derive(Clone)]
pub struct Api {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    served: RwLock<Arc<Served>>,
    clock: Clock,
    turns: Turns,
}

/// Tells what time it is.
pub type Clock = Box<dyn Fn() -> Timestamp + Send + Sync>;

impl Default for Api {
    fn default() -> Self {
        Self::new(Store::default(), Box::new(real_time))
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where the sandbox reads the clock")]
fn real_time() -> Timestamp {
    Timestamp::now()
}

impl Api {
    /// A cluster with these objects.
    pub fn new(store: Store, clock: Clock) -> Self {
        let served = RwLock::new(Arc::new(Served::default()));
        Self { shared: Arc::new(Shared { store, served, clock, turns: Turns::default() }) }
    }

    /// The objects.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// What is served at the moment.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.served().catalog)
    }

    fn served(&self) -> Arc<Served> {
        // What is behind the lock is replaced as a whole, so a poisoned one guards a whole value.
        Arc::clone(&self.shared.served.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        (self.shared.clock)()
    }

    /// The API as a component of the cluster uses it, under that name.
    pub fn client(&self, component: &str) -> Client {
        Client::new(self.clone(), component)
    }

    /// Does what is asked for, or says why not.
    pub fn answer(&self, call: &Call) -> Result<Reply, Refusal> {
        self.answer_reviewed(call, &Nobody)
    }

    /// Does what is asked for, where others agree, or says why not.
    pub fn answer_reviewed(&self, call: &Call, reviewer: &dyn Reviewer) -> Result<Reply, Refusal> {
        for _ in 0..ATTEMPTS {
            let request = Request::new(self, call, reviewer)?;
            let reply = dispatch(&request);
            let reply = match reply {
                Err(refusal) if refusal.code == 409 && request.turn.is_disturbed() => continue,
                reply => reply?,
            };
            if request.strategy.defines() && request.turn.is_held() {
                settle::settle(self);
            }
            return Ok(reply);
        }
        Err(Refusal::stale(&call.resource, call.name.as_deref().unwrap_or_default()))
    }

    fn serve(&self, served: Served) {
        *self.shared.served.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(served);
    }
}

fn dispatch(request: &Request<'_>) -> Result<Reply, Refusal> {
    let call = request.call;
    match (call.verb, call.subresource) {
        (Verb::Get, Some(Subresource::Scale)) => scale::get(request),
        (Verb::Update, Some(Subresource::Scale)) => scale::update(request),
        (Verb::Patch, Some(Subresource::Scale)) => scale::patch(request),
        (_, Some(Subresource::Binding)) => binding::bind(request),
        (_, Some(other @ (Subresource::Log | Subresource::Token))) => {
            Err(Refusal::not_implemented(other.as_str()))
        }
        (verb, _) => match verb {
            Verb::Get => read::get(request),
            Verb::List => read::list(request),
            Verb::Watch => read::watch(request),
            Verb::Create => create::create(request),
            Verb::Update => update::update(request),
            Verb::Patch => patch::patch(request),
            Verb::Delete => delete::delete(request),
            Verb::DeleteCollection => delete::delete_collection(request),
        },
    }
}
