//! Strategic merge patch of lists.
//!
//! Items are indexed by identity, so that the cost is not quadratic.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::{discriminant, take};

use serde_json::Value;

use super::PatchError;
use super::error::DirectiveError;
use super::strategic::{self, Directive};
use crate::schema::{ListSchema, Schema};

/// Positions by identity.
type Positions = BTreeMap<String, usize>;

/// Identity of list items.
#[derive(Clone, Copy)]
enum ItemIdentity<'s> {
    /// Their value.
    Value,
    /// A key field.
    Key(&'s str),
}

impl<'s> ItemIdentity<'s> {
    fn new(list: Option<&'s ListSchema>) -> Self {
        match list.and_then(|list| list.patch_key.as_deref()) {
            None | Some(ListSchema::BY_VALUE) => Self::Value,
            Some(key) => Self::Key(key),
        }
    }

    fn read(self, item: &Value) -> Result<String, DirectiveError> {
        match self {
            Self::Value => Ok(item.to_string()),
            Self::Key(key) => match item {
                Value::Object(item) => {
                    let value =
                        item.get(key).ok_or_else(|| DirectiveError::NoKey(key.to_owned()))?;
                    Ok(value.to_string())
                }
                _ => Err(DirectiveError::MixedItems),
            },
        }
    }

    /// First position of each identity.
    fn positions<'v>(
        self,
        items: impl IntoIterator<Item = &'v Value>,
    ) -> Result<Positions, DirectiveError> {
        let mut positions = Positions::new();
        for (position, item) in items.into_iter().enumerate() {
            positions.entry(self.read(item)?).or_insert(position);
        }
        Ok(positions)
    }
}

/// Merges a patch list into an existing list and orders the result.
pub(super) fn merge(
    before: Vec<Value>,
    patch: &[Value],
    order: Option<&Value>,
    list: Option<&ListSchema>,
) -> Result<Vec<Value>, PatchError> {
    check_order(patch, order, list)?;
    let identity = ItemIdentity::new(list);
    let Some(list) = list.filter(|list| list.patch_key.is_some()) else {
        return Ok(patch.iter().map(strategic::plain).collect());
    };
    let old_positions = identity.positions(&before)?;
    let merged = match identity {
        ItemIdentity::Value => add_values(before, patch)?,
        ItemIdentity::Key(key) => merge_by_key(before, patch, key, &list.items)?,
    };
    let named = order.and_then(Value::as_array).map_or(patch, Vec::as_slice);
    Ok(order_items(merged, named, &old_positions, identity)?)
}

/// Orders the items of a list.
pub(super) fn arrange(
    items: Vec<Value>,
    order: &Value,
    list: Option<&ListSchema>,
) -> Result<Vec<Value>, DirectiveError> {
    check_order(&[], Some(order), list)?;
    let identity = ItemIdentity::new(list);
    let old_positions = identity.positions(&items)?;
    order_items(items, order.as_array().map_or(&[], Vec::as_slice), &old_positions, identity)
}

/// Checks that the patch items follow `$setElementOrder`.
pub(super) fn check_order(
    patch: &[Value],
    order: Option<&Value>,
    list: Option<&ListSchema>,
) -> Result<(), DirectiveError> {
    let Some(order) = order else { return Ok(()) };
    let identity = ItemIdentity::new(list);
    let order = order.as_array().ok_or(DirectiveError::NotAList("$setElementOrder"))?;
    let positions = identity.positions(order)?;
    let mut previous = None;
    for item in patch.iter().filter(|item| !has_directive(item)) {
        let position = positions.get(&identity.read(item)?);
        if position.is_none() || position <= previous {
            return Err(DirectiveError::Order);
        }
        previous = position;
    }
    Ok(())
}

/// Deletes values from a list. The API server replaces atomic lists by the values to delete.
pub(super) fn delete_values(
    before: &mut Vec<Value>,
    values: &[Value],
    list: Option<&ListSchema>,
) -> Result<(), DirectiveError> {
    if list.is_none_or(|list| list.patch_key.is_none()) {
        *before = values.iter().map(strategic::plain).collect();
        return Ok(());
    }
    check_same_type(before, values)?;
    let values: BTreeSet<String> = values.iter().map(ToString::to_string).collect();
    before.retain(|value| !values.contains(&value.to_string()));
    Ok(())
}

