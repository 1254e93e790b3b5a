//! Kind-specific behaviour of built-in kinds and custom resources.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::crds::{ScalePaths, ServedCrd, ServedResources};
use super::{ApiResult, StatusError, meta};
use crate::apply::WritableFields;
use crate::builtin::{self, Decoded, Kind};
use crate::catalog::{Resource, Subresource};
use crate::crd::CrdVersion;
use crate::field_error::FieldError;
use crate::metadata::{self, NameRule};
use crate::schema::Schema;
use crate::store::ResourceKey;

/// Built-in kinds whose updates require a resource version.
const VERSION_REQUIRED: [(&str, &str); 6] = [
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("coordination.k8s.io", "Lease"),
    ("policy", "PodDisruptionBudget"),
];

/// Built-in kinds that an update creates if they are missing.
const CREATED_BY_UPDATE: [(&str, &str); 9] = [
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

/// Field names in `v1` and in `events.k8s.io/v1`.
const EVENT_FIELD_NAMES: [(&str, &str); 7] = [
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
];

/// Kind-specific behaviour, like the REST strategies of the API server.
#[derive(Clone)]
pub(super) struct Strategy {
    resource: Arc<Resource>,
    rules: StrategyRules,
}

#[derive(Clone)]
enum StrategyRules {
    BuiltIn { kind: &'static Kind, schema: Schema },
    Custom(CustomVersion),
}

impl Strategy {
    /// The strategy of a resource, if it is still served.
    pub(super) fn find(resource: &Arc<Resource>, served: &ServedResources) -> ApiResult<Self> {
        let rules = match &resource.custom {
            None => {
                let (group, kind) = (&resource.group, &resource.kind);
                let schema = Schema::builtin(group, kind).unwrap_or(Schema::Deduced);
                let kind = builtin::kind(group, kind);
                let kind = kind.ok_or_else(|| StatusError::not_implemented(&resource.kind))?;
                StrategyRules::BuiltIn { kind, schema }
            }
            Some(custom) => {
                let found = served.find(&custom.definition, &resource.version);
                StrategyRules::Custom(found.ok_or_else(StatusError::unknown_resource)?)
            }
        };
        Ok(Self { resource: Arc::clone(resource), rules })
    }

    /// The CRD version, for custom resources.
    pub(super) fn custom(&self) -> Option<&CustomVersion> {
        match &self.rules {
            StrategyRules::BuiltIn { .. } => None,
            StrategyRules::Custom(custom) => Some(custom),
        }
    }

    /// The storage location of its objects.
    pub(super) fn storage(&self) -> ResourceKey {
        let group = if self.is_events_v1() { "" } else { &self.resource.group };
        ResourceKey::new(group, &self.resource.plural)
    }

    /// The merge schema.
    pub(super) fn schema(&self) -> &Schema {
        match &self.rules {
            StrategyRules::BuiltIn { schema, .. } => schema,
            StrategyRules::Custom(custom) => custom.schema(),
        }
    }

    /// An empty object of the kind, with the structures that are always present.
    pub(super) fn blank(&self) -> &Value {
        match &self.rules {
            StrategyRules::BuiltIn { kind, .. } => kind.blank(),
            StrategyRules::Custom(_) => &Value::Null,
        }
    }

    /// Top-level fields that a write can change.
    pub(super) fn writable(&self, subresource: Option<Subresource>) -> WritableFields<'static> {
        let has_status = self.resource.subresources.contains(&Subresource::Status);
        match (subresource, &self.rules) {
            (Some(Subresource::Status), StrategyRules::Custom(_)) => {
                WritableFields::Only(&["status"])
            }
            (Some(Subresource::Status), StrategyRules::BuiltIn { .. }) => {
                WritableFields::Except(&["spec"])
            }
            _ if has_status => WritableFields::Except(&["status"]),
            _ => WritableFields::All,
        }
    }

    /// Whether updates require a resource version.
    pub(super) fn requires_resource_version(&self) -> bool {
        self.custom().is_some() || self.is_one_of(&VERSION_REQUIRED)
    }

    /// Whether an update creates a missing object.
    pub(super) fn creates_on_update(&self) -> bool {
        self.is_one_of(&CREATED_BY_UPDATE)
    }

    /// Decodes an object and drops unknown fields. The error completes a message of the API server.
    pub(super) fn read(&self, object: Value) -> Result<Decoded, String> {
        match &self.rules {
            StrategyRules::BuiltIn { kind, .. } => {
                kind.read(object).map_err(|error| error.to_string())
            }
            StrategyRules::Custom(custom) => custom.read(object),
        }
    }

    /// Applies defaults.
    pub(super) fn default(&self, object: &mut Value) {
        match &self.rules {
            StrategyRules::BuiltIn { kind, .. } => kind.default(object),
            StrategyRules::Custom(custom) => custom.version().default(object),
        }
    }

    /// Resets fields that clients cannot set on creation.
    pub(super) fn prepare_create(&self, object: &mut Value) {
        match &self.rules {
            StrategyRules::BuiltIn { kind, .. } => kind.prepare_create(object),
            StrategyRules::Custom(custom) => custom.prepare_create(object),
        }
    }

    /// Keeps fields that clients cannot change.
    pub(super) fn prepare_update(
        &self,
        object: &mut Value,
        old: &Value,
        subresource: Option<Subresource>,
    ) {
        match &self.rules {
            StrategyRules::BuiltIn { kind, .. } => kind.prepare_update(object, old, subresource),
            StrategyRules::Custom(custom) => custom.prepare_update(object, old, subresource),
        }
    }

    /// Validates a new object.
    pub(super) fn validate(&self, object: &Value) -> Vec<FieldError> {
        let name_rule = match &self.rules {
            StrategyRules::BuiltIn { kind, .. } => kind.name_rule(),
            StrategyRules::Custom(_) => NameRule::Subdomain,
        };
        let mut errors = metadata::validate(object, self.resource.namespaced, name_rule);
        match &self.rules {
            StrategyRules::BuiltIn { kind, .. } => errors.extend(kind.validate(object)),
            StrategyRules::Custom(custom) => errors.extend(custom.validate(object, None)),
        }
        errors
    }

    /// Validates an update.
    pub(super) fn validate_update(
        &self,
        object: &Value,
        old: &Value,
        subresource: Option<Subresource>,
    ) -> Vec<FieldError> {
        let mut errors = metadata::validate_update(object, old);
        match &self.rules {
            StrategyRules::BuiltIn { kind, .. } => {
                errors.extend(kind.validate_update(object, old, subresource));
            }
            StrategyRules::Custom(custom) => errors.extend(custom.validate(object, Some(old))),
        }
        // The name of a CRD follows from immutable fields, so it is validated on creation only.
        errors.retain(|error| !self.is_crd() || error.path != "metadata.name");
        errors
    }

    /// The object in the requested version.
    pub(super) fn to_requested_version(&self, object: &Arc<Value>) -> Arc<Value> {
        match &self.rules {
            StrategyRules::Custom(custom) => custom.to_requested_version(object),
            StrategyRules::BuiltIn { .. } if self.is_events_v1() => {
                Arc::new(events_to_events_v1((**object).clone()))
            }
            StrategyRules::BuiltIn { .. } => Arc::clone(object),
        }
    }

    /// The object in the stored version.
    pub(super) fn to_storage_version(&self, object: Value) -> Value {
        match &self.rules {
            StrategyRules::Custom(custom) => custom.to_storage_version(object),
            StrategyRules::BuiltIn { .. } if self.is_events_v1() => events_to_core_v1(object),
            StrategyRules::BuiltIn { .. } => object,
        }
    }

    /// Whether objects are returned as stored.
    pub(super) fn returns_stored_objects(&self) -> bool {
        match &self.rules {
            StrategyRules::Custom(custom) => custom.returns_stored_objects(),
            StrategyRules::BuiltIn { .. } => !self.is_events_v1(),
        }
    }

    /// Whether it is the strategy of CRDs.
    pub(super) fn is_crd(&self) -> bool {
        self.is_one_of(&[("apiextensions.k8s.io", "CustomResourceDefinition")])
    }

    /// Whether it is `events.k8s.io/v1` Event, which is stored as `v1`.
    fn is_events_v1(&self) -> bool {
        self.is_one_of(&[("events.k8s.io", "Event")])
    }

    fn is_one_of(&self, kinds: &[(&str, &str)]) -> bool {
        let Resource { group, kind, custom, .. } = &*self.resource;
        custom.is_none() && kinds.contains(&(group, kind))
    }
}

/// One served version of a CRD.
#[derive(Clone)]
pub(super) struct CustomVersion {
    served: Arc<ServedCrd>,
    version: usize,
}

impl CustomVersion {
    pub(super) fn new(served: Arc<ServedCrd>, version: usize) -> Self {
        Self { served, version }
    }

    /// Schema and rules of the version.
    pub(super) fn version(&self) -> &CrdVersion {
        &self.served.crd.versions()[self.version]
    }

    /// The merge schema for patches and server-side apply.
    pub(super) fn schema(&self) -> &Schema {
        &self.served.versions[self.version].schema
    }

    /// The paths of the scale subresource.
    pub(super) fn scale(&self) -> Option<&ScalePaths> {
        self.served.versions[self.version].scale.as_ref()
    }

    /// Whether the CRD is being deleted together with its objects.
    pub(super) fn is_terminating(&self) -> bool {
        self.served.is_terminating
    }

    /// Prunes unknown fields and decodes the metadata.
    pub(super) fn read(&self, mut object: Value) -> Result<Decoded, String> {
        let mut unknown = Vec::new();
        if let Some(metadata) = object.get_mut("metadata").map(Value::take)
            // All kinds have the same metadata, so any built-in kind can decode it.
            && let Some(kind) = builtin::kind("", "ConfigMap")
        {
            let read = kind.read(json!({ "metadata": metadata }));
            let mut read = read.map_err(|error| {
                error.to_string().replace("struct field ConfigMap.metadata", "value")
            })?;
            unknown.append(&mut read.unknown);
            object["metadata"] = read.object["metadata"].take();
            // Untyped objects have no null `creationTimestamp`.
            if meta::field(&object, "creationTimestamp").is_none() {
                meta::remove(&mut object, "creationTimestamp");
            }
        }
        let mut pruned = object.clone();
        self.version().prune(&mut pruned);
        collect_dropped(&object, &pruned, "", &mut unknown);
        Ok(Decoded { object: pruned, unknown })
    }

    /// Resets the status and sets generation 1.
    pub(super) fn prepare_create(&self, object: &mut Value) {
        self.version().retain_status(object, None);
        meta::set(object, "generation", 1);
    }

    /// Keeps the fields that clients cannot change. A changed content increments the generation.
    pub(super) fn prepare_update(
        &self,
        object: &mut Value,
        old: &Value,
        subresource: Option<Subresource>,
    ) {
        let version = self.version();
        if subresource == Some(Subresource::Status) {
            *object = version.with_status(object, old);
            return;
        }
        version.retain_status(object, Some(old));
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
            meta::set(object, "generation", generation.unwrap_or_default().saturating_add(1));
        }
    }

    /// Validates an object by schema, rules and scale.
    pub(super) fn validate(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = self.version().validate(object, old);
        errors.extend(self.scale().and_then(|scale| scale.problem(object)));
        errors
    }

    /// The object in this version. Objects that an older CRD stored are pruned and defaulted again.
    pub(super) fn to_requested_version(&self, object: &Arc<Value>) -> Arc<Value> {
        if self.returns_stored_objects() {
            return Arc::clone(object);
        }
        let version = format!("{}/{}", self.served.crd.group(), self.version().name());
        let mut object = in_version((**object).clone(), version);
        self.version().prune(&mut object);
        self.version().default(&mut object);
        Arc::new(object)
    }

    /// The object in the storage version.
    pub(super) fn to_storage_version(&self, object: Value) -> Value {
        let crd = &self.served.crd;
        in_version(object, format!("{}/{}", crd.group(), crd.storage().name()))
    }

    /// Whether reads return stored objects unchanged: this is the storage version of a CRD whose
    /// spec never changed.
    pub(super) fn returns_stored_objects(&self) -> bool {
        let storage = self.served.crd.storage().name();
        self.served.is_original && self.version().name() == storage
    }
}

