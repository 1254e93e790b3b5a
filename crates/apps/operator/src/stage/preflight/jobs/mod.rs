//! The Jobs of a run: what the target release asks for is looked at, created, answered and removed.
//!
//! The target release may write nothing: it says in a file which Jobs are to exist. `changes` says
//! what is new in that and what is gone, `checks` whether the release that was verified has it,
//! `fairway_findings::vet` what may be created, and `objects` do it. Whatever belongs to a run has its label, and goes with it.

mod admission;
mod changes;
mod checks;
mod objects;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fairway_findings::jobs::{FORMAT, JobAnswer, JobAnswers, JobRequest, JobRequests, JobState};
use fairway_findings::labels::{self, By};
use fairway_findings::vet::{self, Plan};
use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use tokio::sync::watch;
use tokio::time::Instant;

use super::pull_secret;
use crate::election::Leadership;
use changes::{Budget, Changes};
use objects::{Object, Objects};

pub use admission::explain;
pub use checks::Checks;
pub use objects::ObjectError;

/// When what the API server did not do is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// The Jobs of one run.
pub struct Jobs {
    run: vet::Run,
    objects: Objects,
    budget: Budget,
    /// What became of every Job that is asked for, by its name.
    known: BTreeMap<String, Known>,
    /// What is to go and could not be removed so far.
    leaving: Vec<Object>,
    /// Whether something may exist of which an operator before this one knew.
    is_inherited: bool,
    /// Who the cluster is for registries, as nodes were told for its Pods.
    credentials: Option<ByteString>,
}

/// What became of a Job.
struct Known {
    check: String,
    state: JobState,
    message: String,
    objects: Vec<Object>,
}

impl Jobs {
    /// The Jobs of a run, of which nothing is known yet: those that exist already are found when
    /// they are asked for.
    pub fn new(client: Client, leadership: Leadership, run: vet::Run) -> Self {
        let budget = Budget::new(fairway_clock::now());
        let objects = Objects::new(client, leadership);
        let (known, leaving) = (BTreeMap::new(), Vec::new());
        let (is_inherited, credentials) = (true, None);
        Self { run, objects, budget, known, leaving, is_inherited, credentials }
    }

