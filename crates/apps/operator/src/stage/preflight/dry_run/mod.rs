//! `dry-run`: whether the API server would take every object of the release.
//!
//! The check asks the API server about each manifest that this cluster gets, as the update would
//! write it, with `dryRun=All`: nothing is written. It needs the right to write, and is therefore
//! made by the release that runs. Found are objects that are not valid here (`ManifestInvalid`),
//! whose fields cannot be changed any more (`ManifestImmutable`), that a quota or the like forbids
//! (`ManifestForbidden`), that a policy or a webhook denies (`ManifestDenied`), or whose kind or
//! namespace nobody brings (`ManifestPrerequisiteMissing`). What the release itself brings first, and
//! what webhooks do not let be tried is counted, and no finding. Objects that the release deletes, that only have to be there and are, and
//! that `spec.overrides` leaves to the administrator are not tried.

mod report;
mod verdict;

use std::collections::BTreeSet;
use std::time::Duration;

use fairway_findings::{CheckReport, Finding};
use fairway_release::inclusion::Filter;
use fairway_release::{Manifest, with_zero_values};
use kube::Client;
use tokio::time::Instant;

pub(super) use self::report::NAME;
use self::report::Tally;
use self::verdict::{Brought, Verdict};
use crate::apply::{Context, Rehearsal};

/// How often an object is tried that gets no answer.
const ROUNDS: usize = 3;

/// An API server that gives so many no answer, one after the other, answers none.
const SILENCE: usize = 10;

/// What is tried.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The version of the release.
    pub version: &'a str,
    /// Its manifests.
    pub manifests: &'a [Manifest],
    /// Which of them this cluster gets.
    pub filter: &'a Filter,
    /// What they become in this cluster.
    pub context: &'a Context,
}

/// How much of the API server's time it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The time between two requests: the API server has others to serve. At twenty a second a
    /// platform of 900 objects is done within a minute.
    pub between: Duration,
    /// How long an API server has that does not answer, before it is asked again.
    pub pause: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { between: Duration::from_millis(50), pause: Duration::from_secs(5) }
    }
}

/// Asks the API server about every manifest. `progress` is told how many of how many are done.
/// Whoever drops the future ends it, and nothing is left behind.
pub async fn dry_run(
    client: Client,
    trial: &Trial<'_>,
    settings: Settings,
    mut progress: impl FnMut(usize, usize),
) -> (CheckReport, Vec<Finding>) {
    let started = fairway_clock::now();
    let wanted = with_zero_values(&trial.wanted());
    let mut inquiry = Inquiry::new(client, trial, &wanted, settings);
    let mut pending: Vec<&Manifest> = wanted.iter().collect();
    let total = pending.len();
    let mut tally = Tally::default();
    for round in 1..=ROUNDS {
        let mut silent = Vec::new();
        for manifest in pending {
            let verdict = inquiry.ask(manifest).await;
            if round < ROUNDS && verdict.is_silence() {
                silent.push(manifest);
            } else {
                tally.add(&manifest.id, verdict);
                progress(tally.done(), total);
            }
        }
        if silent.is_empty() {
            break;
        }
        pending = silent;
        inquiry.silence = 0;
        fairway_clock::sleep_until(Some(Instant::now() + settings.pause)).await;
    }
    let report =
        CheckReport { started: Some(started), ended: Some(fairway_clock::now()), ..tally.report() };
    (report, tally.findings(trial.version))
}

impl<'a> Trial<'a> {
    /// The manifests that this cluster gets, each once.
    fn wanted(&self) -> Vec<&'a Manifest> {
        let mut seen = BTreeSet::new();
        let manifests = self.manifests.iter();
        manifests
            .filter(|manifest| self.filter.check(manifest).is_ok())
            .filter(|manifest| !manifest.is_preflight_check())
            .filter(|manifest| seen.insert((&manifest.id, manifest.content())))
            .collect()
    }
}

/// What the API server is asked on behalf of a release.
struct Inquiry<'a> {
    rehearsal: Rehearsal,
    context: &'a Context,
    brought: Brought,
    /// How many got no answer, one after the other.
    silence: usize,
}

impl<'a> Inquiry<'a> {
    fn new(client: Client, trial: &Trial<'a>, wanted: &[Manifest], settings: Settings) -> Self {
        Self {
            rehearsal: Rehearsal::new(client, settings.between),
            context: trial.context,
            brought: Brought::by(wanted),
            silence: 0,
        }
    }

    async fn ask(&mut self, manifest: &Manifest) -> Verdict {
        if self.silence >= SILENCE {
            return Verdict::Unanswered("the API server does not respond".to_owned());
        }
        let answer = self.rehearsal.rehearse(manifest, self.context).await;
        let verdict = verdict::of(manifest, answer, &self.brought);
        self.silence = if verdict.is_silence() { self.silence + 1 } else { 0 };
        verdict
    }
}
