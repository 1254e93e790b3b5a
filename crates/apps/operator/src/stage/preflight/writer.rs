//! Writes of the preflight stage: starts a run, and removes runs with everything they created.

use std::time::Duration;

use fairway_api::reason::preflight_failed;
use fairway_backoff::Backoff;
use k8s_openapi::ByteString;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Endpoints, Pod, Secret, Service};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource as _};
use tokio::time::{Instant, timeout};

use super::deployment::{self, DEPLOYMENT_NAME, PULL_SECRET_KEY, PreflightRun};
use super::deployment::{OperatorPod, PodDefaults};
use super::diagnosis::{PreflightError, creation_error};
use super::egress::Destination;
use super::results_root::ResultsRoot;
use super::run_directory::RunDirectory;
use super::{egress, jobs, result_store};
use crate::election::Leadership;
use crate::names::OPERATOR;
use crate::settings::PreflightSettings;
use crate::sync::blocking;
use crate::text;

/// Namespace and name of the cluster's pull secret.
const PULL_SECRET: (&str, &str) = ("openshift-config", "pull-secret");

/// Field manager of server-side apply.
pub(super) const FIELD_MANAGER: &str = "fairway-preflight";

/// Timeout of one request to the API server.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum time that Pods may take to terminate. On an unreachable node they never do, and an
/// update must not wait for them.
const TERMINATION_TIMEOUT: Duration = Duration::from_mins(1);

/// Poll interval while Pods terminate, which takes seconds.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Delays after failed requests.
const RETRY_BACKOFF: Backoff =
    Backoff { first: Duration::from_secs(1), max: Duration::from_secs(30) };

/// Client of the preflight stage for its own objects.
#[derive(Clone)]
pub struct PreflightWriter {
    /// Client of the API server.
    pub client: Client,
    /// Permission of the leader to write.
    pub leadership: Leadership,
}

/// Why a request to the API server failed.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The API server did not respond in time.
    #[error("request to the API server timed out after {} seconds", REQUEST_TIMEOUT.as_secs())]
    TimedOut,
    /// The API server refused the request, or is not reachable.
    #[error("request to the API server failed")]
    Failed(#[from] kube::Error),
}

impl RequestError {
    /// Status code of the response, if there is one.
    pub(super) fn code(&self) -> Option<u16> {
        match self {
            Self::Failed(kube::Error::Api(status)) => Some(status.code),
            _ => None,
        }
    }
}

impl PreflightWriter {
    /// Lists the stored results of previous operator processes.
    pub(super) async fn list_records(&self, namespace: &str) -> Vec<ConfigMap> {
        let mut delay = RetryDelay::default();
        loop {
            match result_store::load(&self.client, namespace).await {
                Ok(found) => return found,
                Err(why) => delay.wait(&why, "cannot read preflight records").await,
            }
        }
    }

