//! Cached decisions about tokens.

use std::collections::BTreeMap;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

/// Decision about a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The user of the token may read metrics.
    Allowed,
    /// The token is invalid.
    Unauthenticated,
    /// The user of the token may not read metrics.
    Forbidden,
}

/// Lifetime of a positive decision: a revoked token works for this time at most.
const ALLOWED_TTL: Duration = Duration::from_mins(1);

/// Lifetime of a negative decision: a new permission takes effect after this time at most.
const DENIED_TTL: Duration = Duration::from_secs(10);

/// Maximum number of decisions of each kind. Negative decisions never replace positive ones, so that
/// invalid tokens do not cause reviews of valid ones.
const MAX_ALLOWED: usize = 32;
const MAX_DENIED: usize = 128;

/// Digest of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TokenDigest([u8; 32]);

impl TokenDigest {
    pub(crate) fn new(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }
}

/// Decisions by token, within limits.
#[derive(Default)]
pub(crate) struct DecisionCache {
    allowed: BTreeMap<TokenDigest, Instant>,
    denied: BTreeMap<TokenDigest, (Decision, Instant)>,
}

impl DecisionCache {
    /// The decision about a token, unless it has expired.
    pub(crate) fn get(&self, token: TokenDigest, now: Instant) -> Option<Decision> {
        if self.allowed.get(&token).is_some_and(|expiry| now < *expiry) {
            return Some(Decision::Allowed);
        }
        let (decision, expiry) = self.denied.get(&token)?;
        (now < *expiry).then_some(*decision)
    }

    /// Stores a decision. At the limit, the oldest one of its kind is removed.
    pub(crate) fn insert(&mut self, token: TokenDigest, decision: Decision, now: Instant) {
        self.allowed.remove(&token);
        self.denied.remove(&token);
        if decision == Decision::Allowed {
            make_room(&mut self.allowed, MAX_ALLOWED, |expiry| *expiry, now);
            self.allowed.insert(token, now + ALLOWED_TTL);
        } else {
            make_room(&mut self.denied, MAX_DENIED, |(_, expiry)| *expiry, now);
            self.denied.insert(token, (decision, now + DENIED_TTL));
        }
    }
}

/// Removes expired entries, and the first one to expire while there are too many.
fn make_room<T>(
    entries: &mut BTreeMap<TokenDigest, T>,
    max: usize,
    expiry: impl Fn(&T) -> Instant,
    now: Instant,
) {
    entries.retain(|_, entry| now < expiry(entry));
    while entries.len() >= max {
        let oldest = entries.iter().min_by_key(|(_, entry)| expiry(entry)).map(|(token, _)| *token);
        let Some(oldest) = oldest else { return };
        entries.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn get_returns_decision_until_it_expires() {
        let (mut cache, now) = (DecisionCache::default(), Instant::now());
        let [valid, invalid] = ["valid", "invalid"].map(TokenDigest::new);
        cache.insert(valid, Decision::Allowed, now);
        cache.insert(invalid, Decision::Unauthenticated, now);
        let at = |seconds| now + Duration::from_secs(seconds);
        assert_eq!(cache.get(valid, at(59)), Some(Decision::Allowed));
        assert_eq!(cache.get(valid, at(60)), None);
        assert_eq!(cache.get(invalid, at(9)), Some(Decision::Unauthenticated));
        assert_eq!(cache.get(invalid, at(10)), None);
        cache.insert(valid, Decision::Forbidden, at(1));
        assert_eq!(cache.get(valid, at(2)), Some(Decision::Forbidden));
    }

    #[test]
    fn insert_of_many_tokens_keeps_limits_and_valid_tokens() {
        let (mut cache, now) = (DecisionCache::default(), Instant::now());
        let valid = TokenDigest::new("valid");
        cache.insert(valid, Decision::Allowed, now);
        for number in 0..10_000 {
            let token = TokenDigest::new(&number.to_string());
            cache.insert(token, Decision::Unauthenticated, now + Duration::from_micros(number));
        }
        assert_eq!((cache.allowed.len(), cache.denied.len()), (1, MAX_DENIED));
        assert_eq!(cache.get(valid, now), Some(Decision::Allowed));
        let latest = TokenDigest::new("9999");
        assert_eq!(cache.get(latest, now), Some(Decision::Unauthenticated));
    }
}
