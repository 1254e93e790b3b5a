//! Results of preflights.
//!
//! The store has the results of several targets while the cluster has the version they are about.
//! `target_result` has the results of one target, `risks` converts them to risks, `record` stores
//! them in `ConfigMaps`, `events` reports changes, and `persistent` connects all of them.

mod events;
#[cfg(test)]
mod examples;
mod persistent;
mod record;
mod risks;
mod target_result;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use fairway_api::cluster_version::Release;
use fairway_findings::Document;
use fairway_findings::record as records;
use fairway_risk::ReportedRisk;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;

pub(super) use self::persistent::PersistentResults;
pub(super) use self::record::load;
pub(crate) use self::target_result::{Purpose, TargetResult};

use super::PreflightOutcome;
use crate::settings::OnUpdate;

/// Maximum number of targets with results. The oldest is removed first.
const MAX_TARGETS: usize = 16;

/// Parameters of a run that starts.
pub(crate) struct StartedRun<'a> {
    /// The target release.
    pub(crate) release: &'a Release,
    /// ID of the run.
    pub(crate) run: &'a str,
    /// Why the run was started.
    pub(crate) purpose: Purpose,
}

/// Results of all targets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ResultStore {
    /// Version of the operator, which is the version of the cluster that all results are about.
    source: String,
    on_update: OnUpdate,
    /// By the name of the record, which is derived from the digest: a mirrored image is the same
    /// target.
    targets: BTreeMap<String, TargetResult>,
}

impl ResultStore {
    /// An empty store for a cluster of this version.
    pub(crate) fn new(source: &str, on_update: OnUpdate) -> Self {
        Self { source: source.to_owned(), on_update, targets: BTreeMap::new() }
    }

    /// Restores stored results that are valid and about this version.
    pub(crate) fn restore(&mut self, found: &[ConfigMap]) {
        for (name, result) in found.iter().filter_map(record::read) {
            if result.is_for_version(&self.source) {
                self.targets.entry(name).or_insert(result);
            }
        }
        self.enforce_limit();
    }

    /// Records the start of a run. Earlier findings remain until their check has a new result.
    pub(crate) fn begin(
        &mut self,
        StartedRun { release, run, purpose }: StartedRun,
        now: Timestamp,
    ) {
        let Some(name) = records::name(&release.image) else { return };
        let result = self.targets.entry(name).or_default();
        result.begin(release.clone(), run, purpose, now);
        self.enforce_limit();
    }

    /// Records results of a run in progress; ignores those of other runs.
    pub(crate) fn record(&mut self, image: &str, document: Document, now: Timestamp) {
        let source = self.source.clone();
        if let Some(result) = self.get_mut(image) {
            result.record(document, &source, now);
        }
    }

    /// Adds a target without results.
    pub(crate) fn add_target(&mut self, release: &Release, purpose: Purpose) {
        let Some(name) = records::name(&release.image) else { return };
        let release = release.clone();
        let new = TargetResult { release, purpose, ..TargetResult::default() };
        let result = self.targets.entry(name).or_insert(new);
        if purpose == Purpose::Requested {
            result.purpose = purpose;
        }
    }

    /// Records that a run was aborted or could not start, with a reason of the condition
    /// `PreflightFailed`. Results remain.
    pub(crate) fn abort(&mut self, image: &str, reason: &str, why: &str, now: Timestamp) {
        let source = self.source.clone();
        if let Some(result) = self.get_mut(image) {
            result.abort(reason, why, &source, now);
        }
        self.enforce_limit();
    }

    /// Records that results of a target are no longer updated.
    pub(crate) fn end(&mut self, image: &str, now: Timestamp) {
        let source = self.source.clone();
        if let Some(result) = self.get_mut(image) {
            result.end(&source, now);
        }
    }

    /// Removes the results of a target.
    pub(crate) fn withdraw(&mut self, image: &str) {
        if let Some(name) = records::name(image) {
            self.targets.remove(&name);
        }
    }

    /// Results of a target.
    pub(crate) fn get(&self, image: &str) -> Option<&TargetResult> {
        self.targets.get(&records::name(image)?)
    }

    /// Results of all targets.
    pub(crate) fn results(&self) -> impl Iterator<Item = &TargetResult> {
        self.targets.values()
    }

    /// Risks of all targets.
    pub(crate) fn risks(&self) -> Vec<ReportedRisk> {
        self.results().flat_map(|result| risks::to_risks(result, self.on_update)).collect()
    }

    /// Releases of all targets, whether the update service offers them or not.
    pub(crate) fn releases(&self) -> Vec<Release> {
        self.results().map(|result| result.release.clone()).collect()
    }

    /// Summaries of all targets, by image.
    pub(crate) fn outcomes(&self) -> BTreeMap<String, PreflightOutcome> {
        self.results().map(|result| (result.release.image.clone(), result.outcome())).collect()
    }

    /// `ConfigMaps` of all targets, by name.
    pub(crate) fn records(&self) -> BTreeMap<String, ConfigMap> {
        let record =
            |(name, result): (&String, &TargetResult)| (name.clone(), record::write(name, result));
        self.targets.iter().map(record).collect()
    }

    fn get_mut(&mut self, image: &str) -> Option<&mut TargetResult> {
        self.targets.get_mut(&records::name(image)?)
    }

    fn enforce_limit(&mut self) {
        while self.targets.len() > MAX_TARGETS {
            let oldest = self.targets.iter().filter(|(_, result)| !result.is_monitored());
            let oldest = oldest.min_by_key(|(_, result)| result.last_checked());
            let Some(name) = oldest.map(|(name, _)| name.clone()) else { return };
            self.targets.remove(&name);
        }
    }
}
