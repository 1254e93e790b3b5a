//! Creation of Jobs by another process: the runner has no write access.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use fairway_findings::jobs::{
    ANSWERS, FORMAT, JobAnswer, JobAnswers, JobRequest, JobRequests, JobState, MAX_BYTES, REQUESTS,
};
use fairway_findings::kinds::{CheckObjectKind, KINDS, PODS};
use fairway_findings::labels;
use fairway_findings::vet::{self, AccessPolicy, CheckObjects, NAMESPACE};
use futures::future::BoxFuture;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::{interval, timeout};

use crate::results;

/// Creates requested Jobs after verification, and deletes those that are no longer requested.
pub trait JobCreator: Send + Sync {
    /// Sets the Jobs that should exist.
    fn ask<'a>(&'a self, requests: &'a JobRequests) -> BoxFuture<'a, io::Result<()>>;

    /// States of the requested Jobs.
    fn answers(&self) -> BoxFuture<'_, JobAnswers>;
}

/// The operator of the cluster, which exchanges files in the results directory.
#[derive(Clone, Debug)]
pub struct OperatorJobCreator {
    directory: PathBuf,
    run: String,
}

impl OperatorJobCreator {
    /// The operator that shares the directory of a run.
    pub fn new(directory: PathBuf, run: String) -> Self {
        Self { directory, run }
    }

    fn read(&self) -> io::Result<JobAnswers> {
        let mut bytes = Vec::new();
        let file = File::open(self.directory.join(ANSWERS))?;
        file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        JobAnswers::read(&bytes, &self.run).map_err(io::Error::other)
    }
}

impl JobCreator for OperatorJobCreator {
    fn ask<'a>(&'a self, requests: &'a JobRequests) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async { results::write(&self.directory, REQUESTS, requests) })
    }

    fn answers(&self) -> BoxFuture<'_, JobAnswers> {
        // A missing or invalid file contains no answers.
        Box::pin(async { self.read().unwrap_or_default() })
    }
}

/// Timeout of one request to the API server.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Time for pods to terminate after their Jobs are deleted: twice their grace period.
const TERMINATION_TIMEOUT: Duration = Duration::from_mins(1);

/// Poll interval while pods terminate.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Why objects were not created or removed.
#[derive(Debug, thiserror::Error)]
pub enum JobCreatorError {
    /// The API server did not respond in time.
    #[error("request to the API server timed out after {} seconds", REQUEST_TIMEOUT.as_secs())]
    TimedOut,
    /// The API server refused the request.
    #[error(transparent)]
    Failed(#[from] kube::Error),
    /// Not a kind of object that checks may have.
    #[error("the object does not belong to a check")]
    Unknown,
    /// Pods of removed Jobs still exist.
    #[error("timed out after {} seconds waiting for pods of checks to be deleted", TERMINATION_TIMEOUT.as_secs())]
    Remaining,
}

/// Creates the same objects as the operator, after the same verification.
pub struct DirectJobCreator(Arc<Inner>);

struct Inner {
    client: Client,
    run: vet::RunParameters,
    policy: AccessPolicy,
    work: Mutex<CreatorState>,
}

/// State of the creator.
#[derive(Default)]
struct CreatorState {
    known: Vec<KnownJob>,
    /// Kinds of which objects may exist.
    tried: BTreeSet<&'static str>,
    is_over: bool,
}

/// A requested Job and its objects, in the order of creation.
struct KnownJob {
    answer: JobAnswer,
    objects: Vec<(&'static CheckObjectKind, DynamicObject)>,
}

impl DirectJobCreator {
    /// A creator for a run.
    pub fn new(client: Client, run: vet::RunParameters, policy: AccessPolicy) -> Self {
        Self(Arc::new(Inner { client, run, policy, work: Mutex::default() }))
    }

    /// Removes all objects and waits until they are gone. Creates nothing afterwards.
    pub async fn clear(&self) -> Result<(), JobCreatorError> {
        let mut work = self.0.work.lock().await;
        work.is_over = true;
        // The response to a create request may be lost, so objects are listed by the label of the
        // run.
        let of_run = ListParams::default().labels(&labels::selector(&self.0.run.id));
        for kind in KINDS.iter().filter(|kind| work.tried.contains(kind.kind)) {
            for object in in_time(self.0.all(kind).list(&of_run)).await?.items {
                self.0.remove(kind, &object).await?;
            }
        }
        if work.tried.is_empty() { Ok(()) } else { self.0.until_pods_are_gone(&of_run).await }
    }
}

impl Inner {
    /// Removes Jobs that are no longer requested, and creates new ones.
    async fn reconcile(&self, requested: &[JobRequest]) -> Result<(), JobCreatorError> {
        let mut work = self.work.lock().await;
        if work.is_over {
            return Ok(());
        }
        let is_requested =
            |known: &KnownJob| requested.iter().any(|job| job.name == known.answer.name);
        for gone in work.known.iter_mut().filter(|known| !is_requested(known)) {
            // Reverse order: the Job was created last.
            while let Some((kind, object)) = gone.objects.last() {
                self.remove(kind, object).await?;
                gone.objects.pop();
            }
        }
        work.known.retain(is_requested);
        for request in requested {
            if work.known.iter().all(|known| known.answer.name != request.name) {
                let known = self.create(request, &mut work.tried).await;
                work.known.push(known);
            }
        }
        Ok(())
    }

