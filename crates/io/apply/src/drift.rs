//! Drift detection: compares the desired with the live object by `managedFields`.
//!
//! `managedFields` has the fields that a manager applied, as a tree: `f:name` is a field, `k:{…}` an
//! item of a list by its keys, `v:…` a value of a set. A node without children is owned as a whole.
//! A client that changes a field becomes its manager. The tree therefore shows fields that a manifest
//! no longer has, and items that other clients added to an atomic list.

use std::fmt;

use serde_json::{Map, Value};

use crate::canonical::{holds_quantities, is_empty, is_part_of, same};
use crate::ownership::applied_fields;

/// The first difference between the desired and the live object.
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
        // The path is recorded from the difference upwards.
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

/// Metadata that a manifest can declare; the API server owns the rest.
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

/// Fields of an object or a part of it. The object is not copied without its undeclarable fields: the
/// schemas of a CRD take tens of megabytes as a tree.
#[derive(Clone, Copy)]
struct Fields<'a> {
    of: &'a Map<String, Value>,
    /// The declarable metadata; set for the object itself.
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

/// The owned fields below a step.
fn below<'a>(owned: &'a Map<String, Value>, step: &str) -> Option<&'a Map<String, Value>> {
    owned.get(step)?.as_object()
}

/// Whether a node is owned as a whole.
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
        // API servers record no owner of some empty values.
        (Some(live), None) if is_empty(wanted) => whole(wanted, live, quantity),
        (Some(_), None) => Err(What::NotOurs.into()),
    }
}

/// Compares a list whose items are owned by keys or, in a set, by value.
fn items(wanted: &[Value], live: &[Value], owned: &Map<String, Value>, quantity: bool) -> Compared {
    let items: Vec<Item<'_>> = owned.iter().filter_map(Item::read).collect();
    for (position, wanted) in wanted.iter().enumerate() {
        let at_item = |what: Difference| what.within(format!("[{position}]"));
        let Some(item) = items.iter().find(|item| item.is(wanted)) else {
            return Err(at_item(What::NotOurs.into()));
        };
        let Some(live) = live.iter().find(|live| item.is(live)) else {
            return Err(at_item(What::Missing.into()));
        };
        compare(wanted, live, item.owned, quantity).map_err(at_item)?;
    }
    let leftover = items.iter().find(|item| {
        live.iter().any(|live| item.is(live)) && !wanted.iter().any(|wanted| item.is(wanted))
    });
    match leftover {
        None => Ok(()),
        Some(item) => Err(Difference::from(What::Leftover).within(format!("[{}]", item.key))),
    }
}

/// An owned item of a list.
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

    /// Whether it identifies an item. A key that the manifest leaves out has its default.
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
mod tests {
    use serde_json::json;

    use super::*;

