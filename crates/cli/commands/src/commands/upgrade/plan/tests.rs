//! Text output of `upgrade plan`.

use std::collections::BTreeMap;

use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_compat::olm::{MinorVersion, OlmCheck, OlmOperator, OlmPolicy, apis};
use fairway_graph::{Graph, cincinnati};
use fairway_insight::plan::{AdminGates, GraphSource, MetricsSource, PlanInput, Prerequisite};
use fairway_risk::QueryFailure;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;

/// Channels of the releases.
const CHANNELS: [(&str, &str); 4] = [
    ("5.0.0", "stable-5.0,stable-5.1,stable-5.2"),
    ("5.0.1", "stable-5.0,stable-5.1,stable-5.2"),
    ("5.1.0", "stable-5.1,stable-5.2"),
    ("5.2.0", "stable-5.2,stable-5.3"),
];

/// 5.2.0 is reachable from 5.1.0, with two risks, and from 5.0.1.
fn graph() -> Graph {
    let node = |(version, channels): &(&str, &str)| {
        json!({"version": version, "payload": format!("registry.example/release@sha256:{version}"),
               "metadata": {"io.openshift.upgrades.graph.release.channels": channels}})
    };
    let stalls = json!({
        "name": "MigrationStalls", "url": "https://example.com/stalls",
        "message": "The migration of volumes does not end.\nIt can be begun anew.",
        "matchingRules": [{"type": "PromQL", "promql": {"promql": "stalls"}}],
    });
    let restart = json!({
        "name": "NodesRestart", "url": "https://example.com/restart",
        "message": "All nodes restart \u{1b}[31monce.", "matchingRules": [{"type": "Always"}],
    });
    let json = json!({
        "nodes": CHANNELS.iter().map(node).collect::<Vec<_>>(),
        "edges": [[0, 1], [0, 2], [1, 2], [1, 3]],
        "conditionalEdges": [
            {"edges": [{"from": "5.1.0", "to": "5.2.0"}], "risks": [stalls, restart]},
            {"edges": [{"from": "5.0.0", "to": "5.2.0"}], "risks": [restart]},
        ],
    });
    cincinnati::read("graph", json.to_string().as_bytes()).unwrap().0
}

fn cluster(version: &str, accepted: &[&str]) -> ClusterVersion {
    let accepted: Vec<Value> = accepted.iter().map(|name| json!({"name": name})).collect();
    let cluster = json!({
        "metadata": {"name": "version"},
        "spec": {"clusterID": "", "channel": "stable-5.0", "desiredUpdate": {"acceptRisks": accepted}},
        "status": {"desired": {"version": version, "image": "x"}, "availableUpdates": []},
    });
    serde_json::from_value(cluster).unwrap()
}

/// Cluster and graph of a plan.
struct PlanCase<'a> {
    version: &'a str,
    accepted: &'a [&'a str],
    stalls: Option<Result<bool, QueryFailure>>,
    components: Vec<ClusterOperator>,
    operators_error: Option<&'a str>,
    conditions: Value,
    gates: AdminGates,
    graph_source: GraphSource,
}

impl Default for PlanCase<'_> {
    fn default() -> Self {
        Self {
            version: "5.0.0",
            accepted: &[],
            stalls: None,
            components: Vec::new(),
            operators_error: None,
            conditions: json!([]),
            gates: AdminGates::default(),
            graph_source: GraphSource::File { file: "graph.json".to_owned() },
        }
    }
}

impl PlanCase<'_> {
    fn text(&self, goal: &str) -> String {
        let plan = self.plan(goal);
        format!("{}\n({:?})", PlanText(&plan), plan.verdict())
    }

    fn plan(&self, goal: &str) -> Plan {
        let mut cluster_version = cluster(self.version, self.accepted);
        let status = cluster_version.status.as_mut().unwrap();
        status.conditions = serde_json::from_value(self.conditions.clone()).unwrap();
        let outcomes = self.stalls.clone().map(|outcome| ("stalls".to_owned(), outcome));
        let state = ClusterState {
            cluster_version: &cluster_version,
            components: &self.components,
            operators_error: self.operators_error,
            gates: &self.gates,
            outcomes: &outcomes.into_iter().collect(),
            now: Timestamp::UNIX_EPOCH,
        };
        let goal: Goal = goal.parse().unwrap();
        let channel_set = ChannelSet::new(state.channel(), &[], &goal);
        let graph = graph();
        let input =
            PlanInput { graph: &graph, graph_source: &self.graph_source, maintenance: None };
        Plan::new(&state, input, &channel_set, &goal).unwrap()
    }
}

