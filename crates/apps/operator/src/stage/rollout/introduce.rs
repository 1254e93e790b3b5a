//! ClusterOperators are created before the components that report in them.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use fairway_api::{ClusterOperator, ClusterOperatorStatus};
use fairway_apply::{FIELD_MANAGER, within_time};
use fairway_release::task_graph::Task;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::work::Work;
use crate::text;

impl Work<'_> {
    /// Creates the ClusterOperators of a node that are missing, with their related objects: tools
    /// that collect data about a component that never came up find them there. Nothing waits for
    /// it, because each ClusterOperator is applied again in its turn.
    pub(super) async fn introduce(&self, tasks: &[Task]) {
        for task in tasks {
            let place = &self.places[task.position];
            if !place.is_wanted || place.versions.is_none() {
                continue;
            }
            let is_known = self.operator(&task.id.name).is_some();
            if !is_known && let Err(error) = self.apply(&self.manifests()[task.position]).await {
                let error = text::cause(&error);
                tracing::warn!(manifest = %task, error, "cannot create ClusterOperator early");
                continue;
            }
            self.relate(task).await;
        }
    }

    /// Writes the related objects of a ClusterOperator, unless its component has reported. An
    /// interrupted attempt may have created the object, and nothing else; a failed write is
    /// repeated when the manifest is applied again.
    pub(super) async fn relate(&self, task: &Task) {
        let is_related = &self.places[task.position].is_related;
        if is_related.load(Ordering::Relaxed) {
            return;
        }
        let operator = self.operator(&task.id.name);
        let is_reported = operator.is_some_and(|operator| is_reported(operator.status.as_ref()));
        if is_reported || self.write_related_objects(task).await {
            is_related.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the related objects of a manifest are in the status.
    async fn write_related_objects(&self, task: &Task) -> bool {
        let object = self.manifests()[task.position].completed_object();
        let related = object.pointer("/status/relatedObjects");
        let Some(related @ Value::Array(_)) = related else { return true };
        let hands = &self.site.hands;
        let api: Api<ClusterOperator> = Api::all(hands.client.clone());
        let patch = Patch::Merge(json!({ "status": { "relatedObjects": related } }));
        let (name, leadership) = (task.id.name.clone(), hands.leadership.clone());
        let write = async move {
            let params = PatchParams {
                field_manager: Some(FIELD_MANAGER.to_owned()),
                ..PatchParams::default()
            };
            leadership.write(within_time(api.patch_status(&name, &params, &patch))).await
        };
        match hands.applier.complete(write).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => {
                let error = text::cause(&error);
                let manifest = task.to_string();
                tracing::warn!(manifest, error, "cannot write ClusterOperator relatedObjects");
                false
            }
            // Another operator leads.
            Err(_) => false,
        }
    }

    fn operator(&self, name: &str) -> Option<Arc<ClusterOperator>> {
        self.site.operators.borrow().as_ref()?.get(name).cloned()
    }
}

/// Whether a component, or an earlier attempt, has written the status.
fn is_reported(status: Option<&ClusterOperatorStatus>) -> bool {
    status.is_some_and(|it| !it.related_objects.is_empty() || !it.conditions.is_empty())
}
