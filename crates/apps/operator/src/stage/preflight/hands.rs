//! What the stage does to the cluster: it starts a run, and removes what is left of others.

use std::time::Duration;

use fairway_api::reason::preflight_failed;
use fairway_backoff::Backoff;
use k8s_openapi::ByteString;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, Client, Resource as _};
use tokio::time::{Instant, timeout};

use super::deployment::{self, NAME, Run};
use super::diagnosis::{Trouble, not_created};
use super::jobs;
use super::memory;
use super::pull_secret;
use super::results::{Root, RunDirectory};
use super::surroundings::{OwnPod, Surroundings};
use crate::election::Leadership;
use crate::names::OPERATOR;
use crate::settings::PreflightSettings;
use crate::text;

/// How long the API server may take for one request.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long Pods may take to go. A node that is down never lets them go, and updates must not wait
/// for it.
const FAREWELL: Duration = Duration::from_mins(1);

/// How often it is looked whether they are gone: it is a matter of seconds.
const LOOKS: Duration = Duration::from_millis(500);

/// The delay after a failure.
const RETRY_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(1), max: Duration::from_secs(30) };

/// What the stage writes with.
#[derive(Clone)]
pub struct Hands {
    /// To the cluster.
    pub client: Client,
    /// The right to write.
    pub leadership: Leadership,
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
enum HandsError {
    #[error("request to the API server timed out after {} seconds", PATIENCE.as_secs())]
    TooSlow,
    #[error("request to the API server failed")]
    Refused(#[from] kube::Error),
}

impl Hands {
    /// What operators before this one have kept of preflights.
    pub(super) async fn recall(&self, namespace: &str) -> Vec<ConfigMap> {
        let mut pauses = Pauses::default();
        loop {
            match memory::load(&self.client, namespace).await {
                Ok(found) => return found,
                Err(why) => pauses.after(&why, "cannot read preflight records").await,
            }
        }
    }

