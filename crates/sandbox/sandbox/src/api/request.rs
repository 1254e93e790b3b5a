//! A request whose resource is known: what all verbs need.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::strategy::Strategy;
use super::turn::Turn;
use super::{Api, Body, Call, Refusal, Reply, Reviewer, admission};
use crate::apply::Writer;
use crate::catalog::{Resource, Subresource, Verb};
use crate::store::Key;

/// A request whose resource is known.
pub(super) struct Request<'a> {
    pub(super) api: &'a Api,
    pub(super) call: &'a Call,
    pub(super) strategy: Strategy,
    pub(super) now: Timestamp,
    pub(super) reviewer: &'a dyn Reviewer,
    pub(super) turn: Turn<'a>,
}

impl<'a> Request<'a> {
    /// Looks up what the resource means at the moment, and waits for its turn to write it.
    pub(super) fn new(
        api: &'a Api,
        call: &'a Call,
        reviewer: &'a dyn Reviewer,
    ) -> Result<Self, Refusal> {
        let strategy = Strategy::of(&call.resource, &api.served())?;
        let writes = !matches!(call.verb, Verb::Get | Verb::List | Verb::Watch);
        let is_shared = strategy.defines() || admission::core_kind(&call.resource) == "Service";
        let turn = api.shared.turns.turn(writes && is_shared);
        Ok(Self { api, call, strategy, now: api.now(), reviewer, turn })
    }

    pub(super) fn resource(&self) -> &Resource {
        &self.call.resource
    }

    /// The object that is named in the request.
    pub(super) fn key(&self) -> Result<Key, Refusal> {
        self.key_of(self.call.name.as_deref().unwrap_or_default())
    }

    /// An object of this name beside it.
    pub(super) fn key_of(&self, name: &str) -> Result<Key, Refusal> {
        let namespace = self.call.namespace.as_deref().filter(|_| self.resource().namespaced);
        Ok(Key::new(&self.strategy.storage(), namespace, name)?)
    }

    /// The object as it is stored.
    pub(super) fn existing(&self, key: &Key) -> Result<Arc<Value>, Refusal> {
        let object = self.api.store().get(key);
        object.ok_or_else(|| Refusal::not_found(self.resource(), key.name()))
    }

    /// The object that came along.
    pub(super) fn body(&self) -> Result<&Value, Refusal> {
        match &self.call.body {
            Body::Object(object) => Ok(object),
            Body::None | Body::Patch(..) => Err(Refusal::bad_request("an object is missing")),
        }
    }

    /// Who writes, for the ownership of fields.
    pub(super) fn writer<'b>(&'b self, manager: &'b str, api_version: &'b str) -> Writer<'b> {
        let subresource = self.call.subresource;
        Writer {
            manager,
            api_version,
            subresource: subresource.map(Subresource::as_str),
            reach: self.strategy.reach(subresource),
            now: self.now,
            schema: self.strategy.schema(),
            blank: self.strategy.blank(),
        }
    }

    /// An object in the version that was asked for.
    pub(super) fn shown(&self, object: &Arc<Value>, created: bool, warnings: Vec<String>) -> Reply {
        Reply::Object { object: self.strategy.shown(object), created, warnings }
    }
}
