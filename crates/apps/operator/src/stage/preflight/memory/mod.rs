//! What is kept of preflights, and for how long.
//!
//! Results of several targets stand side by side for as long as the cluster has the version that
//! they are about. [`kept`] is what is known of one target, [`lift`] what that means for the ledger,
//! [`bounds`] how much of it is taken, [`news`] what has become of runs; [`record`] and [`load`] carry
//! it over a restart.

mod bounds;
mod kept;
mod lift;
mod load;
mod news;
mod record;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use fairway_api::cluster_version::Release;
use fairway_findings::Document;
use fairway_findings::record as records;
use fairway_risk::Concern;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;

pub(crate) use kept::{Kept, Purpose};
pub(crate) use load::load;
pub(crate) use news::{News, Stands, What, news};

use super::Outcome;
use crate::settings::OnUpdate;

/// Targets of which results are kept: more than anybody compares. The oldest gives way.
const MAX_TARGETS: usize = 16;

/// A run that begins.
pub(crate) struct Begun<'a> {
    /// The release that is asked.
    pub(crate) release: &'a Release,
    /// The run's identity.
    pub(crate) run: &'a str,
    /// What it is for.
    pub(crate) purpose: Purpose,
}

/// What is kept of preflights.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Memory {
    /// The version of the operator, and so of the cluster: all of it is about that.
    source: String,
    on_update: OnUpdate,
    /// By the name of its record: one content is one target, wherever it is kept.
    targets: BTreeMap<String, Kept>,
}

impl Memory {
    /// Nothing yet, about a cluster of that version.
    pub(crate) fn new(source: &str, on_update: OnUpdate) -> Self {
        Self { source: source.to_owned(), on_update, targets: BTreeMap::new() }
    }

    /// What an operator before this one has kept, as far as it is about this version and can be
    /// understood.
    pub(crate) fn restore(&mut self, found: &[ConfigMap]) {
        for (name, kept) in found.iter().filter_map(record::read) {
            if kept.is_about(&self.source) {
                self.targets.entry(name).or_insert(kept);
            }
        }
        self.make_room();
    }

    /// A run begins. What the one before has found stands until the check in question has looked
    /// again.
    pub(crate) fn begin(&mut self, Begun { release, run, purpose }: Begun, now: Timestamp) {
        let Some(name) = records::name(&release.image) else { return };
        let kept = self.targets.entry(name).or_default();
        kept.begin(release.clone(), run, purpose, now);
        self.make_room();
    }

    /// What the run of that target says now; nothing of a run that is over counts.
    pub(crate) fn enter(&mut self, image: &str, document: Document, now: Timestamp) {
        let source = self.source.clone();
        if let Some(kept) = self.at(image) {
            kept.enter(document, &source, now);
        }
    }

    /// A release is asked for, of which nothing may be known yet.
    pub(crate) fn ask(&mut self, release: &Release, purpose: Purpose) {
        let Some(name) = records::name(&release.image) else { return };
        let release = release.clone();
        let new = Kept { release, purpose, ..Kept::default() };
        let kept = self.targets.entry(name).or_insert(new);
        if purpose == Purpose::Asked {
            kept.purpose = purpose;
        }
    }

    /// The run of that target is over, or could not begin; the reason is one of the condition
    /// `PreflightFailed`. Its results stand.
    pub(crate) fn give_up(&mut self, image: &str, reason: &str, why: &str, now: Timestamp) {
        let source = self.source.clone();
        if let Some(kept) = self.at(image) {
            kept.give_up(reason, why, &source, now);
        }
        self.make_room();
    }

    /// Nobody looks at that target any more. Its results stand, and age.
    pub(crate) fn end(&mut self, image: &str, now: Timestamp) {
        let source = self.source.clone();
        if let Some(kept) = self.at(image) {
            kept.end(&source, now);
        }
    }

    /// The request is withdrawn: what is known of that target is forgotten.
    pub(crate) fn withdraw(&mut self, image: &str) {
        if let Some(name) = records::name(image) {
            self.targets.remove(&name);
        }
    }

    /// What is known of that target.
    pub(crate) fn of(&self, image: &str) -> Option<&Kept> {
        self.targets.get(&records::name(image)?)
    }

    /// What is known of every target.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &Kept> {
        self.targets.values()
    }

    /// What was found, for the ledger.
    pub(crate) fn concerns(&self) -> Vec<Concern> {
        self.kept().flat_map(|kept| lift::concerns(kept, self.on_update)).collect()
    }

    /// Every release that was looked at: some may be offered by nobody.
    pub(crate) fn releases(&self) -> Vec<Release> {
        self.kept().map(|kept| kept.release.clone()).collect()
    }

    /// What is known of each release that was looked at, by its image.
    pub(crate) fn outcomes(&self) -> BTreeMap<String, Outcome> {
        self.kept().map(|kept| (kept.release.image.clone(), kept.outcome())).collect()
    }

    /// All of it, as it is stored.
    pub(crate) fn records(&self) -> BTreeMap<String, ConfigMap> {
        let record = |(name, kept): (&String, &Kept)| (name.clone(), record::write(name, kept));
        self.targets.iter().map(record).collect()
    }

    fn at(&mut self, image: &str) -> Option<&mut Kept> {
        self.targets.get_mut(&records::name(image)?)
    }

    fn make_room(&mut self) {
        while self.targets.len() > MAX_TARGETS {
            let oldest = self.targets.iter().filter(|(_, kept)| !kept.is_monitored());
            let oldest = oldest.min_by_key(|(_, kept)| kept.looked());
            let Some(name) = oldest.map(|(name, _)| name.clone()) else { return };
            self.targets.remove(&name);
        }
    }
}
