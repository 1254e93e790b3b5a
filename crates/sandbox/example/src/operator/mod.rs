//! The operators of the platform: report the status that their release and their [`behaviour`]
//! define.
//!
//! `report` composes the status; this module watches and writes.

pub mod behaviour;
mod report;

use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use fairway_api::{ClusterOperator, ClusterOperatorSpec};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::watch_object;
use kube::{Client, ResourceExt as _};
use tokio::time::Instant;

use behaviour::Behaviour;
use report::{ComposedStatus, StatusInput};

/// Retry delay after a failed write: the API server may be restarting.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Identity of an operator.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name of the component.
    pub name: String,
    /// Version of its release.
    pub version: String,
}

impl Settings {
    /// Namespace of the component.
    pub fn namespace(&self) -> String {
        format!("openshift-{}", self.name)
    }

    /// ConfigMap with the simulated behaviour.
    pub fn behaviour(&self) -> String {
        format!("{}-behaviour", self.name)
    }
}

/// The configured crash.
#[derive(Debug, thiserror::Error)]
#[error("crash requested by the ConfigMap: {0}")]
pub struct Crash(String);

/// Reports status until a crash is configured.
pub async fn run(client: Client, settings: &Settings) -> Result<Infallible, Crash> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &settings.namespace());
    let operators: Api<ClusterOperator> = Api::all(client);
    let mut configured = pin!(watch_object(maps, &settings.behaviour()).default_backoff());
    let mut observed = pin!(watch_object(operators.clone(), &settings.name).default_backoff());
    let started = Instant::now();
    let (mut behaviour, mut live, mut retry) = (None, None, None);
    loop {
        let wake = [behaviour.as_ref().and_then(|it| rollout_end(started, it)), retry]
            .into_iter()
            .flatten();
        // Streams and sleep are cancel-safe; the status is composed from the latest values below.
        tokio::select! {
            Some(map) = configured.next() => match map {
                Ok(map) => behaviour = Some(Behaviour::from_config_map(map.as_ref())),
                Err(error) => cannot_watch(&error),
            },
            Some(object) = observed.next() => match object {
                Ok(object) => live = Some(object),
                Err(error) => cannot_watch(&error),
            },
            () = fairway_clock::sleep_until(wake.min()) => retry = None,
        }
        let (Some(behaviour), Some(live)) = (&behaviour, &live) else { continue };
        if let Some(message) = &behaviour.crash {
            return Err(Crash(message.clone()));
        }
        let rolled_out = rollout_end(started, behaviour).is_none();
        let input = StatusInput { version: &settings.version, behaviour, rolled_out };
        if let Err(error) = write(&operators, &settings.name, live.as_ref(), &input).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot update ClusterOperator, retrying"
            );
            retry = Some(Instant::now() + RETRY_DELAY);
        }
    }
}

/// When the simulated rollout completes, if it has not yet.
fn rollout_end(started: Instant, behaviour: &Behaviour) -> Option<Instant> {
    Some(started + behaviour.rollout).filter(|end| *end > Instant::now())
}

/// Writes the status if it differs. Conflicts need no retry: the watch triggers the next attempt.
async fn write(
    operators: &Api<ClusterOperator>,
    name: &str,
    live: Option<&ClusterOperator>,
    input: &StatusInput<'_>,
) -> Result<(), kube::Error> {
    let parameters = PostParams::default();
    let written = match live {
        None => {
            let new = ClusterOperator::new(name, ClusterOperatorSpec::default());
            operators.create(&parameters, &new).await
        }
        Some(live) => {
            let ComposedStatus { status, changed } =
                report::compose(live, input, fairway_clock::now());
            if !changed {
                return Ok(());
            }
            tracing::info!(version = input.version, "updating ClusterOperator");
            let desired = ClusterOperator { status: Some(status), ..live.clone() };
            operators.replace_status(&live.name_any(), &parameters, &desired).await
        }
    };
    match written {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        other => other.map(drop),
    }
}

fn cannot_watch(error: &(dyn std::error::Error + 'static)) {
    tracing::warn!(error, "watch failed, retrying");
}
