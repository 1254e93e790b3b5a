//! Tests for the progress of pools, and for the nodes of each pool.

use super::*;

#[test]
fn pool_assessment_follows_nodes() {
    let new = json!({"currentConfig": "new", "desiredConfig": "new"});
    let cases: [(&str, bool, Vec<Value>); 7] = [
        ("empty", false, vec![]),
        ("all new", false, vec![new.clone()]),
        ("all old", false, vec![json!({}), json!({})]),
        ("some new", false, vec![json!({}), new.clone(), new.clone()]),
        ("paused", true, vec![json!({}), new.clone()]),
        ("failed", false, vec![new.clone(), json!({"state": "Degraded", "reason": "no"})]),
        ("failed and paused", true, vec![json!({}), json!({"state": "Degraded", "reason": "no"})]),
    ];
    let lines = cases.map(|(name, paused, nodes)| {
        let mut cluster = cluster();
        cluster.pools = vec![pool("master"), pool("worker"), pool("infra")];
        cluster.pools[1].spec.paused = paused;
        let numbered = nodes.into_iter().enumerate();
        let workers = numbered.map(|(index, it)| node(&format!("w-{index}"), "worker", it));
        cluster.nodes = workers.collect();
        cluster.nodes.push(node("infra-0", "infra", json!({})));
        let status = text(&cluster, 600);
        let PoolStatus { assessment, percent, nodes, .. } = &status.pools[0];
        format!("{name}: {assessment:?} {percent}% {nodes:?}\n  {:?}", summaries(&status))
    });
    insta::assert_snapshot!(lines.join("\n"), @r#"
    empty: Empty 100% NodeCounts { total: 0, updated: 0, available: 0, progressing: 0, outdated: 0, draining: 0, excluded: 0, degraded: 0 }
      []
    all new: Completed 100% NodeCounts { total: 1, updated: 1, available: 1, progressing: 0, outdated: 0, draining: 0, excluded: 0, degraded: 0 }
      []
    all old: Pending 0% NodeCounts { total: 2, updated: 0, available: 2, progressing: 0, outdated: 2, draining: 0, excluded: 0, degraded: 0 }
      []
    some new: Progressing 67% NodeCounts { total: 3, updated: 2, available: 3, progressing: 0, outdated: 1, draining: 0, excluded: 0, degraded: 0 }
      []
    paused: Excluded 50% NodeCounts { total: 2, updated: 1, available: 2, progressing: 0, outdated: 1, draining: 0, excluded: 1, degraded: 0 }
      ["Warning UpdateStalled Outdated nodes in a paused pool 'worker' will not be updated"]
    failed: Degraded 50% NodeCounts { total: 2, updated: 1, available: 2, progressing: 0, outdated: 1, draining: 0, excluded: 0, degraded: 1 }
      ["Error UpdateStalled Node w-1 is degraded"]
    failed and paused: Degraded 0% NodeCounts { total: 2, updated: 0, available: 2, progressing: 0, outdated: 2, draining: 0, excluded: 2, degraded: 1 }
      ["Error UpdateStalled Node w-1 is degraded", "Warning UpdateStalled Outdated nodes in a paused pool 'worker' will not be updated"]
    "#);
}

#[test]
fn node_belongs_to_most_specific_pool() {
    let mut cluster = cluster();
    cluster.pools.push(pool("infra"));
    let labels = &mut cluster.nodes[1].metadata.labels;
    labels.insert("role/infra".to_owned(), String::new());
    let labels = &mut cluster.nodes[0].metadata.labels;
    labels.insert("role/worker".to_owned(), String::new());
    cluster.pools[1].spec.node_selector = Some(object(json!({
        "matchExpressions": [{"key": "role/worker", "operator": "Exists"}]
    })));
    let status = text(&cluster, 600);
    let pools: Vec<&str> = status.nodes.iter().map(|node| node.pool.as_str()).collect();
    assert_eq!(pools, ["master", "infra"]);
    assert_eq!(status.pools[0].assessment, PoolAssessment::Empty);
    cluster.nodes.retain(|node| node.metadata.name == "master-0");
    assert!(text(&cluster, 600).pools.is_empty(), "pools without nodes are not listed");
}

#[test]
fn pool_members_match_selector() {
    let members = |pools: &[(&str, Value)]| {
        let mut cluster = cluster();
        cluster.pools = pools
            .iter()
            .map(|(name, selector)| {
                let mut pool = pool(name);
                pool.spec.node_selector = object(selector.clone());
                pool
            })
            .collect();
        let status = text(&cluster, 600);
        let text = status.nodes.iter().map(|node| format!("{} in {}", node.name, node.pool));
        text.collect::<Vec<_>>().join(", ")
    };
    let role = |name: &str| json!({"matchLabels": {format!("role/{name}"): ""}});
    let any_role = json!({"matchExpressions": [{"key": "role/worker", "operator": "Exists"}]});
    let wrong = json!({"matchExpressions": [{"key": "role/worker", "operator": "Perhaps"}]});
    let any_node = json!({});
    insta::assert_snapshot!([
        members(&[("master", role("master")), ("worker", role("worker"))]),
        members(&[("worker", any_node.clone()), ("master", role("master"))]),
        members(&[("master", role("master")), ("worker", any_node.clone()), ("infra", any_role.clone())]),
        members(&[("master", any_node), ("worker", role("worker"))]),
        members(&[("master", json!(null)), ("worker", role("worker"))]),
        members(&[("master", wrong), ("worker", role("worker"))]),
        members(&[("infra", any_role.clone()), ("gpu", any_role)]),
        members(&[]),
    ].join("\n"), @"
    master-0 in master, worker-0 in worker
    master-0 in master, worker-0 in worker
    master-0 in master, worker-0 in infra
    master-0 in master, worker-0 in master
    worker-0 in worker
    worker-0 in worker
    worker-0 in gpu
    ");
}

#[test]
fn paused_pool_without_outdated_nodes_has_no_insight() {
    let new = json!({"currentConfig": "new", "desiredConfig": "new"});
    let assessed = |nodes: &[Value]| {
        let mut cluster = cluster();
        cluster.pools[1].spec.paused = true;
        let numbered = nodes.iter().enumerate();
        cluster.nodes =
            numbered.map(|(index, it)| node(&format!("w-{index}"), "worker", it.clone())).collect();
        let status = text(&cluster, 600);
        let pool = &status.pools[0];
        (pool.assessment, pool.nodes.excluded, summaries(&status).len())
    };
    assert_eq!(assessed(&[new.clone(), new.clone()]), (PoolAssessment::Completed, 0, 0));
    assert_eq!(assessed(&[new, json!({})]), (PoolAssessment::Excluded, 1, 1));
    let nodes = json!({"desiredConfig": "new", "state": "Working"});
    assert_eq!(assessed(&[nodes]), (PoolAssessment::Progressing, 0, 0), "it has begun before");
}

#[test]
fn large_pool_lists_all_nodes() {
    let mut cluster = cluster();
    let names = (0..62).map(|index| format!("worker-{index:02}"));
    let of = |index: usize| match index % 3 {
        0 => json!({"currentConfig": "new", "desiredConfig": "new"}),
        1 => json!({"desiredConfig": "new", "state": "Working"}),
        _ => json!({}),
    };
    cluster.nodes =
        names.enumerate().map(|(index, name)| node(&name, "worker", of(index))).collect();
    let status = text(&cluster, 600);
    assert_eq!(status.nodes.len(), 62);
    let PoolStatus { percent, nodes, .. } = status.pools[0];
    assert_eq!((percent, nodes.updated, nodes.progressing, nodes.outdated), (34, 21, 21, 41));
    assert_eq!(nodes.available, 41, "those that are at it take no work");
}

#[test]
fn cluster_without_worker_pools_has_no_pools() {
    let mut cluster = cluster();
    cluster.nodes.truncate(1);
    let labels = &mut cluster.nodes[0].metadata.labels;
    labels.insert("role/worker".to_owned(), String::new());
    let status = text(&cluster, 600);
    assert!(status.pools.is_empty(), "its only node is one of the control plane");
    assert_eq!(status.nodes.len(), 1);
}
