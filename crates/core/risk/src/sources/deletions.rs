//! Objects that the release removes, and that are still there.

use super::against_minor;
use super::names::DELETIONS;
use crate::risk::{Concern, Source};

/// Objects that are named; of more, the number says enough.
const NAMED: usize = 5;

/// Until these objects are gone, later minor versions have to wait: what they bring may not expect
/// them any more.
pub fn deletions(objects: &[String]) -> Option<Concern> {
    if objects.is_empty() {
        return None;
    }
    let named = objects.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = match objects.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "The operator is still deleting objects that the release removes: {named}{more}. Until \
        then, only updates to patch releases are recommended."
    );
    Some(against_minor(DELETIONS, &message, "deletions-in-progress", Source::Deletions))
}
