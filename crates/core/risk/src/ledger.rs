//! The ledger: every risk, from every source, and the updates that it affects.
//!
//! A name identifies a risk, independent of its source. If sources define it differently, all
//! definitions are stored and evaluated: no source weakens another.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use fairway_api::cluster_version::{ConditionalUpdateRisk, Release};
use fairway_api::reason::applies;
use fairway_api::{ConditionStatus, Version, limits};

use crate::definition::{self, DOCS_URL, RiskDefinition};
use crate::risk::{
    AffectedUpdates, CandidateUpdate, ReportedRisk, Risk, RiskAssessment, RiskSource,
};
use crate::status_limits::{OmissionReason, OmittedUpdate};

/// Updates of the update service. Real update services offer less than a tenth of that from one
/// version.
const MAX_CANDIDATES: usize = 2000;

/// Risks of one edge, before duplicates are merged. The API stores half of that.
const MAX_EDGE_RISKS: usize = 2 * limits::RISKS;

/// All risks, and the updates that they may affect.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    pub(crate) current: Option<Version>,
    /// Updates of the update service, latest version first.
    pub(crate) offers: Vec<LedgerUpdate>,
    /// Sorted by definition, so by name first.
    pub(crate) entries: Vec<LedgerEntry>,
    /// Updates beyond the limits.
    pub(crate) withheld: Vec<OmittedUpdate>,
}

/// An update of the update service.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LedgerUpdate {
    pub(crate) release: Release,
    /// Indexes of the entries of its edge, sorted.
    entries: Vec<usize>,
}

/// One definition of a risk and its publishers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LedgerEntry {
    pub(crate) definition: RiskDefinition,
    pub(crate) origins: DefinitionOrigins,
}

/// Publishers of a definition.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DefinitionOrigins {
    /// Sources in the cluster, and the affected updates.
    pub(crate) reported: BTreeSet<(RiskSource, AffectedUpdates)>,
    /// Whether an edge of the update service has the definition.
    pub(crate) on_edge: bool,
}

impl Ledger {
    /// Creates the ledger of a cluster at version `current` from the update service's candidates
    /// and the risks that the cluster reports.
    pub fn new(
        current: &str,
        candidates: Vec<CandidateUpdate>,
        reported_risks: Vec<ReportedRisk>,
    ) -> Self {
        let candidates = sorted(candidates);
        let mut builder = LedgerBuilder::default();
        let mut offers = Vec::new();
        let mut withheld = Vec::new();
        for (index, CandidateUpdate { release, risks }) in candidates.iter().enumerate() {
            let entries = match risks.len() {
                _ if index >= MAX_CANDIDATES => Err(OmissionReason::TooManyUpdates),
                count if count > MAX_EDGE_RISKS => Err(OmissionReason::TooManyRisks(count)),
                _ => builder.edge(risks).ok_or(OmissionReason::TooLarge),
            };
            let release = release.clone();
            match entries {
                Ok(entries) => offers.push(LedgerUpdate { release, entries }),
                Err(because) => withheld.push(OmittedUpdate { release, because }),
            }
        }
        for ReportedRisk { risk, source, targets } in
            reported_risks.into_iter().chain(omitted_updates_risk(&withheld))
        {
            builder.reported(&risk, source, targets);
        }
        let (entries, indexes) = builder.finish();
        for LedgerUpdate { entries, .. } in &mut offers {
            let all: BTreeSet<usize> = entries.iter().map(|entry| indexes[*entry]).collect();
            *entries = all.into_iter().collect();
        }
        Self { current: Version::parse(current).ok(), offers, entries, withheld }
    }

    /// The sources of each risk, by name.
    pub fn sources(&self) -> BTreeMap<&str, BTreeSet<&RiskSource>> {
        let mut sources: BTreeMap<&str, BTreeSet<&RiskSource>> = BTreeMap::new();
        for LedgerEntry { definition, origins } in &self.entries {
            let graph = origins.on_edge.then_some(&RiskSource::Graph);
            let all = origins.reported.iter().map(|(source, _)| source).chain(graph);
            sources.entry(definition.name.as_str()).or_default().extend(all);
        }
        sources
    }

    /// Indexes of the entries that affect an update, sorted.
    pub(crate) fn affecting(&self, release: &Release) -> Vec<usize> {
        let on_edge = self.offered(release).flat_map(|offer| &offer.entries).copied();
        let current = self.current.as_ref();
        let reported = self.entries.iter().enumerate().filter(|(_, entry)| {
            entry.origins.reported.iter().any(|(_, targets)| targets.contain(current, release))
        });
        let all: BTreeSet<usize> = reported.map(|(index, _)| index).chain(on_edge).collect();
        all.into_iter().collect()
    }

    /// The offered update with the release's image. If no image matches, the release may be a
    /// rebuild of its version, which has the risks of all offered images with that version.
    fn offered(&self, release: &Release) -> impl Iterator<Item = &LedgerUpdate> {
        let is_offered = self.offers.iter().any(|offer| offer.release.image == release.image);
        self.offers.iter().filter(move |LedgerUpdate { release: offered, .. }| {
            if is_offered {
                offered.image == release.image
            } else {
                offered.version == release.version
            }
        })
    }

