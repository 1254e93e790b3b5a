//! Builds the published graph from the sources. Invalid new data never replaces valid old data.

use std::collections::{BTreeSet, HashSet};

use fairway_graph::build::build;
use fairway_graph::data::{self, BLOCKED_EDGES, DataFinding, GraphDataError, Severity};
use fairway_graph::files::FilesError;
use fairway_graph::{Files, GraphData, GraphProblem, ReleaseImage, releases};
use serde::Serialize;

use crate::body::{ResponseBody, compress};
use crate::options::RemovedBlockPolicy;
use crate::responses::{GraphCounts, Responses};
use crate::source::SourceContent;

/// Everything that is served, built from one state of the sources.
#[derive(Debug)]
pub(crate) struct PublishedGraph {
    pub(crate) responses: Responses,
    pub(crate) counts: GraphCounts,
    /// Number of releases in the source.
    pub(crate) raw_releases: usize,
    pub(crate) digest: String,
    /// The graph-data in use as a gzip tar archive.
    pub(crate) archive: ResponseBody,
    /// The files of the graph-data in use.
    pub(crate) files: Files,
    pub(crate) quarantine: Vec<Quarantined>,
    /// Files of blocked edges that the previous graph had.
    pub(crate) vanished: Vec<String>,
}

/// A file or release that is not used, or only in part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quarantined {
    /// Kind of the input.
    pub kind: QuarantineKind,
    /// Problem and consequence.
    pub why: String,
}

/// Kind of a quarantined input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum QuarantineKind {
    /// A file of graph-data.
    File,
    /// A release or its metadata.
    Release,
}

/// New data that is readable and must not be published.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RejectedData {
    #[error(transparent)]
    Refused(#[from] GraphDataError),
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error("new graph-data may fail to block updates: {}", list(.0))]
    Open(Vec<DataFinding>),
    #[error("no channel contains a release")]
    Nothing,
    #[error(
        "new graph-data has no {} any more; restore the files, or accept the removal with \
         --accept-removed-blocks", list_files(.0)
    )]
    RemovedBlocks(Vec<String>),
}

/// Files that a message lists.
const MAX_LISTED_FILES: usize = 5;

