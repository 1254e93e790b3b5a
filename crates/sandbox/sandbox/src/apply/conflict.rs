//! Why an apply was refused.

use std::fmt;

use super::check::Malformed;
use super::fields::{DecodeError, FieldSet, path_text};
use super::managed::{Operation, Owner};

/// Why an apply was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Others own fields with other values.
    #[error("{0}")]
    Conflict(Conflicts),
    /// The manifest says who owns its fields, which only the server can say.
    #[error("metadata.managedFields must be nil")]
    ManagedFieldsGiven,
    /// The manifest cannot be taken apart.
    #[error("failed to create typed patch object: {0}")]
    Manifest(Malformed),
    /// The live object cannot be taken apart.
    #[error("failed to create typed live object: {0}")]
    Live(Malformed),
    /// The live object does not say who owns its fields.
    #[error("failed to decode managed fields: {0}")]
    ManagedFields(DecodeError),
}

/// The fields that others own with other values; never none. Its text is that of the Status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflicts(pub(super) Vec<Conflict>);

/// A field that somebody else owns with another value: one cause in the details of the Status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The field, as `.spec.containers[name="a"].image`.
    pub field: String,
    /// Who owns it, as messages name them: `"kubectl" using apps/v1`.
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
    /// All conflicts, those with one owner together.
    pub fn all(&self) -> &[Conflict] {
        &self.0
    }

    /// The conflicts with `owner` about `fields`.
    pub(super) fn about(owner: &Owner, fields: &FieldSet) -> Vec<Conflict> {
        let name = name_of(owner);
        let paths = fields.paths().into_iter();
        paths.map(|path| Conflict { field: path_text(&path), owner: name.clone() }).collect()
    }
}

fn name_of(owner: &Owner) -> String {
    let mut name = format!("{:?}", owner.manager);
    if !owner.subresource.is_empty() {
        name = format!("{name} with subresource {:?}", owner.subresource);
    }
    match (&owner.version, owner.operation) {
        (Some(version), Operation::Update) => format!("{name} using {version}"),
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
        let mut of = None;
        for conflict in &self.0 {
            if of.is_some_and(|owner| owner != &conflict.owner) {
                writeln!(f)?;
            }
            if of != Some(&conflict.owner) {
                write!(f, "conflicts with {}:", conflict.owner)?;
                of = Some(&conflict.owner);
            }
            write!(f, "\n- {}", conflict.field)?;
        }
        Ok(())
    }
}
