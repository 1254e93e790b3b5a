//! From what the sources have to what is served. Bad new data never replaces good old data.

use std::collections::BTreeSet;

use fairway_graph::build::build;
use fairway_graph::data::{self, BLOCKED_EDGES, Finding, Refusal, Severity};
use fairway_graph::files::FilesError;
use fairway_graph::{Files, GraphData, Problem, ReleaseImage, releases};
use serde::Serialize;

use crate::answers::{Answers, Counts};
use crate::document::{Document, compress};
use crate::source::Found;

/// All that is served, made from one state of the sources.
#[derive(Debug)]
pub(crate) struct Assembly {
    pub(crate) answers: Answers,
    pub(crate) counts: Counts,
    /// As many as the source has.
    pub(crate) raw_releases: usize,
    pub(crate) digest: String,
    /// The graph-data that is in use, as a compressed archive.
    pub(crate) archive: Document,
    /// Its files.
    pub(crate) files: Files,
    pub(crate) quarantine: Vec<Quarantined>,
    /// Block files that were there before, and are gone.
    pub(crate) vanished: Vec<String>,
}

/// What is not served as it was meant to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quarantined {
    /// What kind of thing it is.
    pub kind: Kind,
    /// What is wrong with it, and what came of it.
    pub why: String,
}

/// What can be wrong without stopping the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// A file of graph-data.
    File,
    /// A release, or what it says.
    Release,
}

/// Why new data is not used, although it could be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Hold {
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error("new graph-data may fail to block updates: {}", list(.0))]
    Open(Vec<Finding>),
    #[error("no channel contains a release")]
    Nothing,
}

/// Makes everything that is served. `before` is what is served now.
pub(crate) fn assemble(
    files: &Files,
    found: &Found<Vec<ReleaseImage>>,
    before: Option<&Assembly>,
) -> Result<Assembly, Hold> {
    let GoodData { files, data, findings } = good_data(files, before.map(|before| &before.files))?;
    let (declared, declaring) = releases::declare(found.content.clone());
    let (graph, building) = build(declared, &data);
    let counts = Counts::of(&graph);
    if counts.channels.is_empty() {
        return Err(Hold::Nothing);
    }
    let files_out = findings.iter().map(Quarantined::file);
    let releases_out = found.problems.iter().chain(&declaring).chain(&building);
    let answers = Answers::new(&graph, before.map(|before| &before.answers));
    Ok(Assembly {
        digest: answers.digest(),
        answers,
        counts,
        raw_releases: found.content.len(),
        archive: Document::packed(archive(&files)),
        quarantine: files_out.chain(releases_out.map(Quarantined::release)).collect(),
        vanished: before.map_or_else(Vec::new, |before| vanished(&before.files, &files)),
        files,
    })
}

impl Quarantined {
    fn file(finding: &Finding) -> Self {
        Self { kind: Kind::File, why: finding.to_string() }
    }

    fn release(problem: &Problem) -> Self {
        Self { kind: Kind::Release, why: problem.to_string() }
    }
}

/// Graph-data that may be served.
struct GoodData {
    files: Files,
    data: GraphData,
    /// What is wrong with the files as they are now.
    findings: Vec<Finding>,
}

/// Reads graph-data. A file that would lose what it said is used as it was before. If it was not
/// there before, and neither what it says nor its name tells which updates to close, nothing of the
/// new data is used. A service that has just started has nothing else: it serves the rest, because
/// one file must not keep every cluster from every update, and says that the file closes nothing.
fn good_data(files: &Files, before: Option<&Files>) -> Result<GoodData, Hold> {
    let data = GraphData::read(files)?;
    let findings: Vec<Finding> = data
        .findings
        .iter()
        .filter(|found| found.problem.severity() > Severity::Warning)
        .cloned()
        .collect();
    let lost: BTreeSet<&str> = findings
        .iter()
        .filter(|found| loses(found))
        .map(|found| found.place.file.as_str())
        .collect();
    let (Some(before), false) = (before, lost.is_empty()) else {
        return Ok(GoodData { files: files.clone(), data, findings });
    };
    let files = with_old(files, before, &lost)?;
    let data = GraphData::read(&files)?;
    let open: Vec<Finding> = data.findings.iter().filter(|found| opens(found)).cloned().collect();
    // What is open in the data that is served now is open already.
    let new = open.into_iter().filter(|found| before.get(&found.place.file).is_none());
    let new: Vec<Finding> = new.collect();
    if new.is_empty() { Ok(GoodData { files, data, findings }) } else { Err(Hold::Open(new)) }
}

/// Whether a file is so broken that what it was about is lost.
fn loses(finding: &Finding) -> bool {
    use data::Problem::{
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

fn opens(finding: &Finding) -> bool {
    finding.problem.severity() == Severity::Open
}

/// New files, but some of them as they were before, if they were there.
fn with_old(new: &Files, before: &Files, old: &BTreeSet<&str>) -> Result<Files, FilesError> {
    let mut files = Files::default();
    for (path, bytes) in new.iter() {
        let kept = if old.contains(path) { before.get(path) } else { None };
        files.insert(path, kept.unwrap_or(bytes).to_vec())?;
    }
    Ok(files)
}

fn vanished(before: &Files, now: &Files) -> Vec<String> {
    let gone = before.below(BLOCKED_EDGES).filter(|(path, _)| now.get(path).is_none());
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

fn list(findings: &[Finding]) -> String {
    findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
