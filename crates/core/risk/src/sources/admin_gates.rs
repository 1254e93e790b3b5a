//! Admin gates: requirements that an administrator acknowledges before a minor or major update.

use std::collections::BTreeMap;

use fairway_api::Version;
use serde_json::json;

use super::names::{GATE, GATES_UNKNOWN};
use super::{minor_update_risk, with_unknown_assessment};
use crate::risk::{ReportedRisk, RiskSource};
use crate::validation;

/// Data of a ConfigMap.
pub type ConfigMapData = BTreeMap<String, String>;

/// Admin gates of one release; real releases have a few.
const MAX_GATES: usize = 50;

/// The unacknowledged admin gates of version `current`. `gates` is the data of ConfigMap
/// `openshift-config-managed/admin-gates`, `acks` that of `openshift-config/admin-acks`, or the
/// error of reading them.
pub fn admin_gates(
    current: &str,
    gates: Result<&ConfigMapData, &str>,
    acks: Result<&ConfigMapData, &str>,
) -> Vec<ReportedRisk> {
    let gates = match gates {
        Ok(gates) => gates,
        Err(why) => return vec![unknown("openshift-config-managed/admin-gates", why)],
    };
    let current = Version::parse(current).ok();
    let is_active = |stream: Option<&str>| match (stream, &current) {
        (Some(stream), Some(current)) => current.stream() == stream,
        _ => true,
    };
    let acks = match acks {
        Ok(acks) => acks,
        Err(why) if gates.keys().any(|key| is_active(stream_of(key))) => {
            return vec![unknown("openshift-config/admin-acks", why)];
        }
        Err(_) => return Vec::new(),
    };
    let mut unacknowledged = unacknowledged(is_active, gates, acks);
    let mut reported_risks: Vec<ReportedRisk> =
        unacknowledged.by_ref().take(MAX_GATES).map(AdminGate::into_reported_risk).collect();
    let more = unacknowledged.count();
    if more > 0 {
        let message = format!("{more} more admin gates are not acknowledged.");
        let name = format!("{GATE}more");
        reported_risks.push(minor_update_risk(
            name,
            &message,
            "admin-gates",
            RiskSource::AdminGate,
        ));
    }
    reported_risks
}

/// An unacknowledged admin gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminGate {
    /// Name of its risk.
    pub name: String,
    /// Requirement to acknowledge.
    pub message: String,
    /// Command that acknowledges it.
    pub confirm: String,
    /// First URL in the message.
    pub url: Option<String>,
}

/// The unacknowledged admin gates that are active. `is_active` receives the `X.Y` version of a gate,
/// or `None` if its name is invalid.
pub fn unacknowledged<'a>(
    is_active: impl Fn(Option<&str>) -> bool + 'a,
    gates: &'a ConfigMapData,
    acks: &'a ConfigMapData,
) -> impl Iterator<Item = AdminGate> + 'a {
    let acknowledged = |key: &str| acks.get(key).is_some_and(|ack| ack == "true");
    let active = gates.iter().filter(move |(key, _)| is_active(stream_of(key)));
    active.filter(move |(key, _)| !acknowledged(key)).map(|(key, text)| AdminGate::new(key, text))
}

/// The `X.Y` version in a key such as `ack-X.Y-what`.
fn stream_of(key: &str) -> Option<&str> {
    let (stream, what) = key.strip_prefix("ack-")?.split_once('-')?;
    let (major, minor) = stream.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let well_formed = is_number(major) && is_number(minor) && !what.is_empty();
    (well_formed && !what.starts_with('-')).then_some(stream)
}

impl AdminGate {
    fn new(key: &str, text: &str) -> Self {
        let text = text.trim();
        let message = match stream_of(key) {
            None => format!(
                "Admin gate {key} in ConfigMap openshift-config-managed/admin-gates has an invalid \
                name: expected ack-X.Y-WHAT."
            ),
            Some(_) if text.is_empty() => format!(
                "Admin gate {key} in ConfigMap openshift-config-managed/admin-gates has no \
                description."
            ),
            Some(_) => text.to_owned(),
        };
        // Recorded clusters may have any key, and users paste the command into a shell.
        let patch = json!({"data": {key: "true"}}).to_string().replace('\'', r"'\''");
        Self {
            name: format!("{GATE}{key}"),
            message,
            confirm: format!(
                "kubectl -n openshift-config patch configmap admin-acks --type=merge -p '{patch}'"
            ),
            url: first_url(text),
        }
    }

    fn into_reported_risk(self) -> ReportedRisk {
        let Self { name, message, confirm, url } = self;
        let message = format!("{message} To acknowledge: {confirm}");
        let mut risk = minor_update_risk(name, &message, "admin-gates", RiskSource::AdminGate);
        if let Some(url) = url {
            risk.risk.url = url;
        }
        risk
    }
}

fn unknown(config_map: &str, why: &str) -> ReportedRisk {
    let message = "Cannot determine whether an administrator has to acknowledge an admin gate \
        before an update to a later minor or major version.";
    let why = format!("Cannot read ConfigMap {config_map}: {why}.");
    let risk = minor_update_risk(GATES_UNKNOWN, message, "admin-gates", RiskSource::AdminGate);
    with_unknown_assessment(risk, &why)
}

/// The first URL in a text.
fn first_url(text: &str) -> Option<String> {
    let begin = text.find("https://")?;
    let url = text[begin..].split([' ', '\t', '\n', '"', '<', '>', ')', ']']).next()?;
    let url = url.trim_end_matches(['.', ',', ';', ':', '\'', '!', '?']);
    validation::url_defect(url).is_none().then(|| url.to_owned())
}
