//! What is remembered of the update service's answers, and for how long.

use std::sync::Arc;
use std::time::Duration;

use fairway_cincinnati::answer::Answer;
use fairway_cincinnati::fetch::Failure;
use fairway_cincinnati::question::{Question, Refusal};
use fairway_graph::Graph;
use http::HeaderValue;
use jiff::Timestamp;
use tokio::time::Instant;

use super::inherited::Inherited;
use super::retrieved::Kept;
use super::{Updates, retrieved};

/// For how long an answer stands while there is no other: as long as administrators are used to.
pub(super) const KEPT: Duration = Duration::from_hours(24);

/// What a request came to.
#[derive(Debug)]
pub(super) enum News {
    /// The answer is the same as before.
    Unchanged,
    /// It is another one.
    Answer { answer: Answer, tag: Option<HeaderValue> },
}

/// What is known about the answer to one question.
#[derive(Debug, Default)]
pub(super) struct Memory {
    good: Option<Good>,
    failure: Option<Failure>,
    /// What stands until the first answer.
    inherited: Option<Inherited>,
}

/// The last good answer.
#[derive(Debug)]
struct Good {
    answer: Answer,
    tag: Option<HeaderValue>,
    /// When it was given or confirmed: for deciding, and for saying so.
    at: Instant,
    time: Timestamp,
}

impl Memory {
    /// Nothing but what somebody else has found.
    pub(super) fn inheriting(inherited: Option<Inherited>) -> Self {
        Self { inherited, ..Self::default() }
    }

    /// The tag of the answer that is known.
    pub(super) fn tag(&self) -> Option<&HeaderValue> {
        self.good.as_ref()?.tag.as_ref()
    }

    /// The digest of the answer that is known.
    pub(super) fn digest(&self) -> Option<&str> {
        Some(&self.good.as_ref()?.answer.digest)
    }

    /// Takes in what a request came to. What is known survives failures of the service for a
    /// while, but not a question that cannot be asked.
    pub(super) fn learn(
        &mut self,
        outcome: Result<News, Failure>,
        (now, time): (Instant, Timestamp),
    ) {
        match outcome {
            Ok(News::Answer { answer, tag }) => {
                *self = Self {
                    good: Some(Good { answer, tag, at: now, time }),
                    failure: None,
                    inherited: None,
                };
            }
            Ok(News::Unchanged) => {
                if let Some(good) = &mut self.good {
                    (good.at, good.time) = (now, time);
                }
                self.failure = None;
            }
            Err(failure) => {
                let stands = |good: &Good| failure.may_pass() && now < good.at + KEPT;
                self.good = self.good.take().filter(stands);
                let stands = |left: &Inherited| failure.may_pass() && now < left.until;
                self.inherited = self.inherited.take().filter(stands);
                self.failure = Some(failure);
            }
        }
    }

    /// What there is to say about the answers to a question; nothing before the first.
    pub(super) fn updates(&self, question: &Question, generation: i64) -> Option<Updates> {
        let good = self.good.as_ref();
        let inherited = self.inherited.as_ref();
        let candidates = good
            .and_then(|good| good.answer.candidates.clone())
            .or_else(|| Some(Arc::clone(&inherited?.candidates)));
        let retrieved = match (&self.failure, good) {
            (None, None) => return None,
            (Some(failure), _) => {
                let found = good.filter(|_| candidates.is_some()).map(|good| good.time);
                let found = found.map(Kept::Since);
                let kept =
                    found.or(inherited.map(|left| Kept::Inherited { until: left.until_time }));
                retrieved::failed(failure, kept)
            }
            (None, Some(_)) if candidates.is_some() => retrieved::retrieved(),
            (None, Some(good)) => {
                retrieved::version_not_found(question, good.answer.graph.nodes().len())
            }
        };
        Some(Updates {
            generation,
            graph_digest: good.map(|good| good.answer.digest.clone()).unwrap_or_default(),
            graph: good.map(|good| Arc::clone(&good.answer.graph)).unwrap_or_default(),
            candidates: candidates.unwrap_or_default(),
            retrieved,
            fresh: good.map(|good| good.time),
        })
    }
}

