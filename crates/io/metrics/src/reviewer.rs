//! Reviews of tokens by the API server, limited for each peer.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use crate::cache::{Decision, DecisionCache, TokenDigest};

/// Path that the user of a token must be allowed to get.
const PATH: &str = "/metrics";

/// Timeout of a decision, shorter than the default scrape timeout of Prometheus (10 s).
const REVIEW_TIMEOUT: Duration = Duration::from_secs(8);

/// Maximum concurrent reviews: a client must not make this process flood the API server.
const MAX_REVIEWS: usize = 4;

/// Delay of a refusal. The peer gets no other review meanwhile, so that it causes one a second.
const REFUSAL_DELAY: Duration = Duration::from_secs(1);

/// Errors of reviews.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReviewError {
    /// The API server does not respond, or too many reviews are in flight.
    #[error("timed out after {} s", REVIEW_TIMEOUT.as_secs())]
    Timeout,
    /// A request failed.
    #[error("cannot review the token")]
    Request(#[from] kube::Error),
    /// A response has no status.
    #[error("the review has no status")]
    NoStatus,
}

/// Decides with the API server whether the user of a token may read metrics.
pub(crate) struct TokenReviewer {
    client: Client,
    cache: Mutex<DecisionCache>,
    reviews: Semaphore,
    /// One permit for each peer, so that one peer does not delay the reviews of others.
    peers: Mutex<HashMap<IpAddr, Arc<Semaphore>>>,
}

impl TokenReviewer {
    pub(crate) fn new(client: Client) -> Self {
        let (cache, peers) = (Mutex::default(), Mutex::default());
        Self { client, cache, reviews: Semaphore::new(MAX_REVIEWS), peers }
    }

    /// The decision about a token.
    pub(crate) async fn decide(&self, peer: IpAddr, token: &str) -> Result<Decision, ReviewError> {
        let digest = TokenDigest::new(token);
        if let Some(decision) = self.cached(digest) {
            return Ok(decision);
        }
        let permits = self.permits(peer);
        let review = async {
            let _own = permits.acquire().await;
            // Another request of this peer may have waited for the same decision.
            if let Some(decision) = self.cached(digest) {
                return Ok(decision);
            }
            let decision = {
                let _any = self.reviews.acquire().await;
                self.review(token).await?
            };
            lock(&self.cache).insert(digest, decision, Instant::now());
            if decision != Decision::Allowed {
                fairway_clock::pause(REFUSAL_DELAY).await;
            }
            Ok(decision)
        };
        timeout(REVIEW_TIMEOUT, review).await.unwrap_or(Err(ReviewError::Timeout))
    }

    fn cached(&self, token: TokenDigest) -> Option<Decision> {
        lock(&self.cache).get(token, Instant::now())
    }

    /// Permits of a peer. Those that no request holds are removed.
    fn permits(&self, peer: IpAddr) -> Arc<Semaphore> {
        let mut peers = lock(&self.peers);
        peers.retain(|_, permits| Arc::strong_count(permits) > 1);
        Arc::clone(peers.entry(peer).or_insert_with(|| Arc::new(Semaphore::new(1))))
    }

    async fn review(&self, token: &str) -> Result<Decision, ReviewError> {
        let spec = TokenReviewSpec { token: Some(token.to_owned()), audiences: None };
        let review = TokenReview { spec, ..TokenReview::default() };
        let api = Api::<TokenReview>::all(self.client.clone());
        let review = api.create(&PostParams::default(), &review).await?;
        let status = review.status.ok_or(ReviewError::NoStatus)?;
        match status.user.filter(|_| status.authenticated == Some(true)) {
            None => Ok(Decision::Unauthenticated),
            Some(user) => self.authorize(user).await,
        }
    }

    async fn authorize(&self, user: UserInfo) -> Result<Decision, ReviewError> {
        let path =
            NonResourceAttributes { path: Some(PATH.to_owned()), verb: Some("get".to_owned()) };
        let spec = SubjectAccessReviewSpec {
            user: user.username,
            groups: user.groups,
            uid: user.uid,
            extra: user.extra,
            non_resource_attributes: Some(path),
            resource_attributes: None,
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let api = Api::<SubjectAccessReview>::all(self.client.clone());
        let review = api.create(&PostParams::default(), &review).await?;
        let status = review.status.ok_or(ReviewError::NoStatus)?;
        let is_allowed = status.allowed && status.denied != Some(true);
        Ok(if is_allowed { Decision::Allowed } else { Decision::Forbidden })
    }
}

/// Locks a mutex. No critical section here leaves its value half-changed, so a poisoned lock is safe
/// to use.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