    async fn create(&self, request: &JobRequest, tried: &mut BTreeSet<&'static str>) -> KnownJob {
        let without = |state, message| KnownJob {
            answer: JobAnswer { name: request.name.clone(), state, message },
            objects: Vec::new(),
        };
        let now = fairway_clock::now();
        let CheckObjects { access, job } = match vet::plan(request, &self.run, &self.policy, now) {
            Ok(plan) => plan,
            Err(refusal) => return without(refusal.state(), refusal.to_string()),
        };
        let mut known = without(JobState::Created, String::new());
        for object in access.into_iter().chain([job]) {
            match self.create_one(object, tried).await {
                Ok(created) => known.objects.push(created),
                Err(error) => {
                    known.answer.state = JobState::NotCreated;
                    known.answer.message = error.to_string();
                    break;
                }
            }
        }
        known
    }

    async fn create_one(
        &self,
        object: Value,
        tried: &mut BTreeSet<&'static str>,
    ) -> Result<(&'static CheckObjectKind, DynamicObject), JobCreatorError> {
        let kind = CheckObjectKind::of_object(&object).ok_or(JobCreatorError::Unknown)?;
        let object: DynamicObject =
            serde_json::from_value(object).map_err(|_| JobCreatorError::Unknown)?;
        tried.insert(kind.kind);
        let api = self.api(kind, object.namespace().as_deref());
        Ok((kind, in_time(api.create(&PostParams::default(), &object)).await?))
    }

    async fn remove(
        &self,
        kind: &CheckObjectKind,
        object: &DynamicObject,
    ) -> Result<(), JobCreatorError> {
        let api = self.api(kind, object.namespace().as_deref());
        match in_time(api.delete(&object.name_any(), &DeleteParams::background())).await {
            Err(JobCreatorError::Failed(kube::Error::Api(status))) if status.code == 404 => Ok(()),
            removed => removed.map(drop),
        }
    }

    async fn until_pods_are_gone(&self, of_run: &ListParams) -> Result<(), JobCreatorError> {
        let mut looks = interval(POLL_INTERVAL);
        let gone = async {
            loop {
                looks.tick().await;
                if in_time(self.all(&PODS).list_metadata(of_run)).await?.items.is_empty() {
                    return Ok(());
                }
            }
        };
        timeout(TERMINATION_TIMEOUT, gone).await.unwrap_or(Err(JobCreatorError::Remaining))
    }

    fn all(&self, kind: &CheckObjectKind) -> Api<DynamicObject> {
        self.api(kind, kind.in_check_namespace.then_some(NAMESPACE))
    }

    fn api(&self, kind: &CheckObjectKind, namespace: Option<&str>) -> Api<DynamicObject> {
        let gvk = GroupVersionKind::gvk(kind.group, "v1", kind.kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, kind.plural);
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }
}

async fn in_time<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, JobCreatorError> {
    Ok(timeout(REQUEST_TIMEOUT, request).await.map_err(|_| JobCreatorError::TimedOut)??)
}

impl JobCreator for DirectJobCreator {
    fn ask<'a>(&'a self, requests: &'a JobRequests) -> BoxFuture<'a, io::Result<()>> {
        let (inner, requested) = (Arc::clone(&self.0), requests.jobs.clone());
        // The caller may be cancelled at any time. The spawned task completes what it started.
        let work = tokio::spawn(async move { inner.reconcile(&requested).await });
        Box::pin(async { work.await.map_err(io::Error::other)?.map_err(io::Error::other) })
    }

    fn answers(&self) -> BoxFuture<'_, JobAnswers> {
        Box::pin(async {
            let work = self.0.work.lock().await;
            JobAnswers {
                format: FORMAT.to_owned(),
                preflight_id: self.0.run.id.clone(),
                jobs: work.known.iter().map(|known| known.answer.clone()).collect(),
            }
        })
    }
}
