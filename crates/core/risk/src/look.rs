//! What one look at the ledger finds out once and uses for every update.

use std::collections::{BTreeMap, HashSet};

use fairway_api::cluster_version::{ConditionalUpdate, ConditionalUpdateRisk, Release};
use fairway_api::condition::wire_time;
use fairway_api::reason::applies;
use fairway_api::{Condition, Conditions as _};
use jiff::Timestamp;

use crate::acceptance::Standing;
use crate::definition::{Definition, definition_hash, published};
use crate::evaluate::Round;
use crate::fit::Told;
use crate::ledger::{Entry, Ledger};
use crate::rules::{self, Finding, Queries};
use crate::verdict::{Exposure, Verdict};

/// A ledger, and what is known about each of its entries now.
pub(crate) struct Look<'a> {
    pub(crate) ledger: &'a Ledger,
    pub(crate) round: Round<'a>,
    /// One for each entry.
    findings: Vec<Finding>,
    /// Every risk as it is published, and what its definition is known by.
    published: BTreeMap<&'a str, (ConditionalUpdateRisk, String)>,
}

/// The definitions of one name, with what was found out about each.
type Namesakes<'a> = Vec<(&'a Definition, &'a Finding)>;

impl<'a> Look<'a> {
    pub(crate) fn new(ledger: &'a Ledger, round: Round<'a>) -> Self {
        let queries = queries(&round);
        let evaluate = |entry: &Entry| rules::evaluate(&entry.definition, queries);
        let with_hash = |(name, risk)| {
            let hash = definition_hash(&risk);
            (name, (risk, hash))
        };
        let mut look = Self {
            ledger,
            round,
            findings: ledger.entries.iter().map(evaluate).collect(),
            published: ledger.published().into_iter().map(with_hash).collect(),
        };
        look.carry_over();
        look
    }

    /// What is known about an update to the release.
    pub(crate) fn verdict(&self, release: &Release) -> Verdict {
        self.judge(release, &self.namesakes(&self.ledger.concerning(release)))
    }

    /// What is to be told about an update that is offered.
    pub(crate) fn told(&self, release: &Release) -> Told {
        let namesakes = self.namesakes(&self.ledger.concerning(release));
        let verdict = self.judge(release, &namesakes);
        Told {
            recommended: verdict.is_recommended(),
            conditional: (!namesakes.is_empty())
                .then(|| self.conditional_update(&verdict, &namesakes)),
            release: verdict.release,
        }
    }

