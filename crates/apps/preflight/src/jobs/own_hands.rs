//! Creating Jobs with the credentials of whoever runs this, where no operator does it.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use fairway_findings::jobs::{FORMAT, JobAnswer, JobAnswers, JobRequest, JobRequests, JobState};
use fairway_findings::kinds::{KINDS, Kind, PODS};
use fairway_findings::labels;
use fairway_findings::vet::{self, NAMESPACE, Plan};
use futures::future::BoxFuture;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, ListParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt as _};
use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::{interval, timeout};

use super::hands::Hands;

/// How long the API server may take for one request.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long pods may take to go after their Jobs: the half of a minute that they are given to end,
/// and as much again.
const GOING: Duration = Duration::from_mins(1);

/// How often it is looked whether they are gone.
const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

/// Why something was not created or removed.
#[derive(Debug, thiserror::Error)]
pub enum HandsError {
    /// It took too long.
    #[error("request to the API server timed out after {} seconds", PATIENCE.as_secs())]
    TooSlow,
    /// The API server did not do it.
    #[error(transparent)]
    Refused(#[from] kube::Error),
    /// It is nothing that exists for a check.
    #[error("not an object of a check")]
    Unknown,
    /// Pods of Jobs that were removed are still there.
    #[error("timed out after {} seconds waiting for pods of checks to be deleted", GOING.as_secs())]
    Remaining,
}

/// Creates what the operator of the running release would create, after the same look at it.
pub struct OwnHands(Arc<Inner>);

struct Inner {
    client: Client,
    run: vet::Run,
    work: Mutex<Work>,
}

/// What was done so far.
#[derive(Default)]
struct Work {
    known: Vec<Known>,
    /// The kinds of which something may exist.
    tried: BTreeSet<&'static str>,
    is_over: bool,
}

/// A Job that was asked for, and what exists because of it, in the order of its creation.
struct Known {
    answer: JobAnswer,
    objects: Vec<(&'static Kind, DynamicObject)>,
}

impl OwnHands {
    /// The hands for a run.
    pub fn new(client: Client, run: vet::Run) -> Self {
        Self(Arc::new(Inner { client, run, work: Mutex::default() }))
    }

    /// Removes all that was created, and waits until it is gone. Nothing is created after that.
    pub async fn clear(&self) -> Result<(), HandsError> {
        let mut work = self.0.work.lock().await;
        work.is_over = true;
        // An answer may have been lost on its way: what exists is what has the run's label.
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
    /// Removes what belongs to Jobs that are asked for no more, and creates what is new.
    async fn keep_to(&self, asked: &[JobRequest]) -> Result<(), HandsError> {
        let mut work = self.work.lock().await;
        if work.is_over {
            return Ok(());
        }
        let is_asked = |known: &Known| asked.iter().any(|job| job.name == known.answer.name);
        for gone in work.known.iter_mut().filter(|known| !is_asked(known)) {
            // The Job was created last, and goes first.
            while let Some((kind, object)) = gone.objects.last() {
                self.remove(kind, object).await?;
                gone.objects.pop();
            }
        }
        work.known.retain(is_asked);
        for request in asked {
            if work.known.iter().all(|known| known.answer.name != request.name) {
                let known = self.create(request, &mut work.tried).await;
                work.known.push(known);
            }
        }
        Ok(())
    }

    async fn create(&self, request: &JobRequest, tried: &mut BTreeSet<&'static str>) -> Known {
        let without = |state, message| Known {
            answer: JobAnswer { name: request.name.clone(), state, message },
            objects: Vec::new(),
        };
        let Plan { access, job } = match vet::plan(request, &self.run, fairway_clock::now()) {
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
    ) -> Result<(&'static Kind, DynamicObject), HandsError> {
        let kind = Kind::of(&object).ok_or(HandsError::Unknown)?;
        let object: DynamicObject =
            serde_json::from_value(object).map_err(|_| HandsError::Unknown)?;
        tried.insert(kind.kind);
        let api = self.api(kind, object.namespace().as_deref());
        Ok((kind, in_time(api.create(&PostParams::default(), &object)).await?))
    }

    async fn remove(&self, kind: &Kind, object: &DynamicObject) -> Result<(), HandsError> {
        let api = self.api(kind, object.namespace().as_deref());
        match in_time(api.delete(&object.name_any(), &DeleteParams::background())).await {
            Err(HandsError::Refused(kube::Error::Api(status))) if status.code == 404 => Ok(()),
            removed => removed.map(drop),
        }
    }

    async fn until_pods_are_gone(&self, of_run: &ListParams) -> Result<(), HandsError> {
        let mut looks = interval(BETWEEN_LOOKS);
        let gone = async {
            loop {
                looks.tick().await;
                if in_time(self.all(&PODS).list_metadata(of_run)).await?.items.is_empty() {
                    return Ok(());
                }
            }
        };
        timeout(GOING, gone).await.unwrap_or(Err(HandsError::Remaining))
    }

    fn all(&self, kind: &Kind) -> Api<DynamicObject> {
        self.api(kind, kind.of_checks_alone.then_some(NAMESPACE))
    }

    fn api(&self, kind: &Kind, namespace: Option<&str>) -> Api<DynamicObject> {
        let gvk = GroupVersionKind::gvk(kind.group, "v1", kind.kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, kind.plural);
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }
}

async fn in_time<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, HandsError> {
    Ok(timeout(PATIENCE, request).await.map_err(|_| HandsError::TooSlow)??)
}

impl Hands for OwnHands {
    fn ask<'a>(&'a self, requests: &'a JobRequests) -> BoxFuture<'a, io::Result<()>> {
        let (inner, asked) = (Arc::clone(&self.0), requests.jobs.clone());
        // Whoever asks may be stopped at any moment; what was begun is brought to its end.
        let work = tokio::spawn(async move { inner.keep_to(&asked).await });
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
