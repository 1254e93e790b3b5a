//! Namespace controller: deletes the content of namespaces that are being deleted.

mod content;
mod defaults;

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Namespace;
use serde_json::json;

use self::content::NamespaceContent;
use super::runtime::{Component, Controller, ObjectKey, Requeue, WatchEvent, WatchScope};
use crate::api::{Api, StatusError};
use crate::catalog::{Resource, Subresource, Verb};
use crate::store::EventKind;

pub(super) use defaults::{RootCaPublisher, ServiceAccounts};

/// Finalizer of namespaces whose content is not deleted yet.
const CONTENT_FINALIZER: &str = "kubernetes";

pub(super) struct Namespaces {
    component: Component,
    /// Namespaces that are being deleted; events in others are ignored.
    terminating: BTreeSet<String>,
}

impl Namespaces {
    pub(super) fn new(api: &Api) -> Self {
        let component = Component::controller(api, "namespace-controller");
        Self { component, terminating: BTreeSet::new() }
    }

    /// Deletes the content of a namespace; returns what remains.
    fn delete_content(&self, namespace: &str) -> Result<NamespaceContent, StatusError> {
        let mut content = NamespaceContent::default();
        let catalog = self.component.api().catalog();
        let deletable = |resource: &&Arc<Resource>| {
            let can = |verb| resource.verbs.contains(&verb);
            resource.namespaced && can(Verb::Delete) && can(Verb::List)
        };
        for resource in catalog.resources().filter(deletable) {
            if catalog.kind(&resource.group, &resource.kind) != Some(resource) {
                continue;
            }
            for object in self.component.list(resource, namespace)? {
                if let Err(refusal) = self.component.delete_object(resource, &object) {
                    content.add_failure(refusal.to_string());
                }
            }
            for object in self.component.list(resource, namespace)? {
                content.add(&resource.plural, &resource.group, &object);
            }
        }
        Ok(content)
    }

    fn update_conditions(
        &self,
        namespace: &Namespace,
        content: &NamespaceContent,
        now: Timestamp,
    ) -> Result<(), StatusError> {
        let mut status = namespace.status.clone().unwrap_or_default();
        let conditions = content.conditions(&status.conditions.unwrap_or_default(), now);
        status.conditions = Some(conditions);
        if namespace.status.as_ref() != Some(&status) {
            let updated = Namespace { status: Some(status), ..namespace.clone() };
            self.component.client().update_status(&updated)?;
        }
        Ok(())
    }

    fn finalize(&self, namespace: &Namespace) -> Result<(), StatusError> {
        let mut done = namespace.clone();
        if let Some(finalizers) = done.spec.as_mut().and_then(|spec| spec.finalizers.as_mut()) {
            finalizers.retain(|finalizer| finalizer != CONTENT_FINALIZER);
        }
        let catalog = self.component.api().catalog();
        let Some(resource) = catalog.kind("", "Namespace") else { return Ok(()) };
        let key = ObjectKey::of_metadata(&namespace.metadata);
        self.component.put(resource, &key, Subresource::Finalize, json!(done))
    }
}

impl Controller for Namespaces {
    type Key = String;

    const SCOPE: WatchScope = WatchScope::Everything;

    fn component(&self) -> &Component {
        &self.component
    }

    fn restart(&mut self) {
        self.terminating.clear();
    }

    fn keys_for_event(&mut self, event: &WatchEvent) -> Result<Vec<String>, StatusError> {
        let ObjectKey { namespace, name } = ObjectKey::of(&event.object);
        if event.resource.kind != "Namespace" || !event.resource.group.is_empty() {
            return Ok(Some(namespace)
                .filter(|it| self.terminating.contains(it))
                .into_iter()
                .collect());
        }
        let deleting = event.object.pointer("/metadata/deletionTimestamp").is_some();
        if deleting && event.kind != EventKind::Deleted {
            self.terminating.insert(name.clone());
            return Ok(vec![name]);
        }
        self.terminating.remove(&name);
        Ok(Vec::new())
    }

    fn reconcile(&mut self, name: &String, now: Timestamp) -> Result<Requeue, StatusError> {
        let namespace = self.component.client().get::<Namespace>("", name)?;
        let deleting = namespace.filter(|it| it.metadata.deletion_timestamp.is_some());
        let Some(namespace) = deleting else { return Ok(Requeue::Never) };
        let finalizers = namespace.spec.as_ref().and_then(|spec| spec.finalizers.as_deref());
        if !finalizers.unwrap_or_default().iter().any(|finalizer| finalizer == CONTENT_FINALIZER) {
            return Ok(Requeue::Never);
        }
        let content = self.delete_content(name)?;
        if content.is_empty() {
            self.finalize(&namespace)?;
        } else {
            self.update_conditions(&namespace, &content, now)?;
        }
        Ok(Requeue::Never)
    }
}
