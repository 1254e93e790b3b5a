//! Server-side apply: who owns which fields, and what becomes of an object when one of them writes.
//!
//! Every manager owns the fields it has set. Who applies a manifest says all that it wants: what it
//! owned and says no longer goes, unless another owns it too, and what another owns with another
//! value is a conflict, unless it is forced. Every other write takes over what it changes.
//!
//! The rules are those of `structured-merge-diff`, by which the API server does it.

mod check;
mod compare;
mod conflict;
mod element;
mod fields;
mod managed;
mod merge;
mod parts;
mod typed;

use jiff::Timestamp;
use serde_json::Value;

use crate::schema::Schema;

use check::{Duplicates, check};
use compare::{Comparison, equal};
use managed::{Managed, Owner, Share};
use parts::set_by;

pub use check::{Malformed, Problem};
pub use conflict::{ApplyError, Conflict, Conflicts};
pub use element::{Canonical, Element, ItemProblem};
pub use fields::{DecodeError, FieldSet, path_text};
pub use managed::Operation;

/// Who writes, and what.
#[derive(Clone, Copy, Debug)]
pub struct Writer<'a> {
    /// The name of the field manager.
    pub manager: &'a str,
    /// The version in which it writes.
    pub api_version: &'a str,
    /// The subresource to which it writes, if it is one.
    pub subresource: Option<&'a str>,
    /// Which fields it can write there.
    pub reach: Reach<'a>,
    /// When it writes.
    pub now: Timestamp,
    /// What the object is.
    pub schema: &'a Schema,
    /// What an object of this kind is before anything is set: built-in kinds have structures that
    /// are always there, and nobody owns that they are. `Null` where there are none.
    pub blank: &'a Value,
}

/// The top-level fields that a write can change; others are neither changed nor owned.
#[derive(Clone, Copy, Debug)]
pub enum Reach<'a> {
    /// All of them.
    Everything,
    /// These only, as `status` through the subresource of that name.
    Only(&'a [&'a str]),
    /// All but these.
    Except(&'a [&'a str]),
}

impl Reach<'_> {
    fn includes(self, field: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Only(fields) => fields.contains(&field),
            Self::Except(fields) => !fields.contains(&field),
        }
    }
}

/// What an apply came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    /// The object as it is now.
    pub object: Value,
    /// Whether it differs from the live one, its owners included.
    pub changed: bool,
}

/// Who owns what an object had before anybody applied to it, the API server's word.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// What nobody owns: what identifies an object, and what the server sets.
const UNTRACKED_METADATA: [&str; 9] = [
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
    /// What `object` sets, as far as it can be owned.
    pub fn of(object: &Value, schema: &Schema) -> Self {
        tracked(&set_by(object, schema))
    }
}

/// Applies a manifest to the live object, or creates one.
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
    let owner = Owner::of(writer, Operation::Apply);
    let last = managed.remove(&owner);
    let manifest = within_reach(manifest, writer.reach);
    let fields = set_by(&manifest, writer.schema);
    let merged = merge::merge(&before, &manifest, writer.schema);
    let object = match &last {
        Some(last) => {
            // What nobody can own stays, also where the manifest leaves it out.
            let wanted = fields.union(&untracked());
            let wanted = managed.values().fold(wanted, |all, one| all.union(&one.fields));
            prune(&merged, &last.fields, &wanted, writer.schema)
        }
        None => merged,
    };
    let comparison = compare(&before, &object, writer);
    if !force {
        refuse_conflicts(&managed, &comparison)?;
    }
    lose(&mut managed, &comparison);
    let mut share = Share {
        api_version: writer.api_version.to_owned(),
        time: last.and_then(|last| last.time),
        fields: tracked(&fields),
    };
    managed.insert(owner.clone(), share.clone());
    if !equal(&before, &object) || !managed::same_owners(&managed, &former) {
        share.time = Some(writer.now);
        managed.insert(owner, share);
    }
    let object = managed::write(object, &managed);
    let changed = live.is_none_or(|live| *live != object);
    Ok(Applied { object, changed })
}

/// Who owns what when something is applied. What an object has that never was applied to belongs to
/// somebody, too.
fn owners_at_apply(
    live: Option<&Value>,
    before: &Value,
    writer: &Writer<'_>,
) -> Result<Managed, DecodeError> {
    let mut managed = live.map_or_else(|| Ok(Managed::new()), managed::read)?;
    if managed.is_empty() {
        let first = Writer { manager: BEFORE_FIRST_APPLY, reach: Reach::Everything, ..*writer };
        take_over(writer.blank, before, &mut managed, &first);
    }
    Ok(managed)
}

