//! What has become of runs: what people and programs are told once.

use std::collections::BTreeMap;

use fairway_findings::record::Failure;
use fairway_findings::{Document, ExecutionStatus};
use jiff::Timestamp;

use super::Memory;
use super::kept::Kept;

/// How far the last run of every target is, by the name of its record.
pub(crate) type Stands = BTreeMap<String, Stand>;

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stand {
    run: String,
    version: String,
    began: Option<Timestamp>,
    phase: Phase,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Phase {
    Checking,
    Answered { complete: bool, risks: usize },
    Over,
    Failed(Failure),
}

/// Something that has become of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct News {
    /// The version of the target.
    pub(crate) version: String,
    /// When the run began.
    pub(crate) began: Option<Timestamp>,
    /// What has become of it.
    pub(crate) what: What,
}

/// What has become of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// It has begun.
    Started,
    /// Its first pass is over.
    Answered {
        /// Whether all checks gave an answer.
        complete: bool,
        /// How many risks it found.
        risks: usize,
    },
    /// It is given up.
    Failed(Failure),
}

impl Memory {
    /// How far every run is.
    pub(crate) fn stands(&self) -> Stands {
        self.targets.iter().map(|(name, kept)| (name.clone(), stand(kept))).collect()
    }
}

fn stand(kept: &Kept) -> Stand {
    let running = kept.running.as_ref();
    let said = kept.shown().map(|document| document.preflight_id.clone());
    let run = running.map(|running| running.id.clone()).or(said).unwrap_or_default();
    let answered = |document: &&Document| document.execution_status == ExecutionStatus::Completed;
    let phase = match (&kept.failure, kept.current().filter(answered)) {
        (Some(failure), _) => Phase::Failed(failure.clone()),
        (None, Some(document)) => {
            Phase::Answered { complete: document.is_complete(), risks: document.risks.len() }
        }
        (None, None) if running.is_some() => Phase::Checking,
        (None, None) => Phase::Over,
    };
    let began = running.map(|running| running.began);
    Stand { run, version: kept.release.version.clone(), began, phase }
}

/// What has become of runs in between.
pub(crate) fn news(before: &Stands, after: &Stands) -> Vec<News> {
    let of = |(name, stand): (&String, &Stand)| {
        let before = before.get(name);
        let what = what(before, stand)?;
        let began = stand.began.or_else(|| before.and_then(|before| before.began));
        Some(News { version: stand.version.clone(), began, what })
    };
    after.iter().filter_map(of).collect()
}

fn what(before: Option<&Stand>, after: &Stand) -> Option<What> {
    let same = before.filter(|before| before.run == after.run || after.began.is_none());
    match (same.map(|before| &before.phase), &after.phase) {
        (None, Phase::Checking) => Some(What::Started),
        (Some(Phase::Checking) | None, Phase::Answered { complete, risks }) => {
            Some(What::Answered { complete: *complete, risks: *risks })
        }
        (Some(Phase::Failed(_)), Phase::Failed(_)) => None,
        (_, Phase::Failed(failure)) => Some(What::Failed(failure.clone())),
        _ => None,
    }
}