/// What there is to say where nothing can be asked.
pub(super) fn refused(refusal: &Refusal, generation: i64) -> Updates {
    Updates {
        generation,
        graph_digest: String::new(),
        graph: Arc::new(Graph::default()),
        candidates: Arc::default(),
        retrieved: retrieved::refused(refusal),
        fresh: None,
    }
}

#[cfg(test)]
mod tests {
    use fairway_api::{ConditionStatus, Version};
    use fairway_risk::Candidate;
    use http::StatusCode;
    use url::Url;

    use super::*;
    use fairway_cincinnati::answer;

    const GRAPH: &str = r#"{"nodes": [{"version": "5.1.0", "payload": "a"},
        {"version": "5.1.1", "payload": "b"}], "edges": [[0, 1]]}"#;

    fn question() -> Question {
        Question {
            url: Url::parse("https://updates.example/graph?arch=amd64&channel=stable-5.1").unwrap(),
            channel: "stable-5.1".to_owned(),
            current: Version::new(5, 1, 0),
            becomes_multi: false,
        }
    }

    fn answered(graph: &str) -> Result<News, Failure> {
        let answer = answer::read(&question(), graph.as_bytes());
        let tag = Some(HeaderValue::from_static("\"a\""));
        answer
            .map(|answer| News::Answer { answer, tag })
            .map_err(|error| Failure::Invalid { why: error.to_string() })
    }

    fn down() -> Result<News, Failure> {
        let service = question().service();
        Err(Failure::Status { service, status: StatusCode::SERVICE_UNAVAILABLE })
    }

    /// Time that passes on both clocks.
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

    fn told(updates: &Updates) -> String {
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
    fn a_good_answer_needs_no_words() {
        let mut memory = Memory::default();
        assert!(memory.updates(&question(), 3).is_none());
        let clock = Clock::new();
        memory.learn(answered(GRAPH), clock.after(0));
        let updates = memory.updates(&question(), 3).unwrap();
        insta::assert_snapshot!(told(&updates), @r#"
        True -
        -
        ["5.1.1"] of 2 releases
        "#);
        assert_eq!((updates.generation, updates.fresh), (3, Some(clock.1)));
        assert_eq!(Some(updates.graph_digest.as_str()), memory.digest());
    }

    #[test]
    fn an_outage_says_how_old_the_answer_is() {
        let (mut memory, clock) = (Memory::default(), Clock::new());
        memory.learn(answered(GRAPH), clock.after(0));
        memory.learn(Ok(News::Unchanged), clock.after(1));
        memory.learn(down(), clock.after(2));
        let updates = memory.updates(&question(), 1).unwrap();
        insta::assert_snapshot!(told(&updates), @r#"
        False ResponseFailed
        Unable to retrieve available updates: https://updates.example/graph returned HTTP status 503 Service Unavailable. The listed updates are from 2026-11-15T13:00:00Z; the operator drops them at 2026-11-16T13:00:00Z.
        ["5.1.1"] of 2 releases
        "#);
        assert_eq!(updates.fresh, Some(clock.after(1).1));
        memory.learn(down(), clock.after(3));
        assert!(memory.updates(&question(), 1).unwrap().says_the_same(&updates));
    }

    #[test]
    fn an_outage_of_a_day_drops_the_answer() {
        let (mut memory, clock) = (Memory::default(), Clock::new());
        memory.learn(answered(GRAPH), clock.after(0));
        memory.learn(down(), clock.after(24));
        let updates = memory.updates(&question(), 1).unwrap();
        insta::assert_snapshot!(told(&updates), @"
        False ResponseFailed
        Unable to retrieve available updates: https://updates.example/graph returned HTTP status 503 Service Unavailable.
        [] of 0 releases
        ");
        assert_eq!((updates.graph_digest.as_str(), updates.fresh), ("", None));
        assert_eq!(memory.tag(), None);
        memory.learn(answered(GRAPH), clock.after(25));
        let status = memory.updates(&question(), 1).unwrap().retrieved.status;
        assert_eq!(status, ConditionStatus::True);
    }

    fn inheriting(clock: &Clock) -> Memory {
        let release = fairway_testkit::objects::release("5.1.7");
        let candidates = [Candidate { release, ..Candidate::default() }].into();
        let (until, until_time) = clock.after(24);
        Memory::inheriting(Some(Inherited { candidates, until, until_time }))
    }

    #[test]
    fn what_is_inherited_stands_until_there_is_an_answer() {
        let clock = Clock::new();
        let mut memory = inheriting(&clock);
        assert!(memory.updates(&question(), 1).is_none(), "the status has it already");
        memory.learn(down(), clock.after(1));
        let updates = memory.updates(&question(), 1).unwrap();
        insta::assert_snapshot!(told(&updates), @r#"
        False ResponseFailed
        Unable to retrieve available updates: https://updates.example/graph returned HTTP status 503 Service Unavailable. The listed updates are from before this operator started; it drops them at 2026-11-16T12:00:00Z.
        ["5.1.7"] of 0 releases
        "#);
        assert_eq!((updates.graph_digest.as_str(), updates.fresh), ("", None));
        memory.learn(down(), clock.after(2));
        assert!(memory.updates(&question(), 1).unwrap().says_the_same(&updates));
        memory.learn(answered(GRAPH), clock.after(3));
        memory.learn(down(), clock.after(4));
        insta::assert_snapshot!(told(&memory.updates(&question(), 1).unwrap()), @r#"
        False ResponseFailed
        Unable to retrieve available updates: https://updates.example/graph returned HTTP status 503 Service Unavailable. The listed updates are from 2026-11-15T15:00:00Z; the operator drops them at 2026-11-16T15:00:00Z.
        ["5.1.1"] of 2 releases
        "#);
    }

    #[test]
    fn what_is_inherited_goes_after_a_day_or_with_a_question_that_cannot_be_asked() {
        let (service, why) = (question().service(), "reasons".to_owned());
        for (outcome, hours) in [(down(), 24), (Err(Failure::Request { service, why }), 1)] {
            let clock = Clock::new();
            let mut memory = inheriting(&clock);
            memory.learn(outcome, clock.after(hours));
            let updates = memory.updates(&question(), 1).unwrap();
            assert!(updates.candidates.is_empty());
            assert!(!updates.retrieved.message.unwrap().contains("listed"));
        }
    }

    #[test]
    fn a_question_that_cannot_be_asked_drops_the_answer() {
        let (mut memory, clock) = (Memory::default(), Clock::new());
        memory.learn(answered(GRAPH), clock.after(0));
        let (service, why) = (question().service(), "reasons".to_owned());
        memory.learn(Err(Failure::Request { service, why }), clock.after(1));
        insta::assert_snapshot!(told(&memory.updates(&question(), 1).unwrap()), @"
        False InvalidRequest
        Unable to retrieve available updates: cannot create a request to https://updates.example/graph: reasons.
        [] of 0 releases
        ");
    }

    #[test]
    fn a_version_that_is_not_there_is_named() {
        let (mut memory, clock) = (Memory::default(), Clock::new());
        memory.learn(
            answered(r#"{"nodes": [{"version": "5.0.0", "payload": "a"}]}"#),
            clock.after(0),
        );
        let absent = told(&memory.updates(&question(), 1).unwrap());
        memory.learn(down(), clock.after(1));
        let down = told(&memory.updates(&question(), 1).unwrap());
        memory.learn(answered("{}"), clock.after(2));
        let empty = told(&memory.updates(&question(), 1).unwrap());
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
    fn each_failure_in_words() {
        let service = || question().service();
        let why = || "reasons".to_owned();
        let told = [
            Failure::Request { service: service(), why: why() },
            Failure::Remote { service: service(), why: why() },
            Failure::Status { service: service(), status: StatusCode::NOT_FOUND },
            Failure::Body { service: service(), why: why() },
            Failure::TooLarge { service: service() },
            Failure::Invalid { why: why() },
        ]
        .map(|failure| {
            let mut memory = Memory::default();
            memory.learn(Err(failure), Clock::new().after(0));
            told(&memory.updates(&question(), 1).unwrap())
        });
        insta::assert_snapshot!(told.join("\n--\n"), @"
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
    fn what_is_refused_is_empty() {
        insta::assert_snapshot!(told(&refused(&Refusal::NoChannel, 7)), @"
        False NoChannel
        The update channel has not been configured: set one with `fairway upgrade channel CHANNEL`.
        [] of 0 releases
        ");
    }
}
