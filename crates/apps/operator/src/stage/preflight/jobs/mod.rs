//! Jobs of a run: verified, created, reported and removed on request of the target release.
//!
//! The target release has no write access. It writes a file with the Jobs that should exist.
//! `changes` compares it with the existing Jobs, `checks` verifies that the release contains them,
//! `fairway_findings::vet` that they are read-only, and `objects` creates them. All objects have
//! the label of their run and are removed with it.

mod broker;
mod changes;
mod checks;
mod objects;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fairway_findings::jobs::{FORMAT, JobAnswer, JobAnswers, JobRequest, JobRequests, JobState};
use fairway_findings::labels::{self, RunOwner};
use fairway_findings::vet::{self, CheckObjects};
use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use tokio::sync::watch;
use tokio::time::Instant;

use super::egress;
use super::writer::{PreflightWriter, RequestError, pull_secret_copy};
use changes::{JobChanges, JobRateLimit};
use objects::ObjectKey;

pub(super) use broker::JobBroker;
pub use checks::ReleaseChecks;
pub use objects::ObjectError;

/// Delay before failed requests to the API server are retried.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// Reconciles the Jobs of one run.
pub struct Jobs {
    run: vet::RunParameters,
    writer: PreflightWriter,
    rate_limit: JobRateLimit,
    /// Requested Jobs, by name.
    known: BTreeMap<String, JobRecord>,
    /// Objects that still have to be removed.
    to_remove: Vec<ObjectKey>,
    /// Whether Jobs of a previous operator process may exist.
    may_have_orphans: bool,
    /// Content of the pull secret that was copied for the run's Pods.
    copied_pull_secret: Option<ByteString>,
    /// Destinations that checks reach in addition to the API server and DNS, as CIDRs.
    egress: Vec<String>,
    /// Whether the network policy of the run exists.
    has_egress_policy: bool,
}

/// State of a requested Job and the objects created for it.
struct JobRecord {
    check: String,
    state: JobState,
    message: String,
    objects: Vec<ObjectKey>,
}

impl Jobs {
    /// Jobs of a run. Existing Jobs are adopted when they are requested.
    pub fn new(writer: PreflightWriter, run: vet::RunParameters) -> Self {
        let rate_limit = JobRateLimit::new(fairway_clock::now());
        Self {
            run,
            writer,
            rate_limit,
            known: BTreeMap::new(),
            to_remove: Vec::new(),
            may_have_orphans: true,
            copied_pull_secret: None,
            egress: Vec::new(),
            has_egress_policy: false,
        }
    }

    /// Lets checks reach further destinations, as CIDRs.
    #[must_use]
    pub fn with_egress(self, egress: Vec<String>) -> Self {
        Self { egress, ..self }
    }

