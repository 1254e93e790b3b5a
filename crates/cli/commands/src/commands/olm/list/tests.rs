//! Lists of OLM operators.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;

fn operator(name: &str, annotations: &Value) -> Value {
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
        "metadata": {"namespace": "team", "name": name, "annotations": annotations}, "spec": {},
    })
}

fn state() -> Vec<Value> {
    let maximum = |it: &str| json!({"operators.coreos.com/maxOpenShiftVersion": it});
    let release = |version: &str| json!({"version": version, "image": "x"});
    let number = r#"{"properties":[{"type":"olm.maxOpenShiftVersion","value":4.10}]}"#;
    let mut uses = operator("uses.v1", &maximum("4.20"));
    uses["spec"] = json!({"nativeAPIs": [
        {"group": "policy", "version": "v1beta1", "kind": "PodSecurityPolicy"},
    ]});
    let mut wild = operator("wild.v1", &maximum("4.20"));
    let rules = json!([{"apiGroups": ["batch", "extensions"], "resources": ["*"]}]);
    let permissions = json!([{"serviceAccountName": "wild", "rules": rules}]);
    wild["spec"] = json!({"install": {"spec": {"clusterPermissions": permissions}}});
    let mut copy = operator("copy.v1", &json!({}));
    copy["status"] = json!({"reason": "Copied"});
    vec![
        json!({"kind": "ClusterVersion", "apiVersion": "config.openshift.io/v1",
        "metadata": {"name": "version"}, "spec": {"clusterID": ""},
        "status": {
            "desired": release("4.8.2"),
            "history": [{"state": "Completed", "version": "4.8.2"}],
            "availableUpdates": [release("4.8.5"), release("4.9.1"), release("4.9.0")],
            "conditionalUpdates": [{"release": release("4.10.0"), "risks": []}],
        }}),
        operator("behind.v1", &maximum("4.6")),
        operator("etcd.v1.0.0", &maximum("4.7")),
        operator("number.v1", &json!({"operatorframework.io/properties": number})),
        operator("silent.v1", &json!({})),
        operator("wrong.v1", &maximum("4.x")),
        uses,
        wild,
        copy,
        json!({"kind": "Subscription", "metadata": {"namespace": "team", "name": "etcd"},
            "spec": {"name": "etcd", "source": "main", "sourceNamespace": "market",
                     "channel": "stable", "installPlanApproval": "Manual"},
            "status": {"installedCSV": "etcd.v1.0.0"}}),
        json!({"kind": "PackageManifest", "status": {
        "packageName": "etcd", "catalogSource": "main", "catalogSourceNamespace": "market",
        "channels": [
            {"name": "stable", "currentCSV": "etcd.v1.1.0",
             "currentCSVDesc": {"version": "1.1.0", "annotations": maximum("4.9")}},
            {"name": "old", "currentCSV": "etcd.v1.0.0",
             "currentCSVDesc": {"version": "1.0.0", "annotations": maximum("4.8")}},
        ]}}),
    ]
}

fn list(to: Option<&Version>) -> List {
    List::new(State::from_objects(state()), to, OlmPolicy::default())
}