/// The object with its owners after a write other than an apply: whatever changed between `old`, or
/// nothing, and `new` belongs to the writer.
///
/// `new` is what the writer sent: where it names owners, they count, so that they can be edited.
pub fn track_update(old: Option<&Value>, new: &Value, writer: &Writer<'_>) -> Value {
    let after = managed::without(new.clone());
    let Some(mut managed) = owners_before(old, new) else { return after };
    let before = managed::without(old.unwrap_or(writer.blank).clone());
    let well_formed = |object| check(object, writer.schema, Duplicates::Allowed).is_ok();
    // The API server, too, rather forgets the owners than refuses the write.
    if !well_formed(&before) || !well_formed(&after) {
        return after;
    }
    managed = reconciled(managed, &before, writer.schema);
    take_over(&before, &after, &mut managed, writer);
    managed::cap_updates(&mut managed);
    managed::write(after, &managed)
}

/// Who owned what before a write; `None` where nobody keeps track.
fn owners_before(old: Option<&Value>, new: &Value) -> Option<Managed> {
    let given = new.pointer("/metadata/managedFields").and_then(Value::as_array);
    // Who sends a list with nothing in it, or one entry with nothing in it, wants no owners.
    let reset = given.is_some_and(|entries| entries.len() < 2 && entries.iter().all(is_blank));
    let managed = match managed::read(new) {
        _ if reset => Managed::new(),
        Ok(given) if !given.is_empty() => given,
        _ => old.and_then(|old| managed::read(old).ok()).unwrap_or_default(),
    };
    (old.is_none() || !managed.is_empty()).then_some(managed)
}

fn is_blank(entry: &Value) -> bool {
    entry.as_object().is_some_and(serde_json::Map::is_empty)
}

/// Gives the writer of an update what changed, and takes it from all others.
fn take_over(before: &Value, after: &Value, managed: &mut Managed, writer: &Writer<'_>) {
    let comparison = compare(before, after, writer);
    let owner = Owner::of(writer, Operation::Update);
    let former = managed.get(&owner).cloned();
    lose(managed, &comparison);
    let taken = tracked(&comparison.set());
    if taken.is_empty() {
        return;
    }
    let left = managed.remove(&owner).map(|left| left.fields).unwrap_or_default();
    let fields = left.union(&taken);
    let time = match former {
        Some(former) if former.fields == fields => former.time,
        _ => Some(writer.now),
    };
    managed.insert(owner, Share { api_version: writer.api_version.to_owned(), time, fields });
}

/// What a writer changed, as far as it can reach.
fn compare(before: &Value, after: &Value, writer: &Writer<'_>) -> Comparison {
    let mut comparison = Comparison::of(before, after, writer.schema);
    comparison.retain(|field| writer.reach.includes(field));
    comparison
}

/// The owners as the schema of today sees them.
fn reconciled(mut managed: Managed, live: &Value, schema: &Schema) -> Managed {
    let set = set_by(live, schema);
    for share in managed.values_mut().filter(|_| *schema != Schema::Deduced) {
        share.fields = typed::reconcile(&share.fields, Some(&set), schema);
    }
    managed
}

/// Takes from all what was changed or removed; who has nothing left goes.
fn lose(managed: &mut Managed, comparison: &Comparison) {
    let changed = comparison.set().union(&comparison.removed);
    managed.retain(|_, share| {
        share.fields = share.fields.difference(&changed);
        !share.fields.is_empty()
    });
}

fn refuse_conflicts(managed: &Managed, comparison: &Comparison) -> Result<(), ApplyError> {
    let set = comparison.set();
    let conflicts: Vec<Conflict> = managed
        .iter()
        .flat_map(|(owner, share)| Conflicts::about(owner, &share.fields.intersection(&set)))
        .collect();
    if conflicts.is_empty() { Ok(()) } else { Err(ApplyError::Conflict(Conflicts(conflicts))) }
}

/// `merged` without what its manager owned by `last` and nobody owns now.
fn prune(merged: &Value, last: &FieldSet, wanted: &FieldSet, schema: &Schema) -> Value {
    let whole = |set: &FieldSet| typed::with_structures(set, schema);
    let set_in = |value: &Value| whole(&set_by(value, schema));
    let last = whole(last);
    let without_last = merge::remove(merged, &last, schema);
    let kept = set_in(&without_last).union(&whole(wanted));
    let with_owned = merge::remove(merged, &set_in(merged).difference(&kept), schema);
    // What is gone with a structure but was never owned by this manager comes back.
    let gone = set_in(merged).difference(&set_in(&with_owned)).intersection(&last);
    merge::remove(merged, &gone, schema)
}

/// The top-level fields of a manifest that a writer can reach.
fn within_reach(manifest: &Value, reach: Reach<'_>) -> Value {
    let mut manifest = manifest.clone();
    if let Some(fields) = manifest.as_object_mut() {
        fields.retain(|field, _| reach.includes(field));
    }
    manifest
}

/// What of a set can be owned.
fn tracked(set: &FieldSet) -> FieldSet {
    set.difference(&untracked())
}

fn untracked() -> FieldSet {
    let mut untracked = FieldSet::default();
    for field in ["apiVersion", "kind", "metadata"] {
        untracked.insert(&[Element::field(field)]);
    }
    for field in UNTRACKED_METADATA {
        untracked.insert(&[Element::field("metadata"), Element::field(field)]);
    }
    untracked
}
