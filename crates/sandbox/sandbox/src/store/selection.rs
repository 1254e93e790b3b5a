//! Which objects of a resource a list or a watch shows.

use serde_json::Value;

use crate::selector::{FieldSelector, LabelSelector};

/// Which objects of a resource a list or a watch shows. The default shows all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only those in this namespace.
    pub namespace: Option<String>,
    /// Only those with these labels.
    pub labels: LabelSelector,
    /// Only those with these fields.
    pub fields: FieldSelector,
}

impl Selection {
    /// All objects in one namespace.
    pub fn in_namespace(namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..Self::default() }
    }

    /// The paths of the objects begin with this.
    pub(super) fn prefix(&self) -> String {
        self.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default()
    }

    pub(super) fn has_selectors(&self) -> bool {
        !self.labels.is_everything() || !self.fields.is_everything()
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        self.labels.matches(object) && self.fields.matches(object)
    }
}
