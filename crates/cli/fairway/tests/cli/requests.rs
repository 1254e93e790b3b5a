//! The requests of each command to the API server.

use std::collections::BTreeMap;

use anyhow::Result;
use fairway_testkit::TestCluster;

use crate::fairway;
use crate::upgrade::create_cluster_version;

/// Each command and its requests.
const COMMANDS: &[(&[&str], &[&str])] = &[
    (&["upgrade"], &["get clusterversions/version", "list clusteroperators"]),
    (&["upgrade", "channel"], &["get clusterversions/version"]),
    (
        &["upgrade", "--status-preflight"],
        &["get clusterversions/version", "list openshift-cluster-version/configmaps"],
    ),
    (
        &["upgrade", "compare", "5.1.1", "5.2.0"],
        &["get clusterversions/version", "list openshift-cluster-version/configmaps"],
    ),
    (&["upgrade", "--clear"], &["get clusterversions/version"]),
    (&["upgrade", "accept", "--export"], &["get clusterversions/version"]),
    (
        &["fleet", "report", "--all-contexts"],
        &["get clusterversions/version", "list openshift-cluster-version/configmaps"],
    ),
    (
        &["upgrade", "recommend"],
        &[
            "get clusterversions/version",
            "list clusteroperators",
            "get openshift-monitoring/routes/thanos-querier",
            "get /apis/route.openshift.io/v1",
        ],
    ),
    (
        &["upgrade", "status"],
        &[
            "get clusterversions/version",
            "list clusteroperators",
            "list machineconfigpools",
            "list machineconfigs",
            "list nodes",
            "get openshift-machine-config-operator/deployments/machine-config-operator",
        ],
    ),
    (
        &["upgrade", "--to=5.1.1", "--no-wait"],
        &[
            "get clusterversions/version",
            "patch clusterversions/version (dry run)",
            "patch clusterversions/version",
        ],
    ),
    (
        &["upgrade", "channel", "candidate-5.1"],
        &[
            "get clusterversions/version",
            "patch clusterversions/version (dry run)",
            "patch clusterversions/version",
        ],
    ),
    (
        &["__complete", "upgrade", "--request-timeout=60s", "--to", ""],
        &["get clusterversions/version"],
    ),
    (&["__complete", "upgrade", "st"], &[]),
];

#[tokio::test(flavor = "multi_thread")]
async fn each_command_sends_only_the_documented_requests_once() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let log = cluster.audit_log()?;
    for (arguments, expected) in COMMANDS {
        let mark = log.mark()?;
        let mut command = fairway();
        command.args(*arguments).env("KUBECONFIG", cluster.kubeconfig());
        tokio::task::block_in_place(|| command.output())?;
        let mut asked: BTreeMap<String, usize> = BTreeMap::new();
        for event in log.since(mark)?.iter().filter(|it| it.user_agent.starts_with("fairway/")) {
            *asked.entry(request_line(event)).or_default() += 1;
        }
        let expected =
            expected.iter().map(|request_line| ((*request_line).to_owned(), 1)).collect();
        assert_eq!(asked, expected, "{arguments:?}");
    }
    Ok(())
}

/// For example `get clusterversions/version`.
fn request_line(event: &fairway_testkit::AuditEvent) -> String {
    let tried = if event.is_dry_run() { " (dry run)" } else { "" };
    let Some(object) = &event.object_ref else {
        return format!("{} {}{tried}", event.verb, event.request_uri);
    };
    let parts = [&object.namespace, &object.resource, &object.name];
    let parts: Vec<&str> =
        parts.into_iter().map(String::as_str).filter(|it| !it.is_empty()).collect();
    format!("{} {}{tried}", event.verb, parts.join("/"))
}
