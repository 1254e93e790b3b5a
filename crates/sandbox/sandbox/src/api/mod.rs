//! Request handling of the API server, after authentication and authorization.
//!
//! HTTP clients and the cluster's own components use the same entry point, [`Api::handle`], so all
//! writes pass the same checks. A [`ChangeReviewer`] can refuse a change before it is stored; the
//! server calls webhooks with it.
//!
//! | module | content |
//! | --- | --- |
//! | `request` | requests, responses, and the review of changes |
//! | `context` | state of a request, and the write lock |
//! | `read` | get, list and watch |
//! | `write`, `delete` | create, update, patch, delete and deletecollection |
//! | `subresources` | `scale` and `binding` |
//! | `decode`, `options` | objects in request bodies, and options of writes |
//! | `strategy` | kind-specific behaviour of built-in kinds and custom resources |
//! | `admission` | defaults and checks that need other objects |
//! | `crds` | served custom resources |
//! | `meta` | metadata of untyped objects, generated names and UIDs |
//! | `status_error` | errors as a `Status` |
//! | `client` | typed client for components, without a network |

mod admission;
mod client;
mod context;
mod crds;
mod decode;
mod delete;
mod meta;
mod options;
mod read;
mod request;
mod status_error;
mod strategy;
mod subresources;
#[cfg(test)]
mod tests;
mod write;

use std::sync::{Arc, PoisonError, RwLock};

use jiff::Timestamp;

use crate::catalog::{Catalog, Subresource, Verb};
use crate::store::Store;
use context::{MAX_ATTEMPTS, RequestContext, WriteLock};
use crds::ServedResources;

pub use client::{Client, Propagation};
pub use request::{
    AdmissionOperation, AllowAll, ApiRequest, ApiResponse, ChangeReviewer, ObjectChange, PatchType,
    QueryParams, RequestBody,
};
pub use status_error::{StatusCause, StatusDetails, StatusError};

pub(crate) use meta::random_uid;
pub(crate) use status_error::go_parse_error;

/// The response to a request, or another result, or the error for the client.
pub type ApiResult<T = ApiResponse> = Result<T, StatusError>;

/// Objects, resources and API rules of a cluster. Clones share the cluster.
#[derive(Clone)]
pub struct Api {
    shared: Arc<Shared>,
}

struct Shared {
    store: Store,
    served: RwLock<Arc<ServedResources>>,
    clock: Clock,
    write_lock: WriteLock,
}

/// Returns the current time.
pub type Clock = Box<dyn Fn() -> Timestamp + Send + Sync>;

impl Default for Api {
    fn default() -> Self {
        Self::new(Store::default(), Box::new(current_time))
    }
}

#[expect(clippy::disallowed_methods, reason = "the one place where the sandbox reads the clock")]
fn current_time() -> Timestamp {
    Timestamp::now()
}

impl Api {
    /// Creates an API on a store.
    pub fn new(store: Store, clock: Clock) -> Self {
        let served = RwLock::new(Arc::new(ServedResources::default()));
        Self { shared: Arc::new(Shared { store, served, clock, write_lock: WriteLock::default() }) }
    }

    /// The object store.
    pub fn store(&self) -> &Store {
        &self.shared.store
    }

    /// The currently served resources.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.served().catalog)
    }

    fn served(&self) -> Arc<ServedResources> {
        // The value behind the lock is replaced as a whole, so a poisoned lock is safe to use.
        Arc::clone(&self.shared.served.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The current time.
    pub fn now(&self) -> Timestamp {
        (self.shared.clock)()
    }

    /// A client for a component of the cluster.
    pub fn client(&self, component: &str) -> Client {
        Client::new(self.clone(), component)
    }

    /// Handles a request.
    pub fn handle(&self, request: &ApiRequest) -> ApiResult {
        self.handle_reviewed(request, &AllowAll)
    }

    /// Handles a request with a reviewer that can refuse changes.
    pub fn handle_reviewed(
        &self,
        request: &ApiRequest,
        reviewer: &dyn ChangeReviewer,
    ) -> ApiResult {
        for _ in 0..MAX_ATTEMPTS {
            let context = RequestContext::new(self, request, reviewer)?;
            let response = dispatch(&context);
            let response = match response {
                Err(error) if error.code == 409 && context.write_guard.was_interrupted() => {
                    continue;
                }
                response => response?,
            };
            if context.strategy.is_crd() && context.write_guard.is_held() {
                crds::sync(self);
            }
            return Ok(response);
        }
        Err(StatusError::stale(&request.resource, request.name.as_deref().unwrap_or_default()))
    }

    fn serve(&self, served: ServedResources) {
        *self.shared.served.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(served);
    }
}

fn dispatch(context: &RequestContext<'_>) -> ApiResult {
    let request = context.request;
    match (request.verb, request.subresource) {
        (Verb::Get, Some(Subresource::Scale)) => subresources::get_scale(context),
        (Verb::Update, Some(Subresource::Scale)) => subresources::update_scale(context),
        (Verb::Patch, Some(Subresource::Scale)) => subresources::patch_scale(context),
        (_, Some(Subresource::Binding)) => subresources::bind(context),
        (_, Some(other @ (Subresource::Log | Subresource::Token))) => {
            Err(StatusError::not_implemented(other.as_str()))
        }
        (verb, _) => match verb {
            Verb::Get => read::get(context),
            Verb::List => read::list(context),
            Verb::Watch => read::watch(context),
            Verb::Create => write::create(context),
            Verb::Update => write::update(context),
            Verb::Patch => write::patch(context),
            Verb::Delete => delete::delete(context),
            Verb::DeleteCollection => delete::delete_collection(context),
        },
    }
}
