//! CRD finalizer: deletes the custom resources of a CRD that is being deleted.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::json;

use super::runtime::{Component, Controller, ObjectKey, Requeue, WatchEvent, WatchScope};
use crate::api::{Api, StatusError};
use crate::catalog::Resource;

/// Finalizer of CRDs whose objects are not deleted yet.
const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

pub(super) struct CrdFinalizer {
    component: Component,
    /// CRDs that are being deleted; events of other resources are ignored.
    terminating: BTreeSet<String>,
}

impl CrdFinalizer {
    pub(super) fn new(api: &Api) -> Self {
        Self { component: Component::new(api, "system:apiserver"), terminating: BTreeSet::new() }
    }

    /// The resource of a CRD, in any of its versions.
    fn resource(&self, crd: &str) -> Option<Arc<Resource>> {
        let catalog = self.component.api().catalog();
        let mut resources = catalog.resources();
        let declares = |resource: &&Arc<Resource>| declared_by(resource) == Some(crd);
        resources.find(declares).cloned()
    }

    /// Deletes all objects of a resource; returns whether none is left.
    fn delete_objects(&self, resource: &Arc<Resource>) -> Result<bool, StatusError> {
        for object in self.component.list(resource, "")? {
            self.component.delete_object(resource, &object)?;
        }
        Ok(self.component.list(resource, "")?.is_empty())
    }

    fn finalize(&self, crd: &CustomResourceDefinition) -> Result<(), StatusError> {
        let metadata = &crd.metadata;
        let finalizers = metadata.finalizers.iter().flatten();
        let others: Vec<_> =
            finalizers.filter(|finalizer| *finalizer != CLEANUP_FINALIZER).collect();
        let name = metadata.name.as_deref().unwrap_or_default();
        let patch = json!({ "metadata": {
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
            "finalizers": others,
        } });
        self.component.client().merge::<CustomResourceDefinition>("", name, patch)?;
        Ok(())
    }
}

impl Controller for CrdFinalizer {
    type Key = String;

    const SCOPE: WatchScope = WatchScope::Everything;

    fn component(&self) -> &Component {
        &self.component
    }

    fn restart(&mut self) {
        self.terminating.clear();
    }

    fn keys_for_event(&mut self, event: &WatchEvent) -> Result<Vec<String>, StatusError> {
        if let Some(crd) = declared_by(&event.resource) {
            let known = self.terminating.get(crd).cloned();
            return Ok(known.into_iter().collect());
        }
        if event.resource.kind != "CustomResourceDefinition" {
            return Ok(Vec::new());
        }
        let name = ObjectKey::of(&event.object).name;
        if event.object.pointer("/metadata/deletionTimestamp").is_some() {
            self.terminating.insert(name.clone());
            return Ok(vec![name]);
        }
        self.terminating.remove(&name);
        Ok(Vec::new())
    }

    fn reconcile(&mut self, name: &String, _: Timestamp) -> Result<Requeue, StatusError> {
        let client = self.component.client();
        let Some(crd) = client.get::<CustomResourceDefinition>("", name)? else {
            self.terminating.remove(name);
            return Ok(Requeue::Never);
        };
        let metadata = &crd.metadata;
        let waits =
            metadata.finalizers.iter().flatten().any(|finalizer| finalizer == CLEANUP_FINALIZER);
        if metadata.deletion_timestamp.is_none() || !waits {
            return Ok(Requeue::Never);
        }
        let is_empty = match self.resource(name) {
            Some(resource) => self.delete_objects(&resource)?,
            None => true,
        };
        if is_empty {
            self.finalize(&crd)?;
        }
        Ok(Requeue::Never)
    }
}

fn declared_by(resource: &Resource) -> Option<&str> {
    resource.custom.as_ref().map(|custom| custom.definition.as_str())
}