    /// The run that is in the cluster, whoever has begun it. Nothing is what is not readable as one,
    /// too: it goes like everything that nobody wants.
    pub(super) async fn found(self, namespace: String) -> Option<Run> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), &namespace);
        let mut pauses = Pauses::default();
        loop {
            match in_time(deployments.get_opt(NAME)).await {
                Ok(found) => return found.as_ref().and_then(deployment::read),
                Err(error) => {
                    pauses.after(&text::chain(&error), "cannot get preflight Deployment").await;
                }
            }
        }
    }

    /// Removes every run from the cluster, and what runs have left on this node.
    pub(super) async fn clear(self, namespace: String, root: Root) {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), &namespace);
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
        let (until, mut pauses) = (Instant::now() + FAREWELL, Pauses::default());
        while let Err(error) = self.remove(&deployments, &pods, until).await {
            pauses.after(&text::chain(&error), "cannot remove preflight").await;
        }
        self.remove_jobs(until + FAREWELL).await;
        let removed = tokio::task::spawn_blocking(move || root.remove_others(None));
        if let Ok(Err(error)) = removed.await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "cannot remove preflight directory");
        }
    }

    /// Removes the Jobs of every run.
    async fn remove_jobs(&self, until: Instant) {
        loop {
            let left = jobs::sweep(self.client.clone(), self.leadership.clone(), None).await;
            match left {
                Ok(0) => return,
                Ok(_) if Instant::now() < until => {}
                Err(error) if Instant::now() < until => {
                    tracing::warn!(error = text::chain(&error), "cannot remove preflight Jobs");
                }
                _ => {
                    tracing::warn!("preflight Jobs not removed in time");
                    return;
                }
            }
            fairway_clock::sleep_until(Some(Instant::now() + LOOKS)).await;
        }
    }

    async fn remove(
        &self,
        deployments: &Api<Deployment>,
        pods: &Api<Pod>,
        until: Instant,
    ) -> Result<(), HandsError> {
        if in_time(deployments.get_opt(NAME)).await?.is_some() {
            self.delete(deployments).await?;
        }
        until_gone(deployments, pods, until).await
    }

    async fn delete(&self, deployments: &Api<Deployment>) -> Result<(), HandsError> {
        let parameters = DeleteParams::background();
        match self.write(deployments.delete(NAME, &parameters)).await {
            Err(HandsError::Refused(kube::Error::Api(status))) if status.code == 404 => Ok(()),
            deleted => deleted.map(drop),
        }
    }

    /// Starts a run. The Secret belongs to the Deployment, and goes with it.
    pub(super) async fn start(
        self,
        run: Run,
        namespace: String,
        settings: PreflightSettings,
    ) -> Result<RunDirectory, Trouble> {
        let root = Root::new(&settings.results.here);
        let directory = root.make(&run.id).map_err(|error| {
            let place = settings.results.here.display();
            let message = format!("cannot use {place} for results: {error}");
            Trouble::passing(preflight_failed::RESULTS_UNREADABLE, message)
        })?;
        Box::pin(self.create(&run, &namespace, &settings)).await.map_err(|error| match error {
            HandsError::Refused(kube::Error::Api(status)) => not_created(&status.message),
            error => not_created(&text::chain(&error)),
        })?;
        Ok(directory)
    }

    async fn create(
        &self,
        run: &Run,
        namespace: &str,
        settings: &PreflightSettings,
    ) -> Result<(), HandsError> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), namespace);
        let own = in_time(deployments.get_opt(OPERATOR)).await?;
        let secret = self.pull_secret().await?;
        let surroundings = Surroundings {
            own: own.as_ref().map(OwnPod::of).unwrap_or_default(),
            has_pull_secret: secret.is_some(),
        };
        let results = &settings.results.on_node;
        let wanted = deployment::deployment(run, namespace, results, &surroundings, &settings.pod);
        let created = self.write(deployments.create(&PostParams::default(), &wanted)).await?;
        match secret {
            Some(bytes) => self.give_secret(run, namespace, &created, bytes).await,
            None => Ok(()),
        }
    }

    /// Goes on with a run that an operator before this one has begun, and may not have brought to
    /// the end.
    pub(super) async fn resume(
        self,
        run: Run,
        namespace: String,
        directory: RunDirectory,
    ) -> Result<RunDirectory, Trouble> {
        match Box::pin(self.complete(&run, &namespace)).await {
            Ok(()) => Ok(directory),
            Err(error) => Err(not_created(&text::chain(&error))),
        }
    }

    async fn complete(&self, run: &Run, namespace: &str) -> Result<(), HandsError> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), namespace);
        let found = in_time(deployments.get_opt(NAME)).await?;
        match (found, self.pull_secret().await?) {
            (Some(found), Some(bytes)) => self.give_secret(run, namespace, &found, bytes).await,
            _ => Ok(()),
        }
    }

    /// Who the cluster is for registries.
    async fn pull_secret(&self) -> Result<Option<ByteString>, HandsError> {
        in_time(pull_secret::of_cluster(&self.client)).await
    }

    /// Tells a run who the cluster is for registries, unless it knows.
    async fn give_secret(
        &self,
        run: &Run,
        namespace: &str,
        owner: &Deployment,
        bytes: ByteString,
    ) -> Result<(), HandsError> {
        let secret = secret_of(run, owner, bytes);
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        match self.write(secrets.create(&PostParams::default(), &secret)).await {
            Err(HandsError::Refused(kube::Error::Api(status))) if status.code == 409 => Ok(()),
            created => created.map(drop),
        }
    }

    /// Writes for as long as this operator leads. Who leads no more is dropped by the election, and
    /// until then writes nothing.
    async fn write<T>(
        &self,
        write: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, HandsError> {
        match self.leadership.write(in_time(write)).await {
            Ok(written) => written,
            Err(_) => std::future::pending().await,
        }
    }
}

/// Pauses between attempts: each is longer than the one before.
#[derive(Default)]
struct Pauses(u32);

impl Pauses {
    /// Says what went wrong, and waits.
    async fn after(&mut self, why: &str, complaint: &str) {
        self.0 = self.0.saturating_add(1);
        let (attempt, retry_in) = (self.0, RETRY_BACKOFF.after(self.0));
        tracing::warn!(error = why, attempt, ?retry_in, "{complaint}; retrying");
        fairway_clock::pause(retry_in).await;
    }
}

/// Waits until nothing of a run is there, or until it has been waited long enough.
async fn until_gone(
    deployments: &Api<Deployment>,
    pods: &Api<Pod>,
    until: Instant,
) -> Result<(), HandsError> {
    let labelled = ListParams::default().labels(&deployment::selector()).limit(1);
    loop {
        let is_gone = in_time(deployments.get_opt(NAME)).await?.is_none()
            && in_time(pods.list(&labelled)).await?.items.is_empty();
        if is_gone {
            return Ok(());
        }
        if Instant::now() >= until {
            tracing::warn!("preflight Pod not removed in time");
            return Ok(());
        }
        fairway_clock::sleep_until(Some(Instant::now() + LOOKS)).await;
    }
}

async fn in_time<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, HandsError> {
    Ok(timeout(PATIENCE, request).await.map_err(|_| HandsError::TooSlow)??)
}

/// Who the cluster is for registries, where the run can read it: it may read no Secret by itself.
fn secret_of(run: &Run, owner: &Deployment, bytes: ByteString) -> Secret {
    let metadata = ObjectMeta {
        name: Some(deployment::secret_name(run)),
        owner_references: owner.owner_ref(&()).map(|owner| vec![owner]),
        ..deployment::metadata(run)
    };
    pull_secret::copy(metadata, bytes)
}
