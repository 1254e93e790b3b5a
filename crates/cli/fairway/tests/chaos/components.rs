//! Stub components: each reads its version from a ConfigMap, and reports it after a delay.

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

use crate::random::Random;
use crate::release::{LEVELS, NUMBER, component, version};

/// Long enough not to load the API server.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long a component takes to report a new version. An update waits for one after the other, so that
/// faults occur in the middle of it.
pub(crate) const REPORT_DELAY: Range<Duration> =
    Duration::from_millis(200)..Duration::from_millis(600);

/// Reports of all components. Dropping it ends them.
pub(crate) struct Components(JoinHandle<()>);

impl Components {
    pub(crate) fn start(client: &Client, namespace: &str, mut random: Random) -> Self {
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let operators: Api<ClusterOperator> = Api::all(client.clone());
        Self(tokio::spawn(async move {
            let mut ticks = interval(POLL_INTERVAL);
            loop {
                ticks.tick().await;
                for level in LEVELS {
                    // A request that an injected fault breaks is repeated at the next tick.
                    let _ = report_version(&maps, &operators, &component(level), &mut random).await;
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

/// Reports the version of a component's ConfigMap.
async fn report_version(
    maps: &Api<ConfigMap>,
    operators: &Api<ClusterOperator>,
    name: &str,
    random: &mut Random,
) -> Result<()> {
    let number = maps.get_opt(name).await?.and_then(|map| map.data?.remove(NUMBER));
    let Some((number, operator)) = number.zip(operators.get_opt(name).await?) else {
        return Ok(());
    };
    let wanted = objects::working_at(&version(number.parse()?));
    if operator.status.is_some_and(|status| status.versions == wanted.versions) {
        return Ok(());
    }
    let _ = timeout(random.duration(&REPORT_DELAY), std::future::pending::<()>()).await;
    let patch = Patch::Merge(json!({ "status": wanted }));
    operators.patch_status(name, &PatchParams::default(), &patch).await?;
    Ok(())
}
