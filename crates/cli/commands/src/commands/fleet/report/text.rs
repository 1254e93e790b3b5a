//! The text of a fleet report: a row for each cluster and version, and a summary.

use std::fmt;

use fairway_insight::FleetReport;
use fairway_insight::fleet::{
    Blocker, ClusterReport, CommonRisk, Preflight, PreflightResult, Readiness, Scope, TargetReport,
    TargetState,
};
use fairway_insight::recommend::CANNOT_RETRIEVE_UPDATES;
use fairway_text::counted;
use schemars::JsonSchema;
use serde::Serialize;

use crate::commands::upgrade::Age;
use crate::foreign_text::{OneLine, lines};
use crate::table::Table;

/// Names in a cell of the table; all of them are listed below it.
const MAX_NAMES_IN_CELL: usize = 1;

/// Maximum number of risks in the text: more would hide the most common ones. JSON and YAML have
/// all risks.
const MAX_RISKS: usize = 10;

/// An empty cell.
const EMPTY_CELL: &str = "–";

/// Updates and blockers of several clusters.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Shown<'a> {
    #[serde(flatten)]
    pub(super) report: &'a FleetReport,
    #[serde(skip)]
    pub(super) width: Option<usize>,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = Table(table(self.report));
        if self.width.is_none_or(|width| table.width() <= width) {
            write!(f, "{table}")?;
        } else {
            self.write_list(f)?;
        }
        self.write_risks(f)?;
        self.write_blockers(f)?;
        self.write_unread_preflights(f)?;
        self.write_unread(f)?;
        write!(f, "\n\n{}", summary(self.report))
    }
}

impl Shown<'_> {
    /// A list, for terminals that are too narrow for the table.
    fn write_list(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, cluster) in self.report.clusters.iter().enumerate() {
            f.write_str(if number == 0 { "" } else { "\n\n" })?;
            write!(f, "{}", OneLine(&cluster.name))?;
            if let Some(version) = &cluster.version {
                write!(f, " at {}", OneLine(version))?;
            }
            for Row { to, update, blocked, preflight } in rows(cluster, usize::MAX) {
                let to = to.map_or_else(String::new, |to| format!("{to}: "));
                write!(f, "\n  {to}{update}")?;
                for (what, cell) in [("blocked by", blocked), ("preflight:", preflight)] {
                    if let Some(cell) = cell {
                        write!(f, "\n    {what} {cell}")?;
                    }
                }
            }
        }
        Ok(())
    }

    fn write_risks(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let risks = &self.report.risks;
        if risks.is_empty() {
            return Ok(());
        }
        f.write_str("\n\nUnaccepted risks:\n")?;
        for CommonRisk { name, message, url, clusters, targets } in risks.iter().take(MAX_RISKS) {
            let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
            let count = counted(clusters.len(), "cluster");
            let names = (clusters.join(", "), targets.join(", "));
            let line = format!("{name}: {count} ({}), to {}", names.0, names.1);
            write!(f, "\n  {}", OneLine(&line))?;
            let texts = [message, url].into_iter().flatten();
            for line in texts.flat_map(|text| lines(text)) {
                write!(f, "\n    {line}")?;
            }
        }
        match risks.len().saturating_sub(MAX_RISKS) {
            0 => Ok(()),
            more => write!(f, "\n  {more} more: use -o json to list all"),
        }
    }

    fn write_blockers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut heading = "\n\nBlockers:\n";
        for cluster in &self.report.clusters {
            for blocker in &cluster.blockers {
                let scope = match blocker.scope {
                    Scope::AllUpdates => "",
                    Scope::OtherMinorVersions => ", for updates to other minor versions",
                };
                let reason = blocker.reason.as_deref().filter(|reason| !reason.is_empty());
                let reason = reason.map_or_else(String::new, |reason| format!(" ({reason})"));
                let line = format!("{}: {}{reason}{scope}", cluster.name, describe(blocker));
                write!(f, "{heading}\n  {}", OneLine(&line))?;
                for line in lines(blocker.message.as_deref().unwrap_or_default()) {
                    write!(f, "\n    {line}")?;
                }
                heading = "";
            }
        }
        Ok(())
    }

    fn write_unread_preflights(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut heading = "\n\nPreflights with errors:\n";
        for cluster in &self.report.clusters {
            let Some(why) = &cluster.preflight_error else { continue };
            write!(f, "{heading}\n  {}", OneLine(&format!("{}: {why}", cluster.name)))?;
            heading = "";
        }
        Ok(())
    }

    fn write_unread(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut heading = "\n\nClusters with errors:\n";
        for cluster in &self.report.clusters {
            let Some(unread) = &cluster.error else { continue };
            let line = format!("{}: {}", cluster.name, unread.message);
            write!(f, "{heading}\n  {}", OneLine(&line))?;
            if let Some(hint) = &unread.hint {
                write!(f, "\n    hint: {}", OneLine(hint))?;
            }
            heading = "";
        }
        Ok(())
    }
}

/// The cells of a cluster and a version.
struct Row {
    to: Option<String>,
    update: String,
    blocked: Option<String>,
    preflight: Option<String>,
}