    /// The run in the cluster. A Deployment that is not readable as a run counts as none: the stage
    /// removes it in both cases.
    pub(super) async fn find_run(self, namespace: String) -> Option<PreflightRun> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), &namespace);
        let mut delay = RetryDelay::default();
        loop {
            match in_time(deployments.get_opt(DEPLOYMENT_NAME)).await {
                Ok(found) => return found.as_ref().and_then(deployment::read),
                Err(error) => {
                    delay.wait(&text::chain(&error), "cannot get preflight Deployment").await;
                }
            }
        }
    }

    /// Whether the Deployment of a run exists. An error counts as none: the stage looks for it
    /// again.
    pub(super) async fn has_run(&self, namespace: &str) -> bool {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), namespace);
        matches!(in_time(deployments.get_metadata_opt(DEPLOYMENT_NAME)).await, Ok(Some(_)))
    }

    /// Removes all runs from the cluster, and their directories from this node.
    pub(super) async fn clear(self, namespace: String, root: ResultsRoot) {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), &namespace);
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
        let (until, mut delay) = (Instant::now() + TERMINATION_TIMEOUT, RetryDelay::default());
        while let Err(error) = self.remove(&deployments, &pods, until).await {
            delay.wait(&text::chain(&error), "cannot remove preflight").await;
        }
        self.remove_jobs(until + TERMINATION_TIMEOUT).await;
        let removed = tokio::task::spawn_blocking(move || root.remove_others(None));
        if let Ok(Err(error)) = removed.await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "cannot remove preflight directory");
        }
    }

    /// Removes the Jobs of all runs.
    async fn remove_jobs(&self, until: Instant) {
        loop {
            let left = jobs::sweep(self.clone(), None).await;
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
            fairway_clock::sleep_until(Some(Instant::now() + POLL_INTERVAL)).await;
        }
    }

    async fn remove(
        &self,
        deployments: &Api<Deployment>,
        pods: &Api<Pod>,
        until: Instant,
    ) -> Result<(), RequestError> {
        if in_time(deployments.get_opt(DEPLOYMENT_NAME)).await?.is_some() {
            self.delete(deployments).await?;
        }
        wait_until_gone(deployments, pods, until).await
    }

    async fn delete(&self, deployments: &Api<Deployment>) -> Result<(), RequestError> {
        let parameters = DeleteParams::background();
        match self.write(deployments.delete(DEPLOYMENT_NAME, &parameters)).await {
            Err(error) if error.code() == Some(404) => Ok(()),
            deleted => deleted.map(drop),
        }
    }

    /// Starts a run. The Deployment owns the pull secret, so the garbage collector deletes them
    /// together.
    pub(super) async fn start(
        self,
        run: PreflightRun,
        namespace: String,
        settings: PreflightSettings,
    ) -> Result<RunDirectory, PreflightError> {
        let root = ResultsRoot::new(&settings.results.here);
        let directory = blocking(|| root.make(&run.id)).map_err(|error| {
            let place = settings.results.here.display();
            let message = format!("cannot use {place} for results: {error}");
            PreflightError::transient(preflight_failed::RESULTS_UNREADABLE, message)
        })?;
        Box::pin(self.create(&run, &namespace, &settings)).await.map_err(|error| match error {
            RequestError::Failed(kube::Error::Api(status)) => creation_error(&status.message),
            error => creation_error(&text::chain(&error)),
        })?;
        Ok(directory)
    }

    async fn create(
        &self,
        run: &PreflightRun,
        namespace: &str,
        settings: &PreflightSettings,
    ) -> Result<(), RequestError> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), namespace);
        let own = in_time(deployments.get_opt(OPERATOR)).await?;
        let secret = self.pull_secret().await?;
        let defaults = PodDefaults {
            own: own.as_ref().map(OperatorPod::from_deployment).unwrap_or_default(),
            has_pull_secret: secret.is_some(),
        };
        let results = &settings.results.on_node;
        let deployment = deployment::deployment(run, namespace, results, &defaults, &settings.pod)
            .map_err(kube::Error::SerdeError)?;
        let created = self.write(deployments.create(&PostParams::default(), &deployment)).await?;
        self.allow_egress_of_runner(run, namespace, &created, &settings.egress).await?;
        match secret {
            Some(bytes) => self.create_pull_secret(run, namespace, &created, bytes).await,
            None => Ok(()),
        }
    }

    /// Lets the target release reach the API server, DNS and the configured destinations. The
    /// Deployment owns the policy.
    async fn allow_egress_of_runner(
        &self,
        run: &PreflightRun,
        namespace: &str,
        owner: &Deployment,
        allowed: &[String],
    ) -> Result<(), RequestError> {
        let api_server = self.api_server().await?;
        let mut policy = egress::runner_policy(run, namespace, &api_server, allowed)
            .map_err(kube::Error::SerdeError)?;
        policy.metadata.owner_references = owner.owner_ref(&()).map(|owner| vec![owner]);
        self.apply_policy(&policy, namespace).await
    }

    /// Addresses of the API server.
    pub(super) async fn api_server(&self) -> Result<Vec<Destination>, RequestError> {
        let (namespace, name) = egress::API_SERVER;
        let services: Api<Service> = Api::namespaced(self.client.clone(), namespace);
        let endpoints: Api<Endpoints> = Api::namespaced(self.client.clone(), namespace);
        let service = in_time(services.get_opt(name)).await?;
        let endpoints = in_time(endpoints.get_opt(name)).await?;
        Ok(egress::api_server(service.as_ref(), endpoints.as_ref()))
    }

    /// Applies a network policy.
    pub(super) async fn apply_policy(
        &self,
        policy: &NetworkPolicy,
        namespace: &str,
    ) -> Result<(), RequestError> {
        let policies: Api<NetworkPolicy> = Api::namespaced(self.client.clone(), namespace);
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        let patch = Patch::Apply(policy);
        self.write(policies.patch(egress::NAME, &parameters, &patch)).await.map(drop)
    }

    /// Resumes a run of a previous operator process, which may have stopped before it created the
    /// network policy or the pull secret.
    pub(super) async fn resume(
        self,
        run: PreflightRun,
        namespace: String,
        egress: Vec<String>,
        directory: RunDirectory,
    ) -> Result<RunDirectory, PreflightError> {
        match Box::pin(self.complete_run(&run, &namespace, &egress)).await {
            Ok(()) => Ok(directory),
            Err(error) => Err(creation_error(&text::chain(&error))),
        }
    }

    async fn complete_run(
        &self,
        run: &PreflightRun,
        namespace: &str,
        egress: &[String],
    ) -> Result<(), RequestError> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), namespace);
        let Some(found) = in_time(deployments.get_opt(DEPLOYMENT_NAME)).await? else {
            return Ok(());
        };
        self.allow_egress_of_runner(run, namespace, &found, egress).await?;
        match self.pull_secret().await? {
            Some(bytes) => self.create_pull_secret(run, namespace, &found, bytes).await,
            None => Ok(()),
        }
    }

    /// Content of the cluster's pull secret, if it exists.
    pub(super) async fn pull_secret(&self) -> Result<Option<ByteString>, RequestError> {
        let (namespace, name) = PULL_SECRET;
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let data = in_time(secrets.get_opt(name)).await?.and_then(|secret| secret.data);
        Ok(data.and_then(|mut data| data.remove(PULL_SECRET_KEY)))
    }

    /// Creates the run's copy of the pull secret, unless it exists.
    async fn create_pull_secret(
        &self,
        run: &PreflightRun,
        namespace: &str,
        owner: &Deployment,
        bytes: ByteString,
    ) -> Result<(), RequestError> {
        let secret = run_pull_secret(run, owner, bytes);
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        match self.write(secrets.create(&PostParams::default(), &secret)).await {
            Err(error) if error.code() == Some(409) => Ok(()),
            created => created.map(drop),
        }
    }

    /// Sends a write while this operator is the leader. After leadership is lost the future never
    /// completes: the election drops all stages.
    pub(super) async fn write<T>(
        &self,
        write: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, RequestError> {
        match self.leadership.write(in_time(write)).await {
            Ok(written) => written,
            Err(_) => std::future::pending().await,
        }
    }
}

