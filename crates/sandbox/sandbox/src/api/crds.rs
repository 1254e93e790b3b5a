//! Served custom resources: compiled CRDs, and their synchronization with the stored ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionCondition as Condition,
    CustomResourceDefinitionNames, CustomResourceDefinitionStatus, CustomResourceDefinitionVersion,
    CustomResourceSubresourceScale,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Deserialize;
use serde_json::{Value, json};

use super::strategy::CustomVersion;
use super::{Api, meta};
use crate::apply::{WritableFields, Writer, track_update};
use crate::catalog::{self, Catalog};
use crate::crd::{Crd, CrdVersion};
use crate::field_error::FieldError;
use crate::schema::Schema;
use crate::store::{Key, ResourceKey};

/// Field manager of the status of CRDs.
const MANAGER: &str = "kube-apiserver";

/// The served resources: built-in kinds and CRDs. It is replaced as a whole.
#[derive(Clone, Default)]
pub(super) struct ServedResources {
    pub(super) catalog: Arc<Catalog>,
    crds: BTreeMap<String, Arc<ServedCrd>>,
}

/// A CRD, compiled for serving its objects.
pub(super) struct ServedCrd {
    pub(super) crd: Crd,
    /// Merge schemas and scale paths, by version.
    pub(super) versions: Vec<ServedVersion>,
    /// Whether it is being deleted together with its objects.
    pub(super) is_terminating: bool,
    /// Whether its spec never changed.
    pub(super) is_original: bool,
    uid: String,
    generation: i64,
}

/// The parts of a version that validation does not need.
pub(super) struct ServedVersion {
    /// The merge schema.
    pub(super) schema: Schema,
    /// The paths of the scale subresource.
    pub(super) scale: Option<ScalePaths>,
}

/// Paths of the scale subresource, as field names.
pub(super) struct ScalePaths {
    pub(super) spec: Vec<String>,
    pub(super) status: Vec<String>,
    pub(super) selector: Option<Vec<String>>,
}

/// Why a CRD is not served.
pub(super) enum CrdNotServed {
    /// It is invalid. The API refuses such CRDs, so it was stored directly.
    Invalid,
    /// Another resource has one of its names.
    Conflict,
}

impl ServedResources {
    /// A served version of a CRD.
    pub(super) fn find(&self, name: &str, version: &str) -> Option<CustomVersion> {
        let served = self.crds.get(name)?;
        let is_it = |it: &CrdVersion| it.is_served() && it.name() == version;
        let version = served.crd.versions().iter().position(is_it)?;
        Some(CustomVersion::new(Arc::clone(served), version))
    }

    /// The CRD with this name, if it is served.
    pub(super) fn crd(&self, name: &str) -> Option<&ServedCrd> {
        self.crds.get(name).map(Arc::as_ref)
    }

    /// The names of all served CRDs.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.crds.keys().map(String::as_str)
    }

    /// Starts to serve a CRD.
    pub(super) fn add(&mut self, object: &CustomResourceDefinition) -> Result<(), CrdNotServed> {
        let name = object.metadata.name.clone().unwrap_or_default();
        let crd = ServedCrd::new(object).map_err(|_| CrdNotServed::Invalid)?;
        Arc::make_mut(&mut self.catalog).define(object).map_err(|_| CrdNotServed::Conflict)?;
        self.crds.insert(name, Arc::new(crd));
        Ok(())
    }

    /// Stops serving a CRD.
    pub(super) fn remove(&mut self, name: &str) {
        Arc::make_mut(&mut self.catalog).undefine(name);
        self.crds.remove(name);
    }
}

impl ServedCrd {
    fn new(object: &CustomResourceDefinition) -> Result<Self, Vec<FieldError>> {
        let metadata = &object.metadata;
        let generation = metadata.generation.unwrap_or_default();
        Ok(Self {
            crd: Crd::new(object)?,
            versions: object.spec.versions.iter().map(ServedVersion::new).collect(),
            is_terminating: metadata.deletion_timestamp.is_some(),
            is_original: generation <= 1,
            uid: metadata.uid.clone().unwrap_or_default(),
            generation,
        })
    }