    /// Creates new Jobs, removes those that are no longer requested, and returns the state of all.
    /// Creates only objects of the release. A Job gets no answer yet if the API server did not
    /// respond, or if it exceeds the rate limit; the next call retries it.
    pub async fn reconcile(
        &mut self,
        requests: &JobRequests,
        release: &ReleaseChecks,
    ) -> JobAnswers {
        if self.may_have_orphans {
            self.may_have_orphans = self.remove_unrequested(&requests.jobs).await.is_err();
        }
        let checks = self.known.iter().map(|(name, known)| (name.as_str(), known.check.as_str()));
        let JobChanges { gone, new, refused } = changes::between(&checks.collect(), &requests.jobs);
        for name in gone {
            let objects = self.known.remove(&name).map(|known| known.objects);
            self.to_remove.extend(objects.into_iter().flatten());
        }
        self.remove_pending().await;
        for (request, why) in refused {
            let known = JobRecord::without_job(request, JobState::NotCreated, why.to_owned());
            self.known.insert(request.name.clone(), known);
        }
        for request in new {
            if !self.rate_limit.allows(fairway_clock::now()) {
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

    /// Reconciles Jobs until the request channel closes. Does nothing before the checks of the
    /// release are known.
    pub async fn follow(
        mut self,
        mut requested: watch::Receiver<JobRequests>,
        mut release: watch::Receiver<Option<Arc<ReleaseChecks>>>,
        answers: watch::Sender<JobAnswers>,
    ) {
        loop {
            let known = release.borrow_and_update().clone();
            let requests = requested.borrow_and_update().clone();
            let mut retry = None;
            if let Some(release) = known {
                answers.send_replace(self.reconcile(&requests, &release).await);
                let is_known = |job: &JobRequest| self.known.contains_key(&job.name);
                let is_done = requests.jobs.iter().all(is_known) && self.to_remove.is_empty();
                retry = (!is_done).then(|| Instant::now() + RETRY_INTERVAL);
            }
            tokio::select! {
                changed = requested.changed() => if changed.is_err() { return },
                changed = release.changed() => if changed.is_err() { return },
                () = fairway_clock::sleep_until(retry) => {}
            }
        }
    }

    /// Removes all objects of this run.
    pub async fn end(&self) -> Result<(), RequestError> {
        self.writer.remove_objects(&format!("{}={}", labels::RUN, self.run.id)).await.map(drop)
    }

    /// Removes Jobs that a previous operator process created and that are no longer requested.
    async fn remove_unrequested(&self, requested: &[JobRequest]) -> Result<(), RequestError> {
        let names: Vec<String> = requested.iter().map(|job| labels::value(&job.name)).collect();
        let others = if names.is_empty() {
            String::new()
        } else {
            format!(",{} notin ({})", labels::JOB, names.join(","))
        };
        // Requiring the label JOB keeps objects that all Jobs of the run share, such as the pull
        // secret.
        let selector = format!("{}={},{}{others}", labels::RUN, self.run.id, labels::JOB);
        self.writer.remove_objects(&selector).await.map(drop)
    }

    async fn create(
        &mut self,
        request: &JobRequest,
        release: &ReleaseChecks,
    ) -> Result<JobRecord, ObjectError> {
        if let Err((state, why)) = release.verify(request) {
            return Ok(JobRecord::without_job(request, state, why));
        }
        let now = fairway_clock::now();
        // Refused before anything is created for the run.
        if let Err(refusal) = vet::plan(request, &self.run, release.policy(), now) {
            return Ok(JobRecord::without_job(request, refusal.state(), refusal.to_string()));
        }
        if let Err(error) = self.prepare().await {
            let error = ObjectError::from(error);
            let why = error.refusal().ok_or(error)?;
            return Ok(JobRecord::without_job(request, JobState::NotCreated, why));
        }
        let CheckObjects { access, job } =
            match vet::plan(request, &self.run, release.policy(), now) {
                Ok(plan) => plan,
                Err(refusal) => {
                    return Ok(JobRecord::without_job(
                        request,
                        refusal.state(),
                        refusal.to_string(),
                    ));
                }
            };
        self.rate_limit.take();
        let mut created = Vec::new();
        for object in access.into_iter().chain([job]) {
            match self.writer.create_object(object, &self.run.id).await {
                Ok(object) => created.push(object),
                Err(error) => {
                    self.to_remove.append(&mut created);
                    let why = error.refusal().ok_or(error)?;
                    return Ok(JobRecord::without_job(request, JobState::NotCreated, why));
                }
            }
        }
        let (check, state) = (request.check.clone(), JobState::Created);
        tracing::info!(job = request.name, check, "preflight check started");
        Ok(JobRecord { check, state, message: String::new(), objects: created })
    }

    /// Creates what all Jobs of the run share.
    async fn prepare(&mut self) -> Result<(), RequestError> {
        if !self.has_egress_policy {
            let (labels, api_server) = (self.shared_labels(), self.writer.api_server().await?);
            let policy = egress::check_policy(&labels, &api_server, &self.egress)
                .map_err(kube::Error::SerdeError)?;
            self.writer.apply_policy(&policy, vet::NAMESPACE).await?;
            self.has_egress_policy = true;
        }
        self.copy_pull_secret().await
    }

    /// Labels of objects that all Jobs of the run share.
    fn shared_labels(&self) -> BTreeMap<String, String> {
        let vet::RunParameters { id, by, target_version, .. } = &self.run;
        let mut shared = labels::of_run(id, target_version);
        shared.insert(labels::BY.to_owned(), by.as_str().to_owned());
        shared
    }

    /// Copies the pull secret to the namespace of checks, for the kubelets. No ServiceAccount there
    /// can read it, and it is removed with the run.
    async fn copy_pull_secret(&mut self) -> Result<(), RequestError> {
        let Some(bytes) = self.writer.pull_secret().await? else { return Ok(()) };
        if self.copied_pull_secret.as_ref() == Some(&bytes) {
            return Ok(());
        }
        let name = format!("preflight-pull-secret-{}", self.run.id);
        let metadata = ObjectMeta {
            name: Some(name.clone()),
            namespace: Some(vet::NAMESPACE.to_owned()),
            labels: Some(self.shared_labels()),
            ..ObjectMeta::default()
        };
        self.writer.apply_secret(&pull_secret_copy(metadata, bytes.clone())).await?;
        (self.run.pull_secret, self.copied_pull_secret) = (Some(name), Some(bytes));
        Ok(())
    }

    async fn remove_pending(&mut self) {
        let mut left = Vec::new();
        // Removes in reverse order: Jobs were created last, and their permissions must outlive
        // them.
        while let Some(object) = self.to_remove.last().cloned() {
            let removed = self.writer.remove_object(&object).await;
            self.to_remove.pop();
            if let Err(error) = removed {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, %object, "cannot remove object of check; retrying");
                left.push(object);
            }
        }
        left.reverse();
        self.to_remove = left;
    }

    fn answers(&self) -> JobAnswers {
        let answer = |(name, known): (&String, &JobRecord)| JobAnswer {
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

impl JobRecord {
    fn without_job(request: &JobRequest, state: JobState, message: String) -> Self {
        let (job, check) = (&request.name, &request.check);
        tracing::warn!(job, check, error = message, "preflight check not started");
        Self { check: request.check.clone(), state, message, objects: Vec::new() }
    }
}

/// Removes all objects of the operator's runs, except for one run, and returns how many still
/// existed. Runs of `fairway` commands are not affected.
pub async fn sweep(writer: PreflightWriter, keep: Option<&str>) -> Result<usize, RequestError> {
    let others = keep.map(|run| format!(",{}!={run}", labels::RUN)).unwrap_or_default();
    let selector =
        format!("{},{}={}{others}", labels::RUN, labels::BY, RunOwner::Operator.as_str());
    writer.remove_objects(&selector).await
}
