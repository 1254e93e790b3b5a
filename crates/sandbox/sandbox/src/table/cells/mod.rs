//! Cells of the built-in kinds, in the order of their columns.

pub(super) mod core;
pub(super) mod network;
pub(super) mod workload;

use serde_json::Value;

use super::row::RowContext;

pub(super) fn created(it: RowContext<'_>) -> Vec<Value> {
    vec![it.name(), it.created_at()]
}

pub(super) fn name_and_age(it: RowContext<'_>) -> Vec<Value> {
    vec![it.name(), it.age()]
}
