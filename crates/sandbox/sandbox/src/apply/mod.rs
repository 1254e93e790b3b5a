//! Server-side apply and field ownership.
//!
//! Every manager owns the fields it has set. An apply states all fields that its manager wants:
//! fields that it owned before and omits now are removed unless another manager owns them, and
//! fields that another manager owns with a different value are conflicts unless forced. Any other
//! write takes over the fields it changes.
//!
//! The rules are those of `sigs.k8s.io/structured-merge-diff`.

mod decomposition;
mod fields;
mod managed;
mod merge;

use jiff::Timestamp;
use serde_json::Value;

use crate::schema::Schema;

use decomposition::fields_set_by;
use decomposition::{Duplicates, check, reconcile, with_structures};
use managed::{ManagedFields, ManagerFields, ManagerId};
use merge::{Comparison, equal};

pub use decomposition::{Malformed, MalformedReason};
pub use fields::{Canonical, Element, ItemKeyError};
pub use fields::{DecodeError, FieldSet, path_text};
pub use managed::ManagedFieldsOperation;
pub use managed::{ApplyError, Conflict, Conflicts};

/// The manager of a write and its context.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// The name of the field manager.
    pub manager: &'a str,
    /// The API version of the write.
    pub api_version: &'a str,
    /// The subresource of the write.
    pub subresource: Option<&'a str>,
    /// The top-level fields that the write can change.
    pub writable: WritableFields<'a>,
    /// The time of the write.
    pub now: Timestamp,
    /// The merge schema of the object.
    pub schema: &'a Schema,
    /// An empty object of the kind. Built-in kinds have structures that are always present, and
    /// their presence is not owned. `Null` if there are none.
    pub blank: &'a Value,
}

/// Top-level fields that a write can change. Other fields are neither changed nor owned.
#[derive(Clone, Copy, Debug)]
pub enum WritableFields<'a> {
    /// All fields.
    All,
    /// Only these fields, such as `status` for the subresource.
    Only(&'a [&'a str]),
    /// All fields except these.
    Except(&'a [&'a str]),
}

impl WritableFields<'_> {
    fn includes(self, field: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(fields) => fields.contains(&field),
            Self::Except(fields) => !fields.contains(&field),
        }
    }
}

/// The result of an apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The object after the apply.
    pub object: Value,
    /// Whether it differs from the live object, managedFields included.
    pub changed: bool,
}

/// Manager of fields that were set before the first apply, as in the API server.
const BEFORE_FIRST_APPLY_MANAGER: &str = "before-first-apply";

/// Metadata fields without ownership: identity and server-set fields.
const UNOWNED_METADATA: [&str; 9] = [
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "clusterName",
    "generation",
    "managedFields",
    "resourceVersion",
];

impl FieldSet {
    /// The ownable fields of an object.
    pub fn from_object(object: &Value, schema: &Schema) -> Self {
        ownable(&fields_set_by(object, schema))
    }
}

/// Applies a manifest to the live object, or creates an object.
pub fn apply(
    live: Option<&Value>,
    manifest: &Value,
    force: bool,
    writer: &Writer<'_>,
) -> Result<Applied, ApplyError> {
    if manifest.pointer("/metadata/managedFields").is_some_and(|given| !given.is_null()) {
        return Err(ApplyError::ManagedFieldsGiven);
    }
    check(manifest, writer.schema, Duplicates::Refused).map_err(ApplyError::Manifest)?;
    let before = managed::without(live.unwrap_or(writer.blank).clone());
    check(&before, writer.schema, Duplicates::Allowed).map_err(ApplyError::Live)?;
    let former = owners_at_apply(live, &before, writer).map_err(ApplyError::ManagedFields)?;

    let mut managed = reconciled(former.clone(), &before, writer.schema);
    let owner = ManagerId::new(writer, ManagedFieldsOperation::Apply);
    let last = managed.remove(&owner);
    let manifest = writable_part(manifest, writer.writable);
    let fields = fields_set_by(&manifest, writer.schema);
    let merged = merge::merge(&before, &manifest, writer.schema);
    let object = match &last {
        Some(last) => {
            // Fields without ownership are kept even if the manifest omits them.
            let wanted = fields.union(&unowned_fields());
            let wanted = managed.values().fold(wanted, |all, one| all.union(&one.fields));
            prune(&merged, &last.fields, &wanted, writer.schema)
        }
        None => merged,
    };
    let comparison = compare(&before, &object, writer);
    if !force {
        refuse_conflicts(&managed, &comparison)?;
    }
    remove_changed(&mut managed, &comparison);
    let mut entry = ManagerFields {
        api_version: writer.api_version.to_owned(),
        time: last.and_then(|last| last.time),
        fields: ownable(&fields),
    };
    managed.insert(owner.clone(), entry.clone());
    if !equal(&before, &object) || !managed::same_owners(&managed, &former) {
        entry.time = Some(writer.now);
        managed.insert(owner, entry);
    }
    let object = managed::encode_into(object, &managed);
    let changed = live.is_none_or(|live| *live != object);
    Ok(Applied { object, changed })
}

/// The managers before an apply. Fields of an object without managedFields belong to
/// `before-first-apply`.
fn owners_at_apply(
    live: Option<&Value>,
    before: &Value,
    writer: &Writer<'_>,
) -> Result<ManagedFields, DecodeError> {
    let mut managed = live.map_or_else(|| Ok(ManagedFields::new()), managed::decode)?;
    if managed.is_empty() {
        let first = Writer {
            manager: BEFORE_FIRST_APPLY_MANAGER,
            writable: WritableFields::All,
            ..*writer
        };
        take_over(writer.blank, before, &mut managed, &first);
    }
    Ok(managed)
}

