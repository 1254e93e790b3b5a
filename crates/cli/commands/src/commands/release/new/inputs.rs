//! The input of a release: the manifests of operators, and the images.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::Context;
use fairway_release::ImageReferences;
use fairway_release::builder::Operator;
use fairway_release::payload::MAX_FILE_BYTES;

use crate::args::release::NewArgs;
use crate::commands::release::directory;
use crate::errors::{WithHint, WrongUsage};
use crate::input;
use crate::printer::Printer;

/// The operator that Fairway replaces, with its manifests.
const REPLACED: &str = "cluster-version-operator";

/// The directory that images keep their manifests in.
const MANIFESTS: &str = "manifests";

/// Reads the manifests of all operators, sorted by image: the order of files of the same name must
/// not depend on the order of the arguments.
pub(super) fn operators(args: &NewArgs, printer: &Printer) -> anyhow::Result<Vec<Operator>> {
    let mut directories: Vec<(String, PathBuf)> = Vec::new();
    for given in &args.manifests {
        directories.push(named(given)?);
    }
    let mut operators = Vec::new();
    for (image, directory) in directories {
        if is_replaced(&image, &directory, printer) {
            continue;
        }
        let operator = operator(image, &directory)?;
        operators.push(operator.ok_or_else(|| no_manifests(&directory))?);
    }
    for root in &args.operators {
        let refused = || no_directories(root);
        let mut is_empty = true;
        for (image, directory) in subdirectories(root).with_context(refused)? {
            let skip = |reason: &str| {
                printer.note(format_args!("skipping {}: {reason}", directory.display()));
            };
            if image.starts_with('.') {
                skip("hidden directory");
            } else if is_replaced(&image, &directory, printer) {
                is_empty = false;
            } else if let Some(operator) = operator(image, &directory)? {
                operators.push(operator);
                is_empty = false;
            } else {
                skip("no files");
            }
        }
        if is_empty {
            return Err(refused().into());
        }
    }
    operators
        .sort_by(|one, other| (&one.image, &one.directory).cmp(&(&other.image, &other.directory)));
    Ok(operators)
}

fn is_replaced(image: &str, directory: &Path, printer: &Printer) -> bool {
    let is_replaced = image == REPLACED;
    if is_replaced {
        printer.note(format_args!(
            "skipping {}: Fairway's own manifests replace those of {REPLACED}",
            directory.display()
        ));
    }
    is_replaced
}

/// The image and the directory of `[IMAGE=]DIR`.
fn named(given: &Path) -> anyhow::Result<(String, PathBuf)> {
    if let Some((image, directory)) = given.to_str().and_then(|given| given.split_once('='))
        && !image.is_empty()
        && !image.contains('/')
    {
        return Ok((image.to_owned(), directory.into()));
    }
    let unnamed = || {
        WithHint::new(
            format!("cannot determine the image of the manifests in {}", given.display()),
            "specify the image with --manifests IMAGE=DIR",
        )
    };
    // `.` and `..` have no file name.
    let absolute = fs::canonicalize(given).with_context(|| no_manifests(given))?;
    let own = |path: &Path| path.file_name().and_then(OsStr::to_str).map(str::to_owned);
    let parent = || absolute.parent().and_then(own);
    let image = own(&absolute);
    let image = if image.as_deref() == Some(MANIFESTS) { parent().or(image) } else { image };
    Ok((image.ok_or_else(unnamed)?, given.to_owned()))
}

/// The directories in a directory, by name.
fn subdirectories(root: &Path) -> io::Result<BTreeMap<String, PathBuf>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if let Some(name) = path.file_name().and_then(OsStr::to_str)
            && path.is_dir()
        {
            found.insert(name.to_owned(), path);
        }
    }
    Ok(found)
}

fn no_directories(root: &Path) -> WithHint {
    WithHint::new(
        format!("no directories with manifests in {}", root.display()),
        "specify a directory with one directory for each operator, named like its image",
    )
}

/// The operator of a directory, unless the directory has no files.
fn operator(image: String, directory: &Path) -> anyhow::Result<Option<Operator>> {
    let files = directory::files(directory, |_| true).with_context(|| no_manifests(directory))?;
    let display = directory.display();
    if let Some((name, _)) = files.iter().find(|(_, content)| content.len() > MAX_FILE_BYTES) {
        anyhow::bail!("{display}/{name} has more than {MAX_FILE_BYTES} bytes");
    }
    let directory = display.to_string();
    Ok((!files.is_empty()).then_some(Operator { image, directory, files }))
}

fn no_manifests(directory: &Path) -> WithHint {
    WithHint::new(
        format!("no manifests in {}", directory.display()),
        "specify a directory with manifests (*.yaml, *.yml, *.json) or `image-references`; \
         for a directory of such directories, use --operators",
    )
}

/// The images of the release by name, and the component versions that come with them.
pub(super) fn images(args: &NewArgs) -> anyhow::Result<ImageReferences> {
    let mut all = ImageReferences::default();
    for path in &args.images_from {
        let ImageReferences { images, versions, default_versions, .. } = images_from(path)?;
        for (name, image) in images {
            if all.images.insert(name.clone(), image).is_some() {
                let message = format!("--images-from: {name} occurs in more than one file");
                return Err(WrongUsage(message).into());
            }
        }
        all.versions.extend(versions);
        for (component, version) in default_versions {
            let previous = all.default_versions.insert(component.clone(), version.clone());
            if previous.is_some_and(|previous| previous != version) {
                let message =
                    format!("--images-from: files have different versions of {component}");
                return Err(WrongUsage(message).into());
            }
        }
    }
    all.images.extend(unique(&args.image, "--image")?);
    Ok(all)
}

fn images_from(path: &Path) -> anyhow::Result<ImageReferences> {
    let name = input::name(path);
    let refused = || {
        WithHint::new(
            format!("cannot read images in {name}"),
            "specify a file with lines NAME=IMAGE, or an ImageStream as JSON or YAML",
        )
    };
    let bytes = input::bytes(path).with_context(refused)?;
    let lines = String::from_utf8_lossy(&bytes);
    let mut lines = (1..).zip(lines.lines().map(content)).filter(|(_, line)| !line.is_empty());
    let is_pair =
        |line: &str| line.split_once('=').is_some_and(|(name, _)| !name.contains([':', '{', '"']));
    if !lines.clone().next().is_some_and(|(_, line)| is_pair(line)) {
        return ImageReferences::read_stream(&name, &bytes).with_context(refused);
    }
    let images = lines.try_fold(BTreeMap::new(), |mut images, (number, line)| {
        let (key, image) = line
            .split_once('=')
            .filter(|(key, image)| !key.is_empty() && !image.is_empty())
            .with_context(|| format!("{name}:{number}: expected NAME=IMAGE, found {line:?}"))?;
        let previous = images.insert(key.to_owned(), image.to_owned());
        anyhow::ensure!(previous.is_none(), "{name}:{number}: image {key} occurs twice");
        Ok(images)
    });
    Ok(ImageReferences { images: images.with_context(refused)?, ..ImageReferences::default() })
}

/// A line without its comment.
fn content(line: &str) -> &str {
    line.split('#').next().unwrap_or_default().trim()
}

/// The pairs of a repeatable option as a map.
pub(super) fn unique(
    pairs: &[(String, String)],
    option: &str,
) -> Result<BTreeMap<String, String>, WrongUsage> {
    let mut found = BTreeMap::new();
    for (key, value) in pairs {
        if found.insert(key.clone(), value.clone()).is_some() {
            return Err(WrongUsage(format!("{option}: {key} is specified twice")));
        }
    }
    Ok(found)
}
