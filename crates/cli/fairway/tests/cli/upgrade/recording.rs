//! A recorded cluster, and the reports about it.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{fairway, transcript};

/// The start of the update of every recording.
pub(super) const STARTED_AT: &str = "2026-03-01T10:00:00Z";

/// The last event of every recording, half an hour later.
pub(super) const LAST_EVENT_AT: &str = "2026-03-01T10:30:00Z";

pub(super) const CONFIGURATION: &str = "machineconfiguration.openshift.io";

/// Objects of a cluster in files of one directory.
pub(super) struct Recording {
    pub(super) folder: TempDir,
    pub(super) version: Value,
    pub(super) operators: Vec<Value>,
    pub(super) pools: Vec<Value>,
    pub(super) nodes: Vec<Value>,
}

impl Recording {
    /// An update from 9.1.0 to 9.2.0: `etcd` is updated, `machine-config` is updating.
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            folder: TempDir::new()?,
            version: cluster_version(),
            operators: vec![
                operator("etcd", "9.2.0", "False"),
                operator("machine-config", "9.1.0", "True"),
            ],
            pools: vec![pool("master"), pool("worker")],
            nodes: vec![
                node("control-0", &["master"], UPDATED),
                node("compute-0", &["worker"], PENDING),
            ],
        })
    }

    /// Writes all objects, each kind as the list that `kubectl get -o yaml` writes.
    pub(super) fn write(&self) -> Result<()> {
        self.file("-cv.yaml", &self.version)?;
        self.file("-co.yaml", &list(&self.operators))?;
        self.file("-mcp.yaml", &list(&self.pools))?;
        self.file("-mc.yaml", &list(&[config("old", "9.1.0"), config("new", "9.2.0")]))?;
        self.file("-node.yaml", &list(&self.nodes))
    }

    /// Writes a file. JSON is valid YAML.
    pub(super) fn file(&self, ending: &str, content: &Value) -> Result<()> {
        fs::write(self.folder.path().join(format!("X{ending}")), content.to_string())?;
        Ok(())
    }

    pub(super) fn upgrade(&self, arguments: &[&str]) -> String {
        upgrade(self.folder.path(), arguments)
    }

    pub(super) fn document(&self, arguments: &[&str]) -> Result<Value> {
        document(&self.upgrade(&[arguments, &["-o", "json"]].concat()))
    }

    /// The main facts of the report, a line each.
    pub(super) fn facts(&self) -> Result<String> {
        self.write()?;
        Ok(facts(&self.document(&["status"])?))
    }
}

pub(super) fn upgrade(folder: &Path, arguments: &[&str]) -> String {
    let mut command = fairway();
    command.args(["upgrade", arguments[0], "--from-file", "X-cv.yaml"]).args(&arguments[1..]);
    transcript(command.current_dir(folder))
}

pub(super) fn document(upgrade: &str) -> Result<Value> {
    let json = upgrade.split_once("stdout -----\n").context("no document")?.1;
    let json = json.split("----- stderr").next().unwrap_or(json);
    serde_json::from_str(json).with_context(|| upgrade.to_owned())
}

pub(super) fn facts(status: &Value) -> String {
    let mut lines = vec![match &status["controlPlane"] {
        Value::Null => "not updating".to_owned(),
        done if !done["completed"].is_null() => format!("completed {}", done["completed"]),
        on => format!(
            "{} to {} ({}) {}% of {} by {}, {} with {} left",
            on["assessment"],
            on["target"],
            on["change"],
            on["percent"],
            on["operators"],
            on["updatingOperators"],
            on["health"],
            on["estimate"]["remaining"],
        ),
    }];
    let rows = |name: &str| status[name].as_array().cloned().unwrap_or_default();
    for pool in rows("pools") {
        let part = format!("{} of {}", pool["updated"], pool["total"]);
        lines.push(format!("pool {} {} {part}", pool["name"], pool["assessment"]));
    }
    for node in rows("nodes") {
        let cells = ["name", "pool", "assessment", "phase", "version", "estimate", "message"];
        lines.push(format!("node {}", cells.map(|cell| node[cell].to_string()).join(" ")));
    }
    for insight in rows("insights") {
        lines.push(format!("{} {} {}", insight["level"], insight["impact"], insight["resources"]));
    }
    lines.join("\n").replace('"', "")
}

pub(super) fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

pub(super) fn cluster_version() -> Value {
    let history = json!([
        {"state": "Partial", "version": "9.2.0", "image": "r@sha256:2", "startedTime": STARTED_AT, "completionTime": null},
        {"state": "Completed", "version": "9.1.0", "image": "r@sha256:1",
         "startedTime": "2026-02-01T10:00:00Z", "completionTime": "2026-02-01T11:30:00Z"},
        {"state": "Completed", "version": "9.0.0", "image": "r@sha256:0",
         "startedTime": "2026-01-01T10:00:00Z", "completionTime": "2026-01-01T10:30:00Z"},
    ]);
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
        "metadata": {"name": "version"},
        "spec": {"clusterID": "6d6f2c7a-0000-4000-8000-000000000000", "channel": "stable-9.2"},
        "status": {
            "desired": {"version": "9.2.0", "image": "r@sha256:2"},
            "history": history, "observedGeneration": 1, "versionHash": "", "availableUpdates": null,
            "conditions": [
                condition("Progressing", "True", STARTED_AT),
                condition("Failing", "False", STARTED_AT),
                condition("RetrievedUpdates", "True", STARTED_AT),
            ],
        },
    })
}

