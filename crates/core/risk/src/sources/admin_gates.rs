//! Gates: what an administrator has to confirm before a minor or major update.

use std::collections::BTreeMap;

use fairway_api::Version;
use serde_json::json;

use super::names::{GATE, GATES_UNKNOWN};
use super::{against_minor, cannot_tell};
use crate::legal;
use crate::risk::{Concern, Source};

/// The data of a ConfigMap.
pub type ConfigData = BTreeMap<String, String>;

/// Gates of one release; real ones have a few.
const MAX_GATES: usize = 50;

/// The gates of the release at version `current` that nobody has confirmed. `gates` is the data of
/// `openshift-config-managed/admin-gates`, `acks` that of `openshift-config/admin-acks`; an error
/// says why it could not be read.
pub fn admin_gates(
    current: &str,
    gates: Result<&ConfigData, &str>,
    acks: Result<&ConfigData, &str>,
) -> Vec<Concern> {
    let gates = match gates {
        Ok(gates) => gates,
        Err(why) => return vec![unknown("openshift-config-managed/admin-gates", why)],
    };
    let current = Version::parse(current).ok();
    let is_open = |stream: Option<&str>| match (stream, &current) {
        (Some(stream), Some(current)) => current.stream() == stream,
        _ => true,
    };
    let acks = match acks {
        Ok(acks) => acks,
        Err(why) if gates.keys().any(|key| is_open(stream_of(key))) => {
            return vec![unknown("openshift-config/admin-acks", why)];
        }
        Err(_) => return Vec::new(),
    };
    let mut unconfirmed = unconfirmed(is_open, gates, acks);
    let mut concerns: Vec<Concern> =
        unconfirmed.by_ref().take(MAX_GATES).map(Gate::into_concern).collect();
    let more = unconfirmed.count();
    if more > 0 {
        let message = format!("{more} more admin gates are not acknowledged.");
        let name = format!("{GATE}more");
        concerns.push(against_minor(name, &message, "admin-gates", Source::AdminGate));
    }
    concerns
}

/// A gate that nobody has confirmed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The name of the risk that it is.
    pub name: String,
    /// What is to be confirmed.
    pub message: String,
    /// The command that confirms it.
    pub confirm: String,
    /// Where people read about it, if it says so.
    pub url: Option<String>,
}

/// The gates that nobody has confirmed, of those that are open: `is_open` is told the `X.Y` that a
/// gate is on, or nothing where its name makes no sense.
pub fn unconfirmed<'a>(
    is_open: impl Fn(Option<&str>) -> bool + 'a,
    gates: &'a ConfigData,
    acks: &'a ConfigData,
) -> impl Iterator<Item = Gate> + 'a {
    let confirmed = |key: &str| acks.get(key).is_some_and(|ack| ack == "true");
    let open = gates.iter().filter(move |(key, _)| is_open(stream_of(key)));
    open.filter(move |(key, _)| !confirmed(key)).map(|(key, text)| Gate::new(key, text))
}

/// `X.Y` of a key such as `ack-X.Y-what`: the versions that the gate is on.
fn stream_of(key: &str) -> Option<&str> {
    let (stream, what) = key.strip_prefix("ack-")?.split_once('-')?;
    let (major, minor) = stream.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let well_formed = is_number(major) && is_number(minor) && !what.is_empty();
    (well_formed && !what.starts_with('-')).then_some(stream)
}

impl Gate {
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
        // A recorded cluster may have any key, and people type the command.
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

    fn into_concern(self) -> Concern {
        let Self { name, message, confirm, url } = self;
        let message = format!("{message} To acknowledge: {confirm}");
        let mut concern = against_minor(name, &message, "admin-gates", Source::AdminGate);
        if let Some(url) = url {
            concern.risk.url = url;
        }
        concern
    }
}

fn unknown(config_map: &str, why: &str) -> Concern {
    let message = "Cannot determine whether an administrator has to acknowledge an admin gate \
        before an update to a later minor or major version.";
    let why = format!("Cannot read ConfigMap {config_map}: {why}.");
    let concern = against_minor(GATES_UNKNOWN, message, "admin-gates", Source::AdminGate);
    cannot_tell(concern, &why)
}

/// The first address in a text for people.
fn first_url(text: &str) -> Option<String> {
    let begin = text.find("https://")?;
    let url = text[begin..].split([' ', '\t', '\n', '"', '<', '>', ')', ']']).next()?;
    let url = url.trim_end_matches(['.', ',', ';', ':', '\'', '!', '?']);
    legal::url_defect(url).is_none().then(|| url.to_owned())
}
