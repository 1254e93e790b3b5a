//! What makes one built-in kind differ from another.

use serde_json::Value;

use crate::catalog::Subresource;
use crate::field_error::FieldError;

/// What is to be known of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Sets what is not set.
    pub(super) default: fn(&mut Value),
    /// Takes away or sets what a client may not set on an object that is to be created.
    pub(super) create: fn(&mut Value),
    /// Takes back what a client may not change.
    pub(super) update: fn(&mut Value, &Value, Option<Subresource>),
    /// What is wrong with an object.
    pub(super) validate: fn(&Value) -> Vec<FieldError>,
    /// What is wrong with the change from the second object to the first.
    pub(super) validate_update: fn(&Value, &Value) -> Vec<FieldError>,
    /// What the generation counts.
    pub(super) generation: Generation,
    /// The metadata that an update of the status cannot change.
    pub(super) metadata_beside_status: &'static [&'static str],
    /// Whether whoever creates an object also tells its status.
    pub(super) comes_with_status: bool,
}

/// What the generation of a kind's objects counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Generation {
    /// There is none.
    None,
    /// There is one, and nothing makes it grow.
    Fixed,
    /// Changes of these top-level fields.
    Of(&'static [&'static str]),
    /// Changes of `spec` and of the annotations.
    SpecAndAnnotations,
}

pub(super) const NOTHING_SPECIAL: Rules = Rules {
    default: |_| (),
    create: |_| (),
    update: |_, _, _| (),
    validate: |_| Vec::new(),
    validate_update: |_, _| Vec::new(),
    generation: Generation::None,
    metadata_beside_status: &[],
    comes_with_status: false,
};
