//! Notes of components about updates. They are shown with the updates and never block one.

use std::fmt;

use fairway_api::cluster_version::Release;
use fairway_api::{ClusterOperator, ClusterVersion, ClusterVersionStatus};
use fairway_risk::AffectedUpdates;
use kube::ResourceExt as _;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::risks;
use crate::foreign_text::OneLine;

/// Notes shown per component.
const MAX_NOTES: usize = 10;

/// Note of a component about updates. Notes never block an update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct Note {
    /// Name of the ClusterOperator.
    component: String,
    /// Text of the note.
    message: String,
    /// Versions of the listed updates that the note is about, latest first.
    updates: Vec<String>,
}

/// Notes of components about the listed updates.
pub(super) fn read(operators: &[ClusterOperator], version: &ClusterVersion) -> Vec<Note> {
    let nothing = ClusterVersionStatus::default();
    let status = version.status.as_ref().unwrap_or(&nothing);
    let conditional = status.conditional_updates.iter().map(|update| &update.release);
    let mut releases: Vec<&Release> =
        status.available_updates.iter().flatten().chain(conditional).collect();
    releases.sort_by_cached_key(|release| risks::latest_first(&release.version));
    releases.dedup_by_key(|release| &release.version);
    operators.iter().flat_map(|operator| component_notes(operator, &releases)).collect()
}

fn component_notes(operator: &ClusterOperator, releases: &[&Release]) -> Vec<Note> {
    let extension = operator.status.as_ref().and_then(|status| status.extension.as_ref());
    let report = extension.filter(|it| it["kind"] == "RiskReport" && it["version"] == "v1");
    let notes = report.and_then(|report| report["notes"].as_array()).into_iter().flatten();
    let note = |note: &Value| {
        let message = note["message"].as_str().filter(|message| !message.is_empty())?.to_owned();
        // An invalid range matches every update, as for risks.
        let range = note["targets"].as_str().and_then(|range| range.parse().ok());
        let targets = range.map_or(AffectedUpdates::All, AffectedUpdates::Range);
        let concerned = releases.iter().filter(|release| targets.contain(None, release));
        let updates: Vec<String> = concerned.map(|release| release.version.clone()).collect();
        let component = operator.name_any();
        (!updates.is_empty()).then_some(Note { component, message, updates })
    };
    notes.take(MAX_NOTES).filter_map(note).collect()
}

impl Note {
    /// Whether the note is about the update to a version.
    pub(super) fn is_about(&self, version: &str) -> bool {
        self.updates.iter().any(|update| update == version)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", OneLine(&self.updates.join(", ")), OneLine(&self.message))
    }
}

/// Writes all notes after a list of updates.
pub(super) fn write(f: &mut fmt::Formatter<'_>, notes: &[Note]) -> fmt::Result {
    if notes.is_empty() {
        return Ok(());
    }
    f.write_str("\n\nNotes:\n")?;
    notes.iter().try_for_each(|note| write!(f, "\n  {note}"))
}

#[cfg(test)]
mod tests {
    use fairway_testkit::objects;
    use serde_json::json;

    use super::*;

    fn noted(extension: Value) -> Vec<Note> {
        let mut version = objects::cluster_version();
        let mut status = objects::status_at("5.1.0");
        status.available_updates = Some(["5.1.1", "5.3.0", "5.2.0"].map(objects::release).to_vec());
        version.status = Some(status);
        let mut operator = objects::cluster_operator("operator-lifecycle-manager");
        operator.status.get_or_insert_default().extension = Some(extension);
        read(&[operator], &version)
    }

    #[test]
    fn notes_list_matching_updates() {
        let report = |notes: Value| json!({"kind": "RiskReport", "version": "v1", "notes": notes});
        let texts = |notes: Value| -> Vec<String> {
            noted(report(notes)).iter().map(ToString::to_string).collect()
        };
        assert_eq!(
            texts(json!([{"message": "Mind.", "targets": ">=5.2.0"}])),
            ["5.3.0, 5.2.0: Mind."]
        );
        assert_eq!(texts(json!([{"message": "Mind."}])), ["5.3.0, 5.2.0, 5.1.1: Mind."]);
        assert_eq!(texts(json!([{"message": "M", "targets": "?"}])), ["5.3.0, 5.2.0, 5.1.1: M"]);
        let nothing: [&str; 0] = [];
        assert_eq!(texts(json!([{"message": "Mind.", "targets": ">=6.0.0"}])), nothing);
        for hostile in [json!(null), json!({}), json!([null, 1, [], {}, {"message": 1}])] {
            assert_eq!(texts(hostile), nothing);
        }
        assert_eq!(texts(json!(vec![json!({"message": "M"}); 100])).len(), MAX_NOTES);
        let other = json!({"kind": "Else", "version": "v1", "notes": [{"message": "Mind."}]});
        assert_eq!(noted(other), []);
    }
}