fn list_files(files: &[String]) -> String {
    let listed = files.iter().take(MAX_LISTED_FILES).cloned().collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(MAX_LISTED_FILES) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

/// Builds everything that is served. `before` is the graph that is served now.
pub(crate) fn assemble(
    files: &Files,
    found: &SourceContent<Vec<ReleaseImage>>,
    before: Option<&PublishedGraph>,
    policy: &RemovedBlockPolicy,
) -> Result<PublishedGraph, RejectedData> {
    let UsableData { files, data, findings } =
        usable_data(files, before.map(|before| &before.files))?;
    let vanished = before.map_or_else(Vec::new, |before| vanished(&before.files, &files));
    let removed: Vec<String> =
        vanished.iter().filter(|file| !policy.accepts(file)).cloned().collect();
    if !removed.is_empty() {
        return Err(RejectedData::RemovedBlocks(removed));
    }
    let (declared, declaring) = releases::declare(found.content.clone());
    let (graph, building) = build(declared, &data);
    let counts = GraphCounts::new(&graph);
    if counts.channels.is_empty() {
        return Err(RejectedData::Nothing);
    }
    let files_out = findings.iter().map(Quarantined::file);
    let releases_out = found.problems.iter().chain(&declaring).chain(&building);
    let responses = Responses::new(&graph, before.map(|before| &before.responses));
    Ok(PublishedGraph {
        digest: responses.digest(),
        responses,
        counts,
        raw_releases: found.content.len(),
        archive: ResponseBody::compressed(archive(&files)),
        quarantine: files_out.chain(releases_out.map(Quarantined::release)).collect(),
        vanished,
        files,
    })
}

impl Quarantined {
    fn file(finding: &DataFinding) -> Self {
        Self { kind: QuarantineKind::File, why: finding.to_string() }
    }

    fn release(problem: &GraphProblem) -> Self {
        Self { kind: QuarantineKind::Release, why: problem.to_string() }
    }
}

/// Graph-data that may be published.
struct UsableData {
    files: Files,
    data: GraphData,
    /// Problems of the new files.
    findings: Vec<DataFinding>,
}

/// Reads graph-data. A broken file is replaced by its previous content. A broken new file whose
/// content and name do not identify the updates that it blocks makes all new data unusable. After a
/// start there is no previous data: the service then publishes the rest and reports that the file
/// blocks nothing, because one file must not keep all clusters from all updates.
fn usable_data(files: &Files, before: Option<&Files>) -> Result<UsableData, RejectedData> {
    let data = GraphData::read(files)?;
    let findings: Vec<DataFinding> = data
        .findings
        .iter()
        .filter(|found| found.problem.severity() > Severity::Warning)
        .cloned()
        .collect();
    let lost: BTreeSet<&str> = findings
        .iter()
        .filter(|found| loses_content(found))
        .map(|found| found.place.file.as_str())
        .collect();
    let (Some(before), false) = (before, lost.is_empty()) else {
        return Ok(UsableData { files: files.clone(), data, findings });
    };
    let files = with_previous(files, before, &lost)?;
    let data = GraphData::read(&files)?;
    let open: Vec<DataFinding> =
        data.findings.iter().filter(|found| opens_updates(found)).cloned().collect();
    // Such a file in the data that is served now blocks nothing already.
    let new = open.into_iter().filter(|found| before.get(&found.place.file).is_none());
    let new: Vec<DataFinding> = new.collect();
    if new.is_empty() {
        Ok(UsableData { files, data, findings })
    } else {
        Err(RejectedData::Open(new))
    }
}

/// Whether the content of a file is lost.
fn loses_content(finding: &DataFinding) -> bool {
    use data::DataProblem::{
        BadChannelName, BadTarget, NoTarget, Salvaged, UnnamedChannel, Unreadable,
        UnreadableChannel,
    };

    matches!(
        finding.problem,
        Unreadable { .. }
            | Salvaged { .. }
            | NoTarget { .. }
            | BadTarget { .. }
            | UnreadableChannel { .. }
            | UnnamedChannel
            | BadChannelName { .. }
    )
}

fn opens_updates(finding: &DataFinding) -> bool {
    finding.problem.severity() == Severity::Open
}

/// New files, of which some keep their previous content, if any.
fn with_previous(new: &Files, before: &Files, old: &BTreeSet<&str>) -> Result<Files, FilesError> {
    let mut files = Files::default();
    for (path, bytes) in new.iter() {
        let kept = if old.contains(path) { before.get(path) } else { None };
        files.insert(path, kept.unwrap_or(bytes).to_vec())?;
    }
    Ok(files)
}

/// Blocked-edge files that the new files no longer have, at any path.
fn vanished(before: &Files, now: &Files) -> Vec<String> {
    let gone: Vec<(&str, &[u8])> =
        before.below(BLOCKED_EDGES).filter(|(path, _)| now.get(path).is_none()).collect();
    if gone.is_empty() {
        return Vec::new();
    }
    let extension = |path: &str| path.rsplit_once('.').map(|(_, extension)| extension.to_owned());
    let now: HashSet<(Option<String>, &[u8])> =
        now.below(BLOCKED_EDGES).map(|(path, bytes)| (extension(path), bytes)).collect();
    let is_moved = |path: &str, bytes| now.contains(&(extension(path), bytes));
    let gone = gone.into_iter().filter(|(path, bytes)| !is_moved(path, bytes));
    gone.map(|(path, _)| path.to_owned()).collect()
}

/// The files as an archive. The same files give the same bytes.
fn archive(files: &Files) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, bytes) in files.iter() {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, bytes).expect("writing to memory");
    }
    compress(&archive.into_inner().expect("writing to memory"))
}

fn list(findings: &[DataFinding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
