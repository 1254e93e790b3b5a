//! `fairway release info`: describes a release.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use fairway_api::Version;
use fairway_release::inclusion::{DEFAULT_PROFILE, ManifestFilter, is_for_no_cluster};
use fairway_release::metadata::key;
use fairway_release::{Manifest, Release, Verification};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::{graph, input};
use crate::args::release::InfoArgs;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

impl TypedReport for Info {
    const KIND: &'static str = "ReleaseInfo";
}

pub(crate) fn run(args: &InfoArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let found = input::read(&args.release, &args.access)?;
    if let Some(format) = args.graph {
        graph::print(&found.load()?, format, printer)?;
        return Ok(ExitStatus::Success);
    }
    let info = Info::of(found.load()?, found.reference());
    output::report(printer.stdout(), args.output.output, &info)?;
    Ok(ExitStatus::Success)
}

/// Description of a release.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Info {
    /// Release image, by digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<String>,
    /// Metadata of the release.
    release: Description,
    /// Images of the release, by name.
    images: BTreeMap<String, String>,
    /// Numbers of manifests.
    manifests: Manifests,
    /// Signature rules for later releases, if the release has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    verification: Option<Trust>,
    /// Probable mistakes in the release.
    warnings: Vec<String>,
}

/// Metadata of a release.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Description {
    /// Version of the release.
    version: Version,
    /// Time of creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    creation_time: Option<Timestamp>,
    /// Channels that contain the release.
    channels: Vec<String>,
    /// Page about the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// Versions from which clusters can update to this release.
    previous: Vec<Version>,
    /// Versions to which clusters can update from this release.
    next: Vec<Version>,
    /// Other metadata.
    metadata: BTreeMap<String, String>,
}

/// Numbers of manifests.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Manifests {
    /// All manifests.
    total: usize,
    /// Manifests for a cluster with the default profile and all capabilities.
    included: usize,
    /// Manifests of preflight checks.
    preflight_checks: usize,
}

/// Signature rules for later releases.
#[derive(Serialize, JsonSchema)]
struct Trust {
    /// Names of the keyrings; each requires a valid signature.
    keyrings: Vec<String>,
    /// URLs of the signature stores.
    stores: Vec<String>,
}

impl Info {
    fn of(release: Release, image: Option<String>) -> Self {
        let manifests = Manifests::of(&release.manifests);
        let mut warnings: Vec<String> = release.warnings.iter().map(ToString::to_string).collect();
        let verification =
            Verification::from_manifests(&release.manifests).unwrap_or_else(|error| {
                warnings.push(error.to_string());
                None
            });
        let useless = release.manifests.iter().filter(|manifest| is_for_no_cluster(manifest));
        warnings.extend(useless.map(not_included_warning));
        let Release { metadata, image_references, .. } = release;
        Self {
            image,
            release: Description {
                channels: metadata.channels().into_iter().map(str::to_owned).collect(),
                url: metadata.metadata.get(key::URL).cloned(),
                version: metadata.version,
                creation_time: image_references.created,
                previous: metadata.previous,
                next: metadata.next,
                metadata: metadata.metadata,
            },
            images: image_references.images,
            manifests,
            verification: verification.map(Trust::of),
            warnings,
        }
    }
}

impl Manifests {
    fn of(manifests: &[Manifest]) -> Self {
        let filter = ManifestFilter {
            profile: Some(DEFAULT_PROFILE.to_owned()),
            ..ManifestFilter::default()
        };
        let selection = filter.select(manifests);
        Self {
            total: manifests.len(),
            included: selection.included.len(),
            preflight_checks: selection.preflight_checks.len(),
        }
    }
}

impl Trust {
    fn of(Verification { keyrings, stores }: Verification) -> Self {
        Self { keyrings: keyrings.into_keys().collect(), stores: stores.into_values().collect() }
    }
}

/// Warning about a manifest without an inclusion annotation.
pub(super) fn not_included_warning(manifest: &Manifest) -> String {
    let Manifest { file, line, id, .. } = manifest;
    format!(
        "{file}:{line}: {id} is not included in any cluster: no annotation \
         include.release.openshift.io/… is \"true\""
    )
}

impl Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { image, release, images, manifests, verification, warnings } = self;
        write!(f, "release {}", release.version)?;
        line(f, "image", image.as_ref())?;
        line(f, "created", release.creation_time)?;
        line(f, "url", release.url.as_ref())?;
        line(f, "channels", listed(&release.channels))?;
        line(f, "updates from", listed(&release.previous))?;
        line(f, "updates to", listed(&release.next))?;
        line(f, "manifests", Some(manifests))?;
        if let Some(Trust { keyrings, stores }) = verification {
            line(f, "keyrings", listed(keyrings))?;
            line(f, "signature stores", listed(stores))?;
        }
        line(f, "images", Some(images.len()))?;
        let width = images.keys().map(|name| name.chars().count()).max().unwrap_or_default();
        for (name, image) in images {
            let name = OneLine(name).to_string();
            write!(f, "\n  {name:width$}  {}", OneLine(image))?;
        }
        warnings.iter().try_for_each(|warning| write!(f, "\nwarning: {}", OneLine(warning)))
    }
}

impl Display for Manifests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { total, included, preflight_checks } = self;
        write!(f, "{total}")?;
        if included != total {
            write!(f, ", of which {included} for {DEFAULT_PROFILE}")?;
        }
        if *preflight_checks > 0 {
            write!(f, ", preflight checks: {preflight_checks}")?;
        }
        Ok(())
    }
}

/// A line for an optional value.
fn line(f: &mut fmt::Formatter<'_>, name: &str, value: Option<impl Display>) -> fmt::Result {
    match value {
        Some(value) => write!(f, "\n{name}: {}", OneLine(&value.to_string())),
        None => Ok(()),
    }
}

fn listed(items: &[impl Display]) -> Option<String> {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    (!items.is_empty()).then(|| items.join(", "))
}
