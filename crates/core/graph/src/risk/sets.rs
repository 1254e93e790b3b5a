//! Sets of risks: every risk is kept once, and every set of them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use super::{Risk, always};
use crate::problem::Problem;

/// A risk in [`RiskSets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RiskId(u32);

/// A set of risks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RiskSetId(u32);

impl RiskSetId {
    /// The set without risks.
    pub const NONE: Self = Self(0);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Risks and sets of them. In a set every name occurs once, and names are in order.
#[derive(Clone, Debug)]
pub(crate) struct RiskSets {
    risks: Vec<Written>,
    by_text: HashMap<String, RiskId>,
    sets: Vec<Vec<RiskId>>,
    by_members: HashMap<Vec<RiskId>, RiskSetId>,
    /// Names that stand for several risks of one update, which concern different clusters.
    ambiguous: BTreeSet<String>,
}

/// A risk and what it looks like on the wire, which is its identity.
#[derive(Clone, Debug)]
struct Written {
    risk: Arc<Risk>,
    text: String,
}

impl Default for RiskSets {
    fn default() -> Self {
        Self {
            risks: Vec::new(),
            by_text: HashMap::new(),
            sets: vec![Vec::new()],
            by_members: HashMap::from([(Vec::new(), RiskSetId::NONE)]),
            ambiguous: BTreeSet::new(),
        }
    }
}

impl RiskSets {
    /// Takes in a risk.
    pub(crate) fn risk(&mut self, risk: &Arc<Risk>) -> RiskId {
        let text = serde_json::to_string(&**risk).expect("texts and values can be written");
        if let Some(known) = self.by_text.get(&text) {
            return *known;
        }
        let id = RiskId(number(self.risks.len()));
        self.risks.push(Written { risk: Arc::clone(risk), text: text.clone() });
        self.by_text.insert(text, id);
        id
    }

    /// The set of these risks; `members` is put in order.
    pub(crate) fn set(&mut self, members: &mut Vec<RiskId>) -> RiskSetId {
        members.sort_unstable();
        members.dedup();
        if let Some(known) = self.by_members.get(members) {
            return *known;
        }
        let by_name = self.one_for_each_name(members);
        let id = *self.by_members.entry(by_name.clone()).or_insert_with(|| {
            self.sets.push(by_name);
            RiskSetId(number(self.sets.len() - 1))
        });
        self.by_members.insert(members.clone(), id);
        id
    }

    /// The set of the risks of both.
    pub(crate) fn union(&mut self, one: RiskSetId, other: RiskSetId) -> RiskSetId {
        if one == other {
            return one;
        }
        let mut members = self.sets[one.index()].clone();
        members.extend(&self.sets[other.index()]);
        self.set(&mut members)
    }

    /// The members of a set.
    pub(crate) fn members(&self, set: RiskSetId) -> &[RiskId] {
        &self.sets[set.index()]
    }

    /// The risks of a set.
    pub(crate) fn risks(&self, set: RiskSetId) -> impl ExactSizeIterator<Item = &Arc<Risk>> {
        self.sets[set.index()].iter().map(|id| &self.risks[id.0 as usize].risk)
    }

    /// The risks of every set as a JSON array.
    pub(crate) fn json(&self) -> Vec<String> {
        let text = |id: &RiskId| self.risks[id.0 as usize].text.as_str();
        let array =
            |set: &Vec<RiskId>| format!("[{}]", set.iter().map(text).collect::<Vec<_>>().join(","));
        self.sets.iter().map(array).collect()
    }

    /// What is wrong with the risks.
    pub(crate) fn problems(&self) -> impl Iterator<Item = Problem> {
        self.ambiguous.iter().map(|name| Problem::AmbiguousRisk { name: name.clone() })
    }

    /// The same risks, ordered by name, with one where several have the same name.
    fn one_for_each_name(&mut self, members: &[RiskId]) -> Vec<RiskId> {
        let mut sorted = members.to_vec();
        let key = |id: &RiskId| {
            let Written { risk, text } = &self.risks[id.0 as usize];
            (risk.name.as_str(), text.as_str())
        };
        sorted.sort_unstable_by(|one, other| key(one).cmp(&key(other)));
        let name = |id: &RiskId| &self.risks[id.0 as usize].risk.name;
        let namesakes: Vec<Vec<RiskId>> =
            sorted.chunk_by(|one, other| name(one) == name(other)).map(<[_]>::to_vec).collect();
        namesakes.into_iter().map(|namesakes| self.merged(&namesakes)).collect()
    }

    /// One risk that says what all of these say. Where they do not agree on whom the risk
    /// concerns, it concerns everybody: no rule can stand for two that must both be asked.
    fn merged(&mut self, namesakes: &[RiskId]) -> RiskId {
        let risks: Vec<&Risk> =
            namesakes.iter().map(|id| &*self.risks[id.0 as usize].risk).collect();
        let [first, others @ ..] = risks.as_slice() else { return namesakes[0] };
        if others.is_empty() {
            return namesakes[0];
        }
        let mut merged = Risk::clone(first);
        for other in others {
            if !merged.message.contains(&other.message) {
                merged.message.push('\n');
                merged.message.push_str(&other.message);
            }
        }
        if others.iter().any(|other| other.matching_rules != first.matching_rules) {
            merged.matching_rules = always();
            self.ambiguous.insert(merged.name.clone());
        }
        self.risk(&Arc::new(merged))
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).expect("inputs are limited to fewer risks and sets")
}
