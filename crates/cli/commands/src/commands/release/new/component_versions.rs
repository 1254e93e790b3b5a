//! Component versions from the labels of images.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use fairway_api::Version;
use fairway_registry::contents;
use fairway_release::Draft;
use fairway_release::draft::Operator;
use fairway_release::image_references::{VERSIONS_LABEL, component_versions};
use tokio::runtime::Runtime;

use crate::args::registry::AccessArgs;
use crate::commands::registry;
use crate::errors::WithHint;
use crate::printer::Printer;

/// The component versions that images declare, by image.
type Declared = BTreeMap<String, BTreeMap<String, String>>;

/// Completes operators with the component versions that their manifests want and the draft does not
/// have. Registries are contacted only for those.
pub(super) fn complete(
    operators: &mut [Operator],
    draft: &Draft,
    access: &AccessArgs,
    runtime: &Runtime,
    printer: &Printer,
) -> anyhow::Result<()> {
    let mut declared = Declared::new();
    for operator in operators {
        let wanted: BTreeSet<String> = operator
            .wanted_components()
            .into_iter()
            .filter(|component| !component.is_empty() && !draft.has_version(component))
            .collect();
        if wanted.is_empty() {
            continue;
        }
        // The draft reports an `image-references` that cannot be decoded.
        let names: BTreeSet<String> =
            operator.placeholders().unwrap_or_default().into_values().collect();
        let images: Vec<&str> = names.iter().filter_map(|name| draft.image(name)).collect();
        for image in &images {
            if !declared.contains_key(*image) {
                printer.note(format_args!("reading component versions of {image}"));
                let found = declared_by(image, access, runtime).with_context(|| WithHint {
                    message: format!("cannot read the component versions of image {image}"),
                    hint: options(&wanted),
                })?;
                declared.insert((*image).to_owned(), found);
            }
        }
        for component in &wanted {
            if let Some(version) = agreed(component, &images, &declared)? {
                operator.versions.insert(component.clone(), version);
            }
        }
    }
    Ok(())
}

/// The options that set versions of components.
pub(super) fn options(components: &BTreeSet<String>) -> String {
    let options = components.iter().map(|name| format!("--component-version {name}=VERSION"));
    format!("set versions with {}", options.collect::<Vec<_>>().join(" "))
}

fn declared_by(
    image: &str,
    access: &AccessArgs,
    runtime: &Runtime,
) -> anyhow::Result<BTreeMap<String, String>> {
    let named = registry::image(image, access, "cannot use its name")?;
    let labels = runtime.block_on(async {
        let digest = named.resolve().await?;
        anyhow::Ok(contents::labels(named.source(), &digest).await?)
    })?;
    let list = labels.get(VERSIONS_LABEL).map(String::as_str).unwrap_or_default();
    component_versions(list)
        .map(|(component, version)| {
            let version = Version::parse(&version)
                .with_context(|| format!("label {VERSIONS_LABEL}: component {component}"))?;
            Ok((component, version.without_build().to_string()))
        })
        .collect()
}

/// The version that some images declare and none contradicts.
fn agreed(
    component: &str,
    images: &[&str],
    declared: &Declared,
) -> Result<Option<String>, WithHint> {
    let versions = images.iter().filter_map(|image| {
        let version = declared.get(*image)?.get(component)?;
        Some((version, *image))
    });
    let by_version: BTreeMap<&String, &str> = versions.collect();
    let mut versions = by_version.iter();
    match (versions.next(), versions.next()) {
        (Some((one, first)), Some((other, second))) => Err(WithHint {
            message: format!(
                "images declare different versions of {component}: {first} has {one}, {second} has {other}"
            ),
            hint: options(&BTreeSet::from([component.to_owned()])),
        }),
        (first, _) => Ok(first.map(|(version, _)| (*version).clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(images: &[(&str, &str)]) -> Declared {
        let versions = |list: &str| component_versions(list).collect();
        images.iter().map(|(image, list)| ((*image).to_owned(), versions(list))).collect()
    }

    #[test]
    fn agreed_returns_the_version_of_all_images_that_have_one() {
        let declared = declared(&[
            ("a", "kubernetes=1.34.2"),
            ("b", ""),
            ("c", "kubernetes=1.34.2,etcd=3.6.0"),
        ]);
        let agreed = |component| agreed(component, &["a", "b", "c"], &declared).unwrap();
        assert_eq!(agreed("kubernetes").as_deref(), Some("1.34.2"));
        assert_eq!(agreed("etcd").as_deref(), Some("3.6.0"));
        assert_eq!(agreed("cri-o"), None);
    }

    #[test]
    fn agreed_with_different_versions_returns_an_error() {
        let declared = declared(&[("a", "kubernetes=1.34.2"), ("b", "kubernetes=1.34.3")]);
        let WithHint { message, hint } = agreed("kubernetes", &["a", "b"], &declared).unwrap_err();
        insta::assert_snapshot!(message, @"images declare different versions of kubernetes: a has 1.34.2, b has 1.34.3");
        insta::assert_snapshot!(hint, @"set versions with --component-version kubernetes=VERSION");
    }
}
