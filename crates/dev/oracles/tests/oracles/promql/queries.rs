//! Queries of update graphs, for hand-written clusters.

use fairway_fixtures::{environment, graph_data};
use fairway_promql::snapshot::{Snapshot, SnapshotLimits};
use fairway_promql::{Query, evaluate};
use jiff::Timestamp;

use crate::promql::clusters;
use crate::promql::oracle::{Oracle, time};
use crate::promql::result::QueryResult;

/// Queries in the style of update graphs. Each uses another part of the language.
const OURS: [&str; 22] = [
    // Presence of a series.
    r#"group(cluster_infrastructure_provider{type=~"AWS|GCP"}) or 0 * group(cluster_infrastructure_provider)"#,
    r#"group(cluster_infrastructure_provider{type!="AWS",type!~"A.*"}) or 0 * group(cluster_infrastructure_provider{_id=""})"#,
    // Presence, with the deciding label.
    r#"group by (type) (cluster_infrastructure_provider{_id="",type="Azure"}) or on () 0 * group by (type) (cluster_infrastructure_provider{_id=""})"#,
    r#"topk(1, group by (vendor) (node_cpu_info{family="25"}) or 0 * group by (vendor) (node_cpu_info))"#,
    r#"bottomk by (_id) (1, 0 * group by (_id, role) (kube_node_role{role="control-plane"}) or group by (_id, role) (kube_node_role))"#,
    // Two conditions.
    r#"(group(csv_succeeded{name=~"metallb-operator[.].*"}) or 0 * group(csv_count)) * on () group_left () (group(cluster_installer{invoker="user"}) or 0 * group(cluster_installer))"#,
    r#"topk(1, group by (mode) (cco_credentials_mode{mode="mint"}) or 0 * group by (mode) (cco_credentials_mode)) * on () group_left (type) topk(1, group by (type) (cluster_infrastructure_provider{type="AWS"}) or 0 * group by (type) (cluster_infrastructure_provider))"#,
    r#"(0 * group by (type) (cluster_infrastructure_provider)) + on () group_right (mode) group by (mode) (cco_credentials_mode{mode="mint"}) or on () 0 * group(cluster_infrastructure_provider)"#,
    // Over an hour, which bridges missing samples.
    r#"group(max_over_time(apiserver_storage_objects{resource="nodes"}[1h]) > 100) or 0 * group(max_over_time(apiserver_storage_objects[1h]))"#,
    r#"group by (ipsec) (label_replace(min_over_time(ovnkube_controller_ipsec_enabled[1h]), "ipsec", "on", "", "") == 1) or on () 0 * group(count_over_time(apiserver_storage_objects[1h]))"#,
    r#"group(last_over_time(apiserver_storage_objects{resource=~".*ovn.org"}[1h] offset 20m)) or 0 * group(present_over_time(apiserver_storage_objects[1h]))"#,
    "max(changes(ovnkube_controller_ipsec_enabled[1h])) > bool 0 or 0 * group(apiserver_storage_objects)",
    // The version in which a cluster was installed.
    r#"topk(1, label_replace(group by (version) (cluster_version{type="initial",version=~"4[.]([0-9]|1[0-2])[.].*"}), "born", "early: $1", "version", "(4[.][0-9]+)[.].*") or 0 * group by (version) (cluster_version{type="initial",version!~"4[.]([0-9]|1[0-2])[.].*"}))"#,
    // Numbers.
    r#"max(cluster_proxy_enabled{type=~"https?"})"#,
    r#"1 - max(cluster_version_capability{name="Console"})"#,
    "sum(csv_succeeded) > bool 3",
    r#"clamp_max(count(kube_node_role{role=~"master|control-plane"}), 1) or 0 * group(cluster_infrastructure_provider{type!="VSphere"})"#,
    r#"clamp(sum(kube_node_labels{label_node_openshift_io_os_id="rhel"}), 0, 1) or 0 * group(kube_node_labels)"#,
    "ceil(avg(network_attachment_definition_instances) / 100)",
    // Absent series.
    "absent(csv_succeeded) * on () group(csv_count) or 0 * group(csv_succeeded)",
    r#"group(cluster_installer) unless on () cluster_installer{invoker="hypershift"} or on () 0 * group(cluster_infrastructure_provider)"#,
    r#"vector(scalar(cluster_version_capability{name="Console"}))"#,
];

/// The effect of a result on a risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RiskResult {
    Applies,
    DoesNotApply,
    Fails,
}

fn verdict(answer: &Result<QueryResult, String>) -> RiskResult {
    match answer {
        Ok(QueryResult::Vector(vector)) => match vector.as_slice() {
            [(_, 1.0)] => RiskResult::Applies,
            [(_, 0.0)] => RiskResult::DoesNotApply,
            _ => RiskResult::Fails,
        },
        _ => RiskResult::Fails,
    }
}

/// Each query matches in some cluster, does not in another one, and fails in a third one.
fn check(queries: impl IntoIterator<Item = impl AsRef<str>>) {
    let clusters = clusters::all();
    let oracle = Oracle::start(&clusters);
    for query in queries {
        let query = query.as_ref();
        let states = 0..clusters.len();
        let verdicts: Vec<_> = states.map(|state| verdict(&oracle.same(state, query))).collect();
        for wanted in [RiskResult::Applies, RiskResult::DoesNotApply, RiskResult::Fails] {
            assert!(verdicts.contains(&wanted), "{wanted:?} in no cluster: {query}");
        }
    }
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn handwritten_queries_match_prometheus() {
    check(OURS);
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn real_queries_match_prometheus() {
    if let Some(data) = environment::data() {
        check(graph_data::queries(&data));
    }
}

#[test]
#[ignore = "needs root and Debian: cargo xtask test"]
fn snapshot_matches_the_prometheus_it_was_saved_from() {
    let clusters = clusters::all();
    let oracle = Oracle::start(&clusters);
    for state in 0..clusters.len() {
        let now = time(state);
        let saved = oracle.query(state, r#"{__name__=~".+"}[1h]"#);
        let saved =
            Snapshot::parse(&saved, Timestamp::UNIX_EPOCH, &SnapshotLimits::default()).unwrap();
        for query in OURS {
            let parsed = Query::parse(query).unwrap();
            let ours = evaluate(&parsed, &saved, now, &evaluate::EvaluationLimits::default());
            match (ours.map(QueryResult::from), oracle.theirs(state, query)) {
                (Ok(ours), Ok(theirs)) => assert!(ours.is_equal(&theirs), "{query}: {ours:?}"),
                (ours, theirs) => assert!(ours.is_err() && theirs.is_err(), "{query}: {theirs:?}"),
            }
        }
    }
}
