//! Whether an object is what it is to be: what is wanted is there and is ours, and nothing else is.
//!
//! The API server notes which fields a manager has applied, as a tree: `f:name` is a field,
//! `k:{…}` an item of a list by its keys, `v:…` a value of a set; a node without children is owned
//! as a whole. Whoever else changes a field takes it over, so that this tells both what a manifest
//! no longer has, and what others have added to a list that is one value.

use std::fmt;

use serde_json::{Map, Value};

use crate::canonical::{holds_quantities, is_empty, is_part_of, same};
use crate::ownership::applied_fields;

/// What is first found to be not right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    path: Vec<String>,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Differs,
    Missing,
    NotOurs,
    Leftover,
}

impl Difference {
    fn within(mut self, step: String) -> Self {
        self.path.push(step);
        self
    }
}

impl From<What> for Difference {
    fn from(what: What) -> Self {
        Self { path: Vec::new(), what }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Steps are noted on the way back from the difference.
        for step in self.path.iter().rev() {
            f.write_str(step)?;
        }
        f.write_str(match self.what {
            What::Differs => " differs from the manifest",
            What::Missing => " is missing",
            What::NotOurs => " is owned by another field manager",
            What::Leftover => " is no longer in the manifest",
        })
    }
}

/// The parts of the metadata that a manifest says; everything else in it is the server's.
const METADATA: [&str; 4] = ["annotations", "finalizers", "labels", "ownerReferences"];

/// The first difference between the desired and the live object.
pub fn difference(wanted: &Value, live: &Value) -> Option<Difference> {
    let nothing = Map::new();
    let owned = applied_fields(live).unwrap_or(&nothing);
    let metadata = [wanted, live].map(declarable_metadata);
    let [wanted, live] =
        [(wanted, &metadata[0]), (live, &metadata[1])].map(|(object, metadata)| Fields {
            of: object.as_object().unwrap_or(&nothing),
            metadata: Some(metadata),
        });
    fields(wanted, live, owned, false).err()
}

/// The metadata that a manifest can declare.
fn declarable_metadata(object: &Value) -> Value {
    let metadata = object.get("metadata").and_then(Value::as_object).into_iter().flatten();
    let declarable = metadata.filter(|(key, _)| METADATA.contains(&key.as_str()));
    Value::Object(declarable.map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// The fields of an object or of a part of it. An object is not copied to leave out what a manifest
/// cannot declare: the schemas of a CRD take tens of megabytes as a tree.
#[derive(Clone, Copy)]
struct Fields<'a> {
    of: &'a Map<String, Value>,
    /// Set for the object itself: what stands for its metadata.
    metadata: Option<&'a Value>,
}

impl<'a> Fields<'a> {
    fn get(self, name: &str) -> Option<&'a Value> {
        match (self.metadata, name) {
            (Some(_), "apiVersion" | "kind" | "status") => None,
            (Some(metadata), "metadata") => Some(metadata),
            _ => self.of.get(name),
        }
    }

    fn iter(self) -> impl Iterator<Item = (&'a str, &'a Value)> {
        self.of.keys().filter_map(move |name| Some((name.as_str(), self.get(name)?)))
    }
}

impl<'a> From<&'a Map<String, Value>> for Fields<'a> {
    fn from(of: &'a Map<String, Value>) -> Self {
        Self { of, metadata: None }
    }
}

type Compared = Result<(), Difference>;

/// The node of a field or an item, and what is below it.
fn below<'a>(owned: &'a Map<String, Value>, step: &str) -> Option<&'a Map<String, Value>> {
    owned.get(step)?.as_object()
}

/// Whether what is owned has no parts.
fn is_whole(owned: &Map<String, Value>) -> bool {
    owned.keys().all(|step| step == ".")
}