/// A row for each cluster and version, without empty columns.
fn table(report: &FleetReport) -> Vec<Vec<String>> {
    let head = ["CLUSTER", "AT", "TO", "UPDATE", "BLOCKED BY", "PREFLIGHT"].map(str::to_owned);
    let mut table = vec![head.to_vec()];
    let or_nothing = |cell: Option<String>| cell.unwrap_or_else(|| EMPTY_CELL.to_owned());
    for cluster in &report.clusters {
        let at = cluster.version.as_deref().map(|version| OneLine(version).to_string());
        let (mut name, mut at) = (OneLine(&cluster.name).to_string(), or_nothing(at));
        for Row { to, update, blocked, preflight } in rows(cluster, MAX_NAMES_IN_CELL) {
            let (name, at) = (std::mem::take(&mut name), std::mem::take(&mut at));
            let [to, blocked, preflight] = [to, blocked, preflight].map(or_nothing);
            table.push(vec![name, at, to, update, blocked, preflight]);
        }
    }
    for column in [5, 4] {
        if table.iter().skip(1).all(|row| row[column] == EMPTY_CELL) {
            for row in &mut table {
                row.remove(column);
            }
        }
    }
    table
}

/// A row for each version, or one for a cluster without any.
fn rows(cluster: &ClusterReport, max_names: usize) -> Vec<Row> {
    let row = |target: &TargetReport| Row {
        to: Some(OneLine(&target.version).to_string()),
        update: update(target, max_names),
        blocked: names(&target.blocker_names, max_names),
        preflight: match &target.preflight {
            Some(known) => Some(preflight(known)),
            None => cluster.preflight_error.as_ref().map(|_| "error".to_owned()),
        },
    };
    if !cluster.targets.is_empty() {
        return cluster.targets.iter().map(row).collect();
    }
    let update = match cluster {
        ClusterReport { error: Some(_), .. } => "error",
        ClusterReport { updates_retrieved: true, .. } => "no updates available",
        _ => "updates unknown",
    };
    let all = cluster.blockers.iter().filter(|blocker| blocker.scope == Scope::AllUpdates);
    let all: Vec<String> = all.map(|blocker| blocker.name.clone()).collect();
    vec![Row {
        to: None,
        update: update.to_owned(),
        blocked: names(&all, max_names),
        preflight: None,
    }]
}

/// The state of an update.
fn update(target: &TargetReport, max_names: usize) -> String {
    let verdict = match target.verdict {
        TargetState::Recommended => "recommended",
        TargetState::NotRecommended => "not recommended",
        TargetState::Unknown => "unknown",
        TargetState::NotOffered => "not available",
        TargetState::Current => "already updated",
        TargetState::Older => "already newer",
        TargetState::InProgress => "in progress",
    };
    let reason = || target.reason.iter().find(|reason| !reason.is_empty());
    let why = names(&target.risks, max_names).or_else(|| Some(OneLine(reason()?).to_string()));
    why.map_or_else(|| verdict.to_owned(), |why| format!("{verdict}: {why}"))
}

/// Result and time of a preflight.
fn preflight(preflight: &Preflight) -> String {
    let result = match preflight.result {
        PreflightResult::NoFindings => "no findings",
        PreflightResult::FindingsAccepted => "all findings accepted",
        PreflightResult::Findings => &counted(preflight.findings.len(), "finding"),
        PreflightResult::Running => "running",
        PreflightResult::Incomplete => "incomplete",
        PreflightResult::Stale => "stale",
        PreflightResult::Outdated => "outdated",
        PreflightResult::Failed => "failed",
        PreflightResult::NotRun => "not run",
        PreflightResult::Unsupported => "not supported",
    };
    match preflight.age_seconds {
        Some(age) => format!("{result}, {} old", Age(age)),
        None => result.to_owned(),
    }
}

/// The first names and the number of others.
fn names(all: &[String], max_names: usize) -> Option<String> {
    let (max_names, more) = all.split_at(all.len().min(max_names));
    let max_names = OneLine(&max_names.join(", ")).to_string();
    match (max_names.is_empty(), more.len()) {
        (true, _) => None,
        (false, 0) => Some(max_names),
        (false, more) => Some(format!("{max_names} +{more}")),
    }
}

/// Description of a blocker.
fn describe(blocker: &Blocker) -> String {
    let Blocker { name, certain, .. } = blocker;
    match name.as_str() {
        _ if *certain => name.clone(),
        CANNOT_RETRIEVE_UPDATES => format!("{name}, available updates may be out of date"),
        _ => format!("{name}, status unknown"),
    }
}

fn summary(report: &FleetReport) -> String {
    let counts = report.counts;
    let to = match report.targets.as_slice() {
        [] => String::new(),
        [one] => format!(" to {one}"),
        [others @ .., last] => format!(" to {} and {last}", others.join(", ")),
    };
    let none = report.clusters.iter().filter(|cluster| needs_no_update(cluster)).count();
    let all = counted(report.clusters.len(), "cluster");
    let (yes, no, unknown) = (counts.ready, counts.blocked, counts.unknown);
    let yes = yes.saturating_sub(none);
    let none = if none == 0 { String::new() } else { format!("{none} already updated, ") };
    format!("{all}: {yes} can update{to}, {none}{no} cannot, {unknown} unknown.")
}

/// Whether a cluster runs the target or a later version.
fn needs_no_update(cluster: &ClusterReport) -> bool {
    let is_over =
        |target: &TargetReport| matches!(target.verdict, TargetState::Current | TargetState::Older);
    cluster.readiness == Readiness::Ready && cluster.targets.iter().all(is_over)
}

#[cfg(test)]
mod tests;
