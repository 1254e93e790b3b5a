//! Manifests of a release.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{Read as _, Write as _};
use std::sync::Arc;

use fairway_schema::ZeroValue;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Shorter texts are not compressed: it saves almost nothing.
const MIN_COMPRESSED_BYTES: usize = 1024;

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
    /// Name of its file, without directory.
    pub file: String,
    /// First line, counted from one.
    pub line: u64,
    /// Identity of the object.
    pub id: ObjectId,
    /// Version of the API group, such as `v1`.
    pub version: String,
    /// Annotations, which select clusters.
    pub annotations: BTreeMap<String, String>,
    /// Required fields that the manifest omits; see [`with_zero_values`](crate::with_zero_values).
    pub(crate) zero_values: Arc<[ZeroValue]>,
    pub(crate) json: CompressedJson,
}

impl Manifest {
    /// The annotation that makes a manifest part of a preflight.
    pub const PREFLIGHT_CHECK: &str = "openshift.io/preflight-check";

    /// The object as JSON: as written, or converted from YAML with sorted keys.
    pub fn json(&self) -> Cow<'_, str> {
        self.json.text()
    }

    /// Bytes of the JSON.
    pub fn json_len(&self) -> usize {
        self.json.len()
    }

    /// A key that is equal for equal content, without decompressing it.
    pub fn content(&self) -> &(impl Ord + use<>) {
        &self.json
    }

    /// The object.
    pub fn object(&self) -> Value {
        serde_json::from_str(&self.json()).expect("a manifest is made of JSON that was read")
    }

    /// The object with zero values for required fields that the manifest omits.
    pub fn completed_object(&self) -> Value {
        self.completed_object_with(|zero| Some(zero.value.clone()))
    }

    /// The object with required fields that the manifest omits, as far as `choose` returns a value.
    pub fn completed_object_with(&self, choose: impl Fn(&ZeroValue) -> Option<Value>) -> Value {
        let mut object = self.object();
        for zero in &*self.zero_values {
            let Some((parent, name)) = zero.pointer.rsplit_once('/') else { continue };
            let Some(value) = choose(zero) else { continue };
            let name = name.replace("~1", "/").replace("~0", "~");
            if let Some(Value::Object(fields)) = object.pointer_mut(parent) {
                // A required field that is `null` counts as omitted.
                fields.insert(name, value);
            }
        }
        object
    }

    /// Whether the manifest omits required fields that have a zero value.
    pub fn has_zero_values(&self) -> bool {
        !self.zero_values.is_empty()
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }

    /// The component in the file name, if any.
    pub fn component(&self) -> Option<&str> {
        ManifestFileName::parse(&self.file).map(|name| name.component)
    }

    /// The component in the file name, or else the name of the object.
    pub fn operator(&self) -> &str {
        self.component().unwrap_or(&self.id.name)
    }

    /// Whether it belongs to a preflight check, which updates never apply.
    pub fn is_preflight_check(&self) -> bool {
        self.annotation(Self::PREFLIGHT_CHECK) == Some("true")
    }
}

/// Level and component in the name of a manifest file: `0000_50_network-operator_02_role.yaml` has
/// level 50 and component `network-operator`. Both are strings: `5` is not `05`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ManifestFileName<'a> {
    pub(crate) level: &'a str,
    pub(crate) component: &'a str,
}

impl<'a> ManifestFileName<'a> {
    pub(crate) fn parse(file: &'a str) -> Option<Self> {
        let mut parts = file.strip_prefix("0000_")?.splitn(3, '_');
        let (level, component, _rest) = (parts.next()?, parts.next()?, parts.next()?);
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let is_word =
            |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric());
        let found = is_number(level) && component.split('-').all(is_word);
        found.then_some(Self { level, component })
    }
}

impl fmt::Display for ManifestFileName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.level, self.component)
    }
}

/// The JSON text of a manifest, compressed. Clones share it. A release has a thousand manifests,
/// some with schemas of a megabyte, which are read once or twice: compression saves nine tenths of
/// the memory.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CompressedJson {
    Plain(Arc<str>),
    Compressed { bytes: Arc<[u8]>, length: usize },
}

impl CompressedJson {
    /// The length of the text.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Plain(text) => text.len(),
            Self::Compressed { length, .. } => *length,
        }
    }

    pub(crate) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Plain(text) => Cow::Borrowed(text),
            Self::Compressed { bytes, length } => {
                let mut text = String::with_capacity(*length);
                ZlibDecoder::new(&**bytes).read_to_string(&mut text).expect("text packed here");
                Cow::Owned(text)
            }
        }
    }
}

impl From<String> for CompressedJson {
    fn from(text: String) -> Self {
        if text.len() < MIN_COMPRESSED_BYTES {
            return Self::Plain(text.into());
        }
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).expect("writing to memory");
        let bytes = encoder.finish().expect("writing to memory").into();
        Self::Compressed { bytes, length: text.len() }
    }
}

impl fmt::Debug for CompressedJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_file_name_returns_level_and_component() {
        for (file, expected) in [
            ("0000_50_network-operator_02_role.yaml", Some(("50", "network-operator"))),
            ("0000_7_a_", Some(("7", "a"))),
            ("0000_007_A-b-9_x", Some(("007", "A-b-9"))),
            ("0000_50_a", None),
            ("0000_50_a.yaml", None),
            ("0000_50_a-_b", None),
            ("0000_50_-a_b", None),
            ("0000_50_a--b_c", None),
            ("0000_50__b", None),
            ("0000_5x_a_b", None),
            ("0000__a_b", None),
            ("0001_50_a_b", None),
            ("0000_٥_a_b", None),
            ("", None),
        ] {
            let found = ManifestFileName::parse(file).map(|name| (name.level, name.component));
            assert_eq!(found, expected, "{file}");
        }
    }

    #[test]
    fn text_of_any_length_is_returned_unchanged() {
        for length in [0, MIN_COMPRESSED_BYTES - 1, MIN_COMPRESSED_BYTES, 100_000] {
            let text = "{\"ä\": 1}".repeat(length / 9 + 1);
            let compressed = CompressedJson::from(text.clone());
            assert_eq!(compressed.text(), text);
            assert_eq!(compressed.len(), text.len());
        }
    }
}
