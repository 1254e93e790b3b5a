//! Cells of the built-in kinds, in the order of their columns.

pub(super) mod core;
pub(super) mod network;
pub(super) mod workload;

use serde_json::Value;

use super::row::RowContext;

pub(super) fn created(it: RowContext<'_>) -> Vec<Value> {
    vec![it.name(), it.created_at()]
}

/// The first texts, and the number of the remaining ones.
fn abbreviated(texts: &[String], shown: usize) -> String {
    let first = texts[..texts.len().min(shown)].join(",");
    match texts.len().saturating_sub(shown) {
        0 => first,
        more => format!("{first} + {more} more..."),
    }
}
