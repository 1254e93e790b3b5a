//! What people and programs are told about runs, once: events and metrics.

use std::collections::BTreeMap;
use std::time::Duration;

use fairway_findings::Severity;
use fairway_findings::record::Failure;
use jiff::Timestamp;
use kube::runtime::events::EventType;

use super::memory::{Kept, Memory, News, Stands, What, news};
use crate::event::{Announcer, Told};
use crate::metrics::{self, Ended};

/// Tells what has become of runs.
pub(super) struct Telling {
    stands: Stands,
    announcer: Announcer,
    metrics: metrics::Preflight,
}

impl Telling {
    /// What is known already is no news.
    pub(super) fn after(
        memory: &Memory,
        announcer: Announcer,
        metrics: metrics::Preflight,
    ) -> Self {
        let telling = Self { stands: memory.stands(), announcer, metrics };
        telling.measure(memory);
        telling
    }

    /// Something has changed.
    pub(super) fn tell(&mut self, memory: &Memory, now: Timestamp) {
        let stands = memory.stands();
        for news in news(&self.stands, &stands) {
            self.announcer.tell(told(&news));
            if let Some(how) = ended(&news.what) {
                let took = news.began.map(|began| now.duration_since(began));
                self.metrics.ended(how, took.and_then(|took| Duration::try_from(took).ok()));
            }
        }
        self.stands = stands;
        self.measure(memory);
    }

    fn measure(&self, memory: &Memory) {
        self.metrics.running(memory.kept().any(Kept::is_monitored));
        let documents = memory.kept().filter_map(Kept::shown);
        let mut found: BTreeMap<Severity, usize> = BTreeMap::new();
        for finding in documents.flat_map(|document| &document.risks) {
            *found.entry(finding.severity).or_default() += 1;
        }
        self.metrics.found(&found);
    }
}

fn ended(what: &What) -> Option<Ended> {
    match what {
        What::Started => None,
        What::Answered { complete: true, .. } => Some(Ended::Completed),
        What::Answered { complete: false, .. } => Some(Ended::Partial),
        What::Failed(_) => Some(Ended::Failed),
    }
}

fn told(News { version, what, .. }: &News) -> Told {
    match what {
        What::Started => {
            let note = format!("The preflight of {version} started.");
            Told::new(EventType::Normal, "PreflightStarted", &note)
        }
        What::Answered { complete, risks } => {
            let checks = if *complete { "all" } else { "not all" };
            let note = format!(
                "The preflight of {version} completed: {checks} checks have a result, risks found: \
                 {risks}."
            );
            Told::new(EventType::Normal, "PreflightCompleted", &note)
        }
        What::Failed(Failure { reason, message: why, .. }) => {
            let note = format!("The preflight of {version} failed ({reason}): {why}");
            Told::new(EventType::Warning, "PreflightFailed", &note)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_has_its_event() {
        let failure = Failure {
            reason: "OOMKilled".to_owned(),
            message: "it needs more memory".to_owned(),
            requested: true,
        };
        let told: Vec<String> = [
            What::Started,
            What::Answered { complete: true, risks: 0 },
            What::Answered { complete: false, risks: 2 },
            What::Failed(failure),
        ]
        .into_iter()
        .map(|what| told(&News { version: "5.2.0".to_owned(), began: None, what }))
        .map(|Told { type_, reason, note }| format!("{type_:?} {reason}: {note}"))
        .collect();
        insta::assert_snapshot!(told.join("\n"), @r"
        Normal PreflightStarted: The preflight of 5.2.0 started.
        Normal PreflightCompleted: The preflight of 5.2.0 completed: all checks have a result, risks found: 0.
        Normal PreflightCompleted: The preflight of 5.2.0 completed: not all checks have a result, risks found: 2.
        Warning PreflightFailed: The preflight of 5.2.0 failed (OOMKilled): it needs more memory
        ");
    }
}
