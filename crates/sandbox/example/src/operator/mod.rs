//! The program of the platform's operators: it reports about itself as its release and whoever
//! plays with it want it to.
//!
//! [`behaviour`] is what it is told, `report` what it says; the rest watches and writes.

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
use report::{Report, Situation};

/// How long a write that failed waits for the next: the API server may only be restarting.
const AFTER_A_FAILURE: Duration = Duration::from_secs(1);

/// Which operator this is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The component.
    pub name: String,
    /// The version of the release that it is part of.
    pub version: String,
}

impl Settings {
    /// The namespace of the component.
    pub fn namespace(&self) -> String {
        format!("openshift-{}", self.name)
    }

    /// The ConfigMap that says how it is to behave.
    pub fn behaviour(&self) -> String {
        format!("{}-behaviour", self.name)
    }
}

/// It was told to end like this.
#[derive(Debug, thiserror::Error)]
#[error("crash requested by the ConfigMap: {0}")]
pub struct Crash(String);

/// Reports until it is told to crash.
pub async fn run(client: Client, settings: &Settings) -> Result<Infallible, Crash> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), &settings.namespace());
    let operators: Api<ClusterOperator> = Api::all(client);
    let mut told = pin!(watch_object(maps, &settings.behaviour()).default_backoff());
    let mut seen = pin!(watch_object(operators.clone(), &settings.name).default_backoff());
    let begun = Instant::now();
    let (mut behaviour, mut live, mut retry) = (None, None, None);
    loop {
        let wake = [behaviour.as_ref().and_then(|it| due(begun, it)), retry].into_iter().flatten();
        tokio::select! {
            Some(map) = told.next() => match map {
                Ok(map) => behaviour = Some(Behaviour::of(map.as_ref())),
                Err(error) => cannot_watch(&error),
            },
            Some(object) = seen.next() => match object {
                Ok(object) => live = Some(object),
                Err(error) => cannot_watch(&error),
            },
            () = fairway_clock::sleep_until(wake.min()) => retry = None,
        }
        let (Some(behaviour), Some(live)) = (&behaviour, &live) else { continue };
        if let Some(message) = &behaviour.crash {
            return Err(Crash(message.clone()));
        }
        let rolled_out = due(begun, behaviour).is_none();
        let situation = Situation { version: &settings.version, behaviour, rolled_out };
        if let Err(error) = write(&operators, &settings.name, live.as_ref(), &situation).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot update ClusterOperator, retrying"
            );
            retry = Some(Instant::now() + AFTER_A_FAILURE);
        }
    }
}

/// When the operator will have rolled out what it manages, if it has not yet.
fn due(begun: Instant, behaviour: &Behaviour) -> Option<Instant> {
    Some(begun + behaviour.rollout).filter(|due| *due > Instant::now())
}

/// Writes what there is to say, if it is not there already. What comes of it is seen by watching,
/// also if somebody else was faster.
async fn write(
    operators: &Api<ClusterOperator>,
    name: &str,
    live: Option<&ClusterOperator>,
    situation: &Situation<'_>,
) -> Result<(), kube::Error> {
    let parameters = PostParams::default();
    let written = match live {
        None => {
            let new = ClusterOperator::new(name, ClusterOperatorSpec::default());
            operators.create(&parameters, &new).await
        }
        Some(live) => {
            let Report { status, changed } = report::compose(live, situation, fairway_clock::now());
            if !changed {
                return Ok(());
            }
            tracing::info!(version = situation.version, "updating ClusterOperator");
            let wanted = ClusterOperator { status: Some(status), ..live.clone() };
            operators.replace_status(&live.name_any(), &parameters, &wanted).await
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
