//! On which terms risks were accepted: the annotation beside their names.

use std::collections::BTreeMap;
use std::fmt;

use fairway_risk::{ANNOTATION_BYTES, Terms};
use serde::Deserialize as _;
use serde_json::Value;

use crate::foreign_text::OneLine;

/// The entries of the annotation, as they are; without the annotation there is none.
pub(super) fn read(annotation: Option<&str>) -> Result<BTreeMap<String, Value>, String> {
    match annotation {
        None => Ok(BTreeMap::new()),
        Some(text) if text.len() > ANNOTATION_BYTES => {
            Err(format!("{} bytes exceed the maximum of {ANNOTATION_BYTES}", text.len()))
        }
        Some(text) => serde_json::from_str(text).map_err(|error| error.to_string()),
    }
}

/// An entry of the annotation, if it can be understood.
pub(super) fn understood(entry: &Value) -> Option<Terms> {
    Terms::deserialize(entry).ok()
}

/// The terms as a person reads them after the name of a risk: `, until 2026-12-31: why`.
pub(super) struct AfterName<'a>(pub(super) &'a Terms);

impl fmt::Display for AfterName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Terms { reason, until, versions, by, definition: _ } = self.0;
        if let Some(versions) = versions {
            write!(f, ", for {}", OneLine(&versions.to_string()))?;
        }
        if let Some(until) = until {
            write!(f, ", until {}", OneLine(&until.to_string()))?;
        }
        if let Some(by) = by {
            write!(f, ", by {}", OneLine(by))?;
        }
        match reason {
            Some(reason) => write!(f, ": {}", OneLine(reason)),
            None => Ok(()),
        }
    }
}