fn add_values(mut before: Vec<Value>, patch: &[Value]) -> Result<Vec<Value>, DirectiveError> {
    check_same_type(&before, patch)?;
    let mut known = BTreeSet::new();
    before.extend_from_slice(patch);
    before.retain(|value| known.insert(value.to_string()));
    Ok(before)
}

fn check_same_type(before: &[Value], patch: &[Value]) -> Result<(), DirectiveError> {
    let mut kinds = before.iter().chain(patch).map(discriminant);
    let first = kinds.next();
    if kinds.all(|kind| Some(kind) == first) { Ok(()) } else { Err(DirectiveError::MixedItems) }
}

fn merge_by_key(
    before: Vec<Value>,
    patch: &[Value],
    key: &str,
    items: &Schema,
) -> Result<Vec<Value>, PatchError> {
    let identity = ItemIdentity::Key(key);
    let (mut merged, patch) = apply_directives(before, patch, identity)?;
    let mut positions = identity.positions(&merged)?;
    for item in patch {
        let id = identity.read(item)?;
        let named = |error: PatchError| error.inside(&format!("[{key}={id}]"));
        let known = positions.get(&id).map(|position| &mut merged[*position]);
        if let (Some(Value::Object(before)), Value::Object(patch)) = (known, item) {
            *before = strategic::merge(take(before), patch, items).map_err(named)?;
        } else {
            positions.insert(id, merged.len());
            merged.push(strategic::plain(item));
        }
    }
    Ok(merged)
}

/// Applies the directives in patch items. Returns the list and the other items.
///
/// Any `replace` empties the list.
fn apply_directives<'p>(
    before: Vec<Value>,
    patch: &'p [Value],
    identity: ItemIdentity<'_>,
) -> Result<(Vec<Value>, Vec<&'p Value>), DirectiveError> {
    let mut replaced = false;
    let mut deleted = BTreeSet::new();
    let mut others = Vec::new();
    for item in patch {
        match strategic::directive(item.as_object().ok_or(DirectiveError::MixedItems)?)? {
            Some(Directive::Replace) => replaced = true,
            Some(Directive::Delete) => {
                deleted.insert(identity.read(item)?);
            }
            None => others.push(item),
        }
    }
    let mut before = if replaced { Vec::new() } else { before };
    if !deleted.is_empty() {
        before.retain(|item| !identity.read(item).is_ok_and(|id| deleted.contains(&id)));
    }
    Ok((before, others))
}

/// Orders items: named ones by their names, the others before the named ones that they preceded.
fn order_items(
    merged: Vec<Value>,
    named: &[Value],
    old_positions: &Positions,
    identity: ItemIdentity<'_>,
) -> Result<Vec<Value>, DirectiveError> {
    let new_positions = identity.positions(named.iter().filter(|item| !has_directive(item)))?;
    let (mut listed, mut others) = (Vec::new(), Vec::new());
    for item in merged {
        let id = identity.read(&item)?;
        let old_positions = old_positions.get(&id).copied();
        match new_positions.get(&id) {
            Some(position) => listed.push((*position, old_positions, item)),
            None => others.push((old_positions, item)),
        }
    }
    listed.sort_by_key(|(position, _, _)| *position);

    let mut others = others.into_iter().peekable();
    let mut ordered = Vec::new();
    for (_, old_positions, item) in listed {
        let precedes =
            |other: &Option<usize>| matches!((other, old_positions), (Some(o), Some(s)) if *o < s);
        while let Some((_, other)) = others.next_if(|(other, _)| precedes(other)) {
            ordered.push(other);
        }
        ordered.push(item);
    }
    ordered.extend(others.map(|(_, item)| item));
    Ok(ordered)
}

fn has_directive(item: &Value) -> bool {
    item.get(strategic::PATCH).is_some()
}
