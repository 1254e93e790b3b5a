//! The cluster that a command is about: how it is reached, and what to do if it is not.

pub(crate) mod account;
mod advice;
pub(crate) mod contexts;
pub(crate) mod kind;
mod listing;
mod monitoring;

use std::error::Error as _;
use std::time::Duration;

use anyhow::Context;
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion};
use http::HeaderValue;
use http::header::USER_AGENT;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::Value;

use crate::args::cluster::ClusterArgs;
use advice::{Failure, Request, no_access};
use monitoring::Known;

/// Where the operator of ClusterVersion runs, and keeps what it notes.
pub(crate) const OPERATOR_NAMESPACE: &str = "openshift-cluster-version";

/// Who asks, in audit logs.
pub(crate) const PROGRAM: &str = concat!("fairway/", env!("CARGO_PKG_VERSION"));

/// Whose changes these are, in the managed fields of objects.
const FIELD_MANAGER: &str = "fairway";

/// Runs the requests of a command to their end.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start the runtime for requests")?.block_on(work)
}

/// A cluster that can be asked.
pub(crate) struct Cluster {
    client: Client,
    config: Config,
    address: String,
    timeout: Duration,
    monitoring: Known<Client>,
}

/// Whether a change is to be made, or only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Earnest {
    /// It is made.
    Make,
    /// The server says what would come of it.
    Try,
}

/// How a change ended.
pub(crate) enum Changed {
    /// As asked; this is the result.
    Done(Box<ClusterVersion>),
    /// Somebody else was faster.
    Conflict,
}

impl Cluster {
    /// The cluster that the arguments and the environment name.
    pub(crate) async fn connect(args: &ClusterArgs) -> anyhow::Result<Self> {
        let mut config = config(args).await?;
        config.connect_timeout = Some(args.request_timeout);
        act_as(&mut config.auth_info, args);
        config.headers.push((USER_AGENT, HeaderValue::from_static(PROGRAM)));
        let address = config.cluster_url.to_string().trim_end_matches('/').to_owned();
        let client = Client::try_from(config.clone()).map_err(|error| no_access(&error))?;
        let monitoring = Known::default();
        Ok(Self { client, config, address, timeout: args.request_timeout, monitoring })
    }

    /// What speaks to it.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// The cluster's version, and what is asked for.
    pub(crate) async fn cluster_version(&self) -> anyhow::Result<ClusterVersion> {
        let api: Api<ClusterVersion> = Api::all(self.client.clone());
        let answer = self.in_time(api.get(CLUSTER_VERSION_NAME)).await;
        answer.map_err(|failure| self.advise("get", failure))
    }

    /// The architecture of the API server; none where it does not say.
    pub(crate) async fn architecture(&self) -> Option<String> {
        let info = self.in_time(self.client.apiserver_version()).await.ok()?;
        let (_, architecture) = info.platform.split_once('/')?;
        Some(architecture.to_owned()).filter(|name| !name.is_empty())
    }

    /// Changes ClusterVersion by a merge patch. With the resource version of what was read in it,
    /// nothing is lost that came in between.
    pub(crate) async fn patch_cluster_version(
        &self,
        patch: &Value,
        earnest: Earnest,
    ) -> anyhow::Result<Changed> {
        let api: Api<ClusterVersion> = Api::all(self.client.clone());
        let params = PatchParams {
            dry_run: earnest == Earnest::Try,
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let patch = Patch::Merge(patch);
        match self.in_time(api.patch(CLUSTER_VERSION_NAME, &params, &patch)).await {
            Ok(done) => Ok(Changed::Done(Box::new(done))),
            Err(Failure::Refused(kube::Error::Api(status))) if status.is_conflict() => {
                Ok(Changed::Conflict)
            }
            Err(failure) => Err(self.advise("patch", failure)),
        }
    }

    /// Every ConfigMap of a namespace with a label, at most so many, and whether there are more;
    /// or why they are not at hand.
    pub(crate) async fn config_maps(
        &self,
        namespace: &str,
        label: &str,
        most: u32,
    ) -> Result<(Vec<ConfigMap>, bool), String> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let params = ListParams::default().labels(label).limit(most);
        let listed = self.in_time(api.list(&params)).await;
        let listed = listed.map_err(|failure| failure.in_short())?;
        let more = listed.metadata.continue_.is_some_and(|token| !token.is_empty());
        Ok((listed.items, more))
    }

    /// Who the server takes us for. Servers before 1.28 do not tell.
    pub(crate) async fn user(&self) -> Option<String> {
        let api: Api<SelfSubjectReview> = Api::all(self.client.clone());
        let (params, question) = (PostParams::default(), SelfSubjectReview::default());
        let answer = self.in_time(api.create(&params, &question)).await.ok()?;
        answer.status?.user_info?.username
    }

    async fn in_time<T>(
        &self,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, Failure> {
        let answer = tokio::time::timeout(self.timeout, request).await;
        answer.map_err(|_| Failure::TooSlow(self.timeout))?.map_err(|error| {
            if advice::ran_out_of_time(&error) {
                Failure::TooSlow(self.timeout)
            } else {
                Failure::Refused(error)
            }
        })
    }

    fn advise(&self, verb: &'static str, failure: Failure) -> anyhow::Error {
        Request { verb, address: &self.address }.advise(failure)
    }
}

/// Who to be, where that is not who the kubeconfig says. Groups that it has are those of its user.
fn act_as(session: &mut AuthInfo, args: &ClusterArgs) {
    if let Some(user) = &args.act_as {
        session.impersonate = Some(user.clone());
        session.impersonate_groups = Some(args.act_as_groups.clone());
    }
}

/// How the cluster is reached: as a kubeconfig says, or in a pod by its ServiceAccount.
async fn config(args: &ClusterArgs) -> anyhow::Result<Config> {
    let options = KubeConfigOptions { context: args.context.clone(), ..Default::default() };
    let configured = match &args.kubeconfig {
        Some(path) => match Kubeconfig::read_from(path) {
            Ok(read) => Config::from_custom_kubeconfig(read, &options).await,
            Err(error) => Err(error),
        },
        None if args.context.is_some() => Config::from_kubeconfig(&options).await,
        None => {
            // Outside of pods, which is where people are, it is the kubeconfig that matters.
            let inferred = Config::infer().await;
            return inferred.map_err(|error| no_access(error.source().unwrap_or(&error)));
        }
    };
    configured.map_err(|error| no_access(&error))
}