#[test]
fn text_of_path_and_faster_path() {
    insta::assert_snapshot!(PlanCase::default().text("5.2"), @"
    From 5.0.0 to 5.2.0 in 2 hops. No known issues.

    1. 5.0.0 -> 5.0.1, a patch update
       $ fairway upgrade --to=5.0.1 --wait

    2. 5.0.1 -> 5.2.0, a skip-level update that skips one minor version
       $ fairway upgrade channel stable-5.2
       $ fairway upgrade --mode=preflight --to=5.2.0 --wait
       $ fairway upgrade --to=5.2.0 --yes --wait

    5.2.0 is not available now: it is not in stable-5.0, but in stable-5.2, stable-5.3.

    Faster, in 1 hop: 5.0.0 -> 5.2.0, with NodesRestart.

    Source of updates: graph.json.
    (Yes)
    ");
}

#[test]
fn text_of_risks_and_prerequisites() {
    let report = json!({"kind": "RiskReport", "version": "v1", "risks": [
        {"name": "OperatorWillNotRun-team:etcd.v1", "targets": ">=5.2.0", "url": "https://example.com/olm",
         "message": "The operator team/etcd.v1 does not run on versions after 5.1. To get past it, update to etcd.v2 in channel stable of market/main."},
    ]});
    let olm = json!({"metadata": {"name": "olm"}, "spec": {}, "status": {"extension": report}});
    let storage = json!({"metadata": {"name": "storage"}, "spec": {}, "status": {"conditions": [
        {"type": "Upgradeable", "status": "False", "reason": "OldDriver", "message": "The driver is old."},
    ]}});
    let case = PlanCase {
        version: "5.1.0",
        accepted: &["NodesRestart"],
        stalls: Some(Ok(true)),
        components: [olm, storage].map(|it| serde_json::from_value(it).unwrap()).into(),
        gates: AdminGates {
            gates: Ok([("ack-5.1-apis".to_owned(), "APIs go away in 5.2.".to_owned())].into()),
            ..AdminGates::default()
        },
        ..PlanCase::default()
    };
    insta::assert_snapshot!(case.text("5.2.0"), @r#"
    From 5.1.0 to 5.2.0 in 1 hop. Blocked by 4 risks.

    1. 5.1.0 -> 5.2.0, an update to the next minor version
       Admin ack required: AdminAck-ack-5.1-apis
         APIs go away in 5.2.
       Component storage is not ready: resolve this, or accept ClusterOperatorUpgradeable-storage
         The driver is old.
         https://fairway.dev/docs/risks#cluster-operators
       MigrationStalls applies
         The migration of volumes does not end.
         It can be begun anew.
         https://example.com/stalls
       Update operator team/etcd.v1 first, or accept OperatorWillNotRun-team:etcd.v1
         The operator team/etcd.v1 does not run on versions after 5.1. To get past it, update to etcd.v2 in channel stable of market/main.
         https://example.com/olm
       Accepted: NodesRestart
       $ kubectl -n openshift-config patch configmap admin-acks --type=merge -p '{"data":{"ack-5.1-apis":"true"}}'
       $ fairway upgrade channel stable-5.2
       $ fairway upgrade accept MigrationStalls --for=5.2.0
       $ fairway upgrade --to=5.2.0 --wait

    5.2.0 is not available now: it is not in stable-5.0, but in stable-5.2, stable-5.3.

    Source of updates: graph.json.
    (No)
    "#);
}

#[test]
fn text_of_unknown_risks() {
    let at = |stalls| PlanCase {
        version: "5.1.0",
        accepted: &["NodesRestart"],
        stalls,
        ..PlanCase::default()
    };
    insta::assert_snapshot!(at(None).text("5.2"), @"
    From 5.1.0 to 5.2.0 in 1 hop. Exposure to MigrationStalls is unknown.

    1. 5.1.0 -> 5.2.0, an update to the next minor version
       MigrationStalls may apply: not evaluated yet
         The migration of volumes does not end.
         It can be begun anew.
         https://example.com/stalls
       Accepted: NodesRestart
       $ fairway upgrade channel stable-5.2
       $ fairway upgrade accept MigrationStalls --for=5.2.0
       $ fairway upgrade --to=5.2.0 --wait

    5.2.0 is not available now: it is not in stable-5.0, but in stable-5.2, stable-5.3.

    Source of updates: graph.json.
    (Unknown)
    ");
    let unclear = at(Some(Err(QueryFailure::NoSeries))).text("5.2");
    assert!(unclear.contains("MigrationStalls may apply: cannot be evaluated"), "{unclear}");
    let hostile = PlanCase { version: "5.1.0", ..PlanCase::default() }.text("5.2");
    assert!(hostile.contains(r"All nodes restart \u{1b}[31monce."), "{hostile}");
}

#[test]
fn text_without_path() {
    let case = PlanCase::default();
    let output = ["5.9", "4.9.0"].map(|goal| case.text(goal));
    insta::assert_snapshot!(output.join("\n\n"), @"
    No upgrade path from 5.0.0 to 5.9: the update graph has no release 5.9.

    Source of updates: graph.json.
    (No)

    No upgrade path from 5.0.0 to 4.9.0: 4.9.0 is older than 5.0.0, and updates lead only to later versions.

    Source of updates: graph.json.
    (No)
    ");
    let lost = PlanCase { version: "5.0.7", ..PlanCase::default() };
    insta::assert_snapshot!(lost.text("5.2"), @"
    No upgrade path from 5.0.7 to 5.2: 5.0.7 is not in the update graph, so its updates are unknown.

    Source of updates: graph.json.
    (Unknown)
    ");
    let graph_source = GraphSource::UpdateService {
        url: "https://updates.example/graph".to_owned(),
        channels: ["stable-5.0".to_owned()].into(),
        architecture: "multi".to_owned(),
    };
    let lost = PlanCase { version: "5.0.7", graph_source, ..PlanCase::default() };
    insta::assert_snapshot!(lost.text("5.9.0"), @"
    No upgrade path from 5.0.7 to 5.9.0: 5.0.7 is not in the update graph for the architecture multi, so its updates are unknown.

    Source of updates: https://updates.example/graph, for stable-5.0.
    (Unknown)
    ");
    let why = "the update service cannot be reached.".to_owned();
    let listed = PlanCase {
        graph_source: GraphSource::ClusterVersion { message: why },
        ..PlanCase::default()
    };
    insta::assert_snapshot!(listed.text("6.0"), @"
    No upgrade path from 5.0.0 to 6.0: ClusterVersion lists no update to 6.0.

    Source of updates: ClusterVersion, next updates only (the update service cannot be reached).
    (Unknown)
    ");
    insta::assert_snapshot!(PlanCase { version: "5.2.0", ..PlanCase::default() }.text("5.2"), @"
    The cluster runs 5.2.0.

    Source of updates: graph.json.
    (Yes)
    ");
}

#[test]
fn text_of_not_offered_reasons() {
    use fairway_insight::plan::NotOffered;

    let base = PlanCase { version: "5.0.0", ..PlanCase::default() };
    let cluster_version = cluster(base.version, &[]);
    let state = ClusterState {
        cluster_version: &cluster_version,
        components: &[],
        operators_error: None,
        gates: &AdminGates::default(),
        outcomes: &QueryOutcomes::new(),
        now: Timestamp::UNIX_EPOCH,
    };
    let goal: Goal = "5.9.0".parse().unwrap();
    let (graph, channel_set) = (graph(), ChannelSet::default());
    let input = PlanInput { graph: &graph, graph_source: &base.graph_source, maintenance: None };
    let mut plan = Plan::new(&state, input, &channel_set, &goal).unwrap();
    plan.limitations = vec![Limitation::Operators { message: "they cannot be read".to_owned() }];
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let output = [
        NotOffered::NotInChannel { channels: names(&["candidate-5.9", "fast-5.9"]) },
        NotOffered::Tombstoned {
            channel: "stable-5.0".to_owned(),
            file: "channels/stable-5.0.yaml".to_owned(),
        },
        NotOffered::NoEdge { from_versions: names(&[]) },
        NotOffered::NoEdge { from_versions: names(&["5.8.2", "5.8.1"]) },
        NotOffered::Guard { minor_distance: Some(3) },
        NotOffered::Guard { minor_distance: None },
    ]
    .map(|why| {
        plan.not_offered = Some(why);
        PlanText(&plan).to_string()
    });
    insta::assert_snapshot!(output.join("\n\n"), @"
    No upgrade path from 5.0.0 to 5.9.0: it is not in stable-5.0, but in candidate-5.9, fast-5.9.
    To include that channel, add --channel=fast-5.9.

    OLM operators are unknown: they cannot be read.
    Source of updates: graph.json.

    No upgrade path from 5.0.0 to 5.9.0: channels/stable-5.0.yaml removes it from stable-5.0.

    OLM operators are unknown: they cannot be read.
    Source of updates: graph.json.

    No upgrade path from 5.0.0 to 5.9.0: no update leads to it.

    OLM operators are unknown: they cannot be read.
    Source of updates: graph.json.

    No upgrade path from 5.0.0 to 5.9.0: no update leads to it from 5.0.0, only from 5.8.2, 5.8.1.

    OLM operators are unknown: they cannot be read.
    Source of updates: graph.json.

    No upgrade path from 5.0.0 to 5.9.0: it is 3 minor versions after 5.0.0, and an update can cross at most 2.

    OLM operators are unknown: they cannot be read.
    Source of updates: graph.json.

    No upgrade path from 5.0.0 to 5.9.0: the only update to another major version is from 4.y to 5.0.

    OLM operators are unknown: they cannot be read.
    Source of updates: graph.json.
    ");
}

#[test]
fn text_of_repairs_comes_first() {
    let case = PlanCase {
        version: "5.1.0",
        accepted: &["NodesRestart", "MigrationStalls"],
        conditions: json!([
            {"type": "Failing", "status": "True", "reason": "Broken", "message": "etcd is down."},
            {"type": "Upgradeable", "status": "False", "reason": "Old", "message": "APIs go away."},
        ]),
        ..PlanCase::default()
    };
    insta::assert_snapshot!(case.text("5.2.0"), @"
    From 5.1.0 to 5.2.0 in 1 hop. The cluster is failing and must be repaired before any update.

    1. 5.1.0 -> 5.2.0, an update to the next minor version
       The cluster is failing and must be repaired
         etcd is down.
       UpgradeableFalse: The cluster is not upgradeable and must be repaired
         APIs go away.
         https://fairway.dev/docs/risks#cluster-operators
       Accepted: MigrationStalls, NodesRestart
       $ fairway upgrade channel stable-5.2
       $ fairway upgrade --to=5.2.0 --wait

    5.2.0 is not available now: it is not in stable-5.0, but in stable-5.2, stable-5.3.

    Source of updates: graph.json.
    (No)
    ");
    let blind = PlanCase { operators_error: Some("forbidden"), conditions: json!([]), ..case };
    insta::assert_snapshot!(blind.text("5.2.0"), @"
    From 5.1.0 to 5.2.0 in 1 hop. Exposure to ClusterOperatorUpgradeableUnknown is unknown.

    1. 5.1.0 -> 5.2.0, an update to the next minor version
       ClusterOperatorUpgradeableUnknown may apply: cannot be evaluated
         Cannot list ClusterOperators: forbidden.
         Cannot determine whether the cluster operators allow an update to a later minor or major version.
         https://fairway.dev/docs/risks#cluster-operators
       Accepted: MigrationStalls, NodesRestart
       $ fairway upgrade channel stable-5.2
       $ fairway upgrade accept ClusterOperatorUpgradeableUnknown --for=5.2.0
       $ fairway upgrade --to=5.2.0 --wait

    5.2.0 is not available now: it is not in stable-5.0, but in stable-5.2, stable-5.3.

    Source of updates: graph.json.
    (Unknown)
    ");
}

#[test]
fn text_of_update_in_progress() {
    let conditions = json!([{"type": "Progressing", "status": "True"}]);
    let case = PlanCase { conditions, ..PlanCase::default() };
    insta::assert_snapshot!(case.text("5.0.0"), @"
    The update to 5.0.0 is in progress. Run `fairway upgrade status` for details.

    Source of updates: graph.json.
    (Yes)
    ");
}

#[test]
fn text_of_sources_and_limitations() {
    let plan = |at: Option<&str>| {
        let samples = MetricsSource {
            file: "samples.txt".to_owned(),
            observation_time: at.map(|at| at.parse().unwrap()),
        };
        let limitations = vec![
            Limitation::Channels {
                channels: ["stable-5.2", "stable-5.3"].map(str::to_owned).into(),
                message: "not all channels were retrieved within 30s".to_owned(),
            },
            Limitation::EmptyChannel { channel: "fast-5.9".to_owned() },
        ];
        let plan = PlanCase::default().plan("5.0.0");
        let plan = Plan { limitations, metrics_source: Some(samples), ..plan };
        PlanText(&plan).to_string()
    };
    insta::assert_snapshot!(plan(Some("1969-12-25T00:00:00Z")), @"
    The cluster runs 5.0.0.

    Updates of stable-5.2, stable-5.3 are unknown: not all channels were retrieved within 30s.
    Channel fast-5.9 has no releases: check its name.
    Source of updates: graph.json.
    Source of metrics: samples.txt, as of 1969-12-25T00:00:00Z, 7d0h ago.
    ");
    assert!(plan(None).ends_with("\nSource of metrics: samples.txt."));
}

/// Risk names of the OLM guard identify the operators to update.
#[test]
fn olm_guard_report_names_operators() {
    let maximum = r#"[{"type": "olm.maxOpenShiftVersion", "value": "4.11"}]"#;
    let maximum = [("olm.properties".to_owned(), maximum.to_owned())].into();
    let needs = apis::ApiUsage::read(&json!({"spec": {"nativeAPIs": [
        {"group": "policy", "version": "v1beta1", "kind": "PodSecurityPolicy"},
    ]}}));
    let running = MinorVersion::new(4, 11);
    let losing = OlmOperator::read("team", "apis.v1", &BTreeMap::new()).using(&needs, running);
    let operators = [OlmOperator::read("team", "etcd.v1", &maximum), losing];
    let published = OlmCheck::new(operators, running, OlmPolicy::default()).published();
    let olm = json!({"metadata": {"name": "olm"}, "spec": {}, "status": {"extension": published.extension}});
    let components = vec![serde_json::from_value(olm).unwrap()];
    let case = PlanCase { version: "5.1.0", components, ..PlanCase::default() };
    let plan = case.plan("5.2.0");
    let needs = plan.least_risk.iter().flat_map(|way| &way.hops[0].prerequisites);
    let operators = needs.filter_map(|need| match need {
        Prerequisite::Operator { operator, .. } => Some(operator.as_str()),
        _ => None,
    });
    assert_eq!(operators.collect::<Vec<_>>(), ["team/apis.v1", "team/etcd.v1"]);
}

#[test]
fn default_update_service_is_for_openshift_only() {
    let mut cluster = cluster("5.0.0", &[]);
    assert_eq!(graph_source::services_of(&cluster).default, None);
    let status = cluster.status.as_mut().unwrap();
    status.desired.image = "quay.io/openshift-release-dev/ocp-release@sha256:00".to_owned();
    let usual = graph_source::services_of(&cluster).default;
    assert_eq!(usual.as_deref(), Some("https://api.openshift.com/api/upgrades_info/v1/graph"));
}
