//! Text output of `upgrade status` for recorded clusters.

use std::path::{Path, PathBuf};

use fairway_insight::request::PendingRequest;

use super::*;
use crate::args::insight::Details;
use crate::source::Recording;

/// Cluster with an update to 5.2.0 that started half an hour ago.
const VERSION: &str = "
apiVersion: config.openshift.io/v1
kind: ClusterVersion
metadata: {name: version, generation: 3}
spec: {clusterID: '', desiredUpdate: {version: 5.2.0}}
status:
  observedGeneration: 3
  desired: {version: 5.2.0, image: 'release@sha256:2'}
  history:
  - {state: Partial, version: 5.2.0, image: 'release@sha256:2', startedTime: '2026-01-01T10:00:00Z'}
  - {state: Completed, version: 5.1.0, image: 'release@sha256:1', startedTime: '2025-12-01T10:00:00Z', completionTime: '2025-12-01T11:00:00Z'}
  - {state: Completed, version: 5.0.0, image: 'release@sha256:0', startedTime: '2025-11-01T10:00:00Z', completionTime: '2025-11-01T11:00:00Z'}
  conditions:
  - {type: Progressing, status: 'True', lastTransitionTime: '2026-01-01T10:00:00Z', message: Working}
  - {type: Failing, status: 'False', lastTransitionTime: '2026-01-01T10:00:00Z'}
";

const OPERATORS: &str = "
kind: List
items:
- metadata: {name: etcd, annotations: {include.release.openshift.io/x: 'true'}}
  spec: {}
  status:
    versions: [{name: operator, version: 5.2.0}]
    conditions:
    - {type: Available, status: 'True', lastTransitionTime: '2026-01-01T09:00:00Z'}
    - {type: Progressing, status: 'False', lastTransitionTime: '2026-01-01T10:20:00Z'}
