//! What is particular to a kind: a built-in one, or one that a definition declares.

use std::sync::Arc;

use serde_json::Value;

use super::definitions::{Defined, Served};
use super::refusals::field_error;
use super::{Refusal, meta, plain};
use crate::apply::Reach;
use crate::catalog::{Resource, Subresource};
use crate::definition::{FieldError, FieldErrorKind, Version};
use crate::schema::Schema;

/// What is particular to a kind.
pub(super) struct Strategy {
    resource: Arc<Resource>,
    rules: Rules,
}

enum Rules {
    BuiltIn { schema: Schema },
    Custom { defined: Arc<Defined>, version: usize },
}

/// An object as the kind sees it, and the paths of what it does not know.
pub(super) struct Read {
    pub(super) object: Value,
    pub(super) unknown: Vec<String>,
}

/// The built-in kinds that an update without a resource version cannot change.
const CONDITIONAL: [(&str, &str); 1] = [("coordination.k8s.io", "Lease")];

/// The built-in kinds that an update makes where they are missing.
const MADE_BY_UPDATES: [(&str, &str); 3] =
    [("", "Event"), ("", "LimitRange"), ("coordination.k8s.io", "Lease")];

impl Strategy {
    /// The strategy of a resource, if it is still served.
    pub(super) fn of(resource: &Arc<Resource>, served: &Served) -> Result<Self, Refusal> {
        let rules = match &resource.custom {
            None => {
                let schema = Schema::builtin(&resource.group, &resource.kind);
                Rules::BuiltIn { schema: schema.unwrap_or(Schema::Deduced) }
            }
            Some(custom) => {
                let found = served.find(&custom.definition, &resource.version);
                let (defined, version) = found.ok_or_else(Refusal::unknown_resource)?;
                Rules::Custom { defined, version }
            }
        };
        Ok(Self { resource: Arc::clone(resource), rules })
    }

    /// The definition, if it is a custom resource.
    pub(super) fn defined(&self) -> Option<&Defined> {
        match &self.rules {
            Rules::BuiltIn { .. } => None,
            Rules::Custom { defined, .. } => Some(defined),
        }
    }

    /// How its objects merge.
    pub(super) fn schema(&self) -> &Schema {
        match &self.rules {
            Rules::BuiltIn { schema } => schema,
            Rules::Custom { defined, version } => defined.schema(*version),
        }
    }

    /// What an object is before anything is set.
    pub(super) fn blank(&self) -> &Value {
        &Value::Null
    }

    /// Which fields a write can change.
    pub(super) fn reach(&self, subresource: Option<Subresource>) -> Reach<'static> {
        let has_status = self.resource.subresources.contains(&Subresource::Status);
        match (subresource, &self.rules) {
            (Some(Subresource::Status), Rules::Custom { .. }) => Reach::Only(&["status"]),
            (Some(Subresource::Status), Rules::BuiltIn { .. }) => Reach::Except(&["spec"]),
            _ if has_status => Reach::Except(&["status"]),
            _ => Reach::Everything,
        }
    }

    /// Whether an update has to say which version of the object it replaces.
    pub(super) fn needs_a_resource_version(&self) -> bool {
        matches!(self.rules, Rules::Custom { .. }) || self.is_one_of(&CONDITIONAL)
    }

    /// Whether an update makes the object where it is missing.
    pub(super) fn is_made_by_updates(&self) -> bool {
        self.is_one_of(&MADE_BY_UPDATES)
    }

    fn is_one_of(&self, kinds: &[(&str, &str)]) -> bool {
        self.resource.custom.is_none()
            && kinds.contains(&(&*self.resource.group, &*self.resource.kind))
    }

    /// Takes an object apart and puts it together again, without what the kind does not know.
    pub(super) fn read(&self, mut object: Value) -> Result<Read, Refusal> {
        if let Rules::Custom { .. } = &self.rules {
            self.version().prune(&mut object);
        }
        Ok(Read { object, unknown: Vec::new() })
    }

    /// Fills in what the client left out.
    pub(super) fn default(&self, object: &mut Value) {
        if let Rules::Custom { .. } = &self.rules {
            self.version().default(object);
        }
    }

    /// What a client cannot choose when it makes an object.
    pub(super) fn prepare_create(&self, object: &mut Value) {
        match &self.rules {
            Rules::BuiltIn { .. } => plain::prepare_create(&self.resource, object),
            Rules::Custom { .. } => {
                self.version().keep_status(object, None);
                meta::set(object, "generation", 1);
            }
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
            Rules::BuiltIn { .. } => {
                plain::prepare_update(&self.resource, object, old, subresource);
            }
            Rules::Custom { .. } => self.prepare_custom_update(object, old, subresource),
        }
    }

    fn prepare_custom_update(
        &self,
        object: &mut Value,
        old: &Value,
        subresource: Option<Subresource>,
    ) {
        let version = self.version();
        if subresource == Some(Subresource::Status) {
            *object = version.take_status(object, old);
            return;
        }
        version.keep_status(object, Some(old));
        let content = |object: &Value| {
            let mut fields = object.as_object().cloned().unwrap_or_default();
            fields.remove("metadata");
            if version.has_status() {
                fields.remove("status");
            }
            fields
        };
        if content(object) != content(old) {
            let generation = meta::field(old, "generation").and_then(Value::as_i64);
            meta::set(object, "generation", generation.unwrap_or_default() + 1);
        }
    }

    /// Everything that is wrong with a new object.
    pub(super) fn validate(&self, object: &Value) -> Vec<FieldError> {
        let mut errors = metadata_errors(object);
        if let Rules::Custom { .. } = &self.rules {
            errors.extend(self.version().validate(object, None));
        }
        errors
    }

    /// Everything that is wrong with what is to replace an object.
    pub(super) fn validate_update(
        &self,
        object: &Value,
        old: &Value,
        _subresource: Option<Subresource>,
    ) -> Vec<FieldError> {
        match &self.rules {
            Rules::BuiltIn { .. } => Vec::new(),
            Rules::Custom { .. } => self.version().validate(object, Some(old)),
        }
    }

    /// The object in the version that was asked for.
    pub(super) fn shown(&self, object: &Arc<Value>) -> Arc<Value> {
        let version = self.resource.api_version();
        if object.get("apiVersion").and_then(Value::as_str) == Some(&version) {
            return Arc::clone(object);
        }
        Arc::new(in_version((**object).clone(), version))
    }

    /// The object in the version that is stored.
    pub(super) fn stored(&self, object: Value) -> Value {
        match &self.rules {
            Rules::BuiltIn { .. } => object,
            Rules::Custom { defined, .. } => in_version(object, defined.storage_version()),
        }
    }

    fn version(&self) -> &Version {
        match &self.rules {
            Rules::BuiltIn { .. } => unreachable!("built-in kinds have no definition"),
            Rules::Custom { defined, version } => defined.version(*version),
        }
    }
}

fn in_version(mut object: Value, version: String) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), version.into());
    }
    object
}

fn metadata_errors(object: &Value) -> Vec<FieldError> {
    if meta::text(object, "name").is_empty() {
        let detail = "name or generateName is required";
        let kind = FieldErrorKind::Required;
        return vec![field_error(kind, "metadata.name", Value::Null, detail)];
    }
    Vec::new()
}
