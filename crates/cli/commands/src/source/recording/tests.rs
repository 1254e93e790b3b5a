//! Recordings in all accepted formats: must-gather directories, directories and single files.

use std::fs;
use std::path::Path;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::cluster::kind::{CLUSTER_OPERATORS, CLUSTER_VERSIONS, CONFIG_MAPS, NODES};

const VERSION: &str = "---\napiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {name: version}\nspec: {clusterID: ''}\n";

/// Temporary directory with files.
fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

fn open(path: &Path) -> anyhow::Result<Recording> {
    Recording::open(&[path.to_owned()], None)
}

fn names(recording: &Recording, wanted: Selection<'_>) -> Option<String> {
    let found: Option<Vec<Value>> = recording.every(wanted).unwrap();
    let name = |object: &Value| object["metadata"]["name"].as_str().unwrap_or("?").to_owned();
    found.map(|found| found.iter().map(name).collect::<Vec<_>>().join(" "))
}

/// Files of `oc adm must-gather`: lists and single objects, some of them twice, beside files that
/// are never read.
fn must_gather() -> TempDir {
    let image = "quay-io-release-sha256-0";
    let file = |path: &str| format!("{image}/{path}");
    let objects = "cluster-scoped-resources";
    let files = [
        ("timestamp".to_owned(), "2026-01-01 10:00:00 start"),
        (file("version"), "openshift/must-gather"),
        (file(&format!("{objects}/config.openshift.io/clusterversions/version.yaml")), VERSION),
        (
            file(&format!("{objects}/config.openshift.io/clusteroperators.yaml")),
            "---\napiVersion: config.openshift.io/v1\nkind: ClusterOperatorList\nitems:\n- metadata: {name: dns}\n- metadata: {name: etcd, uid: '2'}\n",
        ),
        (
            file(&format!("{objects}/config.openshift.io/clusteroperators/etcd.yaml")),
            "---\napiVersion: config.openshift.io/v1\nkind: ClusterOperator\nmetadata: {name: etcd, uid: '2'}\n",
        ),
        (
            file(&format!("{objects}/core/nodes/master-0.yaml")),
            "---\napiVersion: v1\nkind: Node\nmetadata: {name: master-0}\n",
        ),
        (
            file("namespaces/openshift-cluster-version/core/configmaps.yaml"),
            "---\napiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a, namespace: openshift-cluster-version, labels: {kept: 'true'}}\n- metadata: {name: b, namespace: openshift-cluster-version}\n",
        ),
        (
            file("namespaces/other/core/configmaps.yaml"),
            "---\napiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a, namespace: other}\n",
        ),
        (file("namespaces/other/core/pods.yaml"), "{{ invalid YAML that is not read"),
        (
            file("monitoring/prometheus/rules.json"),
            r#"{"status": "success", "data": {"groups": [{"rules": [{"alerts": [{"state": "firing", "labels": {"alertname": "Watchdog"}}]}]}]}}"#,
        ),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    directory(&files)
}

#[test]
fn must_gather_is_read_by_path() {
    let gathered = must_gather();
    let image = gathered.path().join("quay-io-release-sha256-0");
    for path in [gathered.path(), &image] {
        let recording = open(path).unwrap();
        assert_eq!(names(&recording, CLUSTER_VERSIONS.all()).as_deref(), Some("version"));
        assert_eq!(names(&recording, CLUSTER_OPERATORS.all()).as_deref(), Some("dns etcd"));
        assert_eq!(names(&recording, NODES.all()).as_deref(), Some("master-0"));
        let maps = CONFIG_MAPS.all();
        assert_eq!(names(&recording, maps).as_deref(), Some("a b a"));
        let kept = maps.within("openshift-cluster-version").labelled("kept", "true");
        assert_eq!(names(&recording, kept).as_deref(), Some("a"));
        let found: Option<ConfigMap> = recording.one(maps.within("other"), "a").unwrap();
        assert_eq!(found.and_then(|map| map.metadata.namespace).as_deref(), Some("other"));
        assert_eq!(names(&recording, crate::cluster::kind::DEPLOYMENTS.all()), None);
        assert!(matches!(recording.alerts(), Alerts::Known(alerts) if alerts.len() == 1));
    }
}

#[test]
fn files_are_read_whatever_their_names() {
    let saved = directory(&[
        ("one.yaml", VERSION),
        (
            "deeper/nodes.json",
            r#"{"kind": "List", "items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "uid": "1"}}]}"#,
        ),
        (
            "again.yml",
            "apiVersion: v1\nkind: Node\nmetadata: {name: a, uid: '1'}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: b}\n---\napiVersion: v1\nkind: Node\nmetadata: {name: copy-of-a, uid: '1'}",
        ),
        ("alerts.json", r#"{"status": "success", "data": {"alerts": []}}"#),
        ("notes.txt", "{{"),
    ]);
    let recording = open(saved.path()).unwrap();
    assert_eq!(names(&recording, CLUSTER_VERSIONS.all()).as_deref(), Some("version"));
    assert_eq!(names(&recording, NODES.all()).as_deref(), Some("a b copy-of-a"));
    assert_eq!(names(&recording, CONFIG_MAPS.all()), None);
    assert!(matches!(recording.alerts(), Alerts::Known(alerts) if alerts.is_empty()));

    let several = [saved.path().join("one.yaml"), saved.path().join("again.yml")];
    let recording = Recording::open(&several, None).unwrap();
    assert_eq!(names(&recording, NODES.all()).as_deref(), Some("a b copy-of-a"));
    assert!(matches!(recording.alerts(), Alerts::NotRecorded));
}

#[test]
fn read_errors_name_the_file() {
    let two = directory(&[("a.yaml", VERSION), ("b.yaml", &VERSION.replace("''", "other"))]);
    let broken = directory(&[("a.yaml", VERSION), ("b.yaml", "kind: [")]);
    let wrong = directory(&[("a.yaml", "kind: ConfigMap\nmetadata: {name: map}\ndata: 7")]);
    let empty = directory(&[]);
    let problem = |directory: &TempDir| {
        let opened = open(directory.path());
        let asked = opened.and_then(|it| it.every::<ConfigMap>(CONFIG_MAPS.all()).map(|_| it));
        let error = match asked {
            Ok(recording) => recording.missing_kind(&CLUSTER_VERSIONS),
            Err(error) => error,
        };
        let text = crate::errors::chain(&error).join(": ");
        text.replace(&directory.path().display().to_string(), "…")
    };
    insta::assert_snapshot!([two, broken, wrong, empty].each_ref().map(problem).join("\n"), @"
    found two ClusterVersions: in …/a.yaml and in …/b.yaml
    …/b.yaml:1:7: unclosed bracket '['
    …/a.yaml: map: field data: invalid type: integer `7`, expected a map
    no ClusterVersion recorded: none in …
    ");
}

#[test]
fn at_argument_sets_observation_time() {
    let saved = directory(&[("one.yaml", VERSION)]);
    let at: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
    let recording = Recording::open(&[saved.path().to_owned()], Some(at)).unwrap();
    assert_eq!(
        recording.observation_time(&ClusterVersion::default(), &[]),
        ObservationTime::Recorded(at)
    );
}

#[test]
fn files_of_several_clusters_are_refused() {
    let of = |uid: &str, channel: &str| {
        format!(
            "kind: ClusterVersion\nmetadata: {{name: version, uid: '{uid}'}}\nspec: {{clusterID: '', channel: {channel}}}\n"
        )
    };
    for (one, other, channel) in [
        (of("1", "a"), of("1", "a"), Some("a")),
        (of("1", "a"), of("1", "b"), Some("a")),
        (of("1", "a"), of("2", "a"), None),
        (of("", "a"), of("", "a"), Some("a")),
        (of("", "a"), of("1", "b"), None),
    ] {
        let directory = directory(&[("x-cv.yaml", &one), ("y-cv.yaml", &other)]);
        let files = ["x-cv.yaml", "y-cv.yaml"].map(|name| directory.path().join(name));
        let found = Recording::open(&files, None).unwrap().cluster_version();
        match found {
            Ok(found) => assert_eq!(found.spec.channel.as_deref(), channel, "{one}{other}"),
            Err(error) => {
                assert_eq!(channel, None, "{error}");
                assert!(error.to_string().starts_with("found two"), "{error}");
            }
        }
    }
}
