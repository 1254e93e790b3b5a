//! Cluster operators are there before whoever reports in them.

use fairway_api::ClusterOperator;
use fairway_release::Manifest;
use fairway_release::task_graph::Task;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::work::Work;
use crate::apply::{FIELD_MANAGER, Outcome, within_time};

impl Work<'_> {
    /// Creates the cluster operators of a node that are not there yet, with the objects to look at:
    /// whoever collects data about a component that never came up finds them there. Nothing depends
    /// on it, for each has its own turn later.
    pub(super) async fn introduce(&self, tasks: &[Task]) {
        for task in tasks {
            let place = &self.places[task.position];
            let name = &task.id.name;
            let is_there =
                self.site.operators.borrow().as_ref().is_some_and(|known| known.contains_key(name));
            if !place.is_wanted || place.versions.is_none() || is_there {
                continue;
            }
            let manifest = &self.manifests()[task.position];
            match self.apply(manifest).await {
                Ok(applied) if applied.outcome == Outcome::Written => {
                    self.relate(name, manifest).await;
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%task, %error, "cannot be introduced; it has its turn later");
                }
            }
        }
    }

    async fn relate(&self, name: &str, manifest: &Manifest) {
        let object = manifest.object();
        let Some(related) = object.pointer("/status/relatedObjects") else { return };
        let api: Api<ClusterOperator> = Api::all(self.site.hands.client.clone());
        let patch = Patch::Merge(json!({ "status": { "relatedObjects": related } }));
        let params =
            PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let write = within_time(api.patch_status(name, &params, &patch));
        if let Ok(Err(error)) = self.site.hands.leadership.write(write).await {
            let error: &dyn std::error::Error = &error;
            tracing::debug!(name, error, "related objects are not told");
        }
    }
}
