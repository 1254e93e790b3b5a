//! Creating objects.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Case, Transcript, config_map};

#[tokio::test]
async fn create_returns_object_with_server_fields() -> Result<()> {
    let case = Case::begin("create").await?;
    let answer = case.create("configmaps", &config_map("a", json!({ "k": "v" }))).await?;
    assert_eq!(answer.status, 201);
    let created = answer.object()?;
    let metadata = &created["metadata"];
    assert_eq!(created["data"], json!({ "k": "v" }));
    assert_eq!(metadata["namespace"], case.ns());
    for added in ["uid", "resourceVersion", "creationTimestamp"] {
        assert!(metadata[added].is_string(), "{added} is missing: {metadata}");
    }
    assert_eq!(case.get("configmaps/a").await?.object()?, created);
    Ok(())
}

#[tokio::test]
async fn create_ignores_server_fields_of_client() -> Result<()> {
    let case = Case::begin("create").await?;
    let mut wanted = config_map("a", json!({}));
    let mine = json!({
        "name": "a", "uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z",
        "deletionTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/mine",
    });
    wanted["metadata"] = mine.clone();
    let created = case.create("configmaps", &wanted).await?.object()?;
    for field in ["uid", "creationTimestamp", "deletionTimestamp", "selfLink"] {
        assert_ne!(created["metadata"][field], mine[field], "{field}");
    }
    Ok(())
}

