//! Compared objects: some of each kind with rules, with variations.
//!
//! Each file has objects by name, with edits that create variations: the value at a path, or `null`
//! to remove it.

use std::fmt;
use std::sync::Arc;

use fairway_sandbox::catalog::{Catalog, Resource, Subresource};
use serde_json::{Map, Value};

const FILES: [&str; 5] = [
    include_str!("pods.json"),
    include_str!("workloads.json"),
    include_str!("config.json"),
    include_str!("network.json"),
    include_str!("cluster.json"),
];

/// One object to compare.
pub(super) struct Case {
    name: String,
    pub(super) resource: Arc<Resource>,
    pub(super) subresource: Option<Subresource>,
    edits: Map<String, Value>,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.subresource.map_or("", Subresource::as_str);
        write!(f, "{} {place}{}", self.name, Value::from(self.edits.clone()))
    }
}

impl Case {
    /// The object with the edits.
    pub(super) fn edited(&self, object: &Value) -> Value {
        let mut object = object.clone();
        for (path, value) in &self.edits {
            edit(&mut object, path, value);
        }
        object
    }
}

/// All objects to create.
pub(super) fn to_create(namespace: &str) -> Vec<(Case, Value)> {
    let families = families().into_iter();
    let cases = families.flat_map(|family| {
        let object = family.object(namespace);
        let unchanged = family.case(Map::new());
        let varied = family.edits("create").into_iter().map(|edits| family.case(edits));
        let cases: Vec<_> = std::iter::once(unchanged).chain(varied).collect();
        cases.into_iter().map(move |case| {
            let object = case.edited(&object);
            (case, object)
        })
    });
    cases.collect()
}

/// All objects to update, with their changes.
pub(super) fn to_change(namespace: &str) -> Vec<(Arc<Resource>, Value, Vec<Case>)> {
    let places = [("update", None), ("status", Some(Subresource::Status))];
    let cases = families().into_iter().map(|family| {
        let changes = places.iter().flat_map(|(name, subresource)| {
            let edits = family.edits(name).into_iter();
            edits.map(|edits| Case { subresource: *subresource, ..family.case(edits) })
        });
        let changes: Vec<_> = changes.collect();
        let mut object = family.object(namespace);
        if !family.resource.namespaced && family.resource.kind != "CustomResourceDefinition" {
            // A unique name avoids conflicts with an object of an earlier run that is being
            // deleted.
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            object["metadata"]["name"] = format!("{name}-{namespace}").into();
        }
        (family.resource.clone(), object, changes)
    });
    cases.filter(|(_, _, changes)| !changes.is_empty()).collect()
}

/// An object with its variations.
struct ObjectFamily {
    name: String,
    resource: Arc<Resource>,
    content: Value,
}

fn families() -> Vec<ObjectFamily> {
    let catalog = Catalog::default();
    let files = FILES.iter().flat_map(|file| {
        let file: Map<String, Value> = serde_json::from_str(file).unwrap();
        file.into_iter()
    });
    let families = files.map(|(name, content)| {
        let object = &content["object"];
        let version = object["apiVersion"].as_str().unwrap();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let resource = catalog.kind(group, object["kind"].as_str().unwrap()).unwrap().clone();
        ObjectFamily { name, resource, content }
    });
    families.collect()
}

impl ObjectFamily {
    fn object(&self, namespace: &str) -> Value {
        let object = self.content["object"].to_string().replace("$NAMESPACE", namespace);
        let mut object: Value = serde_json::from_str(&object).unwrap();
        if self.resource.namespaced {
            object["metadata"]["namespace"] = namespace.into();
        }
        object
    }

    fn edits(&self, of: &str) -> Vec<Map<String, Value>> {
        let edits = self.content[of].as_array().into_iter().flatten();
        edits.map(|edits| edits.as_object().unwrap().clone()).collect()
    }

    fn case(&self, edits: Map<String, Value>) -> Case {
        Case { name: self.name.clone(), resource: self.resource.clone(), subresource: None, edits }
    }
}

fn edit(object: &mut Value, path: &str, value: &Value) {
    let mut place = object;
    for part in path.split('/').skip(1) {
        let part = part.replace("~1", "/");
        place = match place {
            Value::Array(items) => {
                let index: usize = part.parse().unwrap();
                if index == items.len() {
                    items.push(Value::Null);
                }
                &mut items[index]
            }
            other => &mut other[part],
        };
    }
    *place = value.clone();
}
