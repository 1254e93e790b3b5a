//! The ledger: every risk, from every source, and the updates it concerns.
//!
//! One name is one risk, wherever it comes from. Sources that describe it differently are all
//! kept and all evaluated: no source weakens another.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use fairway_api::cluster_version::{ConditionalUpdateRisk, Release};
use fairway_api::reason::applies;
use fairway_api::{ConditionStatus, Version, limits};

use crate::book::Book;
use crate::definition::{self, DOCS, Definition};
use crate::fit::{Because, Withheld};
use crate::risk::{Candidate, Claim, Concern, Risk, Source, Targets};

/// Updates that are looked at. No update service offers a tenth of that from one version.
const MAX_CANDIDATES: usize = 2000;

/// Risks of one edge that are looked at: some may be the same. More than the API has room for.
const MAX_EDGE_RISKS: usize = 2 * limits::RISKS;

/// Every risk, from every source, and the updates it may concern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    pub(crate) current: Option<Version>,
    /// What the update service offers, the latest version first.
    pub(crate) offers: Vec<Offer>,
    /// In the order of their definitions, so by name first.
    pub(crate) entries: Vec<Entry>,
    /// Updates that are too much to be told about.
    pub(crate) withheld: Vec<Withheld>,
}

/// An update that the update service offers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Offer {
    pub(crate) release: Release,
    /// The entries of its edge, in order.
    entries: Vec<usize>,
}

/// One definition of a risk, and who published it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) definition: Definition,
    pub(crate) origins: Origins,
}

/// Who published a definition.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Origins {
    /// In the cluster, and for which updates.
    pub(crate) raised: BTreeSet<(Source, Targets)>,
    /// Whether some edge of the update service has it.
    pub(crate) on_an_edge: bool,
}

impl Ledger {
    /// The ledger of a cluster at version `current`, to which the update service offers the
    /// candidates and in which the concerns were raised.
    pub fn new(current: &str, candidates: Vec<Candidate>, concerns: Vec<Concern>) -> Self {
        let candidates = in_order(candidates);
        let mut book = Book::default();
        let mut offers = Vec::new();
        let mut withheld = Vec::new();
        for (place, Candidate { release, risks }) in candidates.iter().enumerate() {
            let entries = match risks.len() {
                _ if place >= MAX_CANDIDATES => Err(Because::TooManyUpdates),
                count if count > MAX_EDGE_RISKS => Err(Because::TooManyRisks(count)),
                _ => book.edge(risks).ok_or(Because::TooLarge),
            };
            let release = release.clone();
            match entries {
                Ok(entries) => offers.push(Offer { release, entries }),
                Err(because) => withheld.push(Withheld { release, because }),
            }
        }
        for Concern { risk, source, targets } in concerns.into_iter().chain(unseen(&withheld)) {
            book.raised(&risk, source, targets);
        }
        let (entries, places) = book.close();
        for Offer { entries, .. } in &mut offers {
            let all: BTreeSet<usize> = entries.iter().map(|entry| places[*entry]).collect();
            *entries = all.into_iter().collect();
        }
        Self { current: Version::parse(current).ok(), offers, entries, withheld }
    }

    /// The names in the ledger, and who published each.
    pub fn sources(&self) -> BTreeMap<&str, BTreeSet<&Source>> {
        let mut sources: BTreeMap<&str, BTreeSet<&Source>> = BTreeMap::new();
        for Entry { definition, origins } in &self.entries {
            let graph = origins.on_an_edge.then_some(&Source::Graph);
            let all = origins.raised.iter().map(|(source, _)| source).chain(graph);
            sources.entry(definition.name.as_str()).or_default().extend(all);
        }
        sources
    }

    /// The places of the entries that concern an update to the release, in order.
    pub(crate) fn concerning(&self, release: &Release) -> Vec<usize> {
        let on_edge = self.offered(release).flat_map(|offer| &offer.entries).copied();
        let current = self.current.as_ref();
        let raised = self.entries.iter().enumerate().filter(|(_, entry)| {
            entry.origins.raised.iter().any(|(_, targets)| targets.contain(current, release))
        });
        let all: BTreeSet<usize> = raised.map(|(place, _)| place).chain(on_edge).collect();
        all.into_iter().collect()
    }

    /// The update to a release. An image that is not offered may be the same version made again,
    /// and has the risks of all that are.
    fn offered(&self, release: &Release) -> impl Iterator<Item = &Offer> {
        let is_offered = self.offers.iter().any(|offer| offer.release.image == release.image);
        self.offers.iter().filter(move |Offer { release: offered, .. }| {
            if is_offered {
                offered.image == release.image
            } else {
                offered.version == release.version
            }
        })
    }

    /// The entry at that place, where no other has its name.
    pub(crate) fn only_entry_of_its_name(&self, place: usize) -> Option<&Entry> {
        let entry = self.entries.get(place)?;
        let is_namesake = |other: Option<&Entry>| {
            other.is_some_and(|other| other.definition.name == entry.definition.name)
        };
        let before = place.checked_sub(1).and_then(|place| self.entries.get(place));
        (!is_namesake(before) && !is_namesake(self.entries.get(place + 1))).then_some(entry)
    }

    /// Every risk as it is published, by name.
    pub(crate) fn published(&self) -> BTreeMap<&str, ConditionalUpdateRisk> {
        let definitions: Vec<&Definition> =
            self.entries.iter().map(|entry| &entry.definition).collect();
        let namesakes = definitions.chunk_by(|one, other| one.name == other.name);
        namesakes
            .map(|namesakes| (namesakes[0].name.as_str(), definition::published(namesakes)))
            .collect()
    }
}

/// What stands against updates whose risks were not looked at, should somebody ask for them.
fn unseen(withheld: &[Withheld]) -> Option<Concern> {
    let images: BTreeSet<String> =
        withheld.iter().map(|withheld| withheld.release.image.clone()).collect();
    let message = "This update exceeds the limits on risks or on updates from the update service.";
    let claim = Claim::new(
        ConditionStatus::Unknown,
        applies::EVALUATION_FAILED,
        "The risks of this update are not evaluated.",
    );
    let risk = Risk::always("RisksNotLookedAt", message, DOCS).claiming(claim);
    let targets = Targets::Images(images);
    (!withheld.is_empty()).then_some(Concern { risk, source: Source::Graph, targets })
}

/// The latest version first. One image is one update, and has all the risks that it has anywhere.
fn in_order(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    for Candidate { release, .. } in &mut candidates {
        // The API takes them as a set.
        release.channels.sort();
        release.channels.dedup();
        release.unknown.clear();
    }
    candidates.sort_by_cached_key(|Candidate { release, .. }| {
        let Release { version, image, url, channels, .. } = release.clone();
        (Reverse(Version::parse(&version).ok()), version, image, url, channels)
    });
    let mut places = HashMap::new();
    let mut merged: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        let place = *places.entry(candidate.release.image.clone()).or_insert(merged.len());
        match merged.get_mut(place) {
            Some(same) => same.risks.extend(candidate.risks),
            None => merged.push(candidate),
        }
    }
    merged
}