#[tokio::test]
async fn create_of_existing_name_conflicts() -> Result<()> {
    let case = Case::begin("create").await?;
    case.config_map("a", json!({})).await?;
    let again = case.create("configmaps", &config_map("a", json!({}))).await?;
    assert_snapshot!(again.shown(), @r#"
    409 AlreadyExists: configmaps "a" already exists
      about {"kind":"configmaps","name":"a"}
    "#);
    Ok(())
}

#[tokio::test]
async fn generate_name_appends_suffix() -> Result<()> {
    let case = Case::begin("create").await?;
    let wanted = json!({ "metadata": { "generateName": "prefix-" } });
    let mut names = Vec::new();
    for _ in 0..3 {
        let created = case.create("configmaps", &wanted).await?.object()?;
        let name = created["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        assert!(name.starts_with("prefix-") && name.len() == "prefix-".len() + 5, "{name}");
        assert_eq!(created["metadata"]["generateName"], "prefix-");
        names.push(name);
    }
    names.dedup();
    assert_eq!(names.len(), 3);
    Ok(())
}

#[tokio::test]
async fn generate_name_truncates_long_prefix() -> Result<()> {
    let case = Case::begin("create").await?;
    let wanted = json!({ "metadata": { "generateName": "p".repeat(70) } });
    let created = case.create("configmaps", &wanted).await?.object()?;
    let name = created["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    assert_eq!((name.len(), &name[..58]), (63, &*"p".repeat(58)));
    Ok(())
}

#[tokio::test]
async fn invalid_names_are_refused() -> Result<()> {
    let case = Case::begin("create").await?;
    let mut transcript = Transcript::default();
    let too_long = "x".repeat(254);
    for name in ["", "A", "a_b", "-a", "a.", "a/b", "..", "a b", "é", &too_long] {
        let label = if name.len() > 250 { "254 letters".to_owned() } else { format!("{name:?}") };
        transcript.add(label, &case.create("configmaps", &config_map(name, json!({}))).await?);
    }
    assert_snapshot!(transcript, @r#"
    "": 422 Invalid: ConfigMap "" is invalid: …
      about {"kind":"ConfigMap"}
      FieldValueRequired metadata.name: Required value: name or generateName is required
    "A": 422 Invalid: ConfigMap "A" is invalid: …
      about {"kind":"ConfigMap","name":"A"}
      FieldValueInvalid metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
    "a_b": 422 Invalid: ConfigMap "a_b" is invalid: …
      about {"kind":"ConfigMap","name":"a_b"}
      FieldValueInvalid metadata.name: Invalid value: "a_b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
    "-a": 422 Invalid: ConfigMap "-a" is invalid: …
      about {"kind":"ConfigMap","name":"-a"}
      FieldValueInvalid metadata.name: Invalid value: "-a": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
    "a.": 422 Invalid: ConfigMap "a." is invalid: …
      about {"kind":"ConfigMap","name":"a."}
      FieldValueInvalid metadata.name: Invalid value: "a.": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
    "a/b": 422 Invalid: ConfigMap "a/b" is invalid: …
      about {"kind":"ConfigMap","name":"a/b"}
      FieldValueInvalid metadata.name: Invalid value: "a/b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
    "..": 422 Invalid: ConfigMap ".." is invalid: …
      about {"kind":"ConfigMap","name":".."}
      FieldValueInvalid metadata.name: Invalid value: "..": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
    "a b": 422 Invalid: ConfigMap "a b" is invalid: …
      about {"kind":"ConfigMap","name":"a b"}
      FieldValueInvalid metadata.name: Invalid value: "a b": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
    "é": 422 Invalid: ConfigMap "é" is invalid: …
      about {"kind":"ConfigMap","name":"é"}
      FieldValueInvalid metadata.name: Invalid value: "é": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
    254 letters: 422 Invalid: ConfigMap "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" is invalid: …
      about {"kind":"ConfigMap","name":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}
      FieldValueInvalid metadata.name: Invalid value: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": must be no more than 253 characters
    "#);
    Ok(())
}

#[tokio::test]
async fn names_of_some_kinds_must_be_labels() -> Result<()> {
    let case = Case::begin("create").await?;
    let mut transcript = Transcript::default();
    let port = json!({ "ports": [{ "port": 80 }] });
    let service = json!({ "metadata": { "name": "a.b" }, "spec": port });
    transcript.add("service a.b", &case.create("services", &service).await?);
    let namespace = json!({ "metadata": { "name": "a.b" } });
    transcript.add("namespace a.b", &case.create("/api/v1/namespaces", &namespace).await?);
    let role = json!({ "metadata": { "name": "a/b" } });
    transcript.add("role a/b", &case.create("roles", &role).await?);
    assert_snapshot!(transcript, @r#"
    service a.b: 422 Invalid: Service "a.b" is invalid: …
      about {"kind":"Service","name":"a.b"}
      FieldValueInvalid metadata.name: Invalid value: "a.b": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')
    namespace a.b: 422 Invalid: Namespace "a.b" is invalid: …
      about {"kind":"Namespace","name":"a.b"}
      FieldValueInvalid metadata.name: Invalid value: "a.b": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')
    role a/b: 422 Invalid: Role.rbac.authorization.k8s.io "a/b" is invalid: …
      about {"group":"rbac.authorization.k8s.io","kind":"Role","name":"a/b"}
      FieldValueInvalid metadata.name: Invalid value: "a/b": may not contain '/'
    "#);
    Ok(())
}

#[tokio::test]
async fn invalid_labels_and_annotations_are_refused() -> Result<()> {
    let case = Case::begin("create").await?;
    let mut transcript = Transcript::default();
    let with = |metadata: Value| {
        let mut object = config_map("a", json!({}));
        for (key, value) in metadata.as_object().cloned().unwrap_or_default() {
            object["metadata"][key] = value;
        }
        object
    };
    for metadata in [
        json!({ "labels": { "a b": "c" } }),
        json!({ "labels": { "a": "b c" } }),
        json!({ "labels": { "A.com/B/c": "d" } }),
        json!({ "labels": { "a": "x".repeat(64) } }),
        json!({ "annotations": { "/a": "x" } }),
        json!({ "finalizers": ["nonsense"] }),
        json!({ "ownerReferences": [{ "apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "" }] }),
        json!({ "ownerReferences": [{ "apiVersion": "", "kind": "", "name": "", "uid": "u" }] }),
    ] {
        transcript.add(&metadata, &case.create("configmaps", &with(metadata.clone())).await?);
    }
    assert_snapshot!(transcript, @r#"
    {"labels":{"a b":"c"}}: 422 Invalid: ConfigMap "a" is invalid: …
      about {"kind":"ConfigMap","name":"a"}
      FieldValueInvalid metadata.labels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')
    {"labels":{"a":"b c"}}: 422 Invalid: ConfigMap "a" is invalid: …
      about {"kind":"ConfigMap","name":"a"}
      FieldValueInvalid metadata.labels: Invalid value: "b c": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')
    {"labels":{"A.com/B/c":"d"}}: 422 Invalid: ConfigMap "a" is invalid: …
      about {"kind":"ConfigMap","name":"a"}
      FieldValueInvalid metadata.labels: Invalid value: "A.com/B/c": a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')
    {"labels":{"a":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}}: 422 Invalid: ConfigMap "a" is invalid: …
      about {"kind":"ConfigMap","name":"a"}
      FieldValueInvalid metadata.labels: Invalid value: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx": must be no more than 63 characters
    {"annotations":{"/a":"x"}}: 422 Invalid: ConfigMap "a" is invalid: …
      about {"kind":"ConfigMap","name":"a"}
      FieldValueInvalid metadata.annotations: Invalid value: "/a": prefix part must be non-empty
    {"finalizers":["nonsense"]}: 422 Invalid: ConfigMap "a" is invalid: …
      about {"kind":"ConfigMap","name":"a"}
      FieldValueInvalid metadata.finalizers[0]: Invalid value: "nonsense": name is neither a standard finalizer name nor is it fully qualified
    {"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":""}]}: 422 Invalid: ConfigMap "a" is invalid: …
      about {"kind":"ConfigMap","name":"a"}
      FieldValueInvalid metadata.ownerReferences.uid: Invalid value: "": uid must not be empty
    {"ownerReferences":[{"apiVersion":"","kind":"","name":"","uid":"u"}]}: 422 Invalid: ConfigMap "a" is invalid: …
      about {"kind":"ConfigMap","name":"a"}
      FieldValueInvalid metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty
      FieldValueInvalid metadata.ownerReferences.kind: Invalid value: "": kind must not be empty
      FieldValueInvalid metadata.ownerReferences.name: Invalid value: "": name must not be empty
    "#);
    Ok(())
}

#[tokio::test]
async fn oversized_annotations_are_refused() -> Result<()> {
    let case = Case::begin("create").await?;
    let mut object = config_map("a", json!({}));
    object["metadata"]["annotations"] = json!({ "a": "x".repeat(256 * 1024) });
    assert_snapshot!(case.create("configmaps", &object).await?.shown(), @r#"
    422 Invalid: ConfigMap "a" is invalid: …
      about {"kind":"ConfigMap","name":"a"}
      FieldValueTooLong metadata.annotations: Too long: may not be more than 262144 bytes
    "#);
    Ok(())
}

#[tokio::test]
async fn object_in_other_namespace_is_refused() -> Result<()> {
    let case = Case::begin("create").await?;
    let mut object = config_map("a", json!({}));
    object["metadata"]["namespace"] = json!("elsewhere");
    assert_snapshot!(case.create("configmaps", &object).await?.shown(), @"400 BadRequest: the namespace of the provided object does not match the namespace sent on the request");
    Ok(())
}

#[tokio::test]
async fn object_of_other_kind_is_refused() -> Result<()> {
    let case = Case::begin("create").await?;
    let mut transcript = Transcript::default();
    for (version, kind) in
        [("v1", "Secret"), ("apps/v1", "ConfigMap"), ("v2", "ConfigMap"), ("", "Secret")]
    {
        let mut object = config_map("a", json!({}));
        object["apiVersion"] = json!(version);
        object["kind"] = json!(kind);
        let answer = case.create("configmaps", &object).await?;
        transcript.line(format!("{version}/{kind}"), answer.outline());
    }
    assert_snapshot!(transcript, @"
    v1/Secret: 400 BadRequest
    apps/v1/ConfigMap: 400 BadRequest
    v2/ConfigMap: 400 BadRequest
    /Secret: 400 BadRequest
    ");
    Ok(())
}

#[tokio::test]
async fn create_with_resource_version_is_refused() -> Result<()> {
    let case = Case::begin("create").await?;
    let mut object = config_map("a", json!({}));
    object["metadata"]["resourceVersion"] = json!("1");
    assert_snapshot!(case.create("configmaps", &object).await?.shown(), @"500: resourceVersion should not be set on objects to be created");
    Ok(())
}

#[tokio::test]
async fn dry_run_create_stores_nothing() -> Result<()> {
    let case = Case::begin("create").await?;
    let answer = case.create("configmaps?dryRun=All", &config_map("a", json!({}))).await?;
    assert_eq!(answer.status, 201);
    let object = answer.object()?;
    assert!(object["metadata"]["uid"].is_string());
    assert_eq!(object["metadata"]["resourceVersion"], Value::Null);
    assert_eq!(case.get("configmaps/a").await?.status, 404);
    let mut transcript = Transcript::default();
    let invalid = config_map("A", json!({}));
    transcript.add("invalid", &case.create("configmaps?dryRun=All", &invalid).await?);
    transcript.add("unknown", &case.create("configmaps?dryRun=Some", &invalid).await?);
    assert_snapshot!(transcript, @r#"
    invalid: 422 Invalid: ConfigMap "A" is invalid: …
      about {"kind":"ConfigMap","name":"A"}
      FieldValueInvalid metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')
    unknown: 422 Invalid: CreateOptions.meta.k8s.io "" is invalid: …
      about {"group":"meta.k8s.io","kind":"CreateOptions"}
      FieldValueNotSupported dryRun: Unsupported value: []string{"Some"}: supported values: "All"
    "#);
    Ok(())
}

#[tokio::test]
async fn create_in_missing_namespace_is_not_found() -> Result<()> {
    let case = Case::begin("create").await?;
    let path = "/api/v1/namespaces/{ns}-not/configmaps";
    let answer = case.create(path, &config_map("a", json!({}))).await?;
    assert_snapshot!(answer.shown(), @r#"
    404 NotFound: namespaces "NS-not" not found
      about {"kind":"namespaces","name":"NS-not"}
    "#);
    Ok(())
}

#[tokio::test]
async fn get_of_missing_object_is_not_found() -> Result<()> {
    let case = Case::begin("create").await?;
    let mut transcript = Transcript::default();
    for path in [
        "configmaps/a",
        "deployments/a",
        "pods/a/log",
        "/api/v1/namespaces/{ns}-not",
        "/api/v1/namespaces/{ns}-not/configmaps/a",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles/{ns}",
    ] {
        transcript.add(path, &case.get(path).await?);
        transcript.add(format!("delete {path}"), &case.delete(path).await?);
    }
    assert_snapshot!(transcript, @r#"
    configmaps/a: 404 NotFound: configmaps "a" not found
      about {"kind":"configmaps","name":"a"}
    delete configmaps/a: 404 NotFound: configmaps "a" not found
      about {"kind":"configmaps","name":"a"}
    deployments/a: 404 NotFound: deployments.apps "a" not found
      about {"group":"apps","kind":"deployments","name":"a"}
    delete deployments/a: 404 NotFound: deployments.apps "a" not found
      about {"group":"apps","kind":"deployments","name":"a"}
    pods/a/log: 404 NotFound: pods "a" not found
      about {"kind":"pods","name":"a"}
    delete pods/a/log: 405 MethodNotAllowed: the server does not allow this method on the requested resource
    /api/v1/namespaces/{ns}-not: 404 NotFound: namespaces "NS-not" not found
      about {"kind":"namespaces","name":"NS-not"}
    delete /api/v1/namespaces/{ns}-not: 404 NotFound: namespaces "NS-not" not found
      about {"kind":"namespaces","name":"NS-not"}
    /api/v1/namespaces/{ns}-not/configmaps/a: 404 NotFound: configmaps "a" not found
      about {"kind":"configmaps","name":"a"}
    delete /api/v1/namespaces/{ns}-not/configmaps/a: 404 NotFound: configmaps "a" not found
      about {"kind":"configmaps","name":"a"}
    /apis/rbac.authorization.k8s.io/v1/clusterroles/{ns}: 404 NotFound: clusterroles.rbac.authorization.k8s.io "NS" not found
      about {"group":"rbac.authorization.k8s.io","kind":"clusterroles","name":"NS"}
    delete /apis/rbac.authorization.k8s.io/v1/clusterroles/{ns}: 404 NotFound: clusterroles.rbac.authorization.k8s.io "NS" not found
      about {"group":"rbac.authorization.k8s.io","kind":"clusterroles","name":"NS"}
    "#);
    Ok(())
}
