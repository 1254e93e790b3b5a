//! Cache of the update graph, with expiry.

use std::sync::Arc;
use std::time::Duration;

use fairway_cincinnati::fetch::FetchError;
use fairway_cincinnati::query::{GraphQuery, QueryError};
use fairway_cincinnati::response::UpdateResponse;
use fairway_graph::Graph;
use http::HeaderValue;
use jiff::Timestamp;
use tokio::time::Instant;

use super::inherited::Inherited;
use super::{KeptUpdates, Updates};

/// Lifetime of a graph that the update service does not confirm.
pub(super) const GRAPH_TTL: Duration = Duration::from_hours(24);

/// Result of a request.
#[derive(Debug)]
pub(super) enum FetchResult {
    /// The graph is unchanged.
    Unchanged,
    /// A new graph.
    Graph { answer: UpdateResponse, tag: Option<HeaderValue> },
}

/// Cached response to one query of the update service: the last valid graph, and the last failure.
#[derive(Debug, Default)]
pub(super) struct GraphCache {
    cached: Option<CachedGraph>,
    failure: Option<FetchError>,
    /// Updates of the last status, until the first graph.
    inherited: Option<Inherited>,
}

/// The last valid graph.
#[derive(Debug)]
struct CachedGraph {
    answer: UpdateResponse,
    tag: Option<HeaderValue>,
    /// Time of its retrieval or last confirmation: for decisions, and for messages.
    at: Instant,
    time: Timestamp,
}

impl GraphCache {
    /// Creates a cache with updates of the last status.
    pub(super) fn inheriting(inherited: Option<Inherited>) -> Self {
        Self { inherited, ..Self::default() }
    }

    /// Entity tag of the cached graph.
    pub(super) fn tag(&self) -> Option<&HeaderValue> {
        self.cached.as_ref()?.tag.as_ref()
    }

    /// Digest of the cached graph.
    pub(super) fn digest(&self) -> Option<&str> {
        Some(&self.cached.as_ref()?.answer.digest)
    }

    /// Records the result of a request. The cached graph survives failures of the service until it
    /// expires, but not a request that cannot be sent.
    pub(super) fn record(
        &mut self,
        outcome: Result<FetchResult, FetchError>,
        (now, time): (Instant, Timestamp),
    ) {
        match outcome {
            Ok(FetchResult::Graph { answer, tag }) => {
                *self = Self {
                    cached: Some(CachedGraph { answer, tag, at: now, time }),
                    failure: None,
                    inherited: None,
                };
            }
            Ok(FetchResult::Unchanged) => {
                if let Some(cached) = &mut self.cached {
                    (cached.at, cached.time) = (now, time);
                }
                self.failure = None;
            }
            Err(failure) => {
                let stands =
                    |cached: &CachedGraph| failure.is_transient() && now < cached.at + GRAPH_TTL;
                self.cached = self.cached.take().filter(stands);
                let stands = |left: &Inherited| failure.is_transient() && now < left.until;
                self.inherited = self.inherited.take().filter(stands);
                self.failure = Some(failure);
            }
        }
    }

    /// The output of the stage; `None` before the first result.
    pub(super) fn updates(&self, query: &GraphQuery, generation: i64) -> Option<Updates> {
        let cached = self.cached.as_ref();
        let inherited = self.inherited.as_ref();
        let candidates = cached
            .and_then(|cached| cached.answer.candidates.clone())
            .or_else(|| Some(Arc::clone(&inherited?.candidates)));
        let retrieved = match (&self.failure, cached) {
            (None, None) => return None,
            (Some(failure), _) => {
                let found = cached.filter(|_| candidates.is_some()).map(|cached| cached.time);
                let found = found.map(KeptUpdates::Since);
                let kept = found
                    .or(inherited.map(|left| KeptUpdates::Inherited { until: left.until_time }));
                super::failed_condition(failure, kept)
            }
            (None, Some(_)) if candidates.is_some() => super::retrieved_condition(),
            (None, Some(cached)) => {
                super::version_not_found_condition(query, cached.answer.graph.nodes().len())
            }
        };
        Some(Updates {
            generation,
            graph_digest: cached.map(|cached| cached.answer.digest.clone()).unwrap_or_default(),
            graph: cached.map(|cached| Arc::clone(&cached.answer.graph)).unwrap_or_default(),
            candidates: candidates.unwrap_or_default(),
            retrieved,
            fresh: cached.map(|cached| cached.time),
        })
    }
}

/// The output without a request.
pub(super) fn refused(refusal: &QueryError, generation: i64) -> Updates {
    Updates {
        generation,
        graph_digest: String::new(),
        graph: Arc::new(Graph::default()),
        candidates: Arc::default(),
        retrieved: super::refused_condition(refusal),
        fresh: None,
    }
}

#[cfg(test)]
mod tests {
    use fairway_api::{ConditionStatus, Version};
    use fairway_risk::CandidateUpdate;
    use http::StatusCode;
    use url::Url;

    use super::*;
    use fairway_cincinnati::response;