    /// Every risk of the ledger with the condition `Applies`, by name.
    pub(crate) fn risks(&self) -> BTreeMap<&'a str, ConditionalUpdateRisk> {
        let all: Vec<usize> = (0..self.findings.len()).collect();
        let mut risks = BTreeMap::new();
        for namesakes in self.namesakes(&all) {
            let mut exposure = Exposure::of(&namesakes, Standing::NotAccepted);
            let Some((name, (risk, hash))) = self.published.get_key_value(exposure.name.as_str())
            else {
                continue;
            };
            if self.round.acceptance.was_for_another(name, hash) {
                exposure
                    .message
                    .push_str(" The content of the risk has changed since it was accepted.");
            }
            let mut before = self.round.previous.conditional_update_risks.iter();
            let before = before.find(|before| before.name == *name);
            risks.insert(*name, self.with_applies(risk.clone(), &exposure, before));
        }
        risks
    }

    /// The queries on which it depends what is recommended, those of the latest version first.
    pub(crate) fn wanted_queries(&self) -> Vec<String> {
        let offers = &self.ledger.offers;
        let places = offers.iter().flat_map(|offer| self.ledger.concerning(&offer.release));
        let mut looked_at = HashSet::new();
        let places = places.filter(|place| looked_at.insert(*place));
        let queries = queries(&self.round);
        let wanted =
            places.flat_map(|place| rules::wanted(&self.ledger.entries[place].definition, queries));
        let mut seen = HashSet::new();
        wanted.filter(|query| seen.insert(*query)).map(str::to_owned).collect()
    }

    /// The entries at these places, those of one name together. The places are in order.
    fn namesakes(&self, places: &[usize]) -> Vec<Namesakes<'_>> {
        let definition = |place: usize| &self.ledger.entries[place].definition;
        let pair = |place: &usize| (definition(*place), &self.findings[*place]);
        places
            .chunk_by(|one, other| definition(*one).name == definition(*other).name)
            .map(|places| places.iter().map(pair).collect())
            .collect()
    }

    /// Until its query is answered for the first time, a risk is what it was before: otherwise
    /// each restart would withdraw recommendations for a while. It has to be the same risk, and
    /// the queries of namesakes cannot be told apart.
    fn carry_over(&mut self) {
        let before = &self.round.previous.conditional_update_risks;
        let before: BTreeMap<&str, &ConditionalUpdateRisk> =
            before.iter().map(|risk| (risk.name.as_str(), risk)).collect();
        for (place, finding) in self.findings.iter_mut().enumerate() {
            let Some(entry) = self.ledger.only_entry_of_its_name(place) else { continue };
            let name = entry.definition.name.as_str();
            let (Some(before), Some((_, hash))) = (before.get(name), self.published.get(name))
            else {
                continue;
            };
            if finding.awaited && definition_hash(before) == *hash {
                finding.continue_as(before.conditions.find(applies::TYPE));
            }
        }
    }

    fn judge(&self, release: &Release, namesakes: &[Namesakes]) -> Verdict {
        let exposures = namesakes.iter().map(|namesakes| {
            let name = namesakes.first().map_or("", |(definition, _)| &definition.name);
            let hash = self.published.get(name).map_or("", |(_, hash)| hash);
            let Round { acceptance, now, .. } = self.round;
            Exposure::of(namesakes, acceptance.standing(name, &release.version, hash, now))
        });
        Verdict { exposures: exposures.collect(), release: release.clone() }
    }

    fn conditional_update(&self, verdict: &Verdict, namesakes: &[Namesakes]) -> ConditionalUpdate {
        let Verdict { release, exposures } = verdict;
        let mut before = self.round.previous.conditional_updates.iter();
        let before = before.find(|before| before.release.image == release.image);
        let risks = exposures.iter().zip(namesakes).map(|(exposure, namesakes)| {
            let definitions: Vec<&Definition> = namesakes.iter().map(|(one, _)| *one).collect();
            let mut before = before.iter().flat_map(|before| &before.risks);
            let before = before.find(|before| before.name == exposure.name);
            self.with_applies(published(&definitions), exposure, before)
        });
        let conditions = before.map_or(&[][..], |before| &before.conditions);
        ConditionalUpdate {
            release: release.clone(),
            risk_names: exposures.iter().map(|exposure| exposure.name.clone()).collect(),
            risks: risks.collect(),
            conditions: vec![
                continued(verdict.evaluating(), conditions, self.round.now),
                continued(verdict.recommended(), conditions, self.round.now),
            ],
            ..ConditionalUpdate::default()
        }
    }

    fn with_applies(
        &self,
        mut risk: ConditionalUpdateRisk,
        exposure: &Exposure,
        before: Option<&ConditionalUpdateRisk>,
    ) -> ConditionalUpdateRisk {
        let Exposure { status, reason, message, since, .. } = exposure;
        let condition = Condition::new(applies::TYPE, status.clone(), reason, message);
        let began = since.map_or(self.round.now, |since| since.min(self.round.now));
        let before = before.map_or(&[][..], |before| &before.conditions);
        risk.conditions = vec![continued(condition, before, began)];
        risk
    }
}

fn queries<'a>(round: &Round<'a>) -> Queries<'a> {
    Queries { outcomes: round.outcomes, policy: round.policy }
}

/// The condition with the time since when its status is what it is.
fn continued(mut condition: Condition, before: &[Condition], began: Timestamp) -> Condition {
    let before = before.iter().find(|before| before.type_ == condition.type_);
    let since = before
        .filter(|before| before.status == condition.status)
        .and_then(|before| before.last_transition_time.clone());
    condition.last_transition_time = Some(since.unwrap_or_else(|| wire_time(began)));
    condition
}