#[test]
fn text_lists_every_operator() {
    insta::assert_snapshot!(list(None), @r#"
    The cluster runs 4.8.

    team/behind.v1
      supports up to 4.6 (annotation operators.coreos.com/maxOpenShiftVersion), exceeded by the cluster version
      4.10.0, 4.9.1, 4.9.0: will not run
      4.8.5: upgradeable

    team/etcd.v1.0.0
      supports up to 4.8 (catalog market/main)
      declared at installation: 4.7 in the annotation operators.coreos.com/maxOpenShiftVersion
      4.10.0: will not run
      4.9.1, 4.9.0: will not run; update to etcd.v1.1.0 in channel stable of market/main, which requires manual approval
      4.8.5: upgradeable

    team/number.v1
      supports up to 4.10 (annotation operatorframework.io/properties)
      4.10.0, 4.9.1, 4.9.0, 4.8.5: upgradeable

    team/silent.v1
      declares no maximum version
      4.10.0, 4.9.1, 4.9.0: may not run
      4.8.5: upgradeable

    team/uses.v1
      supports up to 4.20 (annotation operators.coreos.com/maxOpenShiftVersion)
      4.10.0, 4.9.1, 4.9.0, 4.8.5: upgradeable
      from 4.12 on: it uses an API that the target does not serve: podsecuritypolicies.v1beta1.policy (required; no replacement)

    team/wild.v1
      supports up to 4.20 (annotation operators.coreos.com/maxOpenShiftVersion)
      4.10.0, 4.9.1, 4.9.0, 4.8.5: upgradeable

    team/wrong.v1
      declares an invalid maximum version: failed to parse "4.x" as semver: unexpected character 'x' while parsing minor version number
      4.10.0, 4.9.1, 4.9.0: may not run
      4.8.5: upgradeable

    For 1 operator it is unknown whether all APIs stay available, because permissions contain wildcards or omit API versions. For details, use -o json.
    "#);
}

#[test]
fn document_has_apis_for_every_target() {
    let is_about_it =
        |it: &Value| ["version", "wild.v1"].iter().any(|name| it["metadata"]["name"] == *name);
    let objects = state().into_iter().filter(is_about_it).collect();
    let to = Version::new(5, 1, 0);
    let list = List::new(State::from_objects(objects), Some(&to), OlmPolicy::default());
    let told = list.operators[0].targets.iter().map(|target| {
        let apis = serde_json::to_string(&target.apis).unwrap();
        format!("{}: {apis}", target.version)
    });
    insta::assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @r#"
    5.1.0: null
    4.10.0: {"status":"unknown","message":"unknown: its permissions contain the wildcards *.extensions"}
    4.9.1: {"status":"unknown","message":"unknown: its permissions contain the wildcards *.extensions"}
    4.9.0: {"status":"unknown","message":"unknown: its permissions contain the wildcards *.extensions"}
    4.8.5: {"status":"present","message":"all APIs that it names are served"}
    "#);
    let status = list.status(Some(&Version::new(4, 9, 0)));
    assert_eq!(status, ExitStatus::Success, "what cannot be told holds nothing up");
}

#[test]
fn requested_version_decides_the_exit_code() {
    let status = |to: &str| {
        let to = Version::parse(to).unwrap();
        list(Some(&to)).status(Some(&to))
    };
    assert_eq!(status("4.8.9"), ExitStatus::Success);
    assert_eq!(status("4.9.7"), ExitStatus::Refused);
    assert_eq!(list(None).status(None), ExitStatus::Success);
    let to = Version::new(4, 9, 0);
    let unknown = List::new(State::default(), Some(&to), OlmPolicy::default());
    assert_eq!(unknown.status(Some(&to)), ExitStatus::Unknown);
    insta::assert_snapshot!(unknown, @"
    The version of the cluster is unknown.
    No OLM operators are installed.
    ");
}

/// A catalog with a bundle that the cluster does not list.
const FILES: &str = r#"
{"schema":"olm.package","name":"etcd","defaultChannel":"stable"}
{"schema":"olm.channel","package":"etcd","name":"stable","entries":[{"name":"etcd.v1.0.0"},{"name":"etcd.v1.0.5"},{"name":"etcd.v1.1.0"}]}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v1.0.0","properties":[{"type":"olm.package","value":{"version":"1.0.0"}}]}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v1.0.5","properties":[{"type":"olm.package","value":{"version":"1.0.5"}},{"type":"olm.maxOpenShiftVersion","value":"4.9"}]}
{"schema":"olm.bundle","package":"etcd","name":"etcd.v1.1.0","properties":[{"type":"olm.package","value":{"version":"1.1.0"}},{"type":"olm.maxOpenShiftVersion","value":"4.10"}]}
"#;

#[test]
fn catalog_files_have_nearer_versions() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("etcd.json"), FILES).unwrap();
    let etcd = |stands_for: Option<&str>| {
        let mut state = State::from_objects(state());
        state.add_catalog(stands_for, directory.path()).unwrap();
        let list = List::new(state, None, OlmPolicy::default());
        list.operators[1].to_string().replace(&directory.path().display().to_string(), "DIR")
    };
    insta::assert_snapshot!(etcd(None), @"
    team/etcd.v1.0.0
      supports up to 4.8 (catalog market/main)
      declared at installation: 4.7 in the annotation operators.coreos.com/maxOpenShiftVersion
      4.10.0: will not run; update to etcd.v1.1.0 in channel stable of DIR, which requires manual approval
      4.9.1, 4.9.0: will not run; update to etcd.v1.0.5 in channel stable of DIR, which requires manual approval
      4.8.5: upgradeable
    ");
    assert_eq!(etcd(Some("market/main")), etcd(None));
    assert_eq!(etcd(Some("market/other")), list(None).operators[1].to_string());
}

#[test]
fn missing_apis_and_unread_data_decide_the_exit_code() {
    let status = |running: &str, limitations: &[&str], to: &str| {
        let missing_apis =
            MissingApis { first_version: MinorVersion::new(4, 12), message: String::new() };
        let operator = OlmOperator::read("team", "uses.v1", &BTreeMap::new());
        let row = Row::new(&operator, None, OlmPolicy::default());
        let list = List {
            cluster_version: MinorVersion::parse(running),
            operators: vec![Row { missing_apis: Some(missing_apis), ..row }],
            limitations: limitations.iter().map(ToString::to_string).collect(),
        };
        list.status(Version::parse(to).ok().as_ref())
    };
    assert_eq!(status("4.11", &[], "4.12.0"), ExitStatus::Refused);
    assert_eq!(status("4.11", &["catalogs"], "4.12.0"), ExitStatus::Refused);
    assert_eq!(status("4.11", &[], "4.11.9"), ExitStatus::Success);
    assert_eq!(status("4.11", &["catalogs"], "4.11.9"), ExitStatus::Unknown);
}