fn compare(wanted: &Value, live: &Value, owned: &Map<String, Value>, quantity: bool) -> Compared {
    match (wanted, live) {
        _ if is_whole(owned) => whole(wanted, live, quantity),
        (Value::Object(wanted), Value::Object(live)) => {
            fields(wanted.into(), live.into(), owned, quantity)
        }
        (Value::Array(wanted), Value::Array(live)) => items(wanted, live, owned, quantity),
        _ => whole(wanted, live, quantity),
    }
}

fn whole(wanted: &Value, live: &Value, quantity: bool) -> Compared {
    if is_part_of(wanted, live, quantity) { Ok(()) } else { Err(What::Differs.into()) }
}

fn fields(
    wanted: Fields<'_>,
    live: Fields<'_>,
    owned: &Map<String, Value>,
    quantity: bool,
) -> Compared {
    for (name, wanted) in wanted.iter() {
        let quantity = quantity || holds_quantities(name);
        field(wanted, live.get(name), below(owned, &format!("f:{name}")), quantity)
            .map_err(|found| found.within(format!(".{name}")))?;
    }
    let leftover = owned
        .keys()
        .filter_map(|step| step.strip_prefix("f:"))
        .find(|name| wanted.get(name).is_none() && live.get(name).is_some());
    match leftover {
        None => Ok(()),
        Some(name) => Err(Difference::from(What::Leftover).within(format!(".{name}"))),
    }
}

fn field(
    wanted: &Value,
    live: Option<&Value>,
    owned: Option<&Map<String, Value>>,
    quantity: bool,
) -> Compared {
    match (live, owned) {
        (None, _) if is_empty(wanted) => Ok(()),
        (None, _) => Err(What::Missing.into()),
        (Some(live), Some(owned)) => compare(wanted, live, owned, quantity),
        // Servers note nothing about some empty values.
        (Some(live), None) if is_empty(wanted) => whole(wanted, live, quantity),
        (Some(_), None) => Err(What::NotOurs.into()),
    }
}

/// A list of which items are owned: by keys, or, in a set, by their values.
fn items(wanted: &[Value], live: &[Value], owned: &Map<String, Value>, quantity: bool) -> Compared {
    let items: Vec<Item<'_>> = owned.iter().filter_map(Item::read).collect();
    for (position, wanted) in wanted.iter().enumerate() {
        let place = |what: Difference| what.within(format!("[{position}]"));
        let Some(item) = items.iter().find(|item| item.is(wanted)) else {
            return Err(place(What::NotOurs.into()));
        };
        let Some(live) = live.iter().find(|live| item.is(live)) else {
            return Err(place(What::Missing.into()));
        };
        compare(wanted, live, item.owned, quantity).map_err(place)?;
    }
    let leftover = items.iter().find(|item| {
        live.iter().any(|live| item.is(live)) && !wanted.iter().any(|wanted| item.is(wanted))
    });
    match leftover {
        None => Ok(()),
        Some(item) => Err(Difference::from(What::Leftover).within(format!("[{}]", item.key))),
    }
}

/// An item of a list that is owned.
struct Item<'a> {
    key: Value,
    by_keys: bool,
    owned: &'a Map<String, Value>,
}

impl<'a> Item<'a> {
    fn read((step, owned): (&String, &'a Value)) -> Option<Self> {
        let (form, key) = step.split_once(':')?;
        let by_keys = match form {
            "k" => true,
            "v" => false,
            _ => return None,
        };
        Some(Self { key: serde_json::from_str(key).ok()?, by_keys, owned: owned.as_object()? })
    }

    /// Whether it is that item of a list. A key that a manifest leaves out has its default.
    fn is(&self, item: &Value) -> bool {
        if !self.by_keys {
            return same(&self.key, item, false);
        }
        let (Some(keys), Some(item)) = (self.key.as_object(), item.as_object()) else {
            return false;
        };
        keys.iter().all(|(name, key)| item.get(name).is_none_or(|found| same(key, found, false)))
    }
}

#[cfg(test)]
mod tests;
