//! Update graphs for the operator.

use anyhow::Result;
use fairway_graph::build::build;
use fairway_graph::cincinnati::GraphSerializer;
use fairway_graph::{GraphData, releases};
use fairway_testkit::objects;
use fairway_testkit::platform::Platform;
use serde_json::json;

/// As many distinct queries as the risks of a large platform had in August 2026.
const QUERIES: usize = 64;

/// A graph, and the version and channel of a cluster.
pub(crate) struct GraphCase {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) channel: String,
    pub(crate) graph: String,
}

impl GraphCase {
    /// One update with a risk for each query.
    pub(crate) fn many_queries() -> Self {
        let node = |version: &str| {
            json!({
                "version": version,
                "payload": objects::release(version).image,
                "metadata": {"io.openshift.upgrades.graph.release.channels": "stable-5.1"},
            })
        };
        let risk = |number: usize| {
            json!({
                "name": format!("Risk{number}"),
                "url": format!("https://example.com/issues/{number}"),
                "message": "Clusters with many nodes may lose some of them.",
                "matchingRules": [{"type": "PromQL", "promql": {
                    "promql": format!("max(cluster_nodes_total{{role=\"worker\"}} > bool {number})"),
                }}],
            })
        };
        let graph = json!({
            "version": 1,
            "nodes": [node("5.1.0"), node("5.1.1")],
            "edges": [],
            "conditionalEdges": [{
                "edges": [{"from": "5.1.0", "to": "5.1.1"}],
                "risks": (0..QUERIES).map(risk).collect::<Vec<_>>(),
            }],
        });
        Self {
            name: format!("{QUERIES} queries"),
            version: "5.1.0".to_owned(),
            channel: "stable-5.1".to_owned(),
            graph: graph.to_string(),
        }
    }

    /// The longest channel of a large platform.
    pub(crate) fn platform(platform: &Platform) -> Result<Self> {
        let (releases, _) = releases::read("releases", &std::fs::read(platform.releases())?)?;
        let data = GraphData::read(&fairway_graph_files::read(&platform.graph_data())?)?;
        let (graph, _) = build(releases::declare(releases).0, &data);
        let channel = platform.large();
        let json = GraphSerializer::architecture(&graph, "amd64").channel_json(channel);
        // An early release of the minor version of the channel has the most updates.
        let version = channel.replace("stable-", "") + ".9";
        let graph = String::from_utf8(json)?;
        Ok(Self {
            name: format!("{version} in {channel}"),
            version,
            channel: channel.to_owned(),
            graph,
        })
    }
}
