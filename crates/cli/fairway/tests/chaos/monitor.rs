//! [`Monitor`].

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use fairway_api::cluster_version::{ClusterVersionStatus, UpdateState};
use fairway_api::{CLUSTER_VERSION_NAME, ClusterVersion, ConditionStatus, Conditions as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::interval;

use crate::release::NUMBER;

/// Short enough to observe most states, long enough not to load the API server.
const POLL_INTERVAL: Duration = Duration::from_millis(30);

/// Polls the cluster and records every regression: an object, a history entry or the progress that goes
/// back to an earlier state. Dropping it ends the polling.
pub(crate) struct Monitor {
    observed: watch::Receiver<Observed>,
    task: JoinHandle<()>,
}

impl Monitor {
    pub(crate) fn start(client: &Client, namespace: &str) -> Self {
        let versions: Api<ClusterVersion> = Api::all(client.clone());
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let (sender, observed) = watch::channel(Observed::default());
        let task = tokio::spawn(async move {
            let mut ticks = interval(POLL_INTERVAL);
            loop {
                ticks.tick().await;
                // A request that an injected fault breaks is repeated at the next tick.
                let Ok(maps) = maps.list(&ListParams::default()).await else { continue };
                let Ok(version) = versions.get(CLUSTER_VERSION_NAME).await else { continue };
                let status = version.status.unwrap_or_default();
                sender.send_modify(|observed| observed.update(&status, &maps.items));
            }
        });
        Self { observed, task }
    }

    /// The number of `ConfigMap`s of a release that are applied.
    pub(crate) fn written(&self, number: usize) -> usize {
        self.observed.borrow().written(number)
    }

    /// Waits until a number of `ConfigMap`s of a release is applied.
    pub(crate) async fn wait_until_written(&self, number: usize, enough: usize) -> Result<()> {
        let mut observed = self.observed.clone();
        let written = observed.wait_for(|observed| observed.written(number) >= enough);
        written.await.map(drop).context("the monitor has ended")
    }

    /// Fails if there was a regression.
    pub(crate) fn check(&self) -> Result<()> {
        match &self.observed.borrow().regression {
            None => Ok(()),
            Some(regression) => bail!("{regression}"),
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The state at the last poll.
#[derive(Default)]
struct Observed {
    /// The history, oldest entry first: image, and whether the entry is completed.
    history: Vec<(String, bool)>,
    /// Number of applied manifests of the newest entry.
    done: usize,
    /// Number of the release of each ConfigMap.
    maps: BTreeMap<String, usize>,
    /// The first regression.
    regression: Option<String>,
}

impl Observed {
    fn written(&self, number: usize) -> usize {
        self.maps.values().filter(|&&found| found == number).count()
    }

    fn update(&mut self, status: &ClusterVersionStatus, maps: &[ConfigMap]) {
        if let Err(error) = self.compare(status, maps) {
            self.regression.get_or_insert(format!("{error:#}"));
        }
    }

    /// Fails on a regression.
    fn compare(&mut self, status: &ClusterVersionStatus, maps: &[ConfigMap]) -> Result<()> {
        for map in maps {
            let number = map.data.as_ref().and_then(|data| data.get(NUMBER)?.parse().ok());
            let Some(number) = number else { continue };
            let before = self.maps.insert(map.name_any(), number).unwrap_or_default();
            ensure!(before <= number, "{} went from {before} back to {number}", map.name_any());
        }
        let history = history(status);
        let is_new = history.len() > self.history.len();
        for (place, (image, was_completed)) in self.history.iter().enumerate() {
            let kept = history.get(place).is_some_and(|(found, is_completed)| {
                found == image && (*is_completed || !was_completed)
            });
            ensure!(kept, "the history was {:?} and became {history:?}", self.history);
        }
        self.history = history;
        let Some(done) = applied(status) else { return Ok(()) };
        ensure!(
            is_new || self.done <= done,
            "{} manifests were applied, and then {done}",
            self.done
        );
        self.done = done;
        Ok(())
    }
}

fn history(status: &ClusterVersionStatus) -> Vec<(String, bool)> {
    let entries = status.history.iter().rev();
    entries.map(|entry| (entry.image.clone(), entry.state == UpdateState::Completed)).collect()
}

/// The number of applied manifests in the message of `Progressing`.
fn applied(status: &ClusterVersionStatus) -> Option<usize> {
    let newest = status.history.first()?;
    let condition = status.conditions.find("Progressing")?;
    if newest.state == UpdateState::Completed || condition.status != ConditionStatus::True {
        return None;
    }
    let message = condition.message.as_deref().unwrap_or_default();
    let (before, _) = message.split_once(" of ").unwrap_or_default();
    Some(before.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use fairway_testkit::objects;
    use serde_json::json;

    use super::*;

    /// The state of a cluster during an update to a release.
    fn state(number: usize, done: usize, maps: usize) -> (ClusterVersionStatus, Vec<ConfigMap>) {
        let mut status = objects::status_at("5.1.0");
        let image = format!("image-{number}");
        let partial = json!({"state": "Partial", "image": image, "completionTime": null});
        status.history.insert(0, serde_json::from_value(partial).unwrap());
        let message = format!("Working towards 5.1.{number}: {done} of 45 done");
        let progressing = fairway_api::OperatorCondition::new("Progressing", true).message(message);
        status.conditions.set(progressing, objects::beginning().0);
        let map = |place: usize| {
            let number = if place < maps { number } else { number - 1 };
            json!({"metadata": {"name": place.to_string()}, "data": {NUMBER: number.to_string()}})
        };
        let maps = (0..4).map(|place| serde_json::from_value(map(place)).unwrap());
        (status, maps.collect())
    }

    #[test]
    fn update_with_earlier_state_records_regression() {
        let completed = |(mut status, maps): (ClusterVersionStatus, _)| {
            status.history[0].state = UpdateState::Completed;
            (status, maps)
        };
        let cases = [
            (vec![state(1, 0, 0), state(1, 3, 1), state(1, 3, 2)], None),
            (vec![state(1, 3, 1), state(1, 2, 2)], Some("3 manifests were applied, and then 2")),
            (vec![state(1, 3, 2), state(1, 3, 1)], Some("1 went from 1 back to 0")),
            (vec![state(1, 3, 2), state(2, 3, 1)], Some("the history was ")),
            (vec![completed(state(1, 3, 2)), state(1, 3, 2)], Some("the history was ")),
        ];
        for (states, expected) in cases {
            let mut observed = Observed::default();
            for (status, maps) in &states {
                observed.update(status, maps);
            }
            let regression = observed.regression.as_deref();
            assert_eq!(regression.is_some(), expected.is_some(), "{regression:?}");
            assert!(regression.unwrap_or_default().starts_with(expected.unwrap_or_default()));
        }
    }
}
