//! Container environment: variables, volumes and identity.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Case, once};

/// Runs a script in a modified pod; returns its output.
async fn printed(case: &Case, script: &str, change: impl FnOnce(&mut Value)) -> Result<String> {
    let mut spec = once(&case.shell().await?, script);
    change(&mut spec);
    let pod = case.run("p", &spec).await?;
    let log = case.log("pods/p/log").await?;
    assert_eq!(pod["status"]["phase"], "Succeeded", "{log}");
    Ok(log)
}

/// Mounts a volume at `/v`.
fn mount(spec: &mut Value, volume: &Value) {
    spec["volumes"] = json!([volume]);
    spec["volumes"][0]["name"] = json!("v");
    spec["containers"][0]["volumeMounts"] = json!([{ "name": "v", "mountPath": "/v" }]);
}

#[tokio::test]
async fn environment_reads_all_sources() -> Result<()> {
    let case = Case::begin("around").await?;
    case.config_map("map", json!({ "key": "from a map", "OTHER": "other" })).await?;
    let secret =
        json!({ "metadata": { "name": "secret" }, "stringData": { "key": "from a secret" } });
    case.create("secrets", &secret).await?.object()?;
    let script = "echo \"$PLAIN|$MAP|$SECRET|$P_OTHER|$REF|$ESC|$NONE|$IMAGE|$POD|$NS|$APP\"";
    let log = printed(&case, script, |spec| {
        let field = |path: &str| json!({ "fieldRef": { "fieldPath": path } });
        spec["containers"][0]["envFrom"] = json!([
            { "prefix": "P_", "configMapRef": { "name": "map" } },
            { "secretRef": { "name": "none", "optional": true } },
        ]);
        spec["containers"][0]["env"] = json!([
            { "name": "PLAIN", "value": "plain" },
            { "name": "MAP", "valueFrom": { "configMapKeyRef": { "name": "map", "key": "key" } } },
            { "name": "SECRET", "valueFrom": { "secretKeyRef": { "name": "secret", "key": "key" } } },
            { "name": "NONE", "valueFrom": { "configMapKeyRef": { "name": "map", "key": "none", "optional": true } } },
            { "name": "REF", "value": "<$(PLAIN) $(NOWHERE)>" },
            { "name": "ESC", "value": "$$(PLAIN)" },
            { "name": "POD", "valueFrom": field("metadata.name") },
            { "name": "NS", "valueFrom": field("metadata.namespace") },
            { "name": "APP", "valueFrom": field("metadata.labels['none']") },
        ]);
    })
    .await?;
    assert_snapshot!(log.replace(case.ns(), "NS"), @"plain|from a map|from a secret|other|<plain $(NOWHERE)>|$(PLAIN)||shell|p|NS|");
    Ok(())
}

#[tokio::test]
async fn downward_api_sets_variables() -> Result<()> {
    let case = Case::begin("around").await?;
    let script = "echo \"$NODE $HOST_IP $ACCOUNT\"; echo $UID_";
    let log = printed(&case, script, |spec| {
        let field = |path: &str| json!({ "fieldRef": { "fieldPath": path } });
        spec["containers"][0]["env"] = json!([
            { "name": "NODE", "valueFrom": field("spec.nodeName") },
            { "name": "HOST_IP", "valueFrom": field("status.hostIP") },
            { "name": "ACCOUNT", "valueFrom": field("spec.serviceAccountName") },
            { "name": "UID_", "valueFrom": field("metadata.uid") },
        ]);
    })
    .await?;
    let pod = case.get("pods/p").await?.object()?;
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (node, address) = (word(&pod["spec"]["nodeName"]), word(&pod["status"]["hostIP"]));
    assert_eq!(log, format!("{node} {address} default\n{}\n", word(&pod["metadata"]["uid"])));
    Ok(())
}

