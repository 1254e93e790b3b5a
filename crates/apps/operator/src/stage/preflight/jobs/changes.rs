//! Difference between requested and existing Jobs, and the rate limit for new ones.

use std::collections::{BTreeMap, BTreeSet};

use fairway_findings::jobs::{JobRequest, MAX_JOBS};
use jiff::{SignedDuration, Timestamp};

/// Maximum number of Jobs that are created at once: the maximum that may exist.
const MAX_BURST: u32 = 64;

/// Interval at which another Job becomes available. It lets each of 64 checks repeat up to seven
/// times an hour.
const REFILL_INTERVAL: SignedDuration = SignedDuration::from_secs(8);

/// Changes that turn the existing Jobs into the requested ones.
#[derive(Debug, Default, PartialEq)]
pub(super) struct JobChanges<'a> {
    /// Names of Jobs that are no longer requested.
    pub(super) gone: Vec<String>,
    /// Requests to verify and create.
    pub(super) new: Vec<&'a JobRequest>,
    /// Requests to refuse without verification, with the reason.
    pub(super) refused: Vec<(&'a JobRequest, &'static str)>,
}

/// Compares requests with the existing Jobs. `known` maps the name of each Job to its check.
pub(super) fn between<'a>(
    known: &BTreeMap<&str, &str>,
    requested: &'a [JobRequest],
) -> JobChanges<'a> {
    let names: BTreeSet<&str> = requested.iter().map(|request| request.name.as_str()).collect();
    let is_asked = |name: &&&str| names.contains(**name);
    let mut changes = JobChanges {
        gone: known.keys().filter(|name| !is_asked(name)).map(|name| (*name).to_owned()).collect(),
        ..JobChanges::default()
    };
    let mut checks: BTreeSet<&str> =
        known.iter().filter(|(name, _)| is_asked(name)).map(|(_, check)| *check).collect();
    let mut seen: BTreeSet<&str> = known.keys().copied().collect();
    for request in requested {
        if !seen.insert(&request.name) {
            continue;
        }
        if checks.len() >= MAX_JOBS {
            changes.refused.push((request, "the preflight requests too many Jobs"));
        } else if !checks.insert(&request.check) {
            changes.refused.push((request, "another check of this component is running"));
        } else {
            changes.new.push(request);
        }
    }
    changes
}

/// Token bucket for new Jobs. A release that continuously requests new Jobs is delayed.
#[derive(Clone, Debug)]
pub(super) struct JobRateLimit {
    left: u32,
    /// Time up to which `left` is computed.
    since: Timestamp,
}

impl JobRateLimit {
    pub(super) fn new(now: Timestamp) -> Self {
        Self { left: MAX_BURST, since: now }
    }

    /// Whether a Job may be created now.
    pub(super) fn allows(&mut self, now: Timestamp) -> bool {
        let earned = now.duration_since(self.since).as_secs() / REFILL_INTERVAL.as_secs();
        if let Ok(earned @ 1..) = u32::try_from(earned) {
            self.left = self.left.saturating_add(earned).min(MAX_BURST);
            self.since = now;
        }
        self.left > 0
    }

    /// Takes one token.
    pub(super) fn take(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(name: &str, check: &str) -> JobRequest {
        JobRequest { name: name.to_owned(), check: check.to_owned(), ..JobRequest::default() }
    }

    fn rendered(known: &[(&'static str, &'static str)], requested: &[JobRequest]) -> String {
        let JobChanges { gone, new, refused } =
            between(&known.iter().copied().collect(), requested);
        let new: Vec<_> = new.iter().map(|request| request.name.as_str()).collect();
        let refused: Vec<_> = refused.iter().map(|(request, why)| (&request.name, why)).collect();
        format!("gone {gone:?}, new {new:?}, refused {refused:?}")
    }

    #[test]
    fn changes_between_known_and_requested_jobs() {
        let known = [("dns-1", "dns"), ("etcd-1", "etcd")];
        let [dns, etcd, again] =
            [request("dns-1", "dns"), request("etcd-1", "etcd"), request("dns-2", "dns")];
        let twice = [dns.clone(), dns.clone(), etcd.clone()];
        let rendered = [
            rendered(&known, &[dns.clone(), etcd.clone()]),
            rendered(&known, std::slice::from_ref(&etcd)),
            rendered(&known, &[etcd, again.clone()]),
            rendered(&known, &[dns, again]),
            rendered(&[], &twice),
            rendered(&[], &[]),
        ];
        insta::assert_snapshot!(rendered.join("\n"), @r#"
        gone [], new [], refused []
        gone ["dns-1"], new [], refused []
        gone ["dns-1"], new ["dns-2"], refused []
        gone ["etcd-1"], new [], refused [("dns-2", "another check of this component is running")]
        gone [], new ["dns-1", "etcd-1"], refused []
        gone [], new [], refused []
        "#);
    }

    #[test]
    fn changes_refuse_jobs_beyond_maximum() {
        let requested: Vec<_> =
            (0..70).map(|n| request(&format!("a-{n}"), &format!("check-{n}"))).collect();
        let changes = between(&BTreeMap::new(), &requested);
        assert_eq!((changes.new.len(), changes.refused.len()), (MAX_JOBS, 6));
    }

    #[test]
    fn rate_limit_refills_up_to_burst() {
        let mut now: Timestamp = "2026-02-09T10:00:00Z".parse().unwrap();
        let mut rate_limit = JobRateLimit::new(now);
        let mut spent = |now: Timestamp| {
            let mut take = || rate_limit.allows(now).then(|| rate_limit.take());
            std::iter::from_fn(&mut take).take(100).count()
        };
        assert_eq!(spent(now), 64);
        now += SignedDuration::from_secs(60);
        assert_eq!(spent(now), 7);
        now += SignedDuration::from_hours(48);
        assert_eq!(spent(now), 64);
        now -= SignedDuration::from_hours(1);
        assert_eq!(spent(now), 0, "a clock set back adds nothing");
    }
}
