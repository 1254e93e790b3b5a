//! Objects that every namespace contains: the ServiceAccount `default` and the root CA certificate.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::api::{Api, StatusError};
use crate::controllers::runtime::{
    Component, Controller, Requeue, WatchEvent, WatchScope, namespace_to_reconcile,
};

const SERVICE_ACCOUNT_NAME: &str = "default";

pub(in crate::controllers) struct ServiceAccounts {
    component: Component,
}

impl ServiceAccounts {
    pub(in crate::controllers) fn new(api: &Api) -> Self {
        Self { component: Component::controller(api, "service-account-controller") }
    }
}

impl Controller for ServiceAccounts {
    type Key = String;

    const SCOPE: WatchScope = WatchScope::Kinds(&[("", "Namespace"), ("", "ServiceAccount")]);

    fn component(&self) -> &Component {
        &self.component
    }

    fn keys_for_event(&mut self, event: &WatchEvent) -> Result<Vec<String>, StatusError> {
        Ok(namespace_to_reconcile(event, SERVICE_ACCOUNT_NAME).into_iter().collect())
    }

    fn reconcile(&mut self, namespace: &String, _: Timestamp) -> Result<Requeue, StatusError> {
        let client = self.component.client();
        let stays = |it: &Namespace| it.metadata.deletion_timestamp.is_none();
        let is_there = client.get::<Namespace>("", namespace)?.as_ref().is_some_and(stays);
        if is_there && client.get::<ServiceAccount>(namespace, SERVICE_ACCOUNT_NAME)?.is_none() {
            client.create(&ServiceAccount {
                metadata: ObjectMeta {
                    name: Some(SERVICE_ACCOUNT_NAME.to_owned()),
                    namespace: Some(namespace.clone()),
                    ..ObjectMeta::default()
                },
                ..ServiceAccount::default()
            })?;
        }
        Ok(Requeue::Never)
    }
}

const ROOT_CA_NAME: &str = "kube-root-ca.crt";
const FIELD: &str = "ca.crt";
const DESCRIPTION: (&str, &str) = (
    "kubernetes.io/description",
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.",
);

pub(in crate::controllers) struct RootCaPublisher {
    component: Component,
    content: BTreeMap<String, String>,
}

impl RootCaPublisher {
    pub(in crate::controllers) fn new(api: &Api, certificate: &str) -> Self {
        let component = Component::controller(api, "root-ca-cert-publisher");
        let content = BTreeMap::from([(FIELD.to_owned(), certificate.to_owned())]);
        Self { component, content }
    }

    fn config_map(&self, namespace: &str) -> ConfigMap {
        let (key, text) = DESCRIPTION;
        ConfigMap {
            metadata: ObjectMeta {
                name: Some(ROOT_CA_NAME.to_owned()),
                namespace: Some(namespace.to_owned()),
                annotations: Some(BTreeMap::from([(key.to_owned(), text.to_owned())])),
                ..ObjectMeta::default()
            },
            data: Some(self.content.clone()),
            ..ConfigMap::default()
        }
    }
}

impl Controller for RootCaPublisher {
    type Key = String;

    const SCOPE: WatchScope = WatchScope::Kinds(&[("", "Namespace"), ("", "ConfigMap")]);

    fn component(&self) -> &Component {
        &self.component
    }

    fn keys_for_event(&mut self, event: &WatchEvent) -> Result<Vec<String>, StatusError> {
        Ok(namespace_to_reconcile(event, ROOT_CA_NAME).into_iter().collect())
    }

    fn reconcile(&mut self, namespace: &String, _: Timestamp) -> Result<Requeue, StatusError> {
        let client = self.component.client();
        let stays = |it: &Namespace| it.metadata.deletion_timestamp.is_none();
        if !client.get::<Namespace>("", namespace)?.as_ref().is_some_and(stays) {
            return Ok(Requeue::Never);
        }
        match client.get::<ConfigMap>(namespace, ROOT_CA_NAME)? {
            None => {
                client.create(&self.config_map(namespace))?;
            }
            Some(found) if found.data.as_ref() != Some(&self.content) => {
                client.update(&ConfigMap { data: Some(self.content.clone()), ..found })?;
            }
            Some(_) => {}
        }
        Ok(Requeue::Never)
    }
}