    const GRAPH: &str = r#"{"nodes": [{"version": "5.1.0", "payload": "a"},
        {"version": "5.1.1", "payload": "b"}], "edges": [[0, 1]]}"#;

    fn query() -> GraphQuery {
        GraphQuery {
            url: Url::parse("https://updates.example/graph?arch=amd64&channel=stable-5.1").unwrap(),
            channel: "stable-5.1".to_owned(),
            current: Version::new(5, 1, 0),
            becomes_multi: false,
        }
    }

    fn answered(graph: &str) -> Result<FetchResult, FetchError> {
        let answer = response::read(&query(), graph.as_bytes());
        let tag = Some(HeaderValue::from_static("\"a\""));
        answer
            .map(|answer| FetchResult::Graph { answer, tag })
            .map_err(|error| FetchError::Invalid { why: error.to_string() })
    }

    fn down() -> Result<FetchResult, FetchError> {
        let service = query().service();
        Err(FetchError::Status { service, status: StatusCode::SERVICE_UNAVAILABLE })
    }

    /// A clock for both kinds of time.
    struct Clock(Instant, Timestamp);

    impl Clock {
        fn new() -> Self {
            Self(Instant::now(), "2026-11-15T12:00:00.5Z".parse().unwrap())
        }

        fn after(&self, hours: u64) -> (Instant, Timestamp) {
            let passed = Duration::from_hours(hours);
            (self.0 + passed, self.1 + passed)
        }
    }

    fn text(updates: &Updates) -> String {
        let condition = &updates.retrieved;
        let versions = updates.candidates.iter().map(|candidate| &candidate.release.version);
        format!(
            "{:?} {}\n{}\n{:?} of {} releases",
            condition.status,
            condition.reason.as_deref().unwrap_or("-"),
            condition.message.as_deref().unwrap_or("-"),
            versions.collect::<Vec<_>>(),
            updates.graph.nodes().len(),
        )
    }

    #[test]
    fn updates_after_success_have_no_message() {
        let mut cache = GraphCache::default();
        assert!(cache.updates(&query(), 3).is_none());
        let clock = Clock::new();
        cache.record(answered(GRAPH), clock.after(0));
        let updates = cache.updates(&query(), 3).unwrap();
        insta::assert_snapshot!(text(&updates), @r#"
        True -
        -
        ["5.1.1"] of 2 releases
        "#);
        assert_eq!((updates.generation, updates.fresh), (3, Some(clock.1)));
        assert_eq!(Some(updates.graph_digest.as_str()), cache.digest());
    }

    #[test]
    fn updates_during_outage_report_age() {
        let (mut cache, clock) = (GraphCache::default(), Clock::new());
        cache.record(answered(GRAPH), clock.after(0));
        cache.record(Ok(FetchResult::Unchanged), clock.after(1));
        cache.record(down(), clock.after(2));
        let updates = cache.updates(&query(), 1).unwrap();
        insta::assert_snapshot!(text(&updates), @r#"
        False ResponseFailed
        Unable to retrieve available updates: https://updates.example/graph returned HTTP status 503 Service Unavailable. The listed updates are from 2026-11-15T13:00:00Z; the operator drops them at 2026-11-16T13:00:00Z.
        ["5.1.1"] of 2 releases
        "#);
        assert_eq!(updates.fresh, Some(clock.after(1).1));
        cache.record(down(), clock.after(3));
        assert!(cache.updates(&query(), 1).unwrap().is_same_as(&updates));
    }

    #[test]
    fn updates_after_outage_of_a_day_are_empty() {
        let (mut cache, clock) = (GraphCache::default(), Clock::new());
        cache.record(answered(GRAPH), clock.after(0));
        cache.record(down(), clock.after(24));
        let updates = cache.updates(&query(), 1).unwrap();
        insta::assert_snapshot!(text(&updates), @"
        False ResponseFailed
        Unable to retrieve available updates: https://updates.example/graph returned HTTP status 503 Service Unavailable.
        [] of 0 releases
        ");
        assert_eq!((updates.graph_digest.as_str(), updates.fresh), ("", None));
        assert_eq!(cache.tag(), None);
        cache.record(answered(GRAPH), clock.after(25));
        let status = cache.updates(&query(), 1).unwrap().retrieved.status;
        assert_eq!(status, ConditionStatus::True);
    }

    fn inheriting(clock: &Clock) -> GraphCache {
        let release = fairway_testkit::objects::release("5.1.7");
        let candidates = [CandidateUpdate { release, ..CandidateUpdate::default() }].into();
        let (until, until_time) = clock.after(24);
        GraphCache::inheriting(Some(Inherited { candidates, until, until_time }))
    }

    #[test]
    fn inherited_updates_apply_until_first_graph() {
        let clock = Clock::new();
        let mut cache = inheriting(&clock);
        assert!(cache.updates(&query(), 1).is_none(), "the status has them already");
        cache.record(down(), clock.after(1));
        let updates = cache.updates(&query(), 1).unwrap();
        insta::assert_snapshot!(text(&updates), @r#"
        False ResponseFailed
        Unable to retrieve available updates: https://updates.example/graph returned HTTP status 503 Service Unavailable. The listed updates are from before this operator started; it drops them at 2026-11-16T12:00:00Z.
        ["5.1.7"] of 0 releases
        "#);
        assert_eq!((updates.graph_digest.as_str(), updates.fresh), ("", None));
        cache.record(down(), clock.after(2));
        assert!(cache.updates(&query(), 1).unwrap().is_same_as(&updates));
        cache.record(answered(GRAPH), clock.after(3));
        cache.record(down(), clock.after(4));
        insta::assert_snapshot!(text(&cache.updates(&query(), 1).unwrap()), @r#"
        False ResponseFailed
        Unable to retrieve available updates: https://updates.example/graph returned HTTP status 503 Service Unavailable. The listed updates are from 2026-11-15T15:00:00Z; the operator drops them at 2026-11-16T15:00:00Z.
        ["5.1.1"] of 2 releases
        "#);
    }

    #[test]
    fn inherited_updates_expire_or_are_dropped_with_invalid_request() {
        let (service, why) = (query().service(), "reasons".to_owned());
        for (outcome, hours) in [(down(), 24), (Err(FetchError::Request { service, why }), 1)] {
            let clock = Clock::new();
            let mut cache = inheriting(&clock);
            cache.record(outcome, clock.after(hours));
            let updates = cache.updates(&query(), 1).unwrap();
            assert!(updates.candidates.is_empty());
            assert!(!updates.retrieved.message.unwrap().contains("listed"));
        }
    }

    #[test]
    fn updates_after_invalid_request_are_empty() {
        let (mut cache, clock) = (GraphCache::default(), Clock::new());
        cache.record(answered(GRAPH), clock.after(0));
        let (service, why) = (query().service(), "reasons".to_owned());
        cache.record(Err(FetchError::Request { service, why }), clock.after(1));
        insta::assert_snapshot!(text(&cache.updates(&query(), 1).unwrap()), @"
        False InvalidRequest
        Unable to retrieve available updates: cannot create a request to https://updates.example/graph: reasons.
        [] of 0 releases
        ");
    }

    #[test]
    fn updates_without_running_version_report_it() {
        let (mut cache, clock) = (GraphCache::default(), Clock::new());
        cache.record(
            answered(r#"{"nodes": [{"version": "5.0.0", "payload": "a"}]}"#),
            clock.after(0),
        );
        let absent = text(&cache.updates(&query(), 1).unwrap());
        cache.record(down(), clock.after(1));
        let down = text(&cache.updates(&query(), 1).unwrap());
        cache.record(answered("{}"), clock.after(2));
        let empty = text(&cache.updates(&query(), 1).unwrap());
        insta::assert_snapshot!([absent, down, empty].join("\n--\n"), @r#"
        False VersionNotFound
        Unable to retrieve available updates: the running version 5.1.0 is not in channel "stable-5.1" of https://updates.example/graph. Set a channel that contains it with `fairway upgrade channel CHANNEL`.
        [] of 1 releases
        --
        False ResponseFailed
        Unable to retrieve available updates: https://updates.example/graph returned HTTP status 503 Service Unavailable.
        [] of 1 releases
        --
        False VersionNotFound
        Unable to retrieve available updates: channel "stable-5.1" of https://updates.example/graph has no releases for amd64. Check its name, or set another channel with `fairway upgrade channel CHANNEL`.
        [] of 0 releases
        "#);
    }

    #[test]
    fn condition_of_each_failure() {
        let service = || query().service();
        let why = || "reasons".to_owned();
        let texts = [
            FetchError::Request { service: service(), why: why() },
            FetchError::Remote { service: service(), why: why() },
            FetchError::Status { service: service(), status: StatusCode::NOT_FOUND },
            FetchError::Body { service: service(), why: why() },
            FetchError::TooLarge { service: service() },
            FetchError::Invalid { why: why() },
        ]
        .map(|failure| {
            let mut cache = GraphCache::default();
            cache.record(Err(failure), Clock::new().after(0));
            text(&cache.updates(&query(), 1).unwrap())
        });
        insta::assert_snapshot!(texts.join("\n--\n"), @"
        False InvalidRequest
        Unable to retrieve available updates: cannot create a request to https://updates.example/graph: reasons.
        [] of 0 releases
        --
        False RemoteFailed
        Unable to retrieve available updates: cannot reach https://updates.example/graph: reasons.
        [] of 0 releases
        --
        False ResponseFailed
        Unable to retrieve available updates: https://updates.example/graph returned HTTP status 404 Not Found.
        [] of 0 releases
        --
        False ResponseFailed
        Unable to retrieve available updates: cannot read the response of https://updates.example/graph: reasons.
        [] of 0 releases
        --
        False ResponseInvalid
        Unable to retrieve available updates: the response of https://updates.example/graph exceeds 32 MiB.
        [] of 0 releases
        --
        False ResponseInvalid
        Unable to retrieve available updates: reasons.
        [] of 0 releases
        ");
    }

    #[test]
    fn refused_has_no_updates() {
        insta::assert_snapshot!(text(&refused(&QueryError::NoChannel, 7)), @"
        False NoChannel
        The update channel has not been configured: set one with `fairway upgrade channel CHANNEL`.
        [] of 0 releases
        ");
    }
}
