//! Creating Jobs with the credentials of whoever runs this, where no operator does it.

use std::io;

use fairway_findings::jobs::{FORMAT, JobAnswer, JobAnswers, JobRequest, JobRequests, JobState};
use fairway_findings::vet::{self, Plan};
use futures::future::BoxFuture;
use kube::Client;
use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, PostParams, TypeMeta};
use kube::core::GroupVersionKind;
use tokio::sync::Mutex;

use super::hands::Hands;
use crate::clock;

/// Creates what the operator of the running release would create, after the same look at it.
pub struct OwnHands {
    client: Client,
    run: vet::Run,
    known: Mutex<Vec<Known>>,
}

/// A Job that was asked for, and what exists because of it, in the order of its creation.
struct Known {
    answer: JobAnswer,
    objects: Vec<DynamicObject>,
}

impl OwnHands {
    /// The hands for a run.
    pub fn new(client: Client, run: vet::Run) -> Self {
        Self { client, run, known: Mutex::new(Vec::new()) }
    }

    /// Removes all that was created.
    pub async fn clear(&self) -> Result<(), kube::Error> {
        self.keep(&[]).await
    }

    /// Removes what belongs to Jobs that are asked for no more.
    async fn keep(&self, asked: &[JobRequest]) -> Result<(), kube::Error> {
        let mut known = self.known.lock().await;
        let is_asked = |known: &Known| asked.iter().any(|job| job.name == known.answer.name);
        for gone in known.iter_mut().filter(|known| !is_asked(known)) {
            self.remove(&mut gone.objects).await?;
        }
        known.retain(is_asked);
        Ok(())
    }

    /// Removes objects, the Job first: what it may read goes when nobody reads.
    async fn remove(&self, objects: &mut Vec<DynamicObject>) -> Result<(), kube::Error> {
        while let Some(object) = objects.last() {
            let name = object.metadata.name.as_deref().unwrap_or_default();
            match self.api(object).delete(name, &DeleteParams::background()).await {
                Err(kube::Error::Api(status)) if status.code == 404 => {}
                removed => drop(removed?),
            }
            objects.pop();
        }
        Ok(())
    }

    async fn create(&self, request: &JobRequest) -> Known {
        let without = |state, message| Known {
            answer: JobAnswer { name: request.name.clone(), state, message },
            objects: Vec::new(),
        };
        let Plan { access, job } = match vet::plan(request, &self.run, clock::now()) {
            Ok(plan) => plan,
            Err(refusal) => return without(refusal.state(), refusal.to_string()),
        };
        let mut known = without(JobState::Created, String::new());
        for object in access.into_iter().chain([job]) {
            let created = match serde_json::from_value::<DynamicObject>(object) {
                Ok(object) => {
                    let created = self.api(&object).create(&PostParams::default(), &object).await;
                    created.map_err(|error| error.to_string())
                }
                Err(error) => Err(error.to_string()),
            };
            match created {
                Ok(object) => known.objects.push(object),
                Err(why) => {
                    known.answer.state = JobState::NotCreated;
                    known.answer.message = why;
                    break;
                }
            }
        }
        known
    }

    fn api(&self, object: &DynamicObject) -> Api<DynamicObject> {
        let TypeMeta { api_version, kind } = object.types.clone().unwrap_or_default();
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", &api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
        match &object.metadata.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }
}

impl Hands for OwnHands {
    fn ask<'a>(&'a self, requests: &'a JobRequests) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async {
            self.keep(&requests.jobs).await.map_err(io::Error::other)?;
            for request in &requests.jobs {
                let mut known = self.known.lock().await;
                if known.iter().all(|known| known.answer.name != request.name) {
                    known.push(self.create(request).await);
                }
            }
            Ok(())
        })
    }

    fn answers(&self) -> BoxFuture<'_, JobAnswers> {
        Box::pin(async {
            let known = self.known.lock().await;
            JobAnswers {
                format: FORMAT.to_owned(),
                preflight_id: self.run.id.clone(),
                jobs: known.iter().map(|known| known.answer.clone()).collect(),
            }
        })
    }
}