/// Backoff between attempts.
#[derive(Default)]
struct RetryDelay(u32);

impl RetryDelay {
    /// Logs the error and waits.
    async fn wait(&mut self, why: &str, complaint: &str) {
        self.0 = self.0.saturating_add(1);
        let (attempt, retry_in) = (self.0, RETRY_BACKOFF.after(self.0));
        tracing::warn!(error = why, attempt, ?retry_in, "{complaint}; retrying");
        fairway_clock::pause(retry_in).await;
    }
}

/// Waits until no object of a run exists, or until the deadline.
async fn wait_until_gone(
    deployments: &Api<Deployment>,
    pods: &Api<Pod>,
    until: Instant,
) -> Result<(), RequestError> {
    let labelled = ListParams::default().labels(&deployment::selector()).limit(1);
    loop {
        let is_gone = in_time(deployments.get_opt(DEPLOYMENT_NAME)).await?.is_none()
            && in_time(pods.list(&labelled)).await?.items.is_empty();
        if is_gone {
            return Ok(());
        }
        if Instant::now() >= until {
            tracing::warn!("preflight Pod not removed in time");
            return Ok(());
        }
        fairway_clock::sleep_until(Some(Instant::now() + POLL_INTERVAL)).await;
    }
}

/// Sends a request with `REQUEST_TIMEOUT`.
pub(super) async fn in_time<T>(
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, RequestError> {
    Ok(timeout(REQUEST_TIMEOUT, request).await.map_err(|_| RequestError::TimedOut)??)
}

/// Copy of the pull secret for a run, which may not read Secrets itself.
fn run_pull_secret(run: &PreflightRun, owner: &Deployment, bytes: ByteString) -> Secret {
    let metadata = ObjectMeta {
        name: Some(deployment::secret_name(run)),
        owner_references: owner.owner_ref(&()).map(|owner| vec![owner]),
        ..deployment::metadata(run)
    };
    pull_secret_copy(metadata, bytes)
}

/// Builds a copy of the pull secret.
pub(super) fn pull_secret_copy(metadata: ObjectMeta, bytes: ByteString) -> Secret {
    Secret {
        metadata,
        type_: Some("kubernetes.io/dockerconfigjson".to_owned()),
        data: Some([(PULL_SECRET_KEY.to_owned(), bytes)].into()),
        ..Secret::default()
    }
}
