//! Makes what is served agree with the definitions that are stored, and says so in their status.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionCondition as Condition,
    CustomResourceDefinitionNames, CustomResourceDefinitionStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Deserialize;
use serde_json::{Value, json};

use super::definitions::{Served, Unserved};
use super::{Api, meta};
use crate::apply::{Reach, Writer, track_update};
use crate::catalog;
use crate::schema::Schema;
use crate::store::{Key, ListOptions, Resource, Selection};

/// The component that writes the status of definitions.
const MANAGER: &str = "kube-apiserver";

/// Serves what is defined, and nothing else. Whoever writes a definition calls it while nobody else
/// can write one.
pub(super) fn settle(api: &Api) {
    let resource = Resource::new("apiextensions.k8s.io", "customresourcedefinitions");
    let all = ListOptions::default();
    let Ok(list) = api.store().list(&resource, &Selection::default(), &all) else { return };
    let stored: Vec<(&Arc<Value>, CustomResourceDefinition)> = list
        .items
        .iter()
        .filter_map(|object| Some((object, CustomResourceDefinition::deserialize(&**object).ok()?)))
        .collect();

    let mut served = (*api.served()).clone();
    let is_stored = |name: &str| {
        stored.iter().any(|(_, definition)| definition.metadata.name.as_deref() == Some(name))
    };
    let gone: Vec<String> =
        served.names().filter(|name| !is_stored(name)).map(str::to_owned).collect();
    for name in &gone {
        served.remove(name);
    }

    let mut statuses = Vec::new();
    for (object, definition) in stored {
        let status = serve(&mut served, &definition, api.now());
        if definition.status.as_ref() != Some(&status) {
            statuses.push((object, status));
        }
    }
    // Who reads that a definition is established can use it.
    api.serve(served);
    for (object, status) in statuses {
        write_status(api, &resource, object, &status);
    }
}

/// Serves a definition if that is possible, and says how it went.
fn serve(
    served: &mut Served,
    definition: &CustomResourceDefinition,
    now: Timestamp,
) -> CustomResourceDefinitionStatus {
    let name = definition.metadata.name.as_deref().unwrap_or_default();
    let before = definition.status.as_ref();
    let is_current = served.definition(name).is_some_and(|it| it.is_current(definition));
    let added = if is_current { Ok(()) } else { served.add(definition) };
    match (added, served.definition(name)) {
        (Ok(()), Some(defined)) => defined.definition.status(before, now),
        (Err(Unserved::Conflict), _) => refused(served, definition, now),
        _ => before.cloned().unwrap_or_default(),
    }
}

/// The status of a definition whose names others have. What is accepted already stays.
fn refused(
    served: &Served,
    definition: &CustomResourceDefinition,
    now: Timestamp,
) -> CustomResourceDefinitionStatus {
    let before = definition.status.clone().unwrap_or_default();
    let (accepted, conflict) = accepted_names(served, definition);
    let mut conditions = before.conditions.unwrap_or_default();
    if let Some((reason, taken)) = conflict {
        let message = format!("{taken:?} is already in use");
        set(&mut conditions, "NamesAccepted", "False", reason, &message, now);
    }
    if !conditions.iter().any(|it| it.type_ == "Established" && it.status == "True") {
        let message = "not all names are accepted";
        set(&mut conditions, "Established", "False", "NotAccepted", message, now);
    }
    CustomResourceDefinitionStatus {
        conditions: Some(conditions),
        accepted_names: Some(accepted),
        stored_versions: before.stored_versions,
    }
}

/// The names that no other resource of the group has, and the last one that another has, in the
/// order of the real server.
fn accepted_names<'a>(
    served: &Served,
    definition: &'a CustomResourceDefinition,
) -> (CustomResourceDefinitionNames, Option<(&'static str, &'a str)>) {
    let (group, names) = (&definition.spec.group, &definition.spec.names);
    let is_other = |resource: &&Arc<catalog::Resource>| {
        let of = resource.custom.as_ref().map(|custom| &custom.definition);
        resource.group == *group && of != definition.metadata.name.as_ref()
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

fn set(
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
    resource: &Resource,
    object: &Value,
    status: &CustomResourceDefinitionStatus,
) {
    let Ok(key) = Key::new(resource, None, meta::text(object, "name")) else { return };
    let schema = Schema::builtin("apiextensions.k8s.io", "CustomResourceDefinition");
    let writer = Writer {
        manager: MANAGER,
        api_version: "apiextensions.k8s.io/v1",
        subresource: Some("status"),
        reach: Reach::Only(&["status"]),
        now: api.now(),
        schema: &schema.unwrap_or(Schema::Deduced),
        blank: &Value::Null,
    };
    let mut changed = object.clone();
    changed["status"] = json!(status);
    let tracked = track_update(Some(object), &changed, &writer);
    // Nobody else writes definitions meanwhile; if somebody did, they settle it themselves.
    let _ = api.store().update(&key, tracked, Some(meta::text(object, "resourceVersion")));
}
