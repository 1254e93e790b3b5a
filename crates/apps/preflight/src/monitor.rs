//! The release in its own pod: it looks at the cluster until somebody ends it, and writes what it
//! knows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairway_findings::{Document, ExecutionStatus, FORMAT};
use fairway_registry::payload::{Unreadable, unpacked};
use fairway_release::Release;
use fairway_release::payload::PayloadError;
use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::check::BuiltIn;
use crate::cluster::Unseen;
use crate::jobs::{Board, Operator};
use crate::results::{self, RESULT};
use crate::runner::{Runner, Until};
use crate::selection::SelectionSettings;
use crate::settings::Settings;

/// Where things are.
#[derive(Clone, Debug)]
pub struct Places {
    /// Where the release is unpacked.
    pub payload: PathBuf,
    /// Where results are written.
    pub results: PathBuf,
}

/// Why a release cannot look at a cluster.
#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    /// It does not find itself.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// It is broken.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// It does not see the cluster.
    #[error("cannot read the cluster")]
    Unseen(#[from] Unseen),
    /// It cannot say anything.
    #[error("cannot write results to {}", directory.display())]
    Results {
        /// Where to.
        directory: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// Looks at a cluster until it is stopped. Where that cannot be done, the results say why as well.
pub async fn monitor(
    client: Client,
    settings: &Settings,
    selection: &SelectionSettings,
    checks: Vec<Box<dyn BuiltIn>>,
    places: &Places,
    stop: CancellationToken,
) -> Result<(), MonitorError> {
    let ended = look(client, settings, selection, checks, places, stop).await;
    if let Err(error) = &ended {
        write(&places.results, &failed(settings, &fairway_text::chain(error)))?;
    }
    ended
}

async fn look(
    client: Client,
    settings: &Settings,
    selection: &SelectionSettings,
    checks: Vec<Box<dyn BuiltIn>>,
    places: &Places,
    stop: CancellationToken,
) -> Result<(), MonitorError> {
    let files = unpacked(&places.payload)?;
    let content = Release::load(&files, &settings.image, &selection.profile)?;
    drop(files);
    let hands = Arc::new(Operator::new(places.results.clone(), settings.run.clone()));
    let board = Arc::new(Board::new(client.clone(), &settings.run, hands));
    let runner = Runner::prepare(client, settings, selection, content, checks, Some(board)).await?;
    let known = runner.known();
    // Where nothing can be written, there is no use in looking.
    let first = known.borrow().clone();
    write(&places.results, &first)?;
    let keeping = tokio::spawn(results::keep(places.results.clone(), known));
    let last = runner.run(Until::Stopped, stop).await;
    // It ends with the runner, and what it writes by then must not come after the last word.
    if let Err(error) = keeping.await {
        tracing::error!(%error, "result writer failed");
    }
    write(&places.results, &last)
}

fn write(directory: &Path, document: &Document) -> Result<(), MonitorError> {
    results::write(directory, RESULT, document)
        .map_err(|source| MonitorError::Results { directory: directory.to_owned(), source })
}

fn failed(settings: &Settings, why: &str) -> Document {
    Document {
        format: FORMAT.to_owned(),
        preflight_id: settings.run.clone(),
        source_version: settings.source.to_string(),
        target_image: settings.image.clone(),
        execution_status: ExecutionStatus::Failed,
        message: why.to_owned(),
        updated: Some(fairway_clock::now()),
        ..Document::default()
    }
}
