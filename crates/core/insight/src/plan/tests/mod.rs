//! Plans for clusters and graphs that fit on a page.

mod cautions;
mod properties;
mod stories;

use std::collections::BTreeSet;

use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_graph::{Graph, wire};
use fairway_risk::{Outcome, Outcomes};
use serde_json::{Value, json};

use super::*;

/// A world to plan in.
pub(super) struct World {
    graph: Graph,
    cluster_version: ClusterVersion,
    components: Vec<ClusterOperator>,
    unlisted: Option<&'static str>,
    gates: Gates,
    outcomes: Outcomes,
    graph_source: GraphSource,
}

/// A graph: versions with their channels, and updates with their risks. A risk whose name begins
/// with `Q` depends on a query of that name; all others concern everybody.
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
    let (graph, problems) = wire::read("graph", json.to_string().as_bytes()).unwrap();
    assert_eq!(problems, []);
    graph
}

/// A risk as a graph or a status has it.
pub(super) fn risk(name: &str) -> Value {
    let rule = if name.starts_with('Q') {
        json!({"type": "PromQL", "promql": {"promql": name}})
    } else {
        json!({"type": "Always"})
    };
    json!({"name": name, "message": format!("{name} may happen."),
           "url": format!("https://example.com/{name}"), "matchingRules": [rule]})
}

impl World {
    /// A cluster at a version, which follows a channel.
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
            unlisted: None,
            gates: Gates::default(),
            outcomes: Outcomes::new(),
            graph_source: GraphSource::File { file: "graph.json".to_owned() },
        }
    }

    /// The same where somebody accepts these risks.
    pub(super) fn accepting(mut self, names: &[&str]) -> Self {
        let names: Vec<Value> = names.iter().map(|name| json!({"name": name})).collect();
        let update = json!({"acceptRisks": names});
        self.cluster_version.spec.desired_update = serde_json::from_value(update).unwrap();
        self
    }

    /// The same where a query was answered.
    pub(super) fn answering(mut self, query: &str, outcome: Outcome) -> Self {
        self.outcomes.insert(query.to_owned(), outcome);
        self
    }

    pub(super) fn plan(&self, goal: &str) -> Plan {
        self.plan_in(goal, &[])
    }

    /// The same, also in other channels.
    pub(super) fn plan_in(&self, goal: &str, also: &[String]) -> Plan {
        let outlook = Outlook {
            cluster_version: &self.cluster_version,
            components: &self.components,
            unlisted: self.unlisted,
            gates: &self.gates,
            outcomes: &self.outcomes,
            now: "2026-11-16T04:00:00Z".parse().unwrap(),
        };
        let goal: Goal = goal.parse().unwrap();
        let lanes = Lanes::new(outlook.channel(), also, &goal);
        let chart =
            Chart { graph: &self.graph, graph_source: &self.graph_source, maintained: None };
        Plan::of(&outlook, chart, &lanes, &goal).unwrap()
    }
}

/// A plan in few words.
pub(super) fn sketch(plan: &Plan) -> String {
    let mut lines = vec![format!("{} -> {}: {:?}", plan.from, plan.goal, plan.verdict())];
    lines.extend(plan.least_risk.iter().map(|it| format!("least risk: {}", sketch_way(it))));
    if plan.fewest_hops != plan.least_risk {
        lines.extend(plan.fewest_hops.iter().map(|it| format!("fewest hops: {}", sketch_way(it))));
    }
    for SkippedTarget { version, risks } in &plan.skipped_targets {
        lines.push(format!("passed over: {version} {risks:?}"));
    }
    lines.extend(plan.not_offered.iter().map(|why| format!("not offered: {why:?}")));
    lines.extend(plan.limitations.iter().map(|gap| format!("not known: {gap:?}")));
    lines.join("\n")
}

fn sketch_way(way: &Way) -> String {
    let hop = |hop: &Hop| {
        let risks: BTreeSet<&str> = hop.unaccepted().map(|risk| risk.name.as_str()).collect();
        let risks = risks.into_iter().collect::<Vec<_>>().join(",");
        let risks = if risks.is_empty() { risks } else { format!(" with {risks}") };
        format!("{}{risks}", hop.to)
    };
    way.hops.iter().map(hop).collect::<Vec<_>>().join(", ")
}
