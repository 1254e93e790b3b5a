use serde_json::{Value, json};

use crate::builtin::kind;

fn read(group: &str, name: &str, object: Value) -> (Value, Vec<String>) {
    let read = kind(group, name).unwrap().read(object).unwrap();
    (read.object, read.unknown)
}

#[test]
fn decode_unknown_fields_drops_and_reports_them() {
    let template = json!({ "spec": {
        "containers": [{ "name": "a", "bar": {} }], "hostNetwork": false, "baz": 2,
    } });
    let (object, unknown) = read(
        "apps",
        "Deployment",
        json!({ "foo": 1, "spec": { "replicas": 1, "template": template } }),
    );
    assert_eq!(unknown, ["foo", "spec.template.spec.baz", "spec.template.spec.containers[0].bar"]);
    assert_eq!(
        object,
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": { "creationTimestamp": null },
            "spec": {
                "replicas": 1,
                "selector": null,
                "strategy": {},
                "template": {
                    "metadata": { "creationTimestamp": null },
                    "spec": { "containers": [{ "name": "a", "resources": {} }] },
                },
            },
            "status": {},
        })
    );
}

#[test]
fn decode_crd_reads_nested_schemas() {
    let schema = json!({ "type": "object", "properties": { "a": {
        "type": "array", "nullable": false, "items": { "type": "string", "odd": 1 },
        "additionalProperties": false, "default": { "any": [null] },
    } } });
    let version = json!({ "name": "v1", "served": true, "schema": { "openAPIV3Schema": schema } });
    let (object, unknown) = read(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        json!({ "spec": { "versions": [version] } }),
    );
    let path = "spec.versions[0].schema.openAPIV3Schema.properties.a.items.odd";
    assert_eq!(unknown, [path]);
    let read = &object["spec"]["versions"][0];
    assert_eq!(read["storage"], false);
    assert_eq!(
        read["schema"]["openAPIV3Schema"]["properties"]["a"],
        json!({
            "type": "array", "items": { "type": "string" }, "additionalProperties": false,
            "default": { "any": [null] },
        })
    );
}

#[test]
fn decode_scalars_returns_canonical_form() {
    let quota = |amount: Value| {
        let object = json!({ "spec": { "hard": { "a": amount } } });
        read("", "ResourceQuota", object).0["spec"]["hard"]["a"].clone()
    };
    for (written, canonical) in [
        (json!("1000m"), "1"),
        (json!("0.5"), "500m"),
        (json!(0.5), "500m"),
        (json!(1000), "1k"),
        (json!("1024Mi"), "1Gi"),
        (json!("1.5Gi"), "1536Mi"),
        (json!("0.5Ki"), "512"),
        (json!("1000Ki"), "1000Ki"),
        (json!("1e3"), "1e3"),
        (json!("12e2"), "1200"),
        (json!("0Gi"), "0"),
        (json!("-0.1"), "-100m"),
        (json!("0.0001"), "1m"),
        (json!("+1"), "1"),
        (json!(".5"), "500m"),
        (json!("5."), "5"),
        (json!("99999999999999999999999999999999999999999"), "9223372036854775807"),
        (json!("1e-400"), "1e-3"),
    ] {
        assert_eq!(quota(written.clone()), canonical, "{written}");
    }
    let event = json!({
        "lastTimestamp": "2020-01-01T01:00:00.9+01:00",
        "eventTime": "2020-01-01T01:00:00.123456+01:00",
    });
    let (event, _) = read("", "Event", event);
    assert_eq!(event["lastTimestamp"], "2020-01-01T00:00:00Z");
    assert_eq!(event["eventTime"], "2020-01-01T00:00:00.123456Z");
    assert_eq!(event["firstTimestamp"], Value::Null);
    let (secret, _) = read("", "Secret", json!({ "data": { "a": "YQ\n==", "b": null } }));
    assert_eq!(secret["data"], json!({ "a": "YQ==", "b": "" }));
}

#[test]
fn decode_invalid_value_returns_api_server_message() {
    let texts = [
        ("apps", "Deployment", json!({ "spec": { "replicas": "1" } })),
        ("apps", "Deployment", json!({ "spec": { "replicas": 3_000_000_000_u64 } })),
        ("apps", "Deployment", json!({ "spec": { "replicas": 1.0 } })),
        ("", "Pod", json!({ "spec": { "containers": [{ "command": "a" }] } })),
        ("", "Pod", json!({ "spec": { "containers": {} } })),
        ("", "Pod", json!({ "spec": { "containers": [{ "env": [{ "value": 1 }] }] } })),
        ("", "ConfigMap", json!({ "data": { "a": true } })),
        ("", "ConfigMap", json!({ "data": [] , "immutable": "x" })),
        ("", "ConfigMap", json!({ "binaryData": { "a": "AA" } })),
        ("", "ConfigMap", json!([])),
        ("", "ConfigMap", json!({ "metadata": { "creationTimestamp": "yesterday" } })),
        ("", "ResourceQuota", json!({ "spec": { "hard": { "a": "b" } } })),
        ("", "ResourceQuota", json!({ "spec": { "hard": { "a": "1.2.3" } } })),
        ("", "ResourceQuota", json!({ "spec": { "hard": { "a": "1mm" } } })),
        ("", "Service", json!({ "spec": { "ports": [{ "targetPort": true }] } })),
        (
            "coordination.k8s.io",
            "Lease",
            json!({ "spec": { "renewTime": "2020-01-01T00:00:00Z" } }),
        ),
    ]
    .map(|(group, name, object)| kind(group, name).unwrap().read(object).unwrap_err().to_string());
    insta::assert_snapshot!(texts.join("\n"), @r#"
    json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32
    json: cannot unmarshal number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32
    json: cannot unmarshal number 1.0 into Go struct field DeploymentSpec.spec.replicas of type int32
    json: cannot unmarshal string into Go struct field Container.spec.containers.command of type []string
    json: cannot unmarshal object into Go struct field PodSpec.spec.containers of type []v1.Container
    json: cannot unmarshal number into Go struct field EnvVar.spec.containers.env.value of type string
    json: cannot unmarshal bool into Go struct field ConfigMap.data of type string
    json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string
    illegal base64 data at input byte 0
    json: cannot unmarshal array into Go value of type v1.ConfigMap
    parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"
    quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
    unable to parse numeric part of quantity
    unable to parse quantity's suffix
    json: cannot unmarshal bool into Go value of type int32
    parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "2020-01-01T00:00:00Z" as "2006"
    "#);
}
