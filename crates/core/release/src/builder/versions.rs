//! The images that carry the component versions of a release.
//!
//! `oc adm release new --from-release` reads the version of a component from the images that an
//! operator lists, and refuses several that declare it. So a version that is set for the whole
//! release is written to one image that all operators with its placeholder list.

use std::collections::BTreeSet;

use super::operator::Operator;
use crate::image_references::{ComponentVersions, ImageReferences};

/// An operator whose manifests use component versions.
#[derive(Clone, Debug)]
pub(super) struct VersionUse {
    /// The image of the operator itself.
    own: String,
    components: BTreeSet<String>,
    /// The images that the operator lists.
    images: BTreeSet<String>,
}

impl VersionUse {
    /// The components in `set` that the manifests of the operator use; `None` if they use none.
    pub(super) fn of<'a>(
        operator: &Operator,
        images: impl Iterator<Item = &'a String>,
        set: &ComponentVersions,
    ) -> Option<Self> {
        if set.is_empty() {
            return None;
        }
        let mut components = operator.wanted_components();
        components.retain(|component| set.contains_key(component));
        let (own, images) = (operator.image.clone(), images.cloned().collect());
        (!components.is_empty()).then_some(Self { own, components, images })
    }
}

/// Writes versions that are set for the whole release to images: to those that declare the
/// component, or to one that the operators with its placeholder list. A version without such an
/// image becomes a default.
pub(super) fn place(
    references: &mut ImageReferences,
    versions: &ComponentVersions,
    uses: &[VersionUse],
) {
    for (component, version) in versions {
        for image in carriers(references, component, uses) {
            let declared = references.versions.entry(image).or_default();
            declared.insert(component.clone(), version.clone());
        }
        if references.component(component) != Some(version) {
            references.default_versions.insert(component.clone(), version.clone());
        }
    }
}

fn carriers(references: &ImageReferences, component: &str, uses: &[VersionUse]) -> Vec<String> {
    let ImageReferences { images, versions, .. } = references;
    let declaring: Vec<String> = versions
        .iter()
        .filter(|(_, versions)| versions.contains_key(component))
        .map(|(image, _)| image.clone())
        .collect();
    if !declaring.is_empty() {
        return declaring;
    }
    let uses: Vec<&VersionUse> =
        uses.iter().filter(|it| it.components.contains(component)).collect();
    // The image of an operator has the version of the operator, so it comes last.
    let first = |candidates: &mut dyn Iterator<Item = &String>| {
        let candidates = candidates.filter(|image| images.contains_key(*image));
        candidates.min_by_key(|image| (uses.iter().any(|it| it.own == **image), *image)).cloned()
    };
    let is_common = |image: &&String| uses.iter().all(|it| it.images.contains(*image));
    let mut listed = uses.iter().flat_map(|it| &it.images).filter(is_common);
    match first(&mut listed) {
        Some(common) => vec![common],
        None => uses.iter().filter_map(|it| first(&mut it.images.iter())).collect(),
    }
}
