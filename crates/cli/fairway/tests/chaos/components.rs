//! The components of the platform: each reads its version from a map, takes its time, and reports.

use std::ops::Range;
use std::time::Duration;

use anyhow::Result;
use fairway_api::ClusterOperator;
use fairway_testkit::objects;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{interval, timeout};

use crate::dice::Dice;
use crate::platform::{LEVELS, NUMBER, component, version};

/// Seldom enough not to be the load that slows the others down.
const LOOKS: Duration = Duration::from_millis(50);

/// How long a component needs for its new version. An update waits for one after the other: this
/// is what gives troubles the time to come in the middle.
pub(crate) const SLOWNESS: Range<Duration> = Duration::from_millis(200)..Duration::from_millis(600);

/// At work until this value goes.
pub(crate) struct Components(JoinHandle<()>);

impl Components {
    pub(crate) fn start(client: &Client, namespace: &str, mut dice: Dice) -> Self {
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let operators: Api<ClusterOperator> = Api::all(client.clone());
        Self(tokio::spawn(async move {
            let mut looks = interval(LOOKS);
            loop {
                looks.tick().await;
                for level in LEVELS {
                    // An API server that is broken on purpose is asked again.
                    let _ = keep_up(&maps, &operators, &component(level), &mut dice).await;
                }
            }
        }))
    }
}

impl Drop for Components {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Brings one component to the version that it is told.
async fn keep_up(
    maps: &Api<ConfigMap>,
    operators: &Api<ClusterOperator>,
    name: &str,
    dice: &mut Dice,
) -> Result<()> {
    let told = maps.get_opt(name).await?.and_then(|map| map.data?.remove(NUMBER));
    let Some((told, operator)) = told.zip(operators.get_opt(name).await?) else { return Ok(()) };
    let wanted = objects::working_at(&version(told.parse()?));
    if operator.status.is_some_and(|status| status.versions == wanted.versions) {
        return Ok(());
    }
    let work = std::future::pending::<()>();
    let _ = timeout(dice.time(&SLOWNESS), work).await;
    let patch = Patch::Merge(json!({ "status": wanted }));
    operators.patch_status(name, &PatchParams::default(), &patch).await?;
    Ok(())
}
