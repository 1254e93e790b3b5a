//! Strategic merge patch: lists.
//!
//! Items are found by an index of their identities, so that long lists take no longer than they
//! have to.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::{discriminant, take};

use serde_json::Value;

use super::PatchError;
use super::error::DirectiveError as Why;
use super::strategic::{self, Directive};
use crate::schema::{ListSchema, Schema};

/// Where which identity stands.
type Positions = BTreeMap<String, usize>;

/// What tells the items of a list apart.
#[derive(Clone, Copy)]
enum Identity<'s> {
    /// Their value.
    Value,
    /// The value of this field.
    Key(&'s str),
}

impl<'s> Identity<'s> {
    fn of(list: Option<&'s ListSchema>) -> Self {
        match list.and_then(|list| list.patch_key.as_deref()) {
            None | Some(ListSchema::BY_VALUE) => Self::Value,
            Some(key) => Self::Key(key),
        }
    }

    fn read(self, item: &Value) -> Result<String, Why> {
        match self {
            Self::Value => Ok(item.to_string()),
            Self::Key(key) => match item {
                Value::Object(item) => {
                    let value = item.get(key).ok_or_else(|| Why::NoKey(key.to_owned()))?;
                    Ok(value.to_string())
                }
                _ => Err(Why::MixedItems),
            },
        }
    }

    /// Where each identity stands first.
    fn positions<'v>(self, items: impl IntoIterator<Item = &'v Value>) -> Result<Positions, Why> {
        let mut positions = Positions::new();
        for (position, item) in items.into_iter().enumerate() {
            positions.entry(self.read(item)?).or_insert(position);
        }
        Ok(positions)
    }
}

/// Merges a list of a patch into the list that is there, and puts the result in order.
pub(super) fn merge(
    before: Vec<Value>,
    patch: &[Value],
    order: Option<&Value>,
    list: Option<&ListSchema>,
) -> Result<Vec<Value>, PatchError> {
    check_order(patch, order, list)?;
    let identity = Identity::of(list);
    let Some(list) = list.filter(|list| list.patch_key.is_some()) else {
        return Ok(patch.iter().map(strategic::plain).collect());
    };
    let stood = identity.positions(&before)?;
    let merged = match identity {
        Identity::Value => add_values(before, patch)?,
        Identity::Key(key) => merge_by_key(before, patch, key, &list.items)?,
    };
    let named = order.and_then(Value::as_array).map_or(patch, Vec::as_slice);
    Ok(in_order(merged, named, &stood, identity)?)
}

/// Puts the items of a list in order.
pub(super) fn arrange(
    items: Vec<Value>,
    order: &Value,
    list: Option<&ListSchema>,
) -> Result<Vec<Value>, Why> {
    check_order(&[], Some(order), list)?;
    let identity = Identity::of(list);
    let stood = identity.positions(&items)?;
    in_order(items, order.as_array().map_or(&[], Vec::as_slice), &stood, identity)
}

/// Whether the items of the patch stand in the order that it asks for.
pub(super) fn check_order(
    patch: &[Value],
    order: Option<&Value>,
    list: Option<&ListSchema>,
) -> Result<(), Why> {
    let Some(order) = order else { return Ok(()) };
    let identity = Identity::of(list);
    let order = order.as_array().ok_or(Why::NotAList("$setElementOrder"))?;
    let positions = identity.positions(order)?;
    let mut previous = None;
    for item in patch.iter().filter(|item| !has_directive(item)) {
        let position = positions.get(&identity.read(item)?);
        if position.is_none() || position <= previous {
            return Err(Why::Order);
        }
        previous = position;
    }
    Ok(())
}

/// Removes values from a list. Where lists are taken whole, the API server takes the values that
/// were to be deleted for the new list.
pub(super) fn delete_values(
    before: &mut Vec<Value>,
    values: &[Value],
    list: Option<&ListSchema>,
) -> Result<(), Why> {
    if list.is_none_or(|list| list.patch_key.is_none()) {
        *before = values.iter().map(strategic::plain).collect();
        return Ok(());
    }
    check_same_type(before, values)?;
    let values: BTreeSet<String> = values.iter().map(ToString::to_string).collect();
    before.retain(|value| !values.contains(&value.to_string()));
    Ok(())
}

fn add_values(mut before: Vec<Value>, patch: &[Value]) -> Result<Vec<Value>, Why> {
    check_same_type(&before, patch)?;
    let mut known = BTreeSet::new();
    before.extend_from_slice(patch);
    before.retain(|value| known.insert(value.to_string()));
    Ok(before)
}

fn check_same_type(before: &[Value], patch: &[Value]) -> Result<(), Why> {
    let mut kinds = before.iter().chain(patch).map(discriminant);
    let first = kinds.next();
    if kinds.all(|kind| Some(kind) == first) { Ok(()) } else { Err(Why::MixedItems) }
}

fn merge_by_key(
    before: Vec<Value>,
    patch: &[Value],
    key: &str,
    items: &Schema,
) -> Result<Vec<Value>, PatchError> {
    let identity = Identity::Key(key);
    let (mut merged, patch) = follow_directives(before, patch, identity)?;
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

/// The list as the directives among the items of the patch leave it, and the other items.
///
/// One `replace` empties the list, whatever else stands in the item that says it.
fn follow_directives<'p>(
    before: Vec<Value>,
    patch: &'p [Value],
    identity: Identity<'_>,
) -> Result<(Vec<Value>, Vec<&'p Value>), Why> {
    let mut replaced = false;
    let mut deleted = BTreeSet::new();
    let mut others = Vec::new();
    for item in patch {
        match strategic::directive(item.as_object().ok_or(Why::MixedItems)?)? {
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

/// Items that are named stand in the order of their names; the others stay before those of the
/// named ones that they stood before.
fn in_order(
    merged: Vec<Value>,
    named: &[Value],
    stood: &Positions,
    identity: Identity<'_>,
) -> Result<Vec<Value>, Why> {
    let wanted = identity.positions(named.iter().filter(|item| !has_directive(item)))?;
    let (mut listed, mut others) = (Vec::new(), Vec::new());
    for item in merged {
        let id = identity.read(&item)?;
        let stood = stood.get(&id).copied();
        match wanted.get(&id) {
            Some(position) => listed.push((*position, stood, item)),
            None => others.push((stood, item)),
        }
    }
    listed.sort_by_key(|(position, _, _)| *position);

    let mut others = others.into_iter().peekable();
    let mut ordered = Vec::new();
    for (_, stood, item) in listed {
        let goes_first =
            |other: &Option<usize>| matches!((other, stood), (Some(o), Some(s)) if *o < s);
        while let Some((_, other)) = others.next_if(|(other, _)| goes_first(other)) {
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
