//! Live objects, compressed in memory.

use std::borrow::Cow;
use std::fmt;
use std::io::{BufWriter, Read as _, Write as _};
use std::sync::Arc;

use fairway_apply::ownership;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use kube::Resource;
use kube::api::ObjectMeta;
use kube::core::DynamicResourceScope;
use kube::discovery::ApiResource;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A live object. A release has hundreds of them, some with schemas of 100 KiB, and they are read
/// only when something changes. Compressed, they need a twentieth of the memory.
#[derive(Clone)]
pub struct LiveObject {
    /// The metadata that the watch needs.
    metadata: ObjectMeta,
    packed: Arc<[u8]>,
}

impl LiveObject {
    /// Compresses an object, without the parts of `managedFields` that drift detection ignores.
    pub fn pack(mut object: Value) -> Self {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            ownership::drop_fields_of_others(metadata);
        }
        let text = |key: &str| object["metadata"][key].as_str().map(str::to_owned);
        let metadata = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            resource_version: text("resourceVersion"),
            uid: text("uid"),
            ..ObjectMeta::default()
        };
        let mut packing = ZlibEncoder::new(Vec::new(), Compression::fast());
        let mut buffered = BufWriter::new(&mut packing);
        serde_json::to_writer(&mut buffered, &object).expect("writing to memory");
        buffered.flush().expect("writing to memory");
        drop(buffered);
        Self { metadata, packed: packing.finish().expect("writing to memory").into() }
    }

    /// Decompresses the object.
    pub fn object(&self) -> Value {
        let mut text = String::new();
        ZlibDecoder::new(&*self.packed)
            .read_to_string(&mut text)
            .expect("data packed by this type");
        serde_json::from_str(&text).expect("data packed by this type")
    }

    /// Field manager of the latest write by another client.
    pub fn other_writer(&self) -> Option<String> {
        ownership::latest_other_manager(&self.object()).map(str::to_owned)
    }

    /// Whether it is an earlier state of the same object. A list may have lower versions than all
    /// events and writes before it, after a restore of etcd.
    pub(super) fn is_older_than(&self, other: &Self) -> bool {
        self.metadata.uid == other.metadata.uid && self.has_lower_version_than(other)
    }

    /// Whether it has a lower `resourceVersion`. API servers do not guarantee an order, but all have
    /// one; without numbers, the last event wins.
    pub(super) fn has_lower_version_than(&self, other: &Self) -> bool {
        let revision = |live: &Self| live.metadata.resource_version.as_ref()?.parse::<u64>().ok();
        matches!((revision(self), revision(other)), (Some(mine), Some(theirs)) if mine < theirs)
    }

    /// Whether both have the same `resourceVersion`.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        self.metadata.resource_version == other.metadata.resource_version
    }

    /// Whether both have the same content.
    pub(super) fn has_same_content_as(&self, other: &Self) -> bool {
        self.packed == other.packed
    }
}

impl fmt::Debug for LiveObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ObjectMeta { namespace, name, resource_version, .. } = &self.metadata;
        write!(f, "{namespace:?}/{name:?} at {resource_version:?}")
    }
}

impl<'de> Deserialize<'de> for LiveObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::pack)
    }
}

// `kube::runtime::watcher` requires it.
impl Resource for LiveObject {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.kind)
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.group)
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.version)
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        Cow::Borrowed(&resource.plural)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(version: &str) -> LiveObject {
        LiveObject::pack(json!({"metadata": {"name": "a", "resourceVersion": version}}))
    }

    #[test]
    fn pack_compresses_and_restores_object() {
        let description = "Whether the widget turns to the left. ".repeat(2000);
        let object = json!({"metadata": {"name": "a"}, "spec": {"description": description}});
        let live = LiveObject::pack(object.clone());
        assert_eq!(live.object(), object);
        assert!(live.packed.len() < 2000, "{}", live.packed.len());
    }

    #[test]
    fn is_older_than_compares_numbers() {
        assert!(at("9").is_older_than(&at("10")));
        assert!(!at("10").is_older_than(&at("9")));
        assert!(!at("10").is_older_than(&at("10")) && at("10").is_same_as(&at("10")));
        assert!(!at("a").is_older_than(&at("b")), "versions that are no numbers have no order");
    }
}
