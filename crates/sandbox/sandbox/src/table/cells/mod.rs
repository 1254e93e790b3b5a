//! The cells of the built-in kinds, in the order of their columns.

pub(super) mod cluster;
pub(super) mod core;
pub(super) mod event;
pub(super) mod network;
pub(super) mod pod;
pub(super) mod storage;
pub(super) mod workload;

use serde_json::Value;

use super::subject::Subject;

pub(super) fn created(it: Subject<'_>) -> Vec<Value> {
    vec![it.name(), it.created_at()]
}

/// The first ones, and how many more there are.
fn abbreviated(texts: &[String], shown: usize) -> String {
    let first = texts[..texts.len().min(shown)].join(",");
    match texts.len().saturating_sub(shown) {
        0 => first,
        more => format!("{first} + {more} more..."),
    }
}