    /// The entry at an index, if no other entry has the same name.
    pub(crate) fn only_entry_with_its_name(&self, index: usize) -> Option<&LedgerEntry> {
        let entry = self.entries.get(index)?;
        let has_same_name = |other: Option<&LedgerEntry>| {
            other.is_some_and(|other| other.definition.name == entry.definition.name)
        };
        let before = index.checked_sub(1).and_then(|index| self.entries.get(index));
        (!has_same_name(before) && !has_same_name(self.entries.get(index + 1))).then_some(entry)
    }

    /// All risks in the API, by name.
    pub(crate) fn published(&self) -> BTreeMap<&str, ConditionalUpdateRisk> {
        let definitions: Vec<&RiskDefinition> =
            self.entries.iter().map(|entry| &entry.definition).collect();
        let same_name = definitions.chunk_by(|one, other| one.name == other.name);
        same_name
            .map(|same_name| (same_name[0].name.as_str(), definition::published(same_name)))
            .collect()
    }
}

/// A risk for the updates beyond the limits, so that they cannot start without being accepted.
fn omitted_updates_risk(withheld: &[OmittedUpdate]) -> Option<ReportedRisk> {
    let images: BTreeSet<String> =
        withheld.iter().map(|withheld| withheld.release.image.clone()).collect();
    let message = "This update exceeds the limits on risks or on updates from the update service.";
    let claim = RiskAssessment::new(
        ConditionStatus::Unknown,
        applies::EVALUATION_FAILED,
        "The operator does not evaluate the risks of this update.",
    );
    let risk = Risk::always("RisksNotLookedAt", message, DOCS_URL).with_assessment(claim);
    let targets = AffectedUpdates::Images(images);
    (!withheld.is_empty()).then_some(ReportedRisk { risk, source: RiskSource::Graph, targets })
}

/// Sorts candidates by version, latest first, and merges candidates with the same image.
fn sorted(mut candidates: Vec<CandidateUpdate>) -> Vec<CandidateUpdate> {
    for CandidateUpdate { release, .. } in &mut candidates {
        // The API defines channels as a set.
        release.channels.sort();
        release.channels.dedup();
        release.unknown.clear();
    }
    candidates.sort_by_cached_key(|CandidateUpdate { release, .. }| {
        let Release { version, image, url, channels, .. } = release.clone();
        (Reverse(Version::parse(&version).ok()), version, image, url, channels)
    });
    let mut indexes = HashMap::new();
    let mut merged: Vec<CandidateUpdate> = Vec::new();
    for candidate in candidates {
        let index = *indexes.entry(candidate.release.image.clone()).or_insert(merged.len());
        match merged.get_mut(index) {
            Some(same) => same.risks.extend(candidate.risks),
            None => merged.push(candidate),
        }
    }
    merged
}

/// Definitions of risks from edges. A status has room for 500 names.
const MAX_EDGE_DEFINITIONS: usize = 4 * limits::CONDITIONAL_UPDATE_RISKS;

/// Builds a ledger: stores every definition once, however many edges share it. Risks are identified
/// by numbers until [`LedgerBuilder::finish`].
#[derive(Default)]
pub(crate) struct LedgerBuilder<'a> {
    numbers: BTreeMap<RiskDefinition, usize>,
    origins: Vec<DefinitionOrigins>,
    /// Numbers of the risks of edges, by address. The references keep the risks alive, so that no
    /// address is reused.
    shared: HashMap<*const Risk, (usize, &'a Arc<Risk>)>,
}

impl<'a> LedgerBuilder<'a> {
    /// Adds the risks of an edge; `None` if the ledger is full.
    pub(crate) fn edge(&mut self, risks: &'a [Arc<Risk>]) -> Option<Vec<usize>> {
        let new = risks.iter().filter(|risk| !self.shared.contains_key(&Arc::as_ptr(risk)));
        if self.origins.len() + new.count() > MAX_EDGE_DEFINITIONS {
            return None;
        }
        Some(risks.iter().map(|risk| self.on_edge(risk)).collect())
    }

    fn on_edge(&mut self, risk: &'a Arc<Risk>) -> usize {
        if let Some((number, _)) = self.shared.get(&Arc::as_ptr(risk)) {
            return *number;
        }
        let number = self.number(RiskDefinition::new(risk));
        self.origins[number].on_edge = true;
        self.shared.insert(Arc::as_ptr(risk), (number, risk));
        number
    }

    /// Adds a risk that the cluster reports.
    pub(crate) fn reported(&mut self, risk: &Risk, source: RiskSource, targets: AffectedUpdates) {
        let number = self.number(RiskDefinition::new(risk));
        self.origins[number].reported.insert((source, targets));
    }

    fn number(&mut self, definition: RiskDefinition) -> usize {
        let number = *self.numbers.entry(definition).or_insert(self.origins.len());
        if number == self.origins.len() {
            self.origins.push(DefinitionOrigins::default());
        }
        number
    }

    /// The entries, sorted by definition, and the index of each number.
    pub(crate) fn finish(mut self) -> (Vec<LedgerEntry>, Vec<usize>) {
        let mut indexes = vec![0; self.origins.len()];
        let mut entries = Vec::with_capacity(self.origins.len());
        for (definition, number) in self.numbers {
            indexes[number] = entries.len();
            let origins = std::mem::take(&mut self.origins[number]);
            entries.push(LedgerEntry { definition, origins });
        }
        (entries, indexes)
    }
}
