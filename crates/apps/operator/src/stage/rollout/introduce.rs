//! ClusterOperators are created before the components that report in them.

use fairway_api::{ClusterOperator, ClusterOperatorStatus};
use fairway_release::Manifest;
use fairway_release::task_graph::Task;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::work::Work;
use crate::apply::{FIELD_MANAGER, within_time};
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
            let manifest = &self.manifests()[task.position];
            let operators = self.site.operators.borrow().clone().unwrap_or_default();
            match operators.get(&task.id.name) {
                // An interrupted attempt may have created it, and nothing else.
                Some(known) if is_reported(known.status.as_ref()) => {}
                Some(_) => self.relate(&task.id.name, manifest).await,
                None => match self.apply(manifest).await {
                    Ok(_) => self.relate(&task.id.name, manifest).await,
                    Err(error) => {
                        let error = text::cause(&error);
                        tracing::debug!(%task, error, "cannot create the ClusterOperator early");
                    }
                },
            }
        }
    }

    async fn relate(&self, name: &str, manifest: &Manifest) {
        let object = manifest.completed_object(|_| true);
        let related = object.pointer("/status/relatedObjects");
        let Some(related @ Value::Array(_)) = related else { return };
        let api: Api<ClusterOperator> = Api::all(self.site.hands.client.clone());
        let patch = Patch::Merge(json!({ "status": { "relatedObjects": related } }));
        let params =
            PatchParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PatchParams::default() };
        let write = within_time(api.patch_status(name, &params, &patch));
        if let Ok(Err(error)) = self.site.hands.leadership.write(write).await {
            let error = text::cause(&error);
            tracing::warn!(name, error, "cannot write relatedObjects of the ClusterOperator");
        }
    }
}

/// Whether a component, or an earlier attempt, has written the status.
fn is_reported(status: Option<&ClusterOperatorStatus>) -> bool {
    status.is_some_and(|it| !it.related_objects.is_empty() || !it.conditions.is_empty())
}
