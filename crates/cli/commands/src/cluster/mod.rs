//! Connection to the cluster of a command.

mod api_error;
pub(crate) mod config;
pub(crate) mod kind;
mod listing;
mod monitoring;

use std::time::Duration;

use anyhow::Context;
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion};
use http::HeaderValue;
use http::header::USER_AGENT;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Config};
use serde_json::Value;

use crate::args::cluster::ClusterArgs;
use api_error::{ClusterVersionRequest, RequestFailure, no_access};
use monitoring::CachedClient;
pub(crate) use {self::config as account, self::config as contexts};

/// Namespace of the cluster-version operator and its `ConfigMaps`.
pub(crate) const OPERATOR_NAMESPACE: &str = "openshift-cluster-version";

/// User agent in audit logs.
pub(crate) const PROGRAM: &str = concat!("fairway/", env!("CARGO_PKG_VERSION"));

/// Field manager of changes.
const FIELD_MANAGER: &str = "fairway";

/// Runs the requests of a command.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start the async runtime")?.block_on(work)
}

/// Connection to a cluster.
pub(crate) struct Cluster {
    client: Client,
    config: Config,
    address: String,
    timeout: Duration,
    monitoring: CachedClient<Client>,
}

/// Whether the API server only validates a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DryRun {
    /// The API server returns the result without storing it: `dryRun=All`.
    Yes,
    /// The API server stores the change.
    No,
}

/// Result of a patch.
pub(crate) enum PatchResult {
    /// The object after the patch.
    Applied(Box<ClusterVersion>),
    /// Another client has changed the object since it was read.
    Conflict,
}

impl Cluster {
    /// Connects to the cluster of the arguments and the environment.
    pub(crate) async fn connect(args: &ClusterArgs) -> anyhow::Result<Self> {
        let mut config = config::load(args).await?;
        config.connect_timeout = Some(args.request_timeout);
        config::impersonate(&mut config.auth_info, args);
        config.headers.push((USER_AGENT, HeaderValue::from_static(PROGRAM)));
        let address = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let client = Client::try_from(config.clone()).map_err(|error| no_access(&error))?;
        let monitoring = CachedClient::default();
        Ok(Self { client, config, address, timeout: args.request_timeout, monitoring })
    }

    /// Client of the API server.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Reads ClusterVersion.
    pub(crate) async fn cluster_version(&self) -> anyhow::Result<ClusterVersion> {
        let api: Api<ClusterVersion> = Api::all(self.client.clone());
        let response = self.with_timeout(api.get(CLUSTER_VERSION_NAME)).await;
        response.map_err(|failure| self.explain("get", failure))
    }

    /// Architecture of the API server, if it reports one.
    pub(crate) async fn architecture(&self) -> Option<String> {
        let info = self.with_timeout(self.client.apiserver_version()).await.ok()?;
        let (_, architecture) = info.platform.split_once('/')?;
        Some(architecture.to_owned()).filter(|name| !name.is_empty())
    }

    /// Applies a merge patch to ClusterVersion. The patch has the resource version of the object it
    /// was computed from, so that no other change is lost.
    pub(crate) async fn patch_cluster_version(
        &self,
        patch: &Value,
        dry_run: DryRun,
    ) -> anyhow::Result<PatchResult> {
        let api: Api<ClusterVersion> = Api::all(self.client.clone());
        let params = PatchParams {
            dry_run: dry_run == DryRun::Yes,
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(patch);
        match self.with_timeout(api.patch(CLUSTER_VERSION_NAME, &params, &patch)).await {
            Ok(object) => Ok(PatchResult::Applied(Box::new(object))),
            Err(RequestFailure::Failed(kube::Error::Api(status))) if status.is_conflict() => {
                Ok(PatchResult::Conflict)
            }
            Err(failure) => Err(self.explain("patch", failure)),
        }
    }

    /// `ConfigMaps` of a namespace with a label, at most `most`, and whether there are more; or why
    /// they cannot be listed.
    pub(crate) async fn config_maps(
        &self,
        namespace: &str,
        label: &str,
        most: u32,
    ) -> Result<(Vec<ConfigMap>, bool), String> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let params = ListParams::default().labels(label).limit(most);
        let listed = self.with_timeout(api.list(&params)).await;
        let listed = listed.map_err(|failure| match failure {
            RequestFailure::Failed(kube::Error::Api(status)) if status.code == 403 => {
                format!("missing permission: list configmaps in namespace {namespace}")
            }
            failure => failure.summary(),
        })?;
        let more = listed.metadata.continue_.is_some_and(|token| !token.is_empty());
        Ok((listed.items, more))
    }

    /// User name at the API server; `None` before Kubernetes 1.28.
    pub(crate) async fn user(&self) -> Option<String> {
        let api: Api<SelfSubjectReview> = Api::all(self.client.clone());
        let (params, review) = (PostParams::default(), SelfSubjectReview::default());
        let response = self.with_timeout(api.create(&params, &review)).await.ok()?;
        response.status?.user_info?.username
    }

    async fn with_timeout<T>(
        &self,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, RequestFailure> {
        let response = tokio::time::timeout(self.timeout, request).await;
        response.map_err(|_| RequestFailure::TimedOut(self.timeout))?.map_err(|error| {
            if api_error::is_timeout(&error) {
                RequestFailure::TimedOut(self.timeout)
            } else {
                RequestFailure::Failed(error)
            }
        })
    }

    fn explain(&self, verb: &'static str, failure: RequestFailure) -> anyhow::Error {
        ClusterVersionRequest { verb, address: &self.address }.explain(failure)
    }
}