    /// Creates what is new, removes what is asked for no more, and says what became of the rest. Only
    /// what the release has for a preflight is created. What the API server has no answer to in time
    /// is left for the next time, and has none here; so is what is too much at once.
    pub async fn reconcile(&mut self, requests: &JobRequests, release: &Checks) -> JobAnswers {
        if self.is_inherited {
            self.is_inherited = self.disinherit(&requests.jobs).await.is_err();
        }
        let checks = self.known.iter().map(|(name, known)| (name.as_str(), known.check.as_str()));
        let Changes { gone, new, refused } = changes::between(&checks.collect(), &requests.jobs);
        for name in gone {
            let objects = self.known.remove(&name).map(|known| known.objects);
            self.leaving.extend(objects.into_iter().flatten());
        }
        self.remove_what_leaves().await;
        for (request, why) in refused {
            let known = Known::without_job(request, JobState::NotCreated, why.to_owned());
            self.known.insert(request.name.clone(), known);
        }
        for request in new {
            if !self.budget.is_left(fairway_clock::now()) {
                tracing::warn!(job = request.name, "preflight Job delayed by rate limit");
                break;
            }
            match self.create(request, release).await {
                Ok(known) => drop(self.known.insert(request.name.clone(), known)),
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::warn!(error, job = request.name, "cannot create preflight Job");
                    break;
                }
            }
        }
        self.answers()
    }

    /// Keeps to what is asked for, and answers, until nobody asks any more. Nothing is done before it
    /// is known what the release has.
    pub async fn follow(
        mut self,
        mut asked: watch::Receiver<JobRequests>,
        mut release: watch::Receiver<Option<Arc<Checks>>>,
        answers: watch::Sender<JobAnswers>,
    ) {
        loop {
            let known = release.borrow_and_update().clone();
            let requests = asked.borrow_and_update().clone();
            let mut again = None;
            if let Some(release) = known {
                answers.send_replace(self.reconcile(&requests, &release).await);
                let is_known = |job: &JobRequest| self.known.contains_key(&job.name);
                let is_done = requests.jobs.iter().all(is_known) && self.leaving.is_empty();
                again = (!is_done).then(|| Instant::now() + AGAIN);
            }
            tokio::select! {
                changed = asked.changed() => if changed.is_err() { return },
                changed = release.changed() => if changed.is_err() { return },
                () = fairway_clock::sleep_until(again) => {}
            }
        }
    }

    /// Removes everything that exists for this run.
    pub async fn end(&self) -> Result<(), ObjectError> {
        self.objects.remove_all(&format!("{}={}", labels::RUN, self.run.id)).await.map(drop)
    }

    /// Removes what an operator before this one created and nobody asks for any more.
    async fn disinherit(&self, asked: &[JobRequest]) -> Result<(), ObjectError> {
        let names: Vec<String> = asked.iter().map(|job| labels::value(&job.name)).collect();
        let others = if names.is_empty() {
            String::new()
        } else {
            format!(",{} notin ({})", labels::JOB, names.join(","))
        };
        // What exists for all Jobs of the run stays for those that come.
        let selector = format!("{}={},{}{others}", labels::RUN, self.run.id, labels::JOB);
        self.objects.remove_all(&selector).await.map(drop)
    }

    async fn create(
        &mut self,
        request: &JobRequest,
        release: &Checks,
    ) -> Result<Known, ObjectError> {
        if let Err((state, why)) = release.vouch(request) {
            return Ok(Known::without_job(request, state, why));
        }
        if let Err(error) = self.bring_credentials().await {
            let why = error.refusal().ok_or(error)?;
            return Ok(Known::without_job(request, JobState::NotCreated, why));
        }
        let Plan { access, job } = match vet::plan(request, &self.run, fairway_clock::now()) {
            Ok(plan) => plan,
            Err(refusal) => {
                return Ok(Known::without_job(request, refusal.state(), refusal.to_string()));
            }
        };
        self.budget.spend();
        let mut created = Vec::new();
        for object in access.into_iter().chain([job]) {
            match self.objects.create(object, &self.run.id).await {
                Ok(object) => created.push(object),
                Err(error) => {
                    self.leaving.append(&mut created);
                    let why = error.refusal().ok_or(error)?;
                    return Ok(Known::without_job(request, JobState::NotCreated, why));
                }
            }
        }
        let (check, state) = (request.check.clone(), JobState::Created);
        tracing::info!(job = request.name, check, "preflight check started");
        Ok(Known { check, state, message: String::new(), objects: created })
    }

    /// Tells nodes who the cluster is for registries, where they pull images for checks: by a Secret
    /// that no account there can read, and that goes with the run.
    async fn bring_credentials(&mut self) -> Result<(), ObjectError> {
        let Some(bytes) = self.objects.pull_secret().await? else { return Ok(()) };
        if self.credentials.as_ref() == Some(&bytes) {
            return Ok(());
        }
        let vet::Run { id, by, target_version, .. } = &self.run;
        let name = format!("preflight-pull-secret-{id}");
        let mut marks = labels::of_run(id, target_version);
        marks.insert(labels::BY.to_owned(), by.as_str().to_owned());
        let metadata = ObjectMeta {
            name: Some(name.clone()),
            namespace: Some(vet::NAMESPACE.to_owned()),
            labels: Some(marks),
            ..ObjectMeta::default()
        };
        self.objects.bring(&pull_secret::copy(metadata, bytes.clone())).await?;
        (self.run.pull_secret, self.credentials) = (Some(name), Some(bytes));
        Ok(())
    }

    async fn remove_what_leaves(&mut self) {
        let mut left = Vec::new();
        // Jobs were created last, and go first: what they may read goes when nobody reads.
        while let Some(object) = self.leaving.last().cloned() {
            let removed = self.objects.remove(&object).await;
            self.leaving.pop();
            if let Err(error) = removed {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, %object, "cannot remove object of check; retrying");
                left.push(object);
            }
        }
        left.reverse();
        self.leaving = left;
    }

    fn answers(&self) -> JobAnswers {
        let answer = |(name, known): (&String, &Known)| JobAnswer {
            name: name.clone(),
            state: known.state,
            message: known.message.clone(),
        };
        JobAnswers {
            format: FORMAT.to_owned(),
            preflight_id: self.run.id.clone(),
            jobs: self.known.iter().map(answer).collect(),
        }
    }
}

impl Known {
    fn without_job(request: &JobRequest, state: JobState, message: String) -> Self {
        let (job, check) = (&request.name, &request.check);
        tracing::warn!(job, check, error = message, "preflight check not started");
        Self { check: request.check.clone(), state, message, objects: Vec::new() }
    }
}

/// Removes everything that exists for runs of an operator, except for one. How much of it was still
/// there: it is gone when nothing was. What somebody runs by hand is left to them.
pub async fn sweep(
    client: Client,
    leadership: Leadership,
    keep: Option<&str>,
) -> Result<usize, ObjectError> {
    let others = keep.map(|run| format!(",{}!={run}", labels::RUN)).unwrap_or_default();
    let selector = format!("{},{}={}{others}", labels::RUN, labels::BY, By::Operator.as_str());
    Objects::new(client, leadership).remove_all(&selector).await
}
