//! The target release in its pod: examines the cluster until it is stopped, and writes its results.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fairway_findings::{Document, ExecutionStatus, FORMAT};
use fairway_registry::payload::{UnreadableDirectory, read_unpacked};
use fairway_release::Release;
use fairway_release::payload::PayloadError;
use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::check::BuiltInCheck;
use crate::cluster::ClusterReadError;
use crate::jobs::{JobRunner, OperatorJobCreator};
use crate::results::{self, RESULT_FILE};
use crate::runner::{Runner, Until};
use crate::settings::Settings;
use crate::target::SelectionSettings;

/// Directories of the target release.
#[derive(Clone, Debug)]
pub struct MonitorPaths {
    /// Directory of the payload.
    pub payload: PathBuf,
    /// Results directory.
    pub results: PathBuf,
}

/// Why the target release cannot examine the cluster.
#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    /// The payload is not readable.
    #[error(transparent)]
    UnreadableDirectory(#[from] UnreadableDirectory),
    /// The payload is invalid.
    #[error(transparent)]
    Payload(#[from] PayloadError),
    /// The cluster is not readable.
    #[error("cannot read the cluster")]
    Unseen(#[from] ClusterReadError),
    /// Results cannot be written.
    #[error("cannot write results to {}", directory.display())]
    Results {
        /// Results directory.
        directory: PathBuf,
        /// Error of the write.
        source: std::io::Error,
    },
}

/// Examines a cluster until it is stopped. Writes errors to the results, too.
pub async fn monitor(
    client: Client,
    settings: &Settings,
    selection: &SelectionSettings,
    checks: Vec<Box<dyn BuiltInCheck>>,
    paths: &MonitorPaths,
    stop: CancellationToken,
) -> Result<(), MonitorError> {
    let ended = examine(client, settings, selection, checks, paths, stop).await;
    if let Err(error) = &ended {
        write(&paths.results, &failed(settings, &fairway_text::chain(error)))?;
    }
    ended
}

async fn examine(
    client: Client,
    settings: &Settings,
    selection: &SelectionSettings,
    checks: Vec<Box<dyn BuiltInCheck>>,
    paths: &MonitorPaths,
    stop: CancellationToken,
) -> Result<(), MonitorError> {
    let files = read_unpacked(&paths.payload)?;
    let content = Release::load(&files, &settings.image, &selection.profile)?;
    drop(files);
    let creator = Arc::new(OperatorJobCreator::new(paths.results.clone(), settings.run.clone()));
    let jobs = Arc::new(JobRunner::new(client.clone(), &settings.run, creator));
    let runner = Runner::prepare(client, settings, selection, content, checks, Some(jobs)).await?;
    let known = runner.known();
    // Fail early: without a writable directory the checks are useless.
    let first = known.borrow().clone();
    write(&paths.results, &first)?;
    let writer = tokio::spawn(results::keep(paths.results.clone(), known));
    let last = runner.run(Until::Stopped, stop).await;
    // The writer ends with the runner. Await it, so that it does not overwrite the final document.
    if let Err(error) = writer.await {
        tracing::error!(%error, "result writer failed");
    }
    write(&paths.results, &last)
}

fn write(directory: &Path, document: &Document) -> Result<(), MonitorError> {
    results::write(directory, RESULT_FILE, document)
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
