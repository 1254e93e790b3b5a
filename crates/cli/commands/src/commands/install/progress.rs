//! Progress of an installation.

use std::fmt;
use std::pin::pin;

use fairway_api::cluster_version::UpdateState;
use fairway_api::reason::{failing, progressing};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion, ConditionStatus, Conditions as _};
use futures::StreamExt as _;
use kube::runtime::{WatchStreamExt as _, watcher::watch_object};
use kube::{Api, Client};

use crate::foreign_text::lines;
use crate::printer::Printer;

/// Prints the progress of an installation until it is complete.
pub(crate) async fn follow(client: &Client, image: &str, printer: &Printer) {
    let versions: Api<ClusterVersion> = Api::all(client.clone());
    let mut seen = pin!(watch_object(versions, CLUSTER_VERSION_NAME).default_backoff());
    let mut told = Progress::default();
    while !told.completed
        && let Some(version) = seen.next().await
    {
        // Errors are ignored: the API server of a new cluster restarts.
        let Ok(Some(version)) = version else { continue };
        let progress = Progress::new(&version, image);
        if progress != told {
            printer.note(&progress);
            told = progress;
        }
    }
}

/// Progress of an installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Whether the installation is complete.
    pub(crate) completed: bool,
    /// The message of `Progressing`.
    doing: Option<String>,
    /// The message of `Failing`, unless that of `Progressing` contains it.
    failing: Option<String>,
}

impl Progress {
    pub(crate) fn new(cluster_version: &ClusterVersion, image: &str) -> Self {
        let Some(status) = &cluster_version.status else { return Self::default() };
        let message = |type_: &str, wanted: Option<ConditionStatus>| {
            let condition = status.conditions.find(type_)?;
            let counts = wanted.is_none_or(|wanted| condition.status == wanted);
            counts.then(|| condition.message.clone()).flatten()
        };
        let newest = status.history.first();
        let doing = message(progressing::TYPE, None);
        let failing = message(failing::TYPE, Some(ConditionStatus::True));
        let is_told =
            |failing: &String| doing.as_ref().is_some_and(|it| contains_sentence(it, failing));
        Self {
            completed: newest
                .is_some_and(|entry| entry.image == image && entry.state == UpdateState::Completed),
            failing: failing.filter(|failing| !is_told(failing)),
            doing,
        }
    }
}

/// Whether a text contains a sentence, ignoring the case of its first letter.
fn contains_sentence(text: &str, sentence: &str) -> bool {
    text.to_lowercase().contains(&sentence.to_lowercase())
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { doing, failing, .. } = self;
        let doing = doing.as_deref().unwrap_or("waiting for the operator to start");
        let said = lines(doing).chain(failing.iter().flat_map(|failing| lines(failing)));
        for (number, line) in said.enumerate() {
            let indent = if number == 0 { "" } else { "\n  " };
            write!(f, "{indent}{line}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn progress(status: &serde_json::Value) -> Progress {
        let object = json!({
            "metadata": { "name": "version" },
            "spec": { "clusterID": "b6b0b1a0-6c1e-4b52-8a3c-7d9b5a1f2c3d" },
            "status": status,
        });
        Progress::new(&serde_json::from_value(object).unwrap(), "image@sha256:1")
    }

    #[test]
    fn progress_has_the_messages_of_conditions() {
        assert_eq!(Progress::default().to_string(), "waiting for the operator to start");
        let said = progress(&json!({ "conditions": [
            { "type": "Progressing", "status": "True", "message": "3 of 9 done\u{1b}[2J" },
            { "type": "Failing", "status": "True", "message": "network is not available\nat all" },
        ]}));
        assert!(!said.completed);
        insta::assert_snapshot!(said, @r"
        3 of 9 done\u{1b}[2J
          network is not available
          at all
        ");
        let said = progress(&json!({ "conditions": [
            { "type": "Progressing", "status": "True", "message": "Stuck: network is not there" },
            { "type": "Failing", "status": "True", "message": "Network is not there" },
        ]}));
        insta::assert_snapshot!(said, @"Stuck: network is not there");
    }

    #[test]
    fn another_release_does_not_complete_the_installation() {
        let entry = |image: &str, state: &str| {
            progress(&json!({ "history": [{
                "state": state, "image": image, "version": "5.0.0", "verified": false,
                "startedTime": "2026-01-01T00:00:00Z", "completionTime": null,
            }]}))
            .completed
        };
        assert!(entry("image@sha256:1", "Completed"));
        assert!(!entry("image@sha256:1", "Partial"));
        assert!(!entry("image@sha256:2", "Completed"));
    }
}
