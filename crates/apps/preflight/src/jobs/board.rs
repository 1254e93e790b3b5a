//! Asking for Jobs, and waiting for what they answer.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use fairway_findings::CheckStatus;
use fairway_findings::jobs::{FORMAT, JobAnswer, JobRequest, JobRequests, JobState};
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use serde_json::Value;
use tokio::sync::{Mutex, watch};
use tokio::time::{interval, timeout};
use tokio_util::task::AbortOnDropHandle;

use super::collect;
use super::find::OperatorCheck;
use super::follow::{Seen, follow};
use super::hands::Hands;
use crate::engine::Outcome;
use crate::random_names::suffix;

/// How often answers are looked for: a person does not notice, and a disk does not either.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// How long whoever creates Jobs may take to say what became of one.
const ANSWER_PATIENCE: Duration = Duration::from_mins(2);

/// Bytes of a Job's name before its suffix: pods have it in a label, and a name of their own from it.
const NAME: usize = 48;

/// The Jobs of a run.
pub struct Board {
    client: Client,
    hands: Arc<dyn Hands>,
    asked: Mutex<JobRequests>,
    seen: watch::Receiver<Seen>,
    _following: AbortOnDropHandle<()>,
}

impl Board {
    /// Follows the Jobs of a run, which somebody creates.
    pub fn new(client: Client, run: &str, hands: Arc<dyn Hands>) -> Self {
        let (sender, seen) = watch::channel(Seen::new());
        let following = tokio::spawn(follow(client.clone(), run.to_owned(), sender));
        let asked = JobRequests {
            format: FORMAT.to_owned(),
            preflight_id: run.to_owned(),
            jobs: Vec::new(),
        };
        Self {
            client,
            hands,
            asked: Mutex::new(asked),
            seen,
            _following: AbortOnDropHandle::new(following),
        }
    }

    /// Runs the check of an operator to its end; its container may run for that long.
    pub(crate) async fn run(
        &self,
        check: &str,
        operator: &OperatorCheck,
        patience: Duration,
    ) -> Outcome {
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
        let asked = fairway_clock::now();
        if let Err(error) = self.change(|jobs| jobs.push(request)).await {
            let why = format!("cannot request its Job: {error}");
            return Outcome::unanswered(CheckStatus::NotStarted, why);
        }
        let patience = SignedDuration::try_from(patience).unwrap_or(SignedDuration::MAX);
        let outcome = match self.answer(&job).await {
            Ok(()) => self.outcome(check, &job, asked, patience).await,
            Err(outcome) => outcome,
        };
        if let Err(error) = self.change(|jobs| jobs.retain(|known| known.name != job)).await {
            tracing::warn!(%error, job, "cannot withdraw Job request");
        }
        outcome
    }

    async fn change(&self, change: impl FnOnce(&mut Vec<JobRequest>)) -> io::Result<()> {
        let mut asked = self.asked.lock().await;
        change(&mut asked.jobs);
        self.hands.ask(&asked).await
    }

    /// Waits until the Job exists, or until it is said why it does not.
    async fn answer(&self, job: &str) -> Result<(), Outcome> {
        let mut looks = interval(BETWEEN_LOOKS);
        let answered = async {
            loop {
                looks.tick().await;
                let answers = self.hands.answers().await;
                if let Some(answer) = answers.jobs.into_iter().find(|answer| answer.name == job) {
                    return answer;
                }
            }
        };
        let late = || {
            let why = "timed out waiting for its Job to be created";
            Outcome::unanswered(CheckStatus::NotStarted, why)
        };
        let JobAnswer { state, message, .. } =
            timeout(ANSWER_PATIENCE, answered).await.map_err(|_| late())?;
        let status = match state {
            JobState::Created => return Ok(()),
            JobState::Refused => CheckStatus::Refused,
            JobState::AccessRefused => CheckStatus::AccessRefused,
            JobState::NotCreated => CheckStatus::NotStarted,
        };
        Err(Outcome::unanswered(status, message))
    }

    async fn outcome(
        &self,
        check: &str,
        job: &str,
        asked: Timestamp,
        patience: SignedDuration,
    ) -> Outcome {
        let mut seen = self.seen.clone();
        // Time passes also where nothing happens.
        let mut looks = interval(BETWEEN_LOOKS);
        loop {
            let observed = seen.borrow_and_update().get(job).cloned().unwrap_or_default();
            if let Some(end) = observed.end(asked, fairway_clock::now(), patience) {
                return collect::outcome(&self.client, check, end, observed.pod.as_ref()).await;
            }
            looks.tick().await;
        }
    }
}

/// A name that no other Job has.
fn job_name(name: &str, suffix: &str) -> String {
    let end = name.floor_char_boundary(NAME);
    format!("{}-{suffix}", name[..end].trim_end_matches(['-', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_labels() {
        assert_eq!(job_name("network-preflight", "01234567"), "network-preflight-01234567");
        let long = job_name(&format!("{}-{}", "a".repeat(47), "b".repeat(200)), "01234567");
        assert_eq!(long, format!("{}-01234567", "a".repeat(47)));
        assert!(job_name(&"ü".repeat(100), "01234567").len() <= 63);
    }
}
