//! Component versions from the labels of images.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use fairway_api::Version;
use fairway_registry::contents;
use fairway_release::ReleaseBuilder;
use fairway_release::builder::{BuildWarning, Operator};
use fairway_release::image_references::{ComponentVersions, VERSIONS_LABEL, component_versions};
use tokio::runtime::Runtime;

use crate::args::registry::AccessArgs;
use crate::args::release::NewArgs;
use crate::commands::registry;
use crate::errors::WithHint;
use crate::printer::Printer;

/// Completes a draft with the component versions that the manifests of operators want and the draft
/// does not have. Registries are contacted only for those.
pub(super) fn complete(
    operators: &[Operator],
    draft: &mut ReleaseBuilder,
    args: &NewArgs,
    runtime: &Runtime,
    printer: &Printer,
) -> anyhow::Result<()> {
    let mut read = BTreeSet::new();
    for operator in operators {
        // The draft reports an `image-references` that cannot be decoded.
        let names: BTreeSet<String> =
            operator.placeholders().unwrap_or_default().into_values().collect();
        let wanted: BTreeSet<String> = operator
            .wanted_components()
            .into_iter()
            .filter(|component| !component.is_empty() && draft.version(component, &names).is_none())
            .collect();
        if wanted.is_empty() {
            continue;
        }
        let mut declared = Declared::new();
        for name in &names {
            let Some(image) = draft.image(name).map(str::to_owned) else { continue };
            if read.insert(name.clone()) {
                printer.note(format_args!("reading component versions of {image}"));
                match declared_by(&image, &args.access, runtime) {
                    Ok(found) => draft.declare(name, found),
                    Err(error) if args.allow_unresolved => {
                        let (image, reason) = (image.clone(), format!("{error:#}"));
                        draft.warn(BuildWarning::UnknownVersions { image, reason });
                    }
                    Err(error) => return Err(error.context(unreadable(&image, &wanted))),
                }
            }
            if let Some(versions) = draft.declared(name) {
                declared.insert(image, versions.clone());
            }
        }
        for component in &wanted {
            match agree(component, &declared) {
                Err(WithHint { message, .. }) if args.allow_unresolved => {
                    draft.warn(BuildWarning::VersionConflict(message));
                }
                agreed => agreed?,
            }
        }
    }
    Ok(())
}

fn unreadable(image: &str, wanted: &BTreeSet<String>) -> WithHint {
    WithHint::new(format!("cannot read the component versions of image {image}"), options(wanted))
}

/// The component versions that images declare, by image.
type Declared = BTreeMap<String, ComponentVersions>;

/// The options that set versions of components.
pub(super) fn options(components: &BTreeSet<String>) -> String {
    let options = components.iter().map(|name| format!("--component-version {name}=VERSION"));
    format!("set versions with {}", options.collect::<Vec<_>>().join(" "))
}

fn declared_by(
    image: &str,
    access: &AccessArgs,
    runtime: &Runtime,
) -> anyhow::Result<ComponentVersions> {
    let named = registry::image(image, access, "invalid image name")?;
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

/// Checks that images do not declare different versions of a component.
fn agree(component: &str, declared: &Declared) -> Result<(), WithHint> {
    let versions = declared
        .iter()
        .filter_map(|(image, versions)| Some((versions.get(component)?, image.as_str())));
    let by_version: BTreeMap<&String, &str> = versions.collect();
    let mut versions = by_version.iter();
    match (versions.next(), versions.next()) {
        (Some((one, first)), Some((other, second))) => Err(WithHint::new(
            format!(
                "images declare different versions of {component}: {first} has {one}, {second} has {other}"
            ),
            options(&BTreeSet::from([component.to_owned()])),
        )),
        _ => Ok(()),
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
    fn agree_with_one_version_or_none_returns_ok() {
        let declared = declared(&[
            ("a", "kubernetes=1.34.2"),
            ("b", ""),
            ("c", "kubernetes=1.34.2,etcd=3.6.0"),
        ]);
        for component in ["kubernetes", "etcd", "cri-o"] {
            assert!(agree(component, &declared).is_ok(), "{component}");
        }
    }

    #[test]
    fn agree_with_different_versions_returns_an_error() {
        let declared = declared(&[("a", "kubernetes=1.34.2"), ("b", "kubernetes=1.34.3")]);
        let WithHint { message, hint } = agree("kubernetes", &declared).unwrap_err();
        insta::assert_snapshot!(message, @"images declare different versions of kubernetes: a has 1.34.2, b has 1.34.3");
        insta::assert_snapshot!(hint, @"set versions with --component-version kubernetes=VERSION");
    }
}
