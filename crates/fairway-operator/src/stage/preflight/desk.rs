//! Where a run asks for the Jobs of its checks: what it writes is read, done, and answered.

use std::sync::Arc;
use std::time::Duration;

use fairway_findings::jobs::{ANSWERS, JobAnswers, JobRequests, REQUESTS};
use fairway_findings::vet::{self, Network};
use serde_json::Value;
use tokio::time::Instant;

use super::deployment::Run;
use super::jobs::Jobs;
use super::results::{RunDirectory, Stamp};
use crate::clock;
use crate::settings::{CheckNetwork, PreflightSettings};
use crate::text;

/// How often it is looked whether something else is asked for.
const LOOKS: Duration = Duration::from_millis(500);

/// The time before what was not done is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// Serves the run until it is over.
pub(super) async fn serve(mut jobs: Jobs, run: Run, directory: Arc<RunDirectory>) {
    let mut done: Option<Stamp> = None;
    loop {
        clock::sleep_until(Some(Instant::now() + LOOKS)).await;
        let stamp = directory.stamp(REQUESTS);
        if stamp == done {
            continue;
        }
        let Some(requests) = asked(&directory, &run) else {
            done = stamp;
            continue;
        };
        let answers = jobs.reconcile(&requests).await;
        let is_all = answers.jobs.len() >= requests.jobs.len();
        if answer(&directory, &answers) && is_all {
            done = stamp;
        } else {
            clock::sleep_until(Some(Instant::now() + RETRY)).await;
        }
    }
}

/// What the run asks for; nothing where that cannot be understood. The run sees that nobody answers.
fn asked(directory: &RunDirectory, run: &Run) -> Option<JobRequests> {
    let bytes = match directory.read(REQUESTS) {
        Ok(bytes) => bytes?,
        Err(error) => {
            tracing::warn!(why = text::chain(&error), "what a preflight asks for is not read");
            return None;
        }
    };
    let requests = JobRequests::read(&bytes, run.id.as_str());
    requests
        .inspect_err(|error| {
            tracing::warn!(why = text::chain(error), "what a preflight asks for is not understood");
        })
        .ok()
}

fn answer(directory: &RunDirectory, answers: &JobAnswers) -> bool {
    let written = serde_json::to_vec(answers)
        .map_err(std::io::Error::from)
        .and_then(|bytes| directory.write(ANSWERS, &bytes));
    if let Err(error) = &written {
        tracing::warn!(why = text::chain(error), "a preflight cannot be answered");
    }
    written.is_ok()
}

/// What all Jobs of a run have in common.
pub(super) fn common(run: &Run, settings: &PreflightSettings) -> vet::Run {
    let tolerations = settings.pod.tolerations.iter().flatten();
    let tolerations = tolerations.filter_map(|it| serde_json::to_value(it).ok());
    let selector = &settings.pod.node_selector;
    let selector = if selector.is_empty() { None } else { serde_json::to_value(selector).ok() };
    vet::Run {
        id: run.id.to_string(),
        source_version: run.source.clone(),
        target_version: run.version.clone(),
        target_image: run.image.clone(),
        network: match settings.check_network {
            CheckNetwork::Pod => Network::Pod,
            CheckNetwork::Host => Network::Host,
        },
        tolerations: tolerations.collect(),
        node_selector: selector.unwrap_or(Value::Null),
    }
}