    /// Whether it was compiled from this generation of the object.
    pub(super) fn is_current(&self, object: &CustomResourceDefinition) -> bool {
        let metadata = &object.metadata;
        self.uid == metadata.uid.as_deref().unwrap_or_default()
            && self.generation == metadata.generation.unwrap_or_default()
            && self.is_terminating == metadata.deletion_timestamp.is_some()
    }
}

impl ServedVersion {
    fn new(version: &CustomResourceDefinitionVersion) -> Self {
        let schema = version.schema.as_ref().and_then(|it| it.open_api_v3_schema.as_ref());
        let scale = version.subresources.as_ref().and_then(|it| it.scale.as_ref());
        Self {
            schema: schema.map_or(Schema::Deduced, Schema::from_crd),
            scale: scale.map(ScalePaths::new),
        }
    }
}

impl ScalePaths {
    fn new(scale: &CustomResourceSubresourceScale) -> Self {
        let fields = |path: &str| {
            let names = path.split('.').filter(|name| !name.is_empty());
            names.map(str::to_owned).collect::<Vec<_>>()
        };
        Self {
            spec: fields(&scale.spec_replicas_path),
            status: fields(&scale.status_replicas_path),
            selector: scale.label_selector_path.as_deref().map(fields),
        }
    }

    /// The error of an invalid replica count.
    pub(super) fn problem(&self, object: &Value) -> Option<FieldError> {
        let value = at(object, &self.spec)?;
        let path = format!(".{}", self.spec.join("."));
        match value.as_i64() {
            Some(0..) => None,
            Some(_) => {
                Some(FieldError::invalid(path, value.clone(), "should be a non-negative integer"))
            }
            None => {
                let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let why = format!(
                    "{path} accessor error: {shown} is of the type {}, expected int64",
                    go_type(value)
                );
                Some(FieldError::invalid(path, 0, why))
            }
        }
    }
}

/// The value at a path of fields.
pub(super) fn at<'a>(object: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, name| value.get(name))
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Synchronizes the served resources with the stored CRDs. The caller holds the write lock.
pub(super) fn sync(api: &Api) {
    let resource = ResourceKey::new("apiextensions.k8s.io", "customresourcedefinitions");
    let objects = api.store().all(resource.group(), resource.plural());
    let stored: Vec<(&Arc<Value>, CustomResourceDefinition)> = objects
        .iter()
        .filter_map(|object| Some((object, CustomResourceDefinition::deserialize(&**object).ok()?)))
        .collect();

    let mut served = (*api.served()).clone();
    let is_stored =
        |name: &str| stored.iter().any(|(_, crd)| crd.metadata.name.as_deref() == Some(name));
    let gone: Vec<String> =
        served.names().filter(|name| !is_stored(name)).map(str::to_owned).collect();
    for name in &gone {
        served.remove(name);
    }

    let mut statuses = Vec::new();
    for (object, crd) in stored {
        let status = serve(&mut served, &crd, api.now());
        if crd.status.as_ref() != Some(&status) {
            statuses.push((object, status));
        }
    }
    // Serve first: clients use a CRD as soon as its status is Established.
    api.serve(served);
    for (object, status) in statuses {
        write_status(api, &resource, object, &status);
    }
}

/// Serves a CRD if possible and returns its new status.
fn serve(
    served: &mut ServedResources,
    crd: &CustomResourceDefinition,
    now: Timestamp,
) -> CustomResourceDefinitionStatus {
    let name = crd.metadata.name.as_deref().unwrap_or_default();
    let before = crd.status.as_ref();
    let is_current = served.crd(name).is_some_and(|it| it.is_current(crd));
    let added = if is_current { Ok(()) } else { served.add(crd) };
    match (added, served.crd(name)) {
        (Ok(()), Some(served_crd)) => served_crd.crd.status(before, now),
        (Err(CrdNotServed::Conflict), _) => conflicting_status(served, crd, now),
        _ => before.cloned().unwrap_or_default(),
    }
}

