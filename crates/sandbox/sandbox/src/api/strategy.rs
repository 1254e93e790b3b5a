//! What is particular to a kind: a built-in one, or one that a definition declares.

use std::sync::Arc;

use serde_json::Value;

use super::custom::Custom;
use super::definitions::Served;
use super::{Refusal, events};
use crate::apply::Reach;
use crate::builtin::{self, Kind, Read};
use crate::catalog::{Resource, Subresource};
use crate::field_error::FieldError;
use crate::metadata::{self, NameRule};
use crate::schema::Schema;
use crate::store;

/// What is particular to a kind.
#[derive(Clone)]
pub(super) struct Strategy {
    resource: Arc<Resource>,
    rules: Rules,
}

#[derive(Clone)]
enum Rules {
    BuiltIn { kind: &'static Kind, schema: Schema },
    Custom(Custom),
}

/// The built-in kinds that an update without a resource version cannot change.
const CONDITIONAL: [(&str, &str); 6] = [
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("coordination.k8s.io", "Lease"),
    ("policy", "PodDisruptionBudget"),
];

/// The built-in kinds that an update makes where they are missing.
const MADE_BY_UPDATES: [(&str, &str); 9] = [
    ("", "Endpoints"),
    ("", "Event"),
    ("", "LimitRange"),
    ("coordination.k8s.io", "Lease"),
    ("events.k8s.io", "Event"),
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
];

impl Strategy {
    /// The strategy of a resource, if it is still served.
    pub(super) fn of(resource: &Arc<Resource>, served: &Served) -> Result<Self, Refusal> {
        let rules = match &resource.custom {
            None => {
                let (group, kind) = (&resource.group, &resource.kind);
                let schema = Schema::builtin(group, kind).unwrap_or(Schema::Deduced);
                let kind = builtin::kind(group, kind);
                let kind = kind.ok_or_else(|| Refusal::not_implemented(&resource.kind))?;
                Rules::BuiltIn { kind, schema }
            }
            Some(custom) => {
                let found = served.find(&custom.definition, &resource.version);
                Rules::Custom(found.ok_or_else(Refusal::unknown_resource)?)
            }
        };
        Ok(Self { resource: Arc::clone(resource), rules })
    }

    /// What only custom resources have.
    pub(super) fn custom(&self) -> Option<&Custom> {
        match &self.rules {
            Rules::BuiltIn { .. } => None,
            Rules::Custom(custom) => Some(custom),
        }
    }

    /// Where its objects are stored.
    pub(super) fn storage(&self) -> store::Resource {
        let group = if self.is_newer_event() { "" } else { &self.resource.group };
        store::Resource::new(group, &self.resource.plural)
    }

    /// How its objects merge.
    pub(super) fn schema(&self) -> &Schema {
        match &self.rules {
            Rules::BuiltIn { schema, .. } => schema,
            Rules::Custom(custom) => custom.schema(),
        }
    }

    /// What an object is before anything is set.
    pub(super) fn blank(&self) -> &Value {
        match &self.rules {
            Rules::BuiltIn { kind, .. } => kind.blank(),
            Rules::Custom(_) => &Value::Null,
        }
    }

    /// Which fields a write can change.
    pub(super) fn reach(&self, subresource: Option<Subresource>) -> Reach<'static> {
        let has_status = self.resource.subresources.contains(&Subresource::Status);
        match (subresource, &self.rules) {
            (Some(Subresource::Status), Rules::Custom(_)) => Reach::Only(&["status"]),
            (Some(Subresource::Status), Rules::BuiltIn { .. }) => Reach::Except(&["spec"]),
            _ if has_status => Reach::Except(&["status"]),
            _ => Reach::Everything,
        }
    }

    /// Whether an update has to say which version of the object it replaces.
    pub(super) fn needs_a_resource_version(&self) -> bool {
        self.custom().is_some() || self.is_one_of(&CONDITIONAL)
    }

    /// Whether an update makes the object where it is missing.
    pub(super) fn is_made_by_updates(&self) -> bool {
        self.is_one_of(&MADE_BY_UPDATES)
    }

