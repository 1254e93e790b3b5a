//! Risks of updates.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use fairway_api::UnknownFields;
use fairway_api::cluster_version::{MatchingRule, MatchingRuleType};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::problem::GraphProblem;

/// Problem that an update can cause on some clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Risk {
    /// Page about the risk.
    pub url: String,
    /// CamelCase name of the risk.
    pub name: String,
    /// Description of the risk.
    pub message: String,
    /// Rules that determine whether the risk applies. The first rule that can be evaluated decides.
    #[schemars(schema_with = "rules_of_any_type")]
    pub matching_rules: Vec<MatchingRule>,
    /// Fields that this crate does not know.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: UnknownFields,
}

/// JSON schema of rules. Their type is any string, because graphs preserve unknown rule types.
fn rules_of_any_type(_: &mut SchemaGenerator) -> Schema {
    let text = json_schema!({"type": "string"});
    let query =
        json_schema!({"type": "object", "properties": {"promql": text}, "required": ["promql"]});
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"type": text, "promql": query},
            "required": ["type"],
        },
    })
}

/// Matching rules that apply to every cluster.
pub fn always() -> Vec<MatchingRule> {
    vec![MatchingRule { type_: MatchingRuleType::Always, ..MatchingRule::default() }]
}

/// Default values for the missing fields of a risk.
pub(crate) mod risk_defaults {
    /// A name derived from the file name.
    pub(crate) fn name(file: &str) -> String {
        let stem = file.rsplit('/').next().unwrap_or(file);
        let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
        let words = stem.split(|letter: char| !letter.is_ascii_alphanumeric());
        words.fold("Block".to_owned(), |mut name, word| {
            let (first, rest) = word.split_at(word.len().min(1));
            name.push_str(&first.to_ascii_uppercase());
            name.push_str(rest);
            name
        })
    }

    /// The file path, encoded as a valid URL.
    pub(crate) fn url(file: &str) -> String {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/+".contains(&byte);
        let encoded = file.bytes().map(|byte| match byte {
            byte if legal(byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        });
        format!("graph-data:{}", encoded.collect::<String>())
    }

    /// A message without details.
    pub(crate) fn message(file: &str) -> String {
        format!("{file} blocks this update without an explanation.")
    }
}

/// ID of a risk in [`RiskSets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RiskId(u32);

/// ID of a set of risks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RiskSetId(u32);

impl RiskSetId {
    /// The empty set.
    pub const NONE: Self = Self(0);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Interned risks and sets of risks. In a set, names are unique and sorted.
#[derive(Clone, Debug)]
pub(crate) struct RiskSets {
    risks: Vec<InternedRisk>,
    by_text: HashMap<String, RiskId>,
    sets: Vec<Vec<RiskId>>,
    by_members: HashMap<Vec<RiskId>, RiskSetId>,
    /// Names that several risks of one update share with different matching rules.
    ambiguous: BTreeSet<String>,
}

/// A risk and its JSON, which identifies it.
#[derive(Clone, Debug)]
struct InternedRisk {
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
    /// Interns a risk.
    pub(crate) fn risk(&mut self, risk: &Arc<Risk>) -> RiskId {
        let text = serde_json::to_string(&**risk).expect("strings and values serialize to JSON");
        if let Some(known) = self.by_text.get(&text) {
            return *known;
        }
        let id = RiskId(number(self.risks.len()));
        self.risks.push(InternedRisk { risk: Arc::clone(risk), text: text.clone() });
        self.by_text.insert(text, id);
        id
    }

    /// Interns a set of risks; sorts `members`.
    pub(crate) fn set(&mut self, members: &mut Vec<RiskId>) -> RiskSetId {
        members.sort_unstable();
        members.dedup();
        if let Some(known) = self.by_members.get(members) {
            return *known;
        }
        let by_name = self.merged_by_name(members);
        let id = *self.by_members.entry(by_name.clone()).or_insert_with(|| {
            self.sets.push(by_name);
            RiskSetId(number(self.sets.len() - 1))
        });
        self.by_members.insert(members.clone(), id);
        id
    }

    /// The union of two sets.
    pub(crate) fn union(&mut self, one: RiskSetId, other: RiskSetId) -> RiskSetId {
        if one == other {
            return one;
        }
        let mut members = self.sets[one.index()].clone();
        members.extend(&self.sets[other.index()]);
        self.set(&mut members)
    }

    /// The risks of a set, by ID.
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

    /// Names with conflicting rules.
    pub(crate) fn problems(&self) -> impl Iterator<Item = GraphProblem> {
        self.ambiguous.iter().map(|name| GraphProblem::AmbiguousRisk { name: name.clone() })
    }

    /// The same risks, sorted by name; risks with the same name are merged.
    fn merged_by_name(&mut self, members: &[RiskId]) -> Vec<RiskId> {
        let mut sorted = members.to_vec();
        let key = |id: &RiskId| {
            let InternedRisk { risk, text } = &self.risks[id.0 as usize];
            (risk.name.as_str(), text.as_str())
        };
        sorted.sort_unstable_by(|one, other| key(one).cmp(&key(other)));
        let name = |id: &RiskId| &self.risks[id.0 as usize].risk.name;
        let same_name: Vec<Vec<RiskId>> =
            sorted.chunk_by(|one, other| name(one) == name(other)).map(<[_]>::to_vec).collect();
        same_name.into_iter().map(|same_name| self.merged(&same_name)).collect()
    }

    /// Merges risks with the same name. If their matching rules differ, the merged risk applies to
    /// all clusters: one rule cannot express that both must be evaluated.
    fn merged(&mut self, same_name: &[RiskId]) -> RiskId {
        let risks: Vec<&Risk> =
            same_name.iter().map(|id| &*self.risks[id.0 as usize].risk).collect();
        let [first, others @ ..] = risks.as_slice() else { return same_name[0] };
        if others.is_empty() {
            return same_name[0];
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
