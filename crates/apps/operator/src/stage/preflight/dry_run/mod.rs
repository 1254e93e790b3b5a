//! The check `dry-run`: tests whether the API server would accept every object of a release.
//!
//! The check sends each manifest that this cluster gets as the update would write it, with
//! `dryRun=All`. It needs write permissions, so the operator runs it instead of the target release.
//!
//! | finding | the object |
//! | --- | --- |
//! | `ManifestInvalid` | is invalid in this cluster |
//! | `ManifestImmutable` | changes an immutable field |
//! | `ManifestForbidden` | is forbidden, for example by a quota |
//! | `ManifestDenied` | is denied by a policy or a webhook |
//! | `ManifestPrerequisiteMissing` | has a kind or namespace that neither the cluster nor the release has |
//!
//! Objects that depend on others of the release, or on webhooks without dry-run support, are only
//! counted. The check skips objects that the release deletes, create-only objects that exist, and
//! unmanaged objects of `spec.overrides`.

pub(super) mod periodic;
mod report;
mod verdict;

use std::collections::BTreeSet;
use std::time::Duration;

use fairway_findings::{CheckReport, Finding};
use fairway_release::inclusion::ManifestFilter;
use fairway_release::{Manifest, with_zero_values};
use kube::Client;
use tokio::time::Instant;

pub(super) use self::report::NAME;
use self::report::Tally;
use self::verdict::{ObjectVerdict, ReleaseContents};
use crate::apply::{ApplyContext, DryRun};

/// Maximum attempts for an object without a response.
const MAX_ROUNDS: usize = 3;

/// Number of consecutive objects without a response after which the API server counts as down.
const MAX_CONSECUTIVE_SILENT: usize = 10;

/// Manifests that a dry run tests.
#[derive(Clone, Copy, Debug)]
pub struct DryRunTarget<'a> {
    /// Version of the release.
    pub version: &'a str,
    /// Manifests of the release.
    pub manifests: &'a [Manifest],
    /// Selects the manifests that this cluster gets.
    pub filter: &'a ManifestFilter,
    /// Parameters with which the operator renders manifests.
    pub context: &'a ApplyContext,
}

/// Rate of a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DryRunSettings {
    /// Time between two requests. With 20 requests per second, 900 objects take less than a minute.
    pub between: Duration,
    /// Delay before objects without a response are tested again.
    pub pause: Duration,
}

impl Default for DryRunSettings {
    fn default() -> Self {
        Self { between: Duration::from_millis(50), pause: Duration::from_secs(5) }
    }
}

/// Tests every manifest. `progress` gets the number of completed manifests and the total. Dropping
/// the future stops the dry run; it leaves nothing behind.
pub async fn dry_run(
    client: Client,
    target: &DryRunTarget<'_>,
    settings: DryRunSettings,
    mut progress: impl FnMut(usize, usize),
) -> (CheckReport, Vec<Finding>) {
    let started = fairway_clock::now();
    let selected = with_zero_values(&target.selected());
    let mut requests = DryRunRequests::new(client, target, &selected, settings);
    let mut pending: Vec<&Manifest> = selected.iter().collect();
    let total = pending.len();
    let mut tally = Tally::default();
    for round in 1..=MAX_ROUNDS {
        let mut silent = Vec::new();
        for manifest in pending {
            let verdict = requests.ask(manifest).await;
            if round < MAX_ROUNDS && verdict.is_no_response() {
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
        requests.silence = 0;
        fairway_clock::sleep_until(Some(Instant::now() + settings.pause)).await;
    }
    let report =
        CheckReport { started: Some(started), ended: Some(fairway_clock::now()), ..tally.report() };
    (report, tally.findings(target.version))
}

impl<'a> DryRunTarget<'a> {
    /// The manifests that this cluster gets, without duplicates.
    fn selected(&self) -> Vec<&'a Manifest> {
        let mut seen = BTreeSet::new();
        let manifests = self.manifests.iter();
        manifests
            .filter(|manifest| self.filter.check(manifest).is_ok())
            .filter(|manifest| !manifest.is_preflight_check())
            .filter(|manifest| seen.insert((&manifest.id, manifest.content())))
            .collect()
    }
}

/// Sends the requests of a dry run.
struct DryRunRequests<'a> {
    rehearsal: DryRun,
    context: &'a ApplyContext,
    contents: ReleaseContents,
    /// Number of consecutive objects without a response.
    silence: usize,
}

impl<'a> DryRunRequests<'a> {
    fn new(
        client: Client,
        target: &DryRunTarget<'a>,
        selected: &[Manifest],
        settings: DryRunSettings,
    ) -> Self {
        Self {
            rehearsal: DryRun::new(client, settings.between),
            context: target.context,
            contents: ReleaseContents::from_manifests(selected),
            silence: 0,
        }
    }

    async fn ask(&mut self, manifest: &Manifest) -> ObjectVerdict {
        if self.silence >= MAX_CONSECUTIVE_SILENT {
            return ObjectVerdict::NoResponse("the API server does not respond".to_owned());
        }
        let answer = self.rehearsal.run(manifest, self.context).await;
        let verdict = verdict::evaluate(manifest, answer, &self.contents);
        self.silence = if verdict.is_no_response() { self.silence + 1 } else { 0 };
        verdict
    }
}
