//! Cost of reading a large ClusterVersion with 500 conditional updates of three risks each,
//! compared with reading untyped JSON.

use fairway_api::cluster_version::{
    ConditionalUpdate, ConditionalUpdateRisk, MatchingRule, MatchingRuleType, PromQl,
};
use fairway_api::reason::applies;
use fairway_api::{ClusterVersion, Condition};
use fairway_fixtures::measure::Bench;
use fairway_fixtures::objects;
use serde_json::Value;

fn main() {
    let object = large();
    let json = serde_json::to_vec(&object).expect("it can be written");
    let untyped: Value = serde_json::from_slice(&json).expect("it can be read");
    let yaml = serde_saphyr::to_string(&object).expect("it can be written");
    let bench = Bench::from_arguments();
    bench.compare(
        "read ClusterVersion (baseline: any JSON)",
        || serde_json::from_slice::<ClusterVersion>(&json),
        || serde_json::from_slice::<Value>(&json),
    );
    bench.compare(
        "write ClusterVersion (baseline: any JSON)",
        || serde_json::to_vec(&object),
        || serde_json::to_vec(&untyped),
    );
    bench.compare(
        "read a file of it (baseline: any YAML)",
        || fairway_api::read::document::<ClusterVersion>("bench", yaml.as_bytes()),
        || serde_saphyr::from_str::<Value>(&yaml),
    );
}

fn large() -> ClusterVersion {
    let mut object = objects::cluster_version();
    let mut status = objects::status_at("5.1.0");
    status.conditional_updates = (0..500)
        .map(|patch| ConditionalUpdate {
            release: objects::release(&format!("5.2.{patch}")),
            risks: (0..3).map(risk).collect(),
            ..ConditionalUpdate::default()
        })
        .collect();
    object.status = Some(status);
    object
}

fn risk(number: usize) -> ConditionalUpdateRisk {
    ConditionalUpdateRisk {
        conditions: vec![Condition::new(
            applies::TYPE,
            true,
            applies::MATCH,
            "It concerns this cluster.",
        )],
        url: format!("https://risks.example/{number}"),
        name: format!("SomethingMayGoWrong{number}"),
        message: "Clusters with an unusual network may lose a node while it is drained.".into(),
        matching_rules: vec![MatchingRule {
            type_: MatchingRuleType::PromQl,
            promql: Some(PromQl {
                promql: "group(cluster_operator_conditions{name=\"network\"}) or 0 * group(up)"
                    .into(),
                ..PromQl::default()
            }),
            ..MatchingRule::default()
        }],
        ..ConditionalUpdateRisk::default()
    }
}
