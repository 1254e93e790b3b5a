//! Differences between two releases.

mod fields;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

pub use self::fields::FieldChange;
use crate::manifest::{Manifest, ObjectId};
use crate::payload::Release;

/// Maximum characters of a value in text output. JSON and YAML have the complete value.
const MAX_CHARACTERS: usize = 80;

/// Differences between two releases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[must_use = "a report must be shown"]
pub struct Changes {
    /// Version of the first release.
    pub from: String,
    /// Version of the second release.
    pub to: String,
    /// Images that differ, by name.
    pub images: Vec<ImageChange>,
    /// Manifests that differ, by kind and name.
    pub manifests: Vec<ManifestChange>,
}

/// Old and new value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference<T> {
    /// Value in the first release, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<T>,
    /// Value in the second release, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<T>,
}

/// Difference of one image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ImageChange {
    /// Name of the image in the releases.
    pub name: String,
    /// References of the image.
    #[serde(flatten)]
    pub difference: Difference<String>,
}

/// Difference of one manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ManifestChange {
    /// Object of the manifest.
    #[serde(flatten)]
    pub id: ObjectId,
    /// Files with the manifest. Their names determine the rollout order.
    pub file: Difference<String>,
    /// Fields that differ, if both releases have the manifest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<FieldChange>,
}

impl Changes {
    /// Compares two releases.
    pub fn between(from: &Release, to: &Release) -> Self {
        Self {
            from: from.metadata.version.to_string(),
            to: to.metadata.version.to_string(),
            images: images(&from.image_references.images, &to.image_references.images),
            manifests: manifests(&from.manifests, &to.manifests),
        }
    }

    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        self.images.is_empty() && self.manifests.is_empty()
    }
}

fn images(from: &BTreeMap<String, String>, to: &BTreeMap<String, String>) -> Vec<ImageChange> {
    let names: BTreeSet<&String> = from.keys().chain(to.keys()).collect();
    let change = |name: &String| {
        let difference = Difference { old: from.get(name).cloned(), new: to.get(name).cloned() };
        (difference.old != difference.new).then(|| ImageChange { name: name.clone(), difference })
    };
    names.into_iter().filter_map(change).collect()
}

fn manifests(from: &[Manifest], to: &[Manifest]) -> Vec<ManifestChange> {
    let variants = variants(from, to);
    let (from, to) = (by_key(from, &variants), by_key(to, &variants));
    let keys: BTreeSet<&Key> = from.keys().chain(to.keys()).collect();
    let change = |key: &Key| manifest(key.0, from.get(key).copied(), to.get(key).copied());
    keys.into_iter().filter_map(change).collect()
}

/// An object and, if it has variants, the file of one.
type Key<'a> = (&'a ObjectId, Option<&'a str>);

fn by_key<'a>(
    manifests: &'a [Manifest],
    variants: &BTreeSet<&ObjectId>,
) -> BTreeMap<Key<'a>, &'a Manifest> {
    let key = |manifest: &'a Manifest| {
        (&manifest.id, variants.contains(&manifest.id).then_some(manifest.file.as_str()))
    };
    manifests.iter().map(|manifest| (key(manifest), manifest)).collect()
}

/// Objects that a release has several times, in files for different clusters. Only the file name
/// distinguishes them.
fn variants<'a>(from: &'a [Manifest], to: &'a [Manifest]) -> BTreeSet<&'a ObjectId> {
    let mut variants = BTreeSet::new();
    for manifests in [from, to] {
        let mut seen = BTreeSet::new();
        for manifest in manifests {
            if !seen.insert(&manifest.id) {
                variants.insert(&manifest.id);
            }
        }
    }
    variants
}

fn manifest(
    id: &ObjectId,
    from: Option<&Manifest>,
    to: Option<&Manifest>,
) -> Option<ManifestChange> {
    let fields = match (from, to) {
        (Some(from), Some(to)) => fields::between(&from.object(), &to.object()),
        _ => Vec::new(),
    };
    let file = |manifest: Option<&Manifest>| manifest.map(|manifest| manifest.file.clone());
    let file = Difference { old: file(from), new: file(to) };
    let is_same = fields.is_empty() && file.old == file.new;
    (!is_same).then(|| ManifestChange { id: id.clone(), file, fields })
}

impl<T> Difference<T> {
    /// `+` for added, `-` for removed, `~` for changed.
    fn sign(&self) -> char {
        match (&self.old, &self.new) {
            (None, _) => '+',
            (_, None) => '-',
            _ => '~',
        }
    }
}

impl fmt::Display for Difference<String> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.old, &self.new) {
            (Some(from), Some(to)) => write!(f, "{from} → {to}"),
            (from, to) => f.write_str(from.as_ref().or(to.as_ref()).map_or("", String::as_str)),
        }
    }
}

impl fmt::Display for Difference<Value> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<Value>| value.as_ref().map_or("nothing".to_owned(), short);
        write!(f, "{} → {}", shown(&self.old), shown(&self.new))
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, images, manifests } = self;
        writeln!(f, "{from} → {to}: images: {}, manifests: {}", images.len(), manifests.len())?;
        for ImageChange { name, difference } in images {
            writeln!(f, "{} image {name}: {difference}", difference.sign())?;
        }
        for ManifestChange { id, file, fields } in manifests {
            writeln!(f, "{} {id}", file.sign())?;
            if file.sign() == '~' && file.old != file.new {
                writeln!(f, "    in {file}")?;
            }
            for FieldChange { field, difference } in fields {
                writeln!(f, "    {field}: {difference}")?;
            }
        }
        Ok(())
    }
}
