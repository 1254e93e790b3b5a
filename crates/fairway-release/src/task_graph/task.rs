//! One manifest that is to be applied, and what the name of its file says about its turn.

use std::fmt;

use serde::Serialize;

use crate::manifest::{Manifest, ObjectId};

/// One manifest that is to be applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Its place in the list of manifests, counted from zero.
    pub position: usize,
    /// The length of that list.
    pub total: usize,
    /// The name of its file.
    pub file: String,
    /// The object.
    #[serde(flatten)]
    pub id: ObjectId,
    /// Whether it is a Job: all that is before comes before it, and all that is behind comes after.
    pub is_barrier: bool,
}

impl Task {
    pub(super) fn new(position: usize, total: usize, manifest: &Manifest) -> Self {
        let Manifest { file, id, version, .. } = manifest;
        let kind = (id.group.as_str(), version.as_str(), id.kind.as_str());
        let is_barrier = kind == ("batch", "v1", "Job");
        Self { position, total, file: file.clone(), id: id.clone(), is_barrier }
    }

    /// When its turn is, and whose it is, if its file says so.
    pub(super) fn turn(&self) -> Option<Turn<'_>> {
        Turn::of(&self.file)
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} of {})", self.id, self.position + 1, self.total)
    }
}

/// What `0000_50_network-operator_02_role.yaml` says: level 50, component `network-operator`. Both
/// are texts: `5` is not `05`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn<'a> {
    pub(super) level: &'a str,
    pub(super) component: &'a str,
}

impl<'a> Turn<'a> {
    fn of(file: &'a str) -> Option<Self> {
        let mut parts = file.strip_prefix("0000_")?.splitn(3, '_');
        let (level, component, _rest) = (parts.next()?, parts.next()?, parts.next()?);
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_word =
            |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric());
        let found = is_number(level) && component.split('-').all(is_word);
        found.then_some(Self { level, component })
    }
}

impl fmt::Display for Turn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.level, self.component)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_say_whose_turn_it_is() {
        for (file, turn) in [
            ("0000_50_network-operator_02_role.yaml", Some(("50", "network-operator"))),
            ("0000_7_a_", Some(("7", "a"))),
            ("0000_007_A-b-9_x", Some(("007", "A-b-9"))),
            ("0000_50_a", None),
            ("0000_50_a.yaml", None),
            ("0000_50_a-_b", None),
            ("0000_50_-a_b", None),
            ("0000_50_a--b_c", None),
            ("0000_50__b", None),
            ("0000_5x_a_b", None),
            ("0000__a_b", None),
            ("0001_50_a_b", None),
            ("0000_٥_a_b", None),
            ("", None),
        ] {
            let found = Turn::of(file).map(|turn| (turn.level, turn.component));
            assert_eq!(found, turn, "{file}");
        }
    }
}
