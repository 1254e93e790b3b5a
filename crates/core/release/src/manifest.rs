//! One object that a release brings, as its file has it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use fairway_schema::ZeroValue;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::packed::PackedJson;
use crate::turn::Turn;

/// Identity of an object. It has no API version, because manifests may use several for the same
/// object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub struct ObjectId {
    /// API group, empty for the core group.
    pub group: String,
    /// Kind of the object.
    pub kind: String,
    /// Namespace, empty for cluster-scoped kinds.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name of the object.
    pub name: String,
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group: _, kind, namespace, name } = self;
        let kind = kind.to_lowercase();
        if namespace.is_empty() {
            write!(f, "{kind} \"{name}\"")
        } else {
            write!(f, "{kind} \"{namespace}/{name}\"")
        }
    }
}

/// One object of a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The name of the file that has it, without a directory.
    pub file: String,
    /// The line where it begins, counted from one.
    pub line: u64,
    /// What it is and how it is called.
    pub id: ObjectId,
    /// The version of its API group, such as `v1`.
    pub version: String,
    /// Its annotations: they say which clusters get it.
    pub annotations: BTreeMap<String, String>,
    /// Required fields that the manifest leaves out; see [`with_zero_values`](crate::with_zero_values).
    pub(crate) zero_values: Arc<[ZeroValue]>,
    pub(crate) json: PackedJson,
}

impl Manifest {
    /// The annotation that makes a manifest part of a preflight.
    pub const PREFLIGHT_CHECK: &str = "openshift.io/preflight-check";

    /// The object as JSON: as it was written, or made of YAML, with sorted keys.
    pub fn json(&self) -> Cow<'_, str> {
        self.json.text()
    }

    /// The length of its JSON.
    pub fn json_len(&self) -> usize {
        self.json.len()
    }

    /// What tells manifests with different content apart, without unpacking it.
    pub fn content(&self) -> &(impl Ord + use<>) {
        &self.json
    }

    /// The object.
    pub fn object(&self) -> Value {
        serde_json::from_str(&self.json()).expect("a manifest is made of JSON that was read")
    }

    /// The object with all required fields: those that the manifest leaves out have their zero
    /// value.
    pub fn completed_object(&self) -> Value {
        self.completed_object_with(|zero| Some(zero.value.clone()))
    }

    /// The object with required fields that the manifest leaves out, as far as `choose` has a value
    /// for them.
    pub fn completed_object_with(&self, choose: impl Fn(&ZeroValue) -> Option<Value>) -> Value {
        let mut object = self.object();
        for zero in &*self.zero_values {
            let Some((parent, name)) = zero.pointer.rsplit_once('/') else { continue };
            let Some(value) = choose(zero) else { continue };
            let name = name.replace("~1", "/").replace("~0", "~");
            if let Some(Value::Object(fields)) = object.pointer_mut(parent) {
                // A required field that is `null` counts as left out.
                fields.insert(name, value);
            }
        }
        object
    }

    /// Whether the manifest leaves out required fields that have a zero value.
    pub fn has_zero_values(&self) -> bool {
        !self.zero_values.is_empty()
    }

    /// An annotation, if it has it.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }

    /// Whose it is, if the name of its file says so.
    pub fn component(&self) -> Option<&str> {
        Turn::of(&self.file).map(|turn| turn.component)
    }

    /// The operator that it is of, by the name of its file; where that says nothing, it is its own.
    pub fn operator(&self) -> &str {
        self.component().unwrap_or(&self.id.name)
    }

    /// Whether it belongs to a preflight, and is never applied by an update.
    pub fn is_preflight_check(&self) -> bool {
        self.annotation(Self::PREFLIGHT_CHECK) == Some("true")
    }
}