/// Updates managedFields after a write other than an apply: the writer owns all changes between
/// `old` and `new`.
///
/// `new` is the object as received. Its managedFields replace the stored ones, so that clients can
/// edit them.
pub fn track_update(old: Option<&Value>, new: &Value, writer: &Writer<'_>) -> Value {
    let after = managed::without(new.clone());
    let Some(mut managed) = owners_before(old, new) else { return after };
    let before = managed::without(old.unwrap_or(writer.blank).clone());
    let well_formed = |object| check(object, writer.schema, Duplicates::Allowed).is_ok();
    // Like the API server, drop managedFields rather than refuse the write.
    if !well_formed(&before) || !well_formed(&after) {
        return after;
    }
    managed = reconciled(managed, &before, writer.schema);
    take_over(&before, &after, &mut managed, writer);
    managed::cap_updates(&mut managed);
    managed::encode_into(after, &managed)
}

/// The managers before an update; `None` if ownership is not tracked.
fn owners_before(old: Option<&Value>, new: &Value) -> Option<ManagedFields> {
    let given = new.pointer("/metadata/managedFields").and_then(Value::as_array);
    // An empty list, or a single empty entry, resets managedFields.
    let reset = given.is_some_and(|entries| entries.len() < 2 && entries.iter().all(is_blank));
    let managed = match managed::decode(new) {
        _ if reset => ManagedFields::new(),
        Ok(given) if !given.is_empty() => given,
        _ => old.and_then(|old| managed::decode(old).ok()).unwrap_or_default(),
    };
    (old.is_none() || !managed.is_empty()).then_some(managed)
}

fn is_blank(entry: &Value) -> bool {
    entry.as_object().is_some_and(serde_json::Map::is_empty)
}

/// Moves the ownership of all changes to the writer.
fn take_over(before: &Value, after: &Value, managed: &mut ManagedFields, writer: &Writer<'_>) {
    let comparison = compare(before, after, writer);
    let owner = ManagerId::new(writer, ManagedFieldsOperation::Update);
    let former = managed.get(&owner).cloned();
    remove_changed(managed, &comparison);
    let existing = ownable(&comparison.set());
    if existing.is_empty() {
        return;
    }
    let left = managed.remove(&owner).map(|left| left.fields).unwrap_or_default();
    let fields = left.union(&existing);
    let time = match former {
        Some(former) if former.fields == fields => former.time,
        _ => Some(writer.now),
    };
    managed
        .insert(owner, ManagerFields { api_version: writer.api_version.to_owned(), time, fields });
}

/// Changes of a writer, limited to the fields that it can change.
fn compare(before: &Value, after: &Value, writer: &Writer<'_>) -> Comparison {
    let mut comparison = Comparison::new(before, after, writer.schema);
    comparison.retain(|field| writer.writable.includes(field));
    comparison
}

/// Adjusts ownership to the current schema.
fn reconciled(mut managed: ManagedFields, live: &Value, schema: &Schema) -> ManagedFields {
    let set = fields_set_by(live, schema);
    for entry in managed.values_mut().filter(|_| *schema != Schema::Deduced) {
        entry.fields = reconcile(&entry.fields, Some(&set), schema);
    }
    managed
}

/// Removes changed fields from all managers, and managers without fields.
fn remove_changed(managed: &mut ManagedFields, comparison: &Comparison) {
    let changed = comparison.set().union(&comparison.removed);
    managed.retain(|_, entry| {
        entry.fields = entry.fields.difference(&changed);
        !entry.fields.is_empty()
    });
}

fn refuse_conflicts(managed: &ManagedFields, comparison: &Comparison) -> Result<(), ApplyError> {
    let set = comparison.set();
    let conflicts: Vec<Conflict> = managed
        .iter()
        .flat_map(|(owner, entry)| Conflicts::about(owner, &entry.fields.intersection(&set)))
        .collect();
    if conflicts.is_empty() { Ok(()) } else { Err(ApplyError::Conflict(Conflicts(conflicts))) }
}

/// Removes the fields of the manager's last apply that no manager owns now.
fn prune(merged: &Value, last: &FieldSet, wanted: &FieldSet, schema: &Schema) -> Value {
    let whole = |set: &FieldSet| with_structures(set, schema);
    let set_in = |value: &Value| whole(&fields_set_by(value, schema));
    let last = whole(last);
    let without_last = merge::remove(merged, &last, schema);
    let kept = set_in(&without_last).union(&whole(wanted));
    let with_owned = merge::remove(merged, &set_in(merged).difference(&kept), schema);
    // Restore fields that were removed with their parent but never owned by this manager.
    let gone = set_in(merged).difference(&set_in(&with_owned)).intersection(&last);
    merge::remove(merged, &gone, schema)
}

/// The top-level fields of a manifest that the writer can change.
fn writable_part(manifest: &Value, writable: WritableFields<'_>) -> Value {
    let mut manifest = manifest.clone();
    if let Some(fields) = manifest.as_object_mut() {
        fields.retain(|field, _| writable.includes(field));
    }
    manifest
}

/// The ownable fields of a set.
fn ownable(set: &FieldSet) -> FieldSet {
    set.difference(&unowned_fields())
}

fn unowned_fields() -> FieldSet {
    let mut unowned_fields = FieldSet::default();
    for field in ["apiVersion", "kind", "metadata"] {
        unowned_fields.insert(&[Element::field(field)]);
    }
    for field in UNOWNED_METADATA {
        unowned_fields.insert(&[Element::field("metadata"), Element::field(field)]);
    }
    unowned_fields
}
