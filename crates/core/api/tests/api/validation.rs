//! Validation of parsed objects.

use fairway_api::{ClusterVersion, read, validate};

fn problems(yaml: &str) -> String {
    let object: ClusterVersion = read::document("version.yaml", yaml.as_bytes()).unwrap();
    let problems = validate::cluster_version(&object);
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn with_spec(spec: &str) -> String {
    format!(
        "apiVersion: config.openshift.io/v1\nkind: ClusterVersion\nmetadata: {{name: version}}\nspec: {spec}\n"
    )
}

#[test]
fn all_problems_are_reported_with_field() {
    let spec = r#"{
        clusterID: not-a-uuid, upstream: "example.com/graph",
        capabilities: {baselineCapabilitySet: v4},
        overrides: [{kind: K, group: g, namespace: n, name: a}, {kind: K, group: g, namespace: n, name: a}],
        signatureStores: [{url: "ftp:"}, {url: "https://a.example"}, {url: "https://a.example"}],
        desiredUpdate: {architecture: Sparc, image: i, version: "5.1", mode: Rehearsal,
                        acceptRisks: [{name: A}, {name: ""}, {name: A}]}
    }"#;
    insta::assert_snapshot!(problems(&with_spec(spec)), @r#"
    spec.clusterID: "not-a-uuid" is not an RFC 4122 UUID
    spec.desiredUpdate.architecture: "Sparc" is not supported; use "Multi"
    spec.desiredUpdate.architecture: cannot be set together with spec.desiredUpdate.image
    spec.desiredUpdate.version: "5.1" is not a semantic version such as 5.1.0 or 5.2.0-rc.1
    spec.desiredUpdate.acceptRisks[1].name: the name of a risk must have 1 to 256 bytes, found 0
    spec.desiredUpdate.acceptRisks[2]: "A" occurs twice
    spec.desiredUpdate.mode: "Rehearsal" is not supported; use "Preflight"
    spec.upstream: "example.com/graph" is not an absolute http or https URL
    spec.capabilities.baselineCapabilitySet: "v4" is not supported; use "None" or "vCurrent" or "v4.18"
    spec.signatureStores[0].url: "ftp:" is not an absolute http or https URL
    spec.signatureStores[2]: "https://a.example" occurs twice
    spec.overrides[1]: "K.g n/a" occurs twice
    "#);
}

#[test]
fn cluster_id_must_be_a_random_uuid() {
    for (id, problem) in [
        ("", None),
        ("fb4b77e5-f288-49ad-b9e6-dfd20426e470", None),
        ("fb4b77e5-f288-49ad-c9e6-dfd20426e470", Some("not an RFC 4122 UUID")),
        ("fb4b77e5-f288-19ad-b9e6-dfd20426e470", Some("not a version 4 UUID")),
        ("fb4b77e5f28849adb9e6dfd20426e470", Some("not an RFC 4122 UUID")),
        ("gb4b77e5-f288-49ad-b9e6-dfd20426e470", Some("not an RFC 4122 UUID")),
    ] {
        let errors = problems(&with_spec(&format!("{{clusterID: {id:?}}}")));
        match problem {
            None => assert_eq!(errors, "", "{id}"),
            Some(problem) => assert!(errors.ends_with(problem), "{id}: {errors}"),
        }
    }
}

#[test]
fn names_and_lengths_are_limited() {
    let risks = "{name: x},".repeat(1001);
    let spec = format!(
        "{{clusterID: '', desiredUpdate: {{acceptRisks: [{risks}]}}, \
         capabilities: {{baselineCapabilitySet: None, additionalEnabledCapabilities: [marketplace, ClusterAPI]}}}}"
    );
    let unnamed = with_spec(&spec).replace("name: version", "name: Version 1");
    let errors = problems(&unnamed);
    let is_distinct = |line: &&str| !line.contains("occurs twice");
    let errors: Vec<&str> = errors.lines().filter(is_distinct).collect();
    insta::assert_snapshot!(errors.join("\n"), @r#"
    metadata.name: "Version 1" is not a name of lowercase letters, digits and dashes
    spec.desiredUpdate.acceptRisks: 1001 entries exceed the limit of 1000
    spec.capabilities.additionalEnabledCapabilities: "marketplace" requires "OperatorLifecycleManager"
    spec.capabilities.additionalEnabledCapabilities: "ClusterAPI" requires "CompatibilityRequirements"
    "#);
}

#[test]
fn update_without_target_is_a_problem() {
    let errors = problems(&with_spec("{clusterID: '', desiredUpdate: {force: true}}"));
    insta::assert_snapshot!(errors, @"spec.desiredUpdate: has no target; set a version, an image, an architecture or acceptRisks, or remove it");
    let risks_alone = "{clusterID: '', desiredUpdate: {acceptRisks: [{name: A}]}}";
    assert_eq!(problems(&with_spec(risks_alone)), "");
    let architecture_alone = "{clusterID: '', desiredUpdate: {architecture: Multi}}";
    insta::assert_snapshot!(problems(&with_spec(architecture_alone)), @"spec.desiredUpdate.architecture: requires spec.desiredUpdate.version");
}

#[test]
fn update_image_must_be_a_reference() {
    let problems_of = |image: &str| {
        problems(&with_spec(&format!("{{clusterID: '', desiredUpdate: {{image: {image:?}}}}}")))
    };
    let image = "registry.example/release\n  privileged: true@sha256:0";
    insta::assert_snapshot!(problems_of(image), @r#"spec.desiredUpdate.image: "registry.example/release\n  privileged: true@sha256:0" is not an image reference such as registry.example/release@sha256:…"#);
    assert_eq!(problems_of("registry.example/release:5.1.0"), "");
}
