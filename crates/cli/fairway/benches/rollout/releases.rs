//! Releases for the rollout.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use fairway_operator::own_release::content;
use fairway_registry::{Image, ImageConfig, LayerBuilder, layout};
use fairway_release::inclusion::DEFAULT_PROFILE;
use fairway_release::{Manifest, ObjectId};
use serde_json::{Value, json};

/// Number and size of CRDs on a platform with many add-ons.
const LARGE_CRDS: usize = 200;
const LARGE_BYTES: usize = 100 * 1024;

/// Size of a description in a schema.
const DESCRIPTION_BYTES: usize = 512;

const WORDS: [&str; 16] = [
    "node", "the", "of", "storage", "selects", "cluster", "a", "field", "network", "is",
    "optional", "object", "in", "names", "limit", "address",
];

/// A release as a directory, an image and manifests.
pub(crate) struct Payload {
    pub(crate) version: String,
    pub(crate) directory: PathBuf,
    pub(crate) image: String,
    pub(crate) manifests: Vec<Manifest>,
}

impl Payload {
    /// Reads a release, and writes its image to a new layout below a directory.
    pub(crate) fn read(directory: &Path, layouts: &Path) -> Result<Self> {
        let layer = LayerBuilder::new().host_tree("", directory)?.build()?;
        let image = Image::new(vec![layer], &ImageConfig::default());
        let reference = format!("registry.example/release@{}", image.digest());
        let release = content(directory, &reference, DEFAULT_PROFILE)?;
        let version = release.metadata.version.to_string();
        layout::write(&layouts.join(image.digest().hex()), &image, &version)?;
        let (directory, manifests) = (directory.to_owned(), release.manifests);
        Ok(Self { version, directory, image: reference, manifests })
    }

    /// The manifests that another release lacks or has with other content.
    pub(crate) fn changed_since<'a>(&'a self, before: &Self) -> Vec<&'a Manifest> {
        let known: BTreeMap<&ObjectId, Value> =
            before.manifests.iter().map(|it| (&it.id, written(it))).collect();
        self.manifests.iter().filter(|it| known.get(&it.id) != Some(&written(it))).collect()
    }

    /// The manifests of a kind.
    pub(crate) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Manifest> {
        self.manifests.iter().filter(move |manifest| manifest.id.kind == kind)
    }

    /// Writes the release with additional large CRDs to a directory.
    pub(crate) fn write_with_large_crds(&self, directory: &Path) -> Result<()> {
        for part in ["manifests", "release-manifests"] {
            std::fs::create_dir_all(directory.join(part))?;
            for entry in std::fs::read_dir(self.directory.join(part))? {
                let entry = entry?;
                std::fs::copy(entry.path(), directory.join(part).join(entry.file_name()))?;
            }
        }
        for number in 0..LARGE_CRDS {
            let name = format!("release-manifests/0000_05_large{number:03}_00_crd.yaml");
            let text = large_crd(number).to_string();
            std::fs::write(directory.join(&name), text).with_context(|| name)?;
        }
        Ok(())
    }
}

/// The object without its status, which components write.
pub(crate) fn written(manifest: &Manifest) -> Value {
    let mut object = manifest.object();
    object.as_object_mut().map(|object| object.remove("status"));
    object
}

fn large_crd(number: usize) -> Value {
    let (group, plural, kind) =
        (format!("large{number}.example.com"), "larges", format!("Large{number}"));
    let fields: serde_json::Map<String, Value> = (0..LARGE_BYTES / DESCRIPTION_BYTES)
        .map(|field| {
            let description = description(number * LARGE_BYTES + field);
            (format!("field{field}"), json!({"type": "string", "description": description}))
        })
        .collect();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{plural}.{group}"),
            "annotations": {"include.release.openshift.io/self-managed-high-availability": "true"},
        },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": plural, "singular": "large", "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "properties": {"spec": {"type": "object", "properties": fields}},
                }},
            }],
        },
    })
}

/// Words in random order, which compress as badly as natural text.
fn description(seed: usize) -> String {
    // Knuth's multiplier spreads neighbouring seeds.
    let mut random = (seed as u64).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    let mut text = String::new();
    while text.len() < DESCRIPTION_BYTES {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        text += WORDS[(random >> 60) as usize];
        text.push(' ');
    }
    text
}
