//! Somebody who watches all the time, and remembers what was said.

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

use crate::platform::NUMBER;

/// Often enough to see most of what is said, seldom enough not to slow the others down.
const LOOKS: Duration = Duration::from_millis(30);

/// Watches until this value goes.
pub(crate) struct Witness {
    memory: watch::Receiver<Memory>,
    task: JoinHandle<()>,
}

impl Witness {
    pub(crate) fn start(client: &Client, namespace: &str) -> Self {
        let versions: Api<ClusterVersion> = Api::all(client.clone());
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let (remember, memory) = watch::channel(Memory::default());
        let task = tokio::spawn(async move {
            let mut looks = interval(LOOKS);
            loop {
                looks.tick().await;
                // An API server that is broken on purpose is asked again.
                let Ok(maps) = maps.list(&ListParams::default()).await else { continue };
                let Ok(version) = versions.get(CLUSTER_VERSION_NAME).await else { continue };
                let status = version.status.unwrap_or_default();
                remember.send_modify(|memory| memory.look(&status, &maps.items));
            }
        });
        Self { memory, task }
    }

    /// How many maps are as the release of that number wants them.
    pub(crate) fn written(&self, number: usize) -> usize {
        self.memory.borrow().written(number)
    }

    /// Waits until so many are.
    pub(crate) async fn until_written(&self, number: usize, enough: usize) -> Result<()> {
        let mut memory = self.memory.clone();
        let written = memory.wait_for(|memory| memory.written(number) >= enough);
        written.await.map(drop).context("the witness is gone")
    }

    /// Fails if something happened that should not.
    pub(crate) fn testify(&self) -> Result<()> {
        match &self.memory.borrow().complaint {
            None => Ok(()),
            Some(complaint) => bail!("{complaint}"),
        }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// How far everything was at the last look.
#[derive(Default)]
struct Memory {
    /// The history, the oldest entry first: the image, and whether it is completed.
    history: Vec<(String, bool)>,
    /// How many manifests of the newest entry were done.
    done: usize,
    /// The release of each map.
    maps: BTreeMap<String, usize>,
    /// What went back, at first.
    complaint: Option<String>,
}

impl Memory {
    fn written(&self, number: usize) -> usize {
        self.maps.values().filter(|&&found| found == number).count()
    }

    fn look(&mut self, status: &ClusterVersionStatus, maps: &[ConfigMap]) {
        if let Err(error) = self.compare(status, maps) {
            self.complaint.get_or_insert(format!("{error:#}"));
        }
    }

    /// Nothing goes back.
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
        let Some(done) = done(status) else { return Ok(()) };
        ensure!(is_new || self.done <= done, "{} were done, and then {done}", self.done);
        self.done = done;
        Ok(())
    }
}

fn history(status: &ClusterVersionStatus) -> Vec<(String, bool)> {
    let entries = status.history.iter().rev();
    entries.map(|entry| (entry.image.clone(), entry.state == UpdateState::Completed)).collect()
}

/// How many manifests of the newest entry are done, as people are told while it is on its way.
fn done(status: &ClusterVersionStatus) -> Option<usize> {
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

    /// A look at a cluster on its way to a release, which has so many maps of it.
    fn look(number: usize, done: usize, maps: usize) -> (ClusterVersionStatus, Vec<ConfigMap>) {
        let mut status = objects::status_at("5.1.0");
        let image = format!("image-{number}");
        let on_the_way = json!({"state": "Partial", "image": image, "completionTime": null});
        status.history.insert(0, serde_json::from_value(on_the_way).unwrap());
        let told = format!("Working towards 5.1.{number}: {done} of 45 done");
        let progressing = fairway_api::OperatorCondition::new("Progressing", true).message(told);
        status.conditions.set(progressing, objects::beginning().0);
        let map = |place: usize| {
            let number = if place < maps { number } else { number - 1 };
            json!({"metadata": {"name": place.to_string()}, "data": {NUMBER: number.to_string()}})
        };
        let maps = (0..4).map(|place| serde_json::from_value(map(place)).unwrap());
        (status, maps.collect())
    }

    #[test]
    fn only_what_goes_back_is_complained_about() {
        let completed = |(mut status, maps): (ClusterVersionStatus, _)| {
            status.history[0].state = UpdateState::Completed;
            (status, maps)
        };
        let cases = [
            (vec![look(1, 0, 0), look(1, 3, 1), look(1, 3, 2)], None),
            (vec![look(1, 3, 1), look(1, 2, 2)], Some("3 were done, and then 2")),
            (vec![look(1, 3, 2), look(1, 3, 1)], Some("1 went from 1 back to 0")),
            (vec![look(1, 3, 2), look(2, 3, 1)], Some("the history was ")),
            (vec![completed(look(1, 3, 2)), look(1, 3, 2)], Some("the history was ")),
        ];
        for (looks, expected) in cases {
            let mut memory = Memory::default();
            for (status, maps) in &looks {
                memory.look(status, maps);
            }
            let complaint = memory.complaint.as_deref();
            assert_eq!(complaint.is_some(), expected.is_some(), "{complaint:?}");
            assert!(complaint.unwrap_or_default().starts_with(expected.unwrap_or_default()));
        }
    }
}