    /// A live object with the fields that Fairway owns.
    fn live(mut object: Value, owned: &Value) -> Value {
        object["metadata"]["managedFields"] = json!([
            {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {"f:foreign": {}}}},
            {"manager": "fairway", "operation": "Apply", "fieldsV1": owned},
        ]);
        object
    }

    /// The difference as text.
    fn found(wanted: &Value, live: &Value) -> String {
        difference(wanted, live).map(|found| found.to_string()).unwrap_or_default()
    }

    #[test]
    fn difference_requires_values_and_ownership() {
        let owned = json!({"f:spec": {"f:replicas": {}, "f:paused": {}}});
        let wanted = json!({"spec": {"replicas": 2, "paused": false}});
        for (spec, expected) in [
            (json!({"replicas": 2, "paused": false}), ""),
            (json!({"replicas": 2, "foreign": 7}), ""),
            (json!({"replicas": 2.0}), ""),
            (json!({"replicas": 3}), ".spec.replicas differs from the manifest"),
            (json!({"replicas": 2, "paused": true}), ".spec.paused differs from the manifest"),
            (json!({"paused": false}), ".spec.replicas is missing"),
        ] {
            assert_eq!(found(&wanted, &live(json!({"spec": spec}), &owned)), expected, "{spec}");
        }
        let taken =
            live(json!({"spec": {"replicas": 2}}), &json!({"f:spec": {".": {}, "f:paused": {}}}));
        assert_eq!(found(&wanted, &taken), ".spec.replicas is owned by another field manager");
        assert_eq!(
            found(&wanted, &json!({"spec": {"replicas": 2}})),
            ".spec is owned by another field manager",
            "an object that was never applied"
        );
    }

    #[test]
    fn difference_of_removed_field_is_leftover() {
        let owned = json!({"f:spec": {"f:replicas": {}, "f:old": {}, "f:dropped": {}}});
        let object = live(json!({"spec": {"replicas": 2, "old": {"a": 1}}}), &owned);
        assert_eq!(
            found(&json!({"spec": {"replicas": 2}}), &object),
            ".spec.old is no longer in the manifest"
        );
        assert_eq!(found(&json!({"spec": {"replicas": 2, "old": {"a": 1}}}), &object), "");
    }

    #[test]
    fn difference_matches_items_by_key() {
        let owned = json!({"f:spec": {"f:containers": {
            r#"k:{"name":"a"}"#: {".": {}, "f:name": {}, "f:image": {}},
            r#"k:{"name":"b"}"#: {".": {}, "f:name": {}, "f:image": {}},
        }}});
        let wanted = |containers: Value| json!({"spec": {"containers": containers}});
        let object = live(
            wanted(json!([
                {"name": "sidecar", "image": "s"},
                {"name": "b", "image": "2", "pull": "Always"},
                {"name": "a", "image": "1"},
            ])),
            &owned,
        );
        let a = json!({"name": "a", "image": "1"});
        let b = json!({"name": "b", "image": "2"});
        for (containers, expected) in [
            (json!([a, b]), ""),
            (json!([b, a]), ""),
            (json!([a]), r#".spec.containers[{"name":"b"}] is no longer in the manifest"#),
            (
                json!([a, {"name": "b", "image": "3"}]),
                ".spec.containers[1].image differs from the manifest",
            ),
            (json!([a, b, {"name": "c"}]), ".spec.containers[2] is owned by another field manager"),
        ] {
            assert_eq!(found(&wanted(containers.clone()), &object), expected, "{containers}");
        }
    }

    #[test]
    fn difference_of_atomic_list_compares_whole() {
        let owned = json!({"f:rules": {}});
        let wanted = json!({"rules": [{"verbs": ["get"], "resources": ["pods"]}]});
        for (rules, expected) in [
            (json!([{"verbs": ["get"], "resources": ["pods"]}]), ""),
            (json!([{"verbs": ["get"], "resources": ["pods"], "apiGroups": [""]}]), ""),
            (json!([{"verbs": ["*"], "resources": ["pods"]}]), ".rules differs from the manifest"),
            (
                json!([{"verbs": ["get"], "resources": ["pods"]}, {}]),
                ".rules differs from the manifest",
            ),
        ] {
            assert_eq!(found(&wanted, &live(json!({"rules": rules}), &owned)), expected, "{rules}");
        }
    }

    #[test]
    fn difference_of_set_compares_values() {
        let owned = json!({"f:metadata": {"f:finalizers": {".": {}, r#"v:"a""#: {}}}});
        let object = live(json!({"metadata": {"finalizers": ["foreign", "a"]}}), &owned);
        assert_eq!(found(&json!({"metadata": {"finalizers": ["a"]}}), &object), "");
        assert_eq!(
            found(&json!({"metadata": {"finalizers": []}}), &object),
            r#".metadata.finalizers["a"] is no longer in the manifest"#
        );
    }

    #[test]
    fn difference_ignores_undeclarable_metadata() {
        let owned = json!({"f:metadata": {"f:labels": {"f:a": {}}, "f:ownerReferences": {r#"k:{"uid":"1"}"#: {}}}});
        let owners = json!([{"uid": "1", "kind": "ClusterVersion"}]);
        let object = live(
            json!({
                "apiVersion": "v1", "kind": "Thing", "status": {"phase": "Lost"},
                "metadata": {
                    "name": "a", "uid": "9", "generation": 3, "labels": {"a": "1", "foreign": "2"},
                    "annotations": {"foreign": "3"}, "ownerReferences": owners,
                },
            }),
            &owned,
        );
        let mut wanted = json!({
            "apiVersion": "v1", "kind": "Thing",
            "metadata": {"name": "a", "labels": {"a": "1"}, "ownerReferences": owners},
        });
        assert_eq!(found(&wanted, &object), "");
        wanted["metadata"]["labels"] = json!({});
        assert_eq!(found(&wanted, &object), ".metadata.labels.a is no longer in the manifest");
    }

    #[test]
    fn difference_ignores_notation_and_empty_values() {
        let owned = json!({"f:spec": {"f:limits": {"f:cpu": {}}, "f:emptyDir": {}, "f:note": {}}});
        let wanted =
            json!({"spec": {"limits": {"cpu": "0.5"}, "emptyDir": {}, "note": "", "args": []}});
        let object =
            live(json!({"spec": {"limits": {"cpu": "500m"}, "emptyDir": {"medium": ""}}}), &owned);
        assert_eq!(found(&wanted, &object), "");
    }
}
