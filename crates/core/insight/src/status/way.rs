//! Where an update leads, and where it comes from.

use fairway_api::cluster_version::{UpdateHistory, UpdateState};
use schemars::JsonSchema;
use serde::Serialize;

/// Source and target of an update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Way {
    /// Target version.
    pub target: String,
    /// Source version, `null` for an installation.
    pub from: Option<String>,
    /// Kind of change.
    pub change: Change,
}

/// Kind of change of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// Installation of the first release.
    Install,
    /// Update to another version.
    Update,
    /// Update to another version before the previous update completed.
    UpdateFromIncomplete,
    /// Change to the same version for several architectures.
    MultiArch,
}

/// What is said where a history says nothing.
const UNKNOWN: &str = "unknown";

impl Way {
    /// What the newest entries of a history say.
    pub(super) fn of(history: &[UpdateHistory]) -> Self {
        let target = history.first().map_or(UNKNOWN.to_owned(), version);
        let Some(before) = history.get(1) else {
            let (from, change) = match history {
                [] => (Some(UNKNOWN.to_owned()), Change::Update),
                _ => (None, Change::Install),
            };
            return Self { target, from, change };
        };
        let change = match before.state {
            UpdateState::Partial => Change::UpdateFromIncomplete,
            _ if is_pivot(history) => Change::MultiArch,
            _ => Change::Update,
        };
        Self { target, from: Some(version(before)), change }
    }
}

/// Whether the newest entry is the version before for other architectures.
pub(super) fn is_pivot(history: &[UpdateHistory]) -> bool {
    let [newest, before, ..] = history else { return false };
    newest.version == before.version && newest.image != before.image
}

/// The version that was last reached entirely before the newest two.
pub(super) fn last_complete(history: &[UpdateHistory]) -> String {
    let mut before = history.iter().skip(2);
    let complete = before.find(|entry| entry.state == UpdateState::Completed);
    complete.map_or(UNKNOWN.to_owned(), version)
}

fn version(entry: &UpdateHistory) -> String {
    entry.version.clone().unwrap_or_default()
}