/// The status of a CRD with conflicting names. Names that were accepted before stay.
fn conflicting_status(
    served: &ServedResources,
    crd: &CustomResourceDefinition,
    now: Timestamp,
) -> CustomResourceDefinitionStatus {
    let before = crd.status.clone().unwrap_or_default();
    let (accepted, conflict) = accepted_names(served, crd);
    let mut conditions = before.conditions.unwrap_or_default();
    if let Some((reason, taken)) = conflict {
        let message = format!("{taken:?} is already in use");
        set_condition(&mut conditions, "NamesAccepted", "False", reason, &message, now);
    }
    if !conditions.iter().any(|it| it.type_ == "Established" && it.status == "True") {
        let message = "not all names are accepted";
        set_condition(&mut conditions, "Established", "False", "NotAccepted", message, now);
    }
    CustomResourceDefinitionStatus {
        conditions: Some(conditions),
        accepted_names: Some(accepted),
        stored_versions: before.stored_versions,
    }
}

/// The names that no other resource of the group uses, and the last conflict in the order of the
/// API server.
fn accepted_names<'a>(
    served: &ServedResources,
    crd: &'a CustomResourceDefinition,
) -> (CustomResourceDefinitionNames, Option<(&'static str, &'a str)>) {
    let (group, names) = (&crd.spec.group, &crd.spec.names);
    let is_other = |resource: &&Arc<catalog::Resource>| {
        let of = resource.custom.as_ref().map(|custom| &custom.definition);
        resource.group == *group && of != crd.metadata.name.as_ref()
    };
    let others: Vec<&Arc<catalog::Resource>> =
        served.catalog.resources().filter(is_other).collect();
    let has_name = |name: &str| {
        let is_short = |other: &catalog::Resource| other.short_names.iter().any(|it| it == name);
        others.iter().any(|it| it.plural == name || it.singular == name || is_short(it))
    };
    let has_kind = |kind: &str| others.iter().any(|it| it.kind == kind || it.list_kind == kind);

    let mut conflict = None;
    let mut check = |reason: &'static str, name: &'a str, taken: bool| {
        if taken {
            conflict = Some((reason, name));
        }
        !taken
    };
    let (singular, list_kind) = (names.singular.as_deref(), names.list_kind.as_deref());
    let plural = Some(&*names.plural).filter(|it| check("PluralConflict", it, has_name(it)));
    let singular = singular.filter(|it| check("SingularConflict", it, has_name(it)));
    let short = names
        .short_names
        .as_ref()
        .filter(|all| all.iter().all(|it| check("ShortNamesConflict", it, has_name(it))));
    let kind = Some(&*names.kind).filter(|it| check("KindConflict", it, has_kind(it)));
    let list_kind = list_kind.filter(|it| check("ListKindConflict", it, has_kind(it)));
    let accepted = CustomResourceDefinitionNames {
        categories: names.categories.clone(),
        kind: kind.unwrap_or_default().to_owned(),
        list_kind: list_kind.map(str::to_owned),
        plural: plural.unwrap_or_default().to_owned(),
        short_names: short.cloned(),
        singular: singular.map(str::to_owned),
    };
    (accepted, conflict)
}

fn set_condition(
    conditions: &mut Vec<Condition>,
    type_: &str,
    status: &str,
    reason: &str,
    message: &str,
    now: Timestamp,
) {
    let old = conditions.iter().position(|condition| condition.type_ == type_);
    let since = old.filter(|&old| conditions[old].status == status);
    let since = since.and_then(|old| conditions[old].last_transition_time.clone());
    let condition = Condition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: Some(reason.to_owned()),
        message: Some(message.to_owned()),
        last_transition_time: since.or(Some(Time(now))),
    };
    match old {
        Some(old) => conditions[old] = condition,
        None => conditions.push(condition),
    }
}

fn write_status(
    api: &Api,
    resource: &ResourceKey,
    object: &Value,
    status: &CustomResourceDefinitionStatus,
) {
    let Ok(key) = Key::new(resource, None, meta::text(object, "name")) else { return };
    let schema = Schema::builtin("apiextensions.k8s.io", "CustomResourceDefinition");
    let writer = Writer {
        manager: MANAGER,
        api_version: "apiextensions.k8s.io/v1",
        subresource: Some("status"),
        writable: WritableFields::Only(&["status"]),
        now: api.now(),
        schema: &schema.unwrap_or(Schema::Deduced),
        blank: &Value::Null,
    };
    let mut changed = object.clone();
    changed["status"] = json!(status);
    let tracked = track_update(Some(object), &changed, &writer);
    // The write lock prevents other writes of CRDs. If one happens anyway, it triggers a sync
    // itself.
    let _ = api.store().update(&key, tracked, Some(meta::text(object, "resourceVersion")));
}
