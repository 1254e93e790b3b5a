//! `metadata.managedFields`: who owns which fields.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Writer;
use super::fields::{DecodeError, FieldSet};

/// How a manager came to own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By anything else.
    Update,
}

/// Which entry it is. There is one for each of these.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    pub(super) operation: Operation,
    pub(super) manager: String,
    /// Of an update only: a manager that applies has one entry, whatever versions it used.
    pub(super) version: Option<String>,
    pub(super) subresource: String,
}

/// What an owner owns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Share {
    pub(super) api_version: String,
    pub(super) time: Option<Timestamp>,
    pub(super) fields: FieldSet,
}

/// Who owns which fields.
pub(super) type Managed = BTreeMap<Owner, Share>;

/// As many entries of updates as an object may have; the API server's number.
const MAX_UPDATES: usize = 10;

/// The manager of what older updates did, the API server's word.
const OLD_UPDATES: &str = "ancient-changes";

impl Owner {
    /// The one who writes, by `operation`.
    pub(super) fn of(writer: &Writer<'_>, operation: Operation) -> Self {
        let version = writer.api_version.to_owned();
        Self {
            operation,
            manager: writer.manager.to_owned(),
            version: (operation == Operation::Update).then_some(version),
            subresource: writer.subresource.unwrap_or_default().to_owned(),
        }
    }
}

/// Reads the owners of an object.
pub(super) fn read(object: &Value) -> Result<Managed, DecodeError> {
    let mut managed = Managed::new();
    match object.pointer("/metadata/managedFields") {
        None | Some(Value::Null) => {}
        Some(Value::Array(entries)) => {
            for entry in entries {
                let (owner, share) = read_entry(entry)?;
                managed.insert(owner, share);
            }
        }
        Some(_) => return Err(DecodeError::Entry("managedFields")),
    }
    Ok(managed)
}

fn read_entry(entry: &Value) -> Result<(Owner, Share), DecodeError> {
    let text = |name: &'static str| match entry.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(DecodeError::Entry(name)),
    };
    let operation = match text("operation")?.as_str() {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(DecodeError::Entry("operation")),
    };
    let time = match text("time")?.as_str() {
        "" => None,
        time => Some(time.parse().map_err(|_| DecodeError::Entry("time"))?),
    };
    let fields = match entry.get("fieldsV1") {
        None | Some(Value::Null) => FieldSet::default(),
        Some(fields) => FieldSet::decode(fields)?,
    };
    let api_version = text("apiVersion")?;
    let version = (operation == Operation::Update).then(|| api_version.clone());
    let (manager, subresource) = (text("manager")?, text("subresource")?);
    Ok((Owner { operation, manager, version, subresource }, Share { api_version, time, fields }))
}

/// `object` with these owners.
pub(super) fn write(mut object: Value, managed: &Managed) -> Value {
    object = without(object);
    let mut entries: Vec<_> =
        managed.iter().filter(|(_, share)| !share.fields.is_empty()).collect();
    entries.sort_by_key(|(owner, share)| {
        let seconds = share.time.map(Timestamp::as_second);
        (owner.operation, seconds, &owner.manager, &share.api_version, &owner.subresource)
    });
    let entries: Vec<Value> =
        entries.into_iter().map(|(owner, share)| write_entry(owner, share)).collect();
    if let Some(object) = object.as_object_mut()
        && !entries.is_empty()
    {
        let metadata = object.entry("metadata").or_insert_with(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("managedFields".into(), Value::Array(entries));
        }
    }
    object
}

fn write_entry(owner: &Owner, share: &Share) -> Value {
    let mut entry = Map::new();
    let operation = match owner.operation {
        Operation::Apply => "Apply",
        Operation::Update => "Update",
    };
    entry.insert("manager".into(), owner.manager.as_str().into());
    entry.insert("operation".into(), operation.into());
    entry.insert("apiVersion".into(), share.api_version.as_str().into());
    if let Some(time) = share.time {
        entry.insert("time".into(), time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into());
    }
    entry.insert("fieldsType".into(), "FieldsV1".into());
    entry.insert("fieldsV1".into(), share.fields.encode());
    if !owner.subresource.is_empty() {
        entry.insert("subresource".into(), owner.subresource.as_str().into());
    }
    Value::Object(entry)
}

/// `object` without owners.
pub(super) fn without(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// Whether the owners are the same and own the same, whenever they came to it.
pub(super) fn same_owners(left: &Managed, right: &Managed) -> bool {
    let shares = |managed: &Managed| -> Vec<(Owner, String, FieldSet)> {
        let entries = managed.iter().filter(|(_, share)| !share.fields.is_empty());
        entries
            .map(|(owner, share)| (owner.clone(), share.api_version.clone(), share.fields.clone()))
            .collect()
    };
    shares(left) == shares(right)
}

/// Merges the oldest updates of each version, until there are few enough.
pub(super) fn cap_updates(managed: &mut Managed) {
    let mut updates: Vec<(Option<Timestamp>, Owner)> = managed
        .iter()
        .filter(|(owner, _)| owner.operation == Operation::Update)
        .map(|(owner, share)| (share.time, owner.clone()))
        .collect();
    updates.sort();
    let mut surplus = updates.len().saturating_sub(MAX_UPDATES);
    let mut first_of_version: BTreeMap<Option<String>, Owner> = BTreeMap::new();
    for (time, owner) in updates {
        if surplus == 0 {
            break;
        }
        let Some(first) = first_of_version.get(&owner.version) else {
            first_of_version.insert(owner.version.clone(), owner);
            continue;
        };
        let bucket =
            Owner { manager: OLD_UPDATES.to_owned(), subresource: String::new(), ..owner.clone() };
        if !managed.contains_key(&bucket)
            && let Some(oldest) = managed.remove(first)
        {
            managed.insert(bucket.clone(), oldest);
        }
        if let Some(merged) = managed.remove(&owner) {
            let bucket = managed.entry(bucket).or_insert_with(|| merged.clone());
            bucket.fields = bucket.fields.union(&merged.fields);
            bucket.time = time;
            surplus -= 1;
        }
    }
}
