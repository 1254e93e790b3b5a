//! Every namespace has a ServiceAccount for pods that name none.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::machinery::{Change, Component, Controller, Outcome, Scope, inhabited_namespace};
use crate::api::{Api, Refusal};

const NAME: &str = "default";

pub(super) struct ServiceAccounts {
    component: Component,
}

impl ServiceAccounts {
    pub(super) fn new(api: &Api) -> Self {
        Self { component: Component::controller(api, "service-account-controller") }
    }
}

impl Controller for ServiceAccounts {
    type Key = String;

    const SCOPE: Scope = Scope::Kinds(&[("", "Namespace"), ("", "ServiceAccount")]);

    fn component(&self) -> &Component {
        &self.component
    }

    fn affected(&mut self, change: &Change) -> Result<Vec<String>, Refusal> {
        Ok(inhabited_namespace(change, NAME).into_iter().collect())
    }

    fn reconcile(&mut self, namespace: &String, _: Timestamp) -> Result<Outcome, Refusal> {
        let client = self.component.client();
        let stays = |it: &Namespace| it.metadata.deletion_timestamp.is_none();
        let is_there = client.get::<Namespace>("", namespace)?.as_ref().is_some_and(stays);
        if is_there && client.get::<ServiceAccount>(namespace, NAME)?.is_none() {
            client.create(&ServiceAccount {
                metadata: ObjectMeta {
                    name: Some(NAME.to_owned()),
                    namespace: Some(namespace.clone()),
                    ..ObjectMeta::default()
                },
                ..ServiceAccount::default()
            })?;
        }
        Ok(Outcome::Done)
    }
}