    /// Takes an object apart and puts it together again, without what the kind does not know.
    /// The error is the end of a sentence of the real server.
    pub(super) fn read(&self, object: Value) -> Result<Read, String> {
        match &self.rules {
            Rules::BuiltIn { kind, .. } => kind.read(object).map_err(|error| error.to_string()),
            Rules::Custom(custom) => custom.read(object),
        }
    }

    /// Fills in what the client left out.
    pub(super) fn default(&self, object: &mut Value) {
        match &self.rules {
            Rules::BuiltIn { kind, .. } => kind.default(object),
            Rules::Custom(custom) => custom.version().default(object),
        }
    }

    /// What a client cannot choose when it makes an object.
    pub(super) fn prepare_create(&self, object: &mut Value) {
        match &self.rules {
            Rules::BuiltIn { kind, .. } => kind.prepare_create(object),
            Rules::Custom(custom) => custom.prepare_create(object),
        }
    }

    /// What a client cannot change.
    pub(super) fn prepare_update(
        &self,
        object: &mut Value,
        old: &Value,
        subresource: Option<Subresource>,
    ) {
        match &self.rules {
            Rules::BuiltIn { kind, .. } => kind.prepare_update(object, old, subresource),
            Rules::Custom(custom) => custom.prepare_update(object, old, subresource),
        }
    }

    /// Everything that is wrong with a new object.
    pub(super) fn validate(&self, object: &Value) -> Vec<FieldError> {
        let name_rule = match &self.rules {
            Rules::BuiltIn { kind, .. } => kind.name_rule(),
            Rules::Custom(_) => NameRule::Subdomain,
        };
        let mut errors = metadata::validate(object, self.resource.namespaced, name_rule);
        match &self.rules {
            Rules::BuiltIn { kind, .. } => errors.extend(kind.validate(object)),
            Rules::Custom(custom) => errors.extend(custom.validate(object, None)),
        }
        errors
    }

    /// Everything that is wrong with what is to replace an object.
    pub(super) fn validate_update(
        &self,
        object: &Value,
        old: &Value,
        subresource: Option<Subresource>,
    ) -> Vec<FieldError> {
        let mut errors = metadata::validate_update(object, old);
        match &self.rules {
            Rules::BuiltIn { kind, .. } => {
                errors.extend(kind.validate_update(object, old, subresource));
            }
            Rules::Custom(custom) => errors.extend(custom.validate(object, Some(old))),
        }
        // What a definition is named after is checked when it begins; neither can change later.
        errors.retain(|error| !self.defines() || error.path != "metadata.name");
        errors
    }

    /// The object as those see it who ask for this resource.
    pub(super) fn shown(&self, object: &Arc<Value>) -> Arc<Value> {
        match &self.rules {
            Rules::Custom(custom) => custom.shown(object),
            Rules::BuiltIn { .. } if self.is_newer_event() => {
                Arc::new(events::newer((**object).clone()))
            }
            Rules::BuiltIn { .. } => Arc::clone(object),
        }
    }

    /// The object as it is stored.
    pub(super) fn stored(&self, object: Value) -> Value {
        match &self.rules {
            Rules::Custom(custom) => custom.stored(object),
            Rules::BuiltIn { .. } if self.is_newer_event() => events::older(object),
            Rules::BuiltIn { .. } => object,
        }
    }

    /// Whether its objects are stored as others see them.
    pub(super) fn is_shown_as_stored(&self) -> bool {
        match &self.rules {
            Rules::Custom(custom) => custom.is_shown_as_stored(),
            Rules::BuiltIn { .. } => !self.is_newer_event(),
        }
    }

    /// Whether its objects define other resources.
    pub(super) fn defines(&self) -> bool {
        self.is_one_of(&[("apiextensions.k8s.io", "CustomResourceDefinition")])
    }

    /// Events have two forms, of which the older one is stored.
    fn is_newer_event(&self) -> bool {
        self.is_one_of(&[("events.k8s.io", "Event")])
    }

    fn is_one_of(&self, kinds: &[(&str, &str)]) -> bool {
        let Resource { group, kind, custom, .. } = &*self.resource;
        custom.is_none() && kinds.contains(&(group, kind))
    }
}
