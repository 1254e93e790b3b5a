//! `fairway release info`: what a release is.

use std::collections::BTreeMap;
use std::fmt;

use fairway_api::Version;
use fairway_release::Release;
use fairway_release::payload::Warning;
use jiff::Timestamp;
use serde::Serialize;

use super::input::{self, Pinned};
use crate::args::release::InfoArgs;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::output;
use crate::printer::Printer;

pub(crate) fn run(args: &InfoArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let found = input::read(&args.release, &args.access)?;
    let info = Info::of(found.load()?, found.image.as_ref());
    output::report(printer.stdout(), args.output.output, "ReleaseInfo", &info)?;
    Ok(ExitStatus::Yes)
}

/// What a release is.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<String>,
    release: Description,
    images: BTreeMap<String, String>,
    manifests: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
}

/// What a release says about itself.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Description {
    version: Version,
    #[serde(skip_serializing_if = "Option::is_none")]
    created: Option<Timestamp>,
    previous: Vec<Version>,
    next: Vec<Version>,
    metadata: BTreeMap<String, String>,
}

impl Info {
    fn of(release: Release, image: Option<&Pinned>) -> Self {
        let Release { metadata, image_references, manifests, warnings } = release;
        Self {
            image: image.map(ToString::to_string),
            release: Description {
                version: metadata.version,
                created: image_references.created,
                previous: metadata.previous,
                next: metadata.next,
                metadata: metadata.metadata,
            },
            images: image_references.images,
            manifests: manifests.len(),
            warnings,
        }
    }
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { image, release, images, manifests, warnings } = self;
        write!(f, "release {}", release.version)?;
        if let Some(image) = image {
            write!(f, "\nimage: {}", OneLine(image))?;
        }
        if let Some(created) = release.created {
            write!(f, "\ncreated: {created}")?;
        }
        write!(f, "\nmanifests: {manifests}\nimages: {}", images.len())?;
        for (name, image) in images {
            write!(f, "\n  {}  {}", OneLine(name), OneLine(image))?;
        }
        warnings.iter().try_for_each(|warning| write!(f, "\nwarning: {warning}"))
    }
}
