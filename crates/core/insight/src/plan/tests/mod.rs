//! Plans for small clusters and graphs.

mod cautions;
mod properties;
mod typical_clusters;

use std::collections::BTreeSet;

use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_graph::{Graph, cincinnati};
use fairway_risk::{QueryOutcome, QueryOutcomes};
use serde_json::{Value, json};

use super::*;

/// Graph and cluster of a test.
pub(super) struct Scenario {
    graph: Graph,
    cluster_version: ClusterVersion,
    components: Vec<ClusterOperator>,
    operators_error: Option<&'static str>,
    gates: AdminGates,
    outcomes: QueryOutcomes,
    graph_source: GraphSource,
}

/// Graph of versions with channels and updates with risks. A risk whose name starts with `Q`
/// depends on a query of that name; all others always apply.
pub(super) fn graph(nodes: &[(&str, &str)], edges: &[(&str, &str, &[&str])]) -> Graph {
    let node = |(version, channels): &(&str, &str)| {
        json!({"version": version, "payload": format!("registry.example/release@sha256:{version}"),
               "metadata": {"io.openshift.upgrades.graph.release.channels": channels}})
    };
    let place = |version: &str| nodes.iter().position(|(known, _)| *known == version).unwrap();
    let plain = edges.iter().filter(|(_, _, risks)| risks.is_empty());
    let conditional = edges.iter().filter(|(_, _, risks)| !risks.is_empty());
    let group = |(from, to, risks): &(&str, &str, &[&str])| {
        json!({"edges": [{"from": from, "to": to}],
               "risks": risks.iter().map(|name| risk(name)).collect::<Vec<_>>()})
    };
    let json = json!({
        "nodes": nodes.iter().map(node).collect::<Vec<_>>(),
        "edges": plain.map(|(from, to, _)| [place(from), place(to)]).collect::<Vec<_>>(),
        "conditionalEdges": conditional.map(group).collect::<Vec<_>>(),
    });
    let (graph, problems) = cincinnati::read("graph", json.to_string().as_bytes()).unwrap();
    assert_eq!(problems, []);
    graph
}

/// Risk as in a graph or a status.
pub(super) fn risk(name: &str) -> Value {
    let rule = if name.starts_with('Q') {
        json!({"type": "PromQL", "promql": {"promql": name}})
    } else {
        json!({"type": "Always"})
    };
    json!({"name": name, "message": format!("{name} may happen."),
           "url": format!("https://example.com/{name}"), "matchingRules": [rule]})
}

impl Scenario {
    /// Cluster at a version, with a channel.
    pub(super) fn new(graph: Graph, version: &str, channel: &str) -> Self {
        let cluster_version = json!({
            "metadata": {"name": "version"},
            "spec": {"clusterID": "", "channel": channel},
            "status": {"desired": {"version": version, "image": "x"}, "availableUpdates": []},
        });
        Self {
            graph,
            cluster_version: serde_json::from_value(cluster_version).unwrap(),
            components: Vec::new(),
            operators_error: None,
            gates: AdminGates::default(),
            outcomes: QueryOutcomes::new(),
            graph_source: GraphSource::File { file: "graph.json".to_owned() },
        }
    }

    /// Accepts risks.
    pub(super) fn accepting(mut self, names: &[&str]) -> Self {
        let names: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        let update = json!({"acceptRisks": names});
        self.cluster_version.spec.desired_update = serde_json::from_value(update).unwrap();
        self
    }

    /// Adds the result of a query.
    pub(super) fn answering(mut self, query: &str, outcome: QueryOutcome) -> Self {
        self.outcomes.insert(query.to_owned(), outcome);
        self
    }

    pub(super) fn plan(&self, goal: &str) -> Plan {
        self.plan_in(goal, &[])
    }

    /// Plan with additional channels.
    pub(super) fn plan_in(&self, goal: &str, also: &[String]) -> Plan {
        let cluster = ClusterState {
            cluster_version: &self.cluster_version,
            components: &self.components,
            operators_error: self.operators_error,
            gates: &self.gates,
            outcomes: &self.outcomes,
            now: "2026-11-16T04:00:00Z".parse().unwrap(),
        };
        let goal: Goal = goal.parse().unwrap();
        let channel_set = ChannelSet::new(cluster.channel(), also, &goal);
        let input =
            PlanInput { graph: &self.graph, graph_source: &self.graph_source, maintenance: None };
        Plan::new(&cluster, input, &channel_set, &goal).unwrap()
    }
}

/// Short text of a plan.
pub(super) fn sketch(plan: &Plan) -> String {
    let mut lines = vec![format!("{} -> {}: {:?}", plan.from, plan.goal, plan.verdict())];
    lines.extend(plan.least_risk.iter().map(|it| format!("least risk: {}", sketch_path(it))));
    if plan.fewest_hops != plan.least_risk {
        lines.extend(plan.fewest_hops.iter().map(|it| format!("fewest hops: {}", sketch_path(it))));
    }
    for SkippedTarget { version, risks } in &plan.skipped_targets {
        lines.push(format!("passed over: {version} {risks:?}"));
    }
    lines.extend(plan.not_offered.iter().map(|why| format!("not offered: {why:?}")));
    lines.extend(plan.limitations.iter().map(|gap| format!("not known: {gap:?}")));
    lines.join("\n")
}

fn sketch_path(path: &UpgradePath) -> String {
    let hop = |hop: &Hop| {
        let risks: BTreeSet<&str> = hop.unaccepted().map(|risk| risk.name.as_str()).collect();
        let risks = risks.into_iter().collect::<Vec<_>>().join(",");
        let risks = if risks.is_empty() { risks } else { format!(" with {risks}") };
        format!("{}{risks}", hop.to)
    };
    path.hops.iter().map(hop).collect::<Vec<_>>().join(", ")
}
