//! The input of a release: the manifests of one operator.

use std::collections::{BTreeMap, BTreeSet};

use fairway_api::read::ReadError;

use super::substitution::wanted_components;
use crate::image_references::placeholders;
use crate::payload::PayloadWarning;

/// The file with which an operator names the images in its manifests.
pub const PLACEHOLDERS: &str = "image-references";

/// Prefix of file names with level and component.
const ORDERED: &str = "0000_";

/// The manifests of one operator, as its image has them in `/manifests`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operator {
    /// The name of the operator's image in the release, such as `cluster-network-operator`.
    pub image: String,
    /// The directory that errors name.
    pub directory: String,
    /// The files by name, [`PLACEHOLDERS`] among them.
    pub files: BTreeMap<String, Vec<u8>>,
}

impl Operator {
    /// The path of a file in errors.
    pub(super) fn path(&self, file: &str) -> String {
        format!("{}/{file}", self.directory)
    }

    /// Names of release images by the words that the manifests have for them.
    pub fn placeholders(&self) -> Result<BTreeMap<String, String>, ReadError> {
        self.placeholders_with_warnings().map(|(placeholders, _)| placeholders)
    }

    /// The same, with warnings about the text of [`PLACEHOLDERS`].
    pub(super) fn placeholders_with_warnings(
        &self,
    ) -> Result<(BTreeMap<String, String>, Vec<PayloadWarning>), ReadError> {
        let Some(bytes) = self.files.get(PLACEHOLDERS) else { return Ok(Default::default()) };
        placeholders(&self.path(PLACEHOLDERS), bytes)
    }

    /// The files that become part of a release: all but [`PLACEHOLDERS`].
    pub fn manifests(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let files = self.files.iter().filter(|(name, _)| *name != PLACEHOLDERS);
        files.map(|(name, bytes)| (name.as_str(), bytes.as_slice()))
    }

    /// The components whose versions the manifests use as `0.0.1-snapshot-COMPONENT`.
    pub fn wanted_components(&self) -> BTreeSet<String> {
        self.manifests().flat_map(|(_, bytes)| wanted_components(bytes)).collect()
    }
}

/// The name of an operator's file in a release. Without a level of its own, it gets level 50 and the
/// component of the image, as with `oc adm release new`.
pub(super) fn release_name(image: &str, file: &str) -> String {
    if file.starts_with(ORDERED) { file.to_owned() } else { format!("0000_50_{image}_{file}") }
}

/// The name of another file of the same name: `a.crd.yaml` becomes `a.crd_2.yaml`.
pub(super) fn numbered(name: &str, number: usize) -> String {
    match name.rfind('.') {
        Some(dot) => format!("{}_{number}{}", &name[..dot], &name[dot..]),
        None => format!("{name}_{number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn release_name_without_level_gets_level_50_and_the_image() {
        for (file, expected) in [
            ("0000_10_config_01.yaml", "0000_10_config_01.yaml"),
            ("0000_readme", "0000_readme"),
            ("07_deployment.yaml", "0000_50_network_07_deployment.yaml"),
            ("gen.sh", "0000_50_network_gen.sh"),
            ("0001_10_a.yaml", "0000_50_network_0001_10_a.yaml"),
        ] {
            assert_eq!(release_name("network", file), expected);
        }
    }

    #[test]
    fn numbered_inserts_the_number_before_the_last_extension() {
        for (name, expected) in
            [("a.yaml", "a_2.yaml"), ("a.crd.yaml", "a.crd_2.yaml"), ("a", "a_2"), ("a.", "a_2.")]
        {
            assert_eq!(numbered(name, 2), expected);
        }
    }

    #[test]
    fn wanted_components_ignores_the_placeholder_file() {
        let file = |name: &str, text: &str| (name.to_owned(), text.as_bytes().to_vec());
        let operator = Operator {
            files: BTreeMap::from([
                file("a.yaml", "0.0.1-snapshot-kubernetes"),
                file("b.sh", "0.0.1-snapshot-cri-o 0.0.1-snapshot-kubernetes 0.0.1-snapshot"),
                file(PLACEHOLDERS, "0.0.1-snapshot-etcd"),
            ]),
            ..Operator::default()
        };
        let wanted = operator.wanted_components();
        assert_eq!(wanted.iter().collect::<Vec<_>>(), ["cri-o", "kubernetes"]);
    }
}
