//! Every namespace has the certificate by which its pods know the API server.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::machinery::{Change, Component, Controller, Outcome, Scope, inhabited_namespace};
use crate::api::{Api, Refusal};

const NAME: &str = "kube-root-ca.crt";
const FIELD: &str = "ca.crt";
const DESCRIPTION: (&str, &str) = (
    "kubernetes.io/description",
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.",
);

pub(super) struct RootCertificates {
    component: Component,
    content: BTreeMap<String, String>,
}

impl RootCertificates {
    pub(super) fn new(api: &Api, certificate: &str) -> Self {
        let component = Component::controller(api, "root-ca-cert-publisher");
        let content = BTreeMap::from([(FIELD.to_owned(), certificate.to_owned())]);
        Self { component, content }
    }

    fn config_map(&self, namespace: &str) -> ConfigMap {
        let (key, text) = DESCRIPTION;
        ConfigMap {
            metadata: ObjectMeta {
                name: Some(NAME.to_owned()),
                namespace: Some(namespace.to_owned()),
                annotations: Some(BTreeMap::from([(key.to_owned(), text.to_owned())])),
                ..ObjectMeta::default()
            },
            data: Some(self.content.clone()),
            ..ConfigMap::default()
        }
    }
}

impl Controller for RootCertificates {
    type Key = String;

    const SCOPE: Scope = Scope::Kinds(&[("", "Namespace"), ("", "ConfigMap")]);

    fn component(&self) -> &Component {
        &self.component
    }

    fn affected(&mut self, change: &Change) -> Result<Vec<String>, Refusal> {
        Ok(inhabited_namespace(change, NAME).into_iter().collect())
    }

    fn reconcile(&mut self, namespace: &String, _: Timestamp) -> Result<Outcome, Refusal> {
        let client = self.component.client();
        let stays = |it: &Namespace| it.metadata.deletion_timestamp.is_none();
        if !client.get::<Namespace>("", namespace)?.as_ref().is_some_and(stays) {
            return Ok(Outcome::Done);
        }
        match client.get::<ConfigMap>(namespace, NAME)? {
            None => {
                client.create(&self.config_map(namespace))?;
            }
            Some(found) if found.data.as_ref() != Some(&self.content) => {
                client.update(&ConfigMap { data: Some(self.content.clone()), ..found })?;
            }
            Some(_) => {}
        }
        Ok(Outcome::Done)
    }
}
