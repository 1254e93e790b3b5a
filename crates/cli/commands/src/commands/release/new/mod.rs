//! `fairway release new`: builds a release image.

mod component_versions;
mod destination;
mod draft;
mod inputs;

use std::fmt;

use anyhow::Context;
use fairway_registry::base::{BaseImage, LayerCompression};
use fairway_registry::{Digest, Image, LayerBuilder};
use fairway_release::payload::{DIRECTORIES, Files};
use schemars::JsonSchema;
use serde::Serialize;
use tokio::runtime::Runtime;

use self::destination::Destination;
use crate::args::release::NewArgs;
use crate::commands::registry;
use crate::errors::HintExt as _;
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

/// The label with the version, as `oc adm release new` sets it.
const VERSION_LABEL: &str = "io.openshift.release";
/// The label with the digest of the base image.
const BASE_LABEL: &str = "io.openshift.release.base-image-digest";

impl TypedReport for BuiltRelease {
    const KIND: &'static str = "ReleaseImage";
}

pub(crate) fn run(args: &NewArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let destination = Destination::new(args)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let drafted = draft::finished(args, &runtime, printer)?;
    let warnings = draft::warnings(&drafted);
    printer.warnings(&warnings);
    let image = image(args, &drafted.files, &runtime)?;
    let release = &drafted.release;
    let made = BuiltRelease {
        image: destination.write(&image, args, &runtime, printer)?,
        digest: image.digest().clone(),
        release: args.version.to_string(),
        manifest_count: release.manifests.len(),
        image_count: release.image_references.images.len(),
        warnings,
    };
    let BuiltRelease { release, manifest_count: manifests, image_count: images, .. } = &made;
    printer.note(format_args!("release {release}: manifests: {manifests}, images: {images}"));
    output::report(printer.stdout(), args.output.output, &made)?;
    Ok(ExitStatus::Success)
}

fn image(args: &NewArgs, files: &Files, runtime: &Runtime) -> anyhow::Result<Image> {
    let (base, digest) = base(args, runtime)?;
    let mut layer = LayerBuilder::new();
    // The base image may be a release.
    for directory in DIRECTORIES {
        layer = layer.opaque_directory(directory)?;
    }
    for (path, content) in files {
        layer = layer.file(path, 0o644, content.as_slice())?;
    }
    let version = (VERSION_LABEL, args.version.to_string());
    let labels = [version].into_iter().chain(digest.map(|it| (BASE_LABEL, it.to_string())));
    Ok(base.with(layer.build()?, labels, args.metadata.created))
}

/// The base of the image, and its digest if it is an image.
fn base(args: &NewArgs, runtime: &Runtime) -> anyhow::Result<(BaseImage, Option<Digest>)> {
    if let Some(name) = &args.image_args.from {
        let message = format!("cannot use base image {name}");
        let image = registry::image(name, &args.access, &message)?;
        let hint = "check the image name and the credentials in --pull-secret".to_owned();
        let read = runtime.block_on(async {
            let digest = image.resolve().await?;
            let base = BaseImage::read(image.source(), &digest).await?;
            anyhow::Ok((base, Some(digest)))
        });
        return read.with_hint(message, hint);
    }
    let program = match &args.image_args.program {
        Some(program) => program.clone(),
        None => std::env::current_exe().context("cannot find the fairway binary")?,
    };
    let base = BaseImage::from_binary(&program, LayerCompression::Compressed).with_hint(
        format!("cannot create an image from {}", program.display()),
        "specify a binary of this platform with --program, or an image with --from",
    )?;
    Ok((base, None))
}

/// Release image that was built.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BuiltRelease {
    /// Reference of the image.
    image: String,
    /// Digest of the image.
    #[schemars(with = "String")]
    digest: Digest,
    /// Version of the release.
    release: String,
    /// Number of manifests.
    manifest_count: usize,
    /// Number of images that the release references.
    image_count: usize,
    /// Probable mistakes in the release.
    warnings: Vec<String>,
}

impl fmt::Display for BuiltRelease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.image)
    }
}