#[tokio::test]
async fn missing_environment_source_keeps_container_waiting() -> Result<()> {
    let case = Case::begin("around").await?;
    let mut spec = once(&case.shell().await?, "echo $KEY");
    spec["containers"][0]["env"] = json!([
        { "name": "KEY", "valueFrom": { "configMapKeyRef": { "name": "later", "key": "key" } } },
    ]);
    case.start("p", &spec).await?;
    let waiting = |pod: &Value| {
        pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"]
            == "CreateContainerConfigError"
    };
    let pod = case.until("pods/p", "the error", waiting).await?;
    assert_snapshot!(pod["status"]["containerStatuses"][0]["state"]["waiting"]["message"], @r#""configmap \"later\" not found""#);
    Ok(())
}

#[tokio::test]
async fn arguments_expand_variables() -> Result<()> {
    let case = Case::begin("around").await?;
    let log = printed(&case, "", |spec| {
        spec["containers"][0]["command"] = json!(["/bin/sh", "-c", "echo \"$0 $1 $2\""]);
        spec["containers"][0]["args"] = json!(["zero", "<$(GREETING)>", "$$(GREETING) $(NOWHERE)"]);
        spec["containers"][0]["env"] = json!([{ "name": "GREETING", "value": "hello" }]);
    })
    .await?;
    assert_eq!(log, "zero <hello> $(GREETING) $(NOWHERE)\n");
    Ok(())
}

#[tokio::test]
async fn container_starts_in_working_directory() -> Result<()> {
    let case = Case::begin("around").await?;
    let log =
        printed(&case, "echo $PWD", |spec| spec["containers"][0]["workingDir"] = json!("/tmp"))
            .await?;
    assert_eq!(log, "/tmp\n");
    Ok(())
}

#[tokio::test]
async fn config_map_volume_contains_files() -> Result<()> {
    let case = Case::begin("around").await?;
    case.config_map("map", json!({ "a": "first\n", "b": "second\n" })).await?;
    let log = printed(
        &case,
        "cd /v; echo *; cat a b; { > /v/new; } 2>/dev/null || echo read-only",
        |spec| {
            mount(spec, &json!({ "configMap": { "name": "map" } }));
        },
    )
    .await?;
    assert_eq!(log, "a b\nfirst\nsecond\nread-only\n");
    Ok(())
}

#[tokio::test]
async fn config_map_volume_items_select_keys_and_paths() -> Result<()> {
    let case = Case::begin("around").await?;
    case.config_map("map", json!({ "a": "first\n", "b": "second\n" })).await?;
    let items = json!([{ "key": "b", "path": "deep/er/c" }]);
    let log =
        printed(&case, "cd /v; echo *; cat deep/er/c; test -x deep/er/c && echo yes", |spec| {
            let mut items = items.clone();
            items[0]["mode"] = json!(0o555);
            mount(spec, &json!({ "configMap": { "name": "map", "items": items } }));
        })
        .await?;
    assert_eq!(log, "deep\nsecond\nyes\n");
    Ok(())
}

#[tokio::test]
async fn secret_volume_contains_files() -> Result<()> {
    let case = Case::begin("around").await?;
    let secret = json!({ "metadata": { "name": "s" }, "data": { "bytes": "/wD+" }, "stringData": { "text": "t" } });
    case.create("secrets", &secret).await?.object()?;
    let mut spec = once(
        &case.cluster.shell_image(&["/usr/bin/stat"]).await?,
        "cd /v; stat -L -c '%n %s %a' *",
    );
    mount(&mut spec, &json!({ "secret": { "secretName": "s", "defaultMode": 0o400 } }));
    case.run("p", &spec).await?;
    assert_eq!(case.log("pods/p/log").await?, "bytes 3 400\ntext 1 400\n");
    Ok(())
}

#[tokio::test]
async fn sub_path_mounts_one_file() -> Result<()> {
    let case = Case::begin("around").await?;
    case.config_map("map", json!({ "a": "first\n", "b": "second\n" })).await?;
    let log = printed(&case, "cat /etc/alone; test -e /etc/b || echo alone", |spec| {
        mount(spec, &json!({ "configMap": { "name": "map" } }));
        spec["containers"][0]["volumeMounts"] =
            json!([{ "name": "v", "mountPath": "/etc/alone", "subPath": "a" }]);
    })
    .await?;
    assert_eq!(log, "first\nalone\n");
    Ok(())
}

#[tokio::test]
async fn missing_volume_source_keeps_pod_waiting_unless_optional() -> Result<()> {
    let case = Case::begin("around").await?;
    let log = printed(&case, "cd /v; echo *", |spec| {
        mount(spec, &json!({ "configMap": { "name": "none", "optional": true } }));
    })
    .await?;
    assert_eq!(log, "*\n");
    let mut spec = once(&case.shell().await?, "cat /v/key");
    mount(&mut spec, &json!({ "configMap": { "name": "later" } }));
    case.start("waiting", &spec).await?;
    let path = "events?fieldSelector=reason%3DFailedMount,involvedObject.name%3Dwaiting";
    case.until(path, "the event", |list| list["items"].as_array().is_some_and(|it| !it.is_empty()))
        .await?;
    assert_eq!(case.get("pods/waiting").await?.object()?["status"]["phase"], "Pending");
    Ok(())
}

#[tokio::test]
async fn empty_dir_is_empty_and_writable() -> Result<()> {
    let case = Case::begin("around").await?;
    let log = printed(&case, "cd /v; echo *; echo x > f; cat f", |spec| {
        mount(spec, &json!({ "emptyDir": {} }));
    })
    .await?;
    assert_eq!(log, "*\nx\n");
    Ok(())
}

#[tokio::test]
async fn read_only_mount_refuses_writes() -> Result<()> {
    let case = Case::begin("around").await?;
    let log = printed(&case, "{ > /v/x; } 2>/dev/null || echo refused", |spec| {
        mount(spec, &json!({ "emptyDir": {} }));
        spec["containers"][0]["volumeMounts"][0]["readOnly"] = json!(true);
    })
    .await?;
    assert_eq!(log, "refused\n");
    Ok(())
}

#[tokio::test]
async fn host_path_outlives_pod() -> Result<()> {
    let case = Case::begin("around").await?;
    let image = case.cluster.shell_image(&["/bin/rm"]).await?;
    let volume = json!({ "hostPath": { "path": "/tmp", "type": "DirectoryOrCreate" } });
    let file = format!("/v/{}", case.ns());
    let scripts = [
        ("writer", format!("echo kept > {file}")),
        // A real node would keep the file.
        ("reader", format!("cat {file}; rm {file}")),
    ];
    for (name, script) in scripts {
        let mut spec = once(&image, &script);
        mount(&mut spec, &volume);
        case.run(name, &spec).await?;
    }
    assert_eq!(case.log("pods/reader/log").await?, "kept\n");
    Ok(())
}

#[tokio::test]
async fn projected_volume_combines_sources() -> Result<()> {
    let case = Case::begin("around").await?;
    case.config_map("map", json!({ "a": "map\n" })).await?;
    let secret = json!({ "metadata": { "name": "s" }, "stringData": { "b": "secret\n" } });
    case.create("secrets", &secret).await?.object()?;
    let log = printed(&case, "cd /v; echo *; cat a sub/b name; test -s token && echo token", |spec| {
        mount(spec, &json!({ "projected": { "sources": [
            { "configMap": { "name": "map" } },
            { "secret": { "name": "s", "items": [{ "key": "b", "path": "sub/b" }] } },
            { "downwardAPI": { "items": [{ "path": "name", "fieldRef": { "fieldPath": "metadata.name" } }] } },
            { "serviceAccountToken": { "path": "token", "expirationSeconds": 3600 } },
        ] } }));
    })
    .await?;
    assert_eq!(log, "a name sub token\nmap\nsecret\nptoken\n");
    Ok(())
}

#[tokio::test]
async fn pod_authenticates_as_its_service_account() -> Result<()> {
    let case = Case::begin("around").await?;
    let role = json!({
        "metadata": { "name": "r" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["greeting"], "verbs": ["get"] }],
    });
    case.create("roles", &role).await?.object()?;
    let binding = json!({
        "metadata": { "name": "b" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r" },
        "subjects": [{ "kind": "ServiceAccount", "name": "default", "namespace": case.ns() }],
    });
    case.create("rolebindings", &binding).await?.object()?;
    case.config_map("greeting", json!({ "text": "hello" })).await?;
    let script = r#"
        cd /var/run/secrets/kubernetes.io/serviceaccount
        server=$KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT
        for name in /greeting ''; do
            path=/api/v1/namespaces/$(cat namespace)/configmaps$name
            printf 'GET %s HTTP/1.0\r\nAuthorization: Bearer %s\r\n\r\n' "$path" "$(cat token)" |
                openssl s_client -quiet -verify_return_error -CAfile ca.crt -connect "$server" |
                { read -r _ code _; echo "$code"; cat > /dev/null; }
        done
    "#;
    let mut spec = once(&case.cluster.shell_image(&["/usr/bin/openssl"]).await?, script);
    spec["containers"][0]["name"] = json!("client");
    let pod = case.run("p", &spec).await?;
    let log = case.log("pods/p/log").await?;
    let codes: Vec<&str> = log.lines().filter(|line| line.parse::<u16>().is_ok()).collect();
    assert_eq!(codes, ["200", "403"], "{log} {}", pod["status"]);
    Ok(())
}

#[tokio::test]
async fn pod_without_automount_has_no_token() -> Result<()> {
    let case = Case::begin("around").await?;
    let script = "test -e /var/run/secrets/kubernetes.io/serviceaccount || echo none";
    let log =
        printed(&case, script, |spec| spec["automountServiceAccountToken"] = json!(false)).await?;
    assert_eq!(log, "none\n");
    Ok(())
}

#[tokio::test]
async fn container_runs_as_configured_user() -> Result<()> {
    let case = Case::begin("around").await?;
    let script = "while read key value rest; do case $key in Uid:|Gid:) echo $key $value;; esac; done < /proc/self/status";
    let log = printed(&case, script, |spec| {
        spec["containers"][0]["securityContext"] = json!({ "runAsUser": 1234, "runAsGroup": 5678 });
    })
    .await?;
    assert_eq!(log, "Uid: 1234\nGid: 5678\n");
    Ok(())
}