fn in_version(mut object: Value, version: String) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), version.into());
    }
    object
}

/// Collects the paths in `before` that are missing in `after`. The JSON parser bounds the depth.
fn collect_dropped(before: &Value, after: &Value, path: &str, paths: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, value) in before {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match after.get(name) {
                    Some(kept) => collect_dropped(value, kept, &path, paths),
                    None => paths.push(path),
                }
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for (index, (value, kept)) in before.iter().zip(after).enumerate() {
                collect_dropped(value, kept, &format!("{path}[{index}]"), paths);
            }
        }
        _ => {}
    }
}

/// Converts to `events.k8s.io/v1`.
pub(super) fn events_to_events_v1(event: Value) -> Value {
    let other =
        |name: &str| EVENT_FIELD_NAMES.iter().find(|(older, _)| *older == name).map(|pair| pair.1);
    rename_event_fields(event, "events.k8s.io/v1", other)
}

/// Converts to `v1`, which is stored.
pub(super) fn events_to_core_v1(event: Value) -> Value {
    let other =
        |name: &str| EVENT_FIELD_NAMES.iter().find(|(_, newer)| *newer == name).map(|pair| pair.0);
    rename_event_fields(event, "v1", other)
}

fn rename_event_fields(
    event: Value,
    version: &str,
    other: impl Fn(&str) -> Option<&'static str>,
) -> Value {
    let Value::Object(fields) = event else { return event };
    let renamed = fields.into_iter().map(|(name, value)| match other(&name) {
        Some(other) => (other.to_owned(), value),
        None => (name, value),
    });
    let mut fields: Map<String, Value> = renamed.collect();
    fields.insert("apiVersion".to_owned(), version.into());
    Value::Object(fields)
}
