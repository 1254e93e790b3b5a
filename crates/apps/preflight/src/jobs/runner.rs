//! Execution of component checks as Jobs.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use fairway_findings::CheckStatus;
use fairway_findings::check_result::{ContainerTermination, MAX_LOG_BYTES, interpret};
use fairway_findings::jobs::{FORMAT, JobAnswer, JobRequest, JobRequests, JobState};
use fairway_findings::vet::NAMESPACE;
use futures::AsyncReadExt as _;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kube::api::LogParams;
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value;
use tokio::sync::{Mutex, watch};
use tokio::time::{interval, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::creator::JobCreator;
use super::find::JobCheck;
use super::follow::{ObservedJobs, follow};
use super::state::JobEnd;
use crate::engine::CheckOutcome;
use crate::settings::suffix;

/// Poll interval of answers.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Timeout of the answer to a request.
const ANSWER_TIMEOUT: Duration = Duration::from_mins(2);

/// Maximum bytes of a Job's name before its suffix. Pods have it in a label and in their name.
const MAX_NAME_BYTES: usize = 48;

/// Runs the Job checks of one preflight run.
pub struct JobRunner {
    client: Client,
    creator: Arc<dyn JobCreator>,
    requested: Mutex<JobRequests>,
    observed: watch::Receiver<ObservedJobs>,
    _following: AbortOnDropHandle<()>,
}

impl JobRunner {
    /// Watches the Jobs of a run, which `creator` creates.
    pub fn new(client: Client, run: &str, creator: Arc<dyn JobCreator>) -> Self {
        let (sender, observed) = watch::channel(ObservedJobs::new());
        let following = tokio::spawn(follow(client.clone(), run.to_owned(), sender));
        let requested = JobRequests {
            format: FORMAT.to_owned(),
            preflight_id: run.to_owned(),
            jobs: Vec::new(),
        };
        Self {
            client,
            creator,
            requested: Mutex::new(requested),
            observed,
            _following: AbortOnDropHandle::new(following),
        }
    }

    /// Runs the check of a component. Its container has the given timeout.
    pub(crate) async fn run(
        &self,
        check: &str,
        operator: &JobCheck,
        timeout: Duration,
    ) -> CheckOutcome {
        let job = job_name(&operator.job.id.name, &suffix());
        let request = JobRequest {
            name: job.clone(),
            check: check.to_owned(),
            manifest: operator.job.object(),
            access: operator
                .access
                .iter()
                .map(fairway_release::Manifest::object)
                .collect::<Vec<Value>>(),
        };
        let requested = fairway_clock::now();
        if let Err(error) = self.change(|jobs| jobs.push(request)).await {
            let why = format!("cannot request its Job: {error}");
            return CheckOutcome::no_result(CheckStatus::NotStarted, why);
        }
        let timeout = SignedDuration::try_from(timeout).unwrap_or(SignedDuration::MAX);
        let outcome = match self.answer(&job).await {
            Ok(()) => self.outcome(check, &job, requested, timeout).await,
            Err(outcome) => outcome,
        };
        if let Err(error) = self.change(|jobs| jobs.retain(|known| known.name != job)).await {
            tracing::warn!(%error, job, "cannot withdraw Job request");
        }
        outcome
    }

    async fn change(&self, change: impl FnOnce(&mut Vec<JobRequest>)) -> io::Result<()> {
        let mut requested = self.requested.lock().await;
        change(&mut requested.jobs);
        self.creator.ask(&requested).await
    }

    /// Waits until the Job exists or is refused.
    async fn answer(&self, job: &str) -> Result<(), CheckOutcome> {
        let mut polls = interval(POLL_INTERVAL);
        let answered = async {
            loop {
                polls.tick().await;
                let answers = self.creator.answers().await;
                if let Some(answer) = answers.jobs.into_iter().find(|answer| answer.name == job) {
                    return answer;
                }
            }
        };
        let late = || {
            let why = "timed out waiting for its Job to be created";
            CheckOutcome::no_result(CheckStatus::NotStarted, why)
        };
        let JobAnswer { state, message, .. } =
            timeout(ANSWER_TIMEOUT, answered).await.map_err(|_| late())?;
        let status = match state {
            JobState::Created => return Ok(()),
            JobState::Refused => CheckStatus::Refused,
            JobState::AccessRefused => CheckStatus::AccessRefused,
            JobState::NotCreated => CheckStatus::NotStarted,
        };
        Err(CheckOutcome::no_result(status, message))
    }

    async fn outcome(
        &self,
        check: &str,
        job: &str,
        requested: Timestamp,
        timeout: SignedDuration,
    ) -> CheckOutcome {
        let mut observed = self.observed.clone();
        // Timeouts elapse without events, too.
        let mut polls = interval(POLL_INTERVAL);
        loop {
            let observed = observed.borrow_and_update().get(job).cloned().unwrap_or_default();
            if let Some(end) = observed.end(requested, fairway_clock::now(), timeout) {
                return outcome(&self.client, check, end, observed.pod.as_ref()).await;
            }
            polls.tick().await;
        }
    }
}

/// Unique name of a Job.
fn job_name(name: &str, suffix: &str) -> String {
    let end = name.floor_char_boundary(MAX_NAME_BYTES);
    format!("{}-{suffix}", name[..end].trim_end_matches(['-', '.']))
}

/// Outcome of a check whose Job has ended. `pod` is its terminated pod, if any.
async fn outcome(client: &Client, check: &str, end: JobEnd, pod: Option<&Pod>) -> CheckOutcome {
    match end {
        JobEnd::Exited { code, reason, message } => {
            let (log, command) = (log(client, pod).await, command(pod));
            let ending = ContainerTermination {
                log: log.as_deref().unwrap_or_default(),
                termination_message: &message,
                exit_code: code,
                reason: &reason,
                command: &command,
            };
            match &log {
                // Without its log, a check that exits with 0 would seem to have no findings.
                Err(error) if code == 0 && !message.contains(fairway_findings::FORMAT) => {
                    let why = format!("cannot read the log of its pod: {error}");
                    CheckOutcome::no_result(CheckStatus::CannotTell, why)
                }
                _ => understood(check, &ending),
            }
        }
        JobEnd::NoCommand(_) => {
            CheckOutcome::Skipped("its image does not contain the command".to_owned())
        }
        JobEnd::NotStarted(why) => CheckOutcome::no_result(CheckStatus::NotStarted, why),
        JobEnd::TimedOut(why) => CheckOutcome::no_result(CheckStatus::TimedOut, why),
        JobEnd::Killed(why) => CheckOutcome::no_result(CheckStatus::Failed, why),
    }
}

fn understood(check: &str, ending: &ContainerTermination<'_>) -> CheckOutcome {
    let result = interpret(check, ending);
    match result.status {
        CheckStatus::Passed | CheckStatus::Found => CheckOutcome::Completed {
            findings: result.findings,
            not_covered: result.dropped.join("; "),
        },
        CheckStatus::Skipped => CheckOutcome::Skipped(result.message),
        status => CheckOutcome::NoResult { status, why: result.message, findings: result.findings },
    }
}

/// Command of the check's container.
fn command(pod: Option<&Pod>) -> Vec<String> {
    let spec = pod.and_then(|pod| pod.spec.as_ref());
    let Some(container) = spec.and_then(|spec| spec.containers.first()) else { return Vec::new() };
    container.command.iter().chain(&container.args).flatten().cloned().collect()
}

/// Log of the check, up to one byte more than the limit.
async fn log(client: &Client, pod: Option<&Pod>) -> kube::Result<Vec<u8>> {
    let Some(pod) = pod else { return Ok(Vec::new()) };
    let containers = pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
    let most = MAX_LOG_BYTES as u64 + 1;
    let params = LogParams {
        container: containers.first().map(|container| container.name.clone()),
        limit_bytes: i64::try_from(most).ok(),
        ..LogParams::default()
    };
    let api: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let mut bytes = Vec::new();
    let stream = api.log_stream(&pod.name_any(), &params).await?;
    stream.take(most).read_to_end(&mut bytes).await.map_err(kube::Error::ReadEvents)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn job_name_fits_into_label() {
        assert_eq!(job_name("network-preflight", "01234567"), "network-preflight-01234567");
        let long = job_name(&format!("{}-{}", "a".repeat(47), "b".repeat(200)), "01234567");
        assert_eq!(long, format!("{}-01234567", "a".repeat(47)));
        assert!(job_name(&"ü".repeat(100), "01234567").len() <= 63);
    }
}
