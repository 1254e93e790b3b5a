//! `metadata.managedFields`, and errors of server-side apply.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Writer;
use super::decomposition::Malformed;
use super::fields::{DecodeError, FieldSet, path_text};

/// Maximum number of update entries, as in the API server.
const MAX_UPDATES: usize = 10;

/// Manager of merged old update entries, as in the API server.
const OLD_UPDATES_MANAGER: &str = "ancient-changes";

/// Operation of a managedFields entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ManagedFieldsOperation {
    /// Server-side apply.
    Apply,
    /// Any other write.
    Update,
}

/// Identity of a managedFields entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ManagerId {
    pub(super) operation: ManagedFieldsOperation,
    pub(super) manager: String,
    /// Only for updates: a manager has one entry for all versions that it applied.
    pub(super) version: Option<String>,
    pub(super) subresource: String,
}

/// Fields of a managedFields entry.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ManagerFields {
    pub(super) api_version: String,
    pub(super) time: Option<Timestamp>,
    pub(super) fields: FieldSet,
}

/// managedFields entries by identity.
pub(super) type ManagedFields = BTreeMap<ManagerId, ManagerFields>;

impl ManagerId {
    /// The identity of a writer.
    pub(super) fn new(writer: &Writer<'_>, operation: ManagedFieldsOperation) -> Self {
        let version = writer.api_version.to_owned();
        Self {
            operation,
            manager: writer.manager.to_owned(),
            version: (operation == ManagedFieldsOperation::Update).then_some(version),
            subresource: writer.subresource.unwrap_or_default().to_owned(),
        }
    }
}

/// Decodes the managedFields of an object.
pub(super) fn decode(object: &Value) -> Result<ManagedFields, DecodeError> {
    let mut managed = ManagedFields::new();
    match object.pointer("/metadata/managedFields") {
        None | Some(Value::Null) => {}
        Some(Value::Array(entries)) => {
            for entry in entries {
                let (owner, entry) = decode_entry(entry)?;
                managed.insert(owner, entry);
            }
        }
        Some(_) => return Err(DecodeError::Entry("managedFields")),
    }
    Ok(managed)
}

fn decode_entry(entry: &Value) -> Result<(ManagerId, ManagerFields), DecodeError> {
    let text = |name: &'static str| match entry.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(DecodeError::Entry(name)),
    };
    let operation = match text("operation")?.as_str() {
        "Apply" => ManagedFieldsOperation::Apply,
        "Update" => ManagedFieldsOperation::Update,
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
    let version = (operation == ManagedFieldsOperation::Update).then(|| api_version.clone());
    let (manager, subresource) = (text("manager")?, text("subresource")?);
    Ok((
        ManagerId { operation, manager, version, subresource },
        ManagerFields { api_version, time, fields },
    ))
}

