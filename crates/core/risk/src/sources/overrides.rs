//! Objects that the administrator excluded from management.

use fairway_api::cluster_version::ComponentOverride;

use super::against_minor;
use super::names::OVERRIDES;
use crate::risk::{Concern, Source};

/// Objects that are named; of more, the number says enough.
const NAMED: usize = 5;

/// A later minor version would leave these objects as they are.
pub fn overrides(overrides: &[ComponentOverride]) -> Option<Concern> {
    let unmanaged: Vec<String> = overrides.iter().filter(|one| one.unmanaged).map(place).collect();
    if unmanaged.is_empty() {
        return None;
    }
    let named = unmanaged.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = match unmanaged.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "spec.overrides excludes objects from management, so an update to a later minor or major \
        version would not change them: {named}{more}. Remove the overrides before such an update."
    );
    Some(against_minor(OVERRIDES, &message, "overrides", Source::Overrides))
}

fn place(object: &ComponentOverride) -> String {
    let ComponentOverride { kind, namespace, name, .. } = object;
    if namespace.is_empty() {
        format!("{kind} {name}")
    } else {
        format!("{kind} {namespace}/{name}")
    }
}
