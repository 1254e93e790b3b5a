//! What may go wrong with an update, and for whom.

mod sets;

pub use sets::RiskSetId;
pub(crate) use sets::{RiskId, RiskSets};

use fairway_api::UnknownFields;
use fairway_api::cluster_version::{MatchingRule, MatchingRuleType};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

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

/// The shape of rules where their types are not only those that are known here.
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

/// Rules that concern every cluster.
pub fn always() -> Vec<MatchingRule> {
    vec![MatchingRule { type_: MatchingRuleType::Always, ..MatchingRule::default() }]
}

/// What a block that does not say it is taken to say.
pub(crate) mod stand_in {
    /// A name made of the file's.
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

    /// The file itself, as something that is legal where a URL is needed.
    pub(crate) fn url(file: &str) -> String {
        let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/+".contains(&byte);
        let encoded = file.bytes().map(|byte| match byte {
            byte if legal(byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        });
        format!("graph-data:{}", encoded.collect::<String>())
    }

    /// That nothing is known.
    pub(crate) fn message(file: &str) -> String {
        format!("{file} blocks this update without an explanation.")
    }
}