/// Sets the managedFields of an object.
pub(super) fn encode_into(mut object: Value, managed: &ManagedFields) -> Value {
    object = without(object);
    let mut entries: Vec<_> =
        managed.iter().filter(|(_, entry)| !entry.fields.is_empty()).collect();
    entries.sort_by_key(|(owner, entry)| {
        let seconds = entry.time.map(Timestamp::as_second);
        (owner.operation, seconds, &owner.manager, &entry.api_version, &owner.subresource)
    });
    let entries: Vec<Value> =
        entries.into_iter().map(|(owner, entry)| encode_entry(owner, entry)).collect();
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

fn encode_entry(owner: &ManagerId, fields: &ManagerFields) -> Value {
    let mut entry = Map::new();
    let operation = match owner.operation {
        ManagedFieldsOperation::Apply => "Apply",
        ManagedFieldsOperation::Update => "Update",
    };
    entry.insert("manager".into(), owner.manager.as_str().into());
    entry.insert("operation".into(), operation.into());
    entry.insert("apiVersion".into(), fields.api_version.as_str().into());
    if let Some(time) = fields.time {
        entry.insert("time".into(), time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into());
    }
    entry.insert("fieldsType".into(), "FieldsV1".into());
    entry.insert("fieldsV1".into(), fields.fields.encode());
    if !owner.subresource.is_empty() {
        entry.insert("subresource".into(), owner.subresource.as_str().into());
    }
    Value::Object(entry)
}

/// Removes the managedFields of an object.
pub(super) fn without(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// Whether the entries are equal except for their times.
pub(super) fn same_owners(left: &ManagedFields, right: &ManagedFields) -> bool {
    let shares = |managed: &ManagedFields| -> Vec<(ManagerId, String, FieldSet)> {
        let entries = managed.iter().filter(|(_, entry)| !entry.fields.is_empty());
        entries
            .map(|(owner, entry)| (owner.clone(), entry.api_version.clone(), entry.fields.clone()))
            .collect()
    };
    shares(left) == shares(right)
}

/// Merges the oldest update entries of each version above the limit.
pub(super) fn cap_updates(managed: &mut ManagedFields) {
    let mut updates: Vec<(Option<Timestamp>, ManagerId)> = managed
        .iter()
        .filter(|(owner, _)| owner.operation == ManagedFieldsOperation::Update)
        .map(|(owner, entry)| (entry.time, owner.clone()))
        .collect();
    updates.sort();
    let mut surplus = updates.len().saturating_sub(MAX_UPDATES);
    let mut first_of_version: BTreeMap<Option<String>, ManagerId> = BTreeMap::new();
    for (time, owner) in updates {
        if surplus == 0 {
            break;
        }
        let Some(first) = first_of_version.get(&owner.version) else {
            first_of_version.insert(owner.version.clone(), owner);
            continue;
        };
        let bucket = ManagerId {
            manager: OLD_UPDATES_MANAGER.to_owned(),
            subresource: String::new(),
            ..owner.clone()
        };
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

/// Why an apply failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Other managers own fields with different values.
    #[error("{0}")]
    Conflict(Conflicts),
    /// The manifest contains managedFields.
    #[error("metadata.managedFields must be nil")]
    ManagedFieldsGiven,
    /// The manifest is malformed.
    #[error("failed to create typed patch object: {0}")]
    Manifest(Malformed),
    /// The live object is malformed.
    #[error("failed to create typed live object: {0}")]
    Live(Malformed),
    /// The managedFields of the live object are malformed.
    #[error("failed to decode managed fields: {0}")]
    ManagedFields(DecodeError),
}

/// Conflicts with other managers, never empty. Its text is the message of the `Status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts(pub(super) Vec<Conflict>);

/// A field that another manager owns with a different value, reported as a cause of the `Status`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The field, such as `.spec.containers[name="a"].image`.
    pub field: String,
    /// The manager in messages, such as `"kubectl" using apps/v1`.
    pub owner: String,
}

impl Conflict {
    /// The type of the cause.
    pub const CAUSE: &'static str = "FieldManagerConflict";

    /// The message of the cause.
    pub fn message(&self) -> String {
        format!("conflict with {}", self.owner)
    }
}

impl Conflicts {
    /// All conflicts, grouped by manager.
    pub fn all(&self) -> &[Conflict] {
        &self.0
    }

    /// The conflicts with `owner` about `fields`.
    pub(super) fn about(owner: &ManagerId, fields: &FieldSet) -> Vec<Conflict> {
        let name = name_of(owner);
        let paths = fields.paths().into_iter();
        paths.map(|path| Conflict { field: path_text(&path), owner: name.clone() }).collect()
    }
}

fn name_of(owner: &ManagerId) -> String {
    let mut name = format!("{:?}", owner.manager);
    if !owner.subresource.is_empty() {
        name = format!("{name} with subresource {:?}", owner.subresource);
    }
    match (&owner.version, owner.operation) {
        (Some(version), ManagedFieldsOperation::Update) => format!("{name} using {version}"),
        _ => name,
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0.as_slice() {
            let Conflict { field, owner } = only;
            return write!(f, "Apply failed with 1 conflict: conflict with {owner}: {field}");
        }
        write!(f, "Apply failed with {} conflicts: ", self.0.len())?;
        let mut last = None;
        for conflict in &self.0 {
            if last.is_some_and(|owner| owner != &conflict.owner) {
                writeln!(f)?;
            }
            if last != Some(&conflict.owner) {
                write!(f, "conflicts with {}:", conflict.owner)?;
                last = Some(&conflict.owner);
            }
            write!(f, "\n- {}", conflict.field)?;
        }
        Ok(())
    }
}
