//! What is new in what is asked for, and what is gone.

use std::collections::{BTreeMap, BTreeSet};

use fairway_findings::jobs::{JobRequest, MAX_JOBS};
use jiff::{SignedDuration, Timestamp};

/// Jobs that may be created at once: as many as there may be.
const BURST: u32 = 64;

/// One more after that: each of 64 checks is repeated up to seven times an hour while what it looks at
/// changes.
const EVERY: SignedDuration = SignedDuration::from_secs(8);

/// What is to be done so that those Jobs exist that are asked for.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Changes<'a> {
    /// Those that are asked for no more, by name.
    pub(super) gone: Vec<String>,
    /// Those that are to be looked at and created.
    pub(super) new: Vec<&'a JobRequest>,
    /// Those that are not even looked at, and why.
    pub(super) refused: Vec<(&'a JobRequest, &'static str)>,
}

/// What changed. `known` has the check of every Job that was asked for before.
pub(super) fn between<'a>(known: &BTreeMap<&str, &str>, asked: &'a [JobRequest]) -> Changes<'a> {
    let names: BTreeSet<&str> = asked.iter().map(|request| request.name.as_str()).collect();
    let is_asked = |name: &&&str| names.contains(**name);
    let mut changes = Changes {
        gone: known.keys().filter(|name| !is_asked(name)).map(|name| (*name).to_owned()).collect(),
        ..Changes::default()
    };
    let mut checks: BTreeSet<&str> =
        known.iter().filter(|(name, _)| is_asked(name)).map(|(_, check)| *check).collect();
    let mut seen: BTreeSet<&str> = known.keys().copied().collect();
    for request in asked {
        if !seen.insert(&request.name) {
            continue;
        }
        if checks.len() >= MAX_JOBS {
            changes.refused.push((request, "the preflight requests too many Jobs"));
        } else if !checks.insert(&request.check) {
            changes.refused.push((request, "another check of this operator is running"));
        } else {
            changes.new.push(request);
        }
    }
    changes
}

/// How many Jobs may be created: a release that asks for ever new ones has to wait.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    left: u32,
    /// Since when what is left is not counted yet.
    since: Timestamp,
}

impl Budget {
    pub(super) fn new(now: Timestamp) -> Self {
        Self { left: BURST, since: now }
    }

    /// Whether there is one left.
    pub(super) fn is_left(&mut self, now: Timestamp) -> bool {
        let earned = now.duration_since(self.since).as_secs() / EVERY.as_secs();
        if let Ok(earned @ 1..) = u32::try_from(earned) {
            self.left = self.left.saturating_add(earned).min(BURST);
            self.since = now;
        }
        self.left > 0
    }

    /// Takes one.
    pub(super) fn spend(&mut self) {
        self.left = self.left.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(name: &str, check: &str) -> JobRequest {
        JobRequest { name: name.to_owned(), check: check.to_owned(), ..JobRequest::default() }
    }

    fn told(known: &[(&'static str, &'static str)], asked: &[JobRequest]) -> String {
        let Changes { gone, new, refused } = between(&known.iter().copied().collect(), asked);
        let new: Vec<_> = new.iter().map(|request| request.name.as_str()).collect();
        let refused: Vec<_> = refused.iter().map(|(request, why)| (&request.name, why)).collect();
        format!("gone {gone:?}, new {new:?}, refused {refused:?}")
    }

    #[test]
    fn what_is_asked_for_is_compared_with_what_is_known() {
        let known = [("dns-1", "dns"), ("etcd-1", "etcd")];
        let [dns, etcd, again] =
            [request("dns-1", "dns"), request("etcd-1", "etcd"), request("dns-2", "dns")];
        let twice = [dns.clone(), dns.clone(), etcd.clone()];
        let told = [
            told(&known, &[dns.clone(), etcd.clone()]),
            told(&known, std::slice::from_ref(&etcd)),
            told(&known, &[etcd, again.clone()]),
            told(&known, &[dns, again]),
            told(&[], &twice),
            told(&[], &[]),
        ];
        insta::assert_snapshot!(told.join("\n"), @r#"
        gone [], new [], refused []
        gone ["dns-1"], new [], refused []
        gone ["dns-1"], new ["dns-2"], refused []
        gone ["etcd-1"], new [], refused [("dns-2", "another check of this operator is running")]
        gone [], new ["dns-1", "etcd-1"], refused []
        gone [], new [], refused []
        "#);
    }

    #[test]
    fn there_are_no_more_jobs_than_a_platform_has_operators() {
        let asked: Vec<_> =
            (0..70).map(|n| request(&format!("a-{n}"), &format!("check-{n}"))).collect();
        let changes = between(&BTreeMap::new(), &asked);
        assert_eq!((changes.new.len(), changes.refused.len()), (MAX_JOBS, 6));
    }

    #[test]
    fn who_asks_for_ever_new_jobs_gets_no_more() {
        let mut now: Timestamp = "2026-02-09T10:00:00Z".parse().unwrap();
        let mut budget = Budget::new(now);
        let mut spent = |now: Timestamp| {
            let mut spend = || budget.is_left(now).then(|| budget.spend());
            std::iter::from_fn(&mut spend).take(100).count()
        };
        assert_eq!(spent(now), 64);
        now += SignedDuration::from_secs(60);
        assert_eq!(spent(now), 7);
        now += SignedDuration::from_hours(48);
        assert_eq!(spent(now), 64);
        now -= SignedDuration::from_hours(1);
        assert_eq!(spent(now), 0, "a clock that is set back gives nothing");
    }
}