- metadata: {name: network, annotations: {include.release.openshift.io/x: 'true'}}
  spec: {}
  status:
    versions: [{name: operator, version: 5.1.0}]
    conditions:
    - {type: Available, status: 'True', lastTransitionTime: '2026-01-01T09:00:00Z'}
    - {type: Progressing, status: 'True', lastTransitionTime: '2026-01-01T10:20:00Z', reason: Deploying, message: \"first line\\nsecond line\"}
    - {type: Degraded, status: 'False', lastTransitionTime: '2026-01-01T10:30:00Z'}
";

const POOLS: &str = "
kind: List
items:
- {metadata: {name: master}, spec: {nodeSelector: {matchLabels: {master: ''}}, configuration: {name: new}}}
- {metadata: {name: worker}, spec: {nodeSelector: {matchLabels: {worker: ''}}, configuration: {name: new}}}
- {metadata: {name: spare}, spec: {nodeSelector: {matchLabels: {spare: ''}}, configuration: {name: new}}}
";

const CONFIGS: &str = "
kind: List
items:
- {metadata: {name: old, annotations: {machineconfiguration.openshift.io/release-image-version: 5.1.0}}}
- {metadata: {name: new, annotations: {machineconfiguration.openshift.io/release-image-version: 5.2.0}}}
";

/// Recorded files in a temporary directory.
struct Files {
    directory: tempfile::TempDir,
}

impl Files {
    fn new() -> Self {
        let files = Self { directory: tempfile::tempdir().unwrap() };
        files.write("cv.yaml", VERSION);
        files.write("co.yaml", OPERATORS);
        files
    }

    fn with_nodes(nodes: &str) -> Self {
        let files = Self::new();
        files.write("mcp.yaml", POOLS);
        files.write("mc.yaml", CONFIGS);
        files.write("node.yaml", &format!("kind: List\nitems:\n{nodes}"));
        files
    }

    fn write(&self, ending: &str, text: &str) {
        std::fs::write(self.directory.path().join(format!("x-{ending}")), text).unwrap();
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("x-cv.yaml")
    }

    fn text(&self, details: Details) -> String {
        let (cluster, observation) = recorded(&self.path()).unwrap();
        let status = compute(&cluster, observation).unwrap();
        StatusText { status: &status, details, watched: false }.to_string()
    }
}

/// Recorded objects and their observation time.
fn recorded(path: &Path) -> anyhow::Result<(ClusterObjects, ObservationTime)> {
    let source = Source::Recorded(Recording::open(&[path.to_owned()], None)?);
    let cluster = block_on(read_objects(&source))?;
    let observation = source.observation_time(&cluster.version, &cluster.operators);
    Ok((cluster, observation))
}

fn node(name: &str, role: &str, current: &str, desired: &str, state: &str) -> String {
    let prefix = "machineconfiguration.openshift.io";
    format!(
        "- metadata: {{name: {name}, labels: {{{role}: ''}}, annotations: {{{prefix}/currentConfig: {current}, {prefix}/desiredConfig: {desired}, {prefix}/state: {state}, {prefix}/reason: '{name} is full'}}}}\n  \
         status: {{conditions: [{{type: Ready, status: 'True'}}]}}\n"
    )
}

#[test]
fn text_of_update_without_pools() {
    insta::assert_snapshot!(Files::new().text(Details::None), @"
    Update to 5.2.0 from 5.1.0: in progress.
      50% complete; 2 operators: 1 updated, 1 updating, 0 waiting
      Operators: 2 healthy
      Duration: 30m
      Time remaining: about 26m

    Waiting for
      operator network (Deploying), for 10m
        first line
        $ kubectl describe clusteroperator network

    Health
      No known issues.
      Alerts are unknown: the recorded cluster contains no alert data.
    ");
    let details = Files::new().text(Details::Operators);
    assert!(details.contains("\n    first line\n    second line\n"), "{details}");
}

#[test]
fn text_of_update_with_nodes() {
    let nodes = [
        node("master-0", "master", "new", "new", "Done"),
        node("master-1", "master", "old", "new", "Working"),
        node("worker-0", "worker", "old", "old", "Done"),
        node("worker-1", "worker", "old", "new", "Degraded"),
        node("worker-2", "worker", "old", "new", "Degraded"),
    ];
    let files = Files::with_nodes(&nodes.concat());
    insta::assert_snapshot!(files.text(Details::None), @"
    Update to 5.2.0 from 5.1.0: in progress.
      50% complete; 2 operators: 1 updated, 1 updating, 0 waiting
      Operators: 2 healthy
      Duration: 30m
      Time remaining: unknown (the update is blocked)

    Waiting for
      operator network (Deploying), for 10m
        first line
        $ kubectl describe clusteroperator network
      node master-1 (Updating)
        $ kubectl describe node master-1
      nodes worker-1, worker-2 (Updating)
        <node> is full
        $ kubectl describe node worker-1

    Control plane nodes: 1 of 2 updated
      ASSESSMENT   PHASE     VERSION  EST   NAME
      Progressing  Updating  5.1.0    +5m   master-1
      Completed    Updated   5.2.0    -     master-0

    Worker pool worker: degraded, 0 of 3 updated (0%)
      3 available, 0 progressing, 0 draining, 2 degraded
      ASSESSMENT  PHASE     VERSION  EST   NAME
      Degraded    Updating  5.1.0    ?     worker-1
        <node> is full
      Degraded    Updating  5.1.0    ?     worker-2
        <node> is full
      Outdated    Pending   5.1.0    ?     worker-0

    Worker pool spare: no nodes

    Health
      Error: Node worker-1 is degraded
        the update is stalled
      Error: Node worker-2 is degraded
        the update is stalled
      Use --details=health for explanations and remediation.
      Alerts are unknown: the recorded cluster contains no alert data.
    ");
    insta::assert_snapshot!(files.text(Details::Health).split("\n\n").last().unwrap(), @"
    Health
      Error: Node worker-1 is degraded
        the update is stalled
        worker-1 is full
        nodes: worker-1
        https://docs.openshift.com/container-platform/latest/post_installation_configuration/machine-configuration-tasks.html#understanding-the-machine-config-operator
      Error: Node worker-2 is degraded
        the update is stalled
        worker-2 is full
        nodes: worker-2
        https://docs.openshift.com/container-platform/latest/post_installation_configuration/machine-configuration-tasks.html#understanding-the-machine-config-operator
      Alerts are unknown: the recorded cluster contains no alert data.
    ");
}

#[test]
fn text_counts_nodes_beyond_limit() {
    let nodes: String = (0..14)
        .map(|index| node(&format!("worker-{index}"), "worker", "old", "old", "Done"))
        .collect();
    let files = Files::with_nodes(&nodes);
    let pool = |details| {
        let text = files.text(details);
        text.split("\n\n").find(|part| part.starts_with("Worker pool worker")).unwrap().to_owned()
    };
    assert_eq!(pool(Details::None).lines().count(), 2 + 1 + 10 + 1);
    insta::assert_snapshot!(pool(Details::None).lines().last().unwrap(), @"  4 more: 4 pending; use --details=nodes to show them");
    assert_eq!(pool(Details::Nodes).lines().count(), 2 + 1 + 14);
}

#[test]
fn text_of_idle_cluster() {
    let files = Files::new();
    let idle = VERSION.replace(
        "status: 'True', lastTransitionTime: '2026-01-01T10:00:00Z', message",
        "status: 'False', message",
    );
    files.write("cv.yaml", &idle);
    insta::assert_snapshot!(files.text(Details::None), @"The cluster is not updating.");
    files.write("cv.yaml", &idle.replace("{version: 5.2.0}}", "{version: 5.3.0}}"));
    insta::assert_snapshot!(files.text(Details::None), @"
    The cluster is not updating.

    An update to 5.3.0 is requested and has not started.

    Waiting for
      release 5.3.0
        the operator has not started the update yet
        $ fairway upgrade
    ");
}

#[test]
fn text_has_complete_refusal_message() {
    let files = Files::new();
    let long = format!("Preconditions failed for payload {}: it is older", "a".repeat(160));
    let refused = format!("  - {{type: ReleaseAccepted, status: 'False', message: '{long}'}}\n");
    let asked = VERSION.replace("{version: 5.2.0}}", "{version: 5.3.0}}");
    files.write("cv.yaml", &format!("{asked}{refused}"));
    let text = files.text(Details::None);
    assert!(
        text.contains("An update to 5.3.0 is requested, but the operator refuses it."),
        "{text}"
    );
    assert!(text.contains(": it is older\n"), "{text}");
}

#[test]
fn text_escapes_control_characters() {
    let files = Files::new();
    files.write(
        "co.yaml",
        &OPERATORS
            .replace("first line", "\\e[2Jred")
            .replace("name: network", "name: \"net\\e[1m\""),
    );
    let text = files.text(Details::All);
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn missing_or_invalid_files_are_named() {
    let problem = |path: &Path| {
        let error = recorded(path).unwrap_err();
        let text = crate::errors::chain(&error).join(": ");
        let directory = path.parent().unwrap().display().to_string();
        let hint = crate::errors::hint(&error).unwrap_or_default();
        format!("{}\n  {hint}", text.replace(&directory, "…"))
    };
    let files = Files::new();
    let other = files.directory.path().join("version.yaml");
    std::fs::write(&other, VERSION).unwrap();
    let mut problems = vec![problem(&files.directory.path().join("y-cv.yaml")), problem(&other)];
    std::fs::remove_file(files.directory.path().join("x-co.yaml")).unwrap();
    problems.push(problem(&files.path()));
    files.write("co.yaml", "items: 5");
    problems.push(problem(&files.path()));
    files.write("co.yaml", OPERATORS);
    files.write("cv.yaml", "kind: List\nitems: []");
    problems.push(problem(&files.path()));
    insta::assert_snapshot!(problems.join("\n"), @"
    …/y-cv.yaml does not exist
      record it with `kubectl get clusterversion version -o yaml > X-cv.yaml`
    no ClusterOperator recorded: none in …/version.yaml
      record it with `kubectl get clusteroperators -o yaml`
    no ClusterOperator recorded: …/x-co.yaml does not exist
      record it with `kubectl get clusteroperators -o yaml`
    …/x-co.yaml: items is not a list
      
    no ClusterVersion recorded: none in …/x-cv.yaml
      record it with `kubectl get clusterversions -o yaml`
    ");
}

#[test]
fn unreadable_alerts_are_reported() {
    let files = Files::new();
    files.write("alerts.json", "{}");
    let text = files.text(Details::None);
    let text = text.replace(&files.directory.path().display().to_string(), "…");
    insta::assert_snapshot!(text.lines().last().unwrap().trim(), @"Alerts are unknown: …/x-alerts.json: cannot parse the list of alerts: missing field `status` at line 1 column 2.");
}

#[test]
fn cluster_without_progressing_is_an_error() {
    let files = Files::new();
    files
        .write("cv.yaml", "kind: ClusterVersion\nmetadata: {name: version}\nspec: {clusterID: ''}");
    let (cluster, observation) = recorded(&files.path()).unwrap();
    let error = compute(&cluster, observation).unwrap_err();
    assert_eq!(crate::errors::status(&error), ExitStatus::Unknown);
    insta::assert_snapshot!(error, @"ClusterVersion has no condition Progressing, so the state of the update is unknown");
}

#[test]
fn watch_reports_completed_update() {
    let files = Files::new();
    let end = "state: Completed, completionTime: '2026-01-01T10:40:00Z'";
    let over = VERSION
        .replace("state: Partial", end)
        .replace("type: Progressing, status: 'True'", "type: Progressing, status: 'False'");
    files.write("cv.yaml", &over);
    let (mut cluster, observation) = recorded(&files.path()).unwrap();
    cluster.nodes.clear();
    let status = compute(&cluster, observation).unwrap();
    let said = [true, false]
        .map(|watched| StatusText { status: &status, details: Details::None, watched }.to_string());
    insta::assert_snapshot!(said.join("\n"), @"
    The cluster is updated to 5.2.0, duration 40m.
    The cluster is not updating.
    ");
}

#[test]
fn transient_failure_exits_with_success() {
    let files = Files::new();
    let failing = "type: Failing, status: 'True', reason: Slow, message: It waits.";
    files.write("cv.yaml", &VERSION.replace("type: Failing, status: 'False'", failing));
    let (cluster, _) = recorded(&files.path()).unwrap();
    let said = ["2026-01-01T10:00:02Z", "2026-01-01T10:06:00Z"].map(|now| {
        let status = compute(&cluster, ObservationTime::Live(now.parse().unwrap())).unwrap();
        let text =
            StatusText { status: &status, details: Details::None, watched: false }.to_string();
        let health = text.lines().skip_while(|line| *line != "Health").skip(1).take(2);
        let health = health.collect::<Vec<_>>().join("\n");
        format!("{:?}\n{health}", exit_status(&status))
    });
    insta::assert_snapshot!(said.join("\n"), @"
    Success
      Warning: Cluster Version version is failing to proceed with the update (Slow)
        for 2s; usual at first; if it persists, the update is stalled
    Refused
      Warning: Cluster Version version is failing to proceed with the update (Slow)
        for 6m; the update is stalled
    ");
}

#[test]
fn fingerprint_ignores_time() {
    let files = Files::new();
    let fingerprint = |later: i64| {
        let (cluster, observation) = recorded(&files.path()).unwrap();
        let now = observation.now() + jiff::SignedDuration::from_secs(later);
        watch::fingerprint(&compute(&cluster, ObservationTime::Live(now)).unwrap())
    };
    let before = fingerprint(0);
    assert_eq!(before, fingerprint(60));
    files.write("co.yaml", &OPERATORS.replace("first line", "another line"));
    assert_ne!(before, fingerprint(60));
}

#[test]
fn fingerprint_has_request_state() {
    let files = Files::new();
    let (cluster, observation) = recorded(&files.path()).unwrap();
    let mut status = compute(&cluster, observation).unwrap();
    let untold = watch::fingerprint(&status);
    let request = |seen: bool| PendingRequest {
        version: Some("5.3.0".to_owned()),
        image: None,
        spec_observed: seen,
        refused: false,
        reason: None,
        message: None,
        last_transition_time: None,
        age_seconds: None,
    };
    status.requested = Some(request(false));
    let asked = watch::fingerprint(&status);
    status.requested = Some(request(true));
    let seen = watch::fingerprint(&status);
    assert!(untold != asked && asked != seen);
    status.requested = Some(PendingRequest { refused: true, ..request(true) });
    assert_ne!(seen, watch::fingerprint(&status));
}