pub(super) fn condition(type_: &str, status: &str, since: &str) -> Value {
    json!({"type": type_, "status": status, "lastTransitionTime": since, "message": "It is."})
}

pub(super) fn operator(name: &str, version: &str, progressing: &str) -> Value {
    json!({
        "apiVersion": "config.openshift.io/v1", "kind": "ClusterOperator",
        "metadata": {"name": name, "annotations": {"include.release.openshift.io/x": "true"}},
        "spec": {},
        "status": {
            "versions": [{"name": "operator", "version": version}],
            "conditions": [
                condition("Available", "True", STARTED_AT),
                condition("Degraded", "False", STARTED_AT),
                condition("Progressing", progressing, LAST_EVENT_AT),
            ],
        },
    })
}

pub(super) fn pool(name: &str) -> Value {
    json!({
        "apiVersion": format!("{CONFIGURATION}/v1"), "kind": "MachineConfigPool",
        "metadata": {"name": name},
        "spec": {"configuration": {"name": "new"}, "paused": false,
                 "nodeSelector": {"matchLabels": {format!("role/{name}"): ""}}},
    })
}

pub(super) fn config(name: &str, version: &str) -> Value {
    let key = format!("{CONFIGURATION}/release-image-version");
    json!({"apiVersion": format!("{CONFIGURATION}/v1"), "kind": "MachineConfig",
           "metadata": {"name": name, "annotations": {key: version}}, "spec": {"config": {}}})
}

/// Current and desired configuration of a node, the state of its daemon, and the requested drain.
pub(super) type Daemon = [&'static str; 4];
pub(super) const UPDATED: Daemon = ["new", "new", "Done", "uncordon-new"];
pub(super) const PENDING: Daemon = ["old", "old", "Done", "uncordon-old"];
pub(super) const DRAINING: Daemon = ["old", "new", "Working", "drain-new"];
pub(super) const REBOOTING: Daemon = ["old", "new", "Rebooting", "uncordon-old"];

pub(super) fn node(name: &str, roles: &[&str], daemon: Daemon) -> Value {
    let [current, desired, state, drain] = daemon;
    let labels = roles.iter().map(|role| (format!("role/{role}"), json!("")));
    let labels: serde_json::Map<String, Value> = labels.collect();
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": {
            format!("{CONFIGURATION}/currentConfig"): current,
            format!("{CONFIGURATION}/desiredConfig"): desired,
            format!("{CONFIGURATION}/state"): state,
            format!("{CONFIGURATION}/reason"): "",
            format!("{CONFIGURATION}/desiredDrain"): drain,
            format!("{CONFIGURATION}/lastAppliedDrain"): "uncordon-old",
        }},
        "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": STARTED_AT}]},
    })
}

/// A cluster at 9.1.0 that is not upgradeable, with updates to this and the next minor version, with and
/// without risks.
pub(super) fn choices() -> Value {
    let release = |version: &str| json!({"version": version, "image": format!("r@{version}"), "url": "https://example.com/notes"});
    let risk = |name: &str| json!({"name": name, "message": format!("{name} it is."), "url": "https://example.com", "matchingRules": [{"type": "Always"}]});
    let conditional = |version: &str, risks: &[&str], upgrade: Option<(&str, &str)>| {
        let conditions = upgrade.map(|(status, reason)| {
            json!({"type": "Recommended", "status": status, "reason": reason, "message": "Long.", "lastTransitionTime": STARTED_AT})
        });
        json!({"release": release(version), "risks": risks.iter().map(|name| risk(name)).collect::<Vec<_>>(),
               "conditions": conditions.into_iter().collect::<Vec<_>>()})
    };
    let mut version = cluster_version();
    let mut upgradeable = condition("Upgradeable", "False", STARTED_AT);
    upgradeable["reason"] = json!("AdminAckRequired");
    upgradeable["message"] = json!("An API goes away: acknowledge it.");
    version["status"]["conditions"] = json!([
        condition("Progressing", "False", STARTED_AT),
        condition("Failing", "False", STARTED_AT),
        condition("RetrievedUpdates", "True", STARTED_AT),
        upgradeable,
    ]);
    version["status"]["desired"] = release("9.1.0");
    version["status"]["availableUpdates"] =
        json!([release("9.1.4"), release("9.2.1"), release("9.1.3")]);
    version["status"]["conditionalUpdates"] = json!([
        conditional("9.1.2", &["SlowDisks"], Some(("False", "SlowDisks"))),
        conditional("9.1.1", &["SlowDisks", "OldNodes"], Some(("Unknown", "EvaluationFailed"))),
        conditional("9.1.5", &["SlowDisks"], Some(("True", "AsExpected"))),
        conditional("9.1.6", &["SlowDisks"], None),
        conditional("9.2.2", &["SlowDisks"], Some(("True", "AsExpected"))),
        conditional("9.2.3", &["SlowDisks"], Some(("False", "SlowDisks"))),
        conditional("9.2.4", &["SlowDisks"], None),
    ]);
    version
}
