//! The destination of a release image.

use std::path::{Path, PathBuf};

use fairway_registry::{Image, layout, push};
use tokio::runtime::Runtime;

use crate::args::release::{ImageArgs, NewArgs};
use crate::commands::registry;
use crate::errors::{HintExt as _, WithHint, WrongUsage};
use crate::printer::Printer;

/// The destination of a release image.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Destination {
    /// An OCI image layout.
    Layout { directory: PathBuf, tag: String },
    /// A registry, with name and tag.
    Registry(String),
}

impl Destination {
    pub(super) fn new(args: &NewArgs) -> Result<Self, WrongUsage> {
        // A plus sign is valid in a version and invalid in a tag.
        let version = args.version.to_string().replace('+', "_");
        match &args.image_args {
            ImageArgs { to: Some(layout), .. } => Self::layout(layout, version),
            ImageArgs { to_image: Some(name), .. } => Self::registry(name, &version),
            _ => Err(WrongUsage("--to or --to-image is required".to_owned())),
        }
    }

    fn layout(given: &str, version: String) -> Result<Self, WrongUsage> {
        let place = given.strip_prefix("oci:").unwrap_or(given);
        let (directory, tag) = match split_tag(place) {
            (directory, Some(tag)) => (directory, tag.to_owned()),
            (directory, None) => (directory, version),
        };
        let has_digest = place.rsplit('/').next().is_some_and(|name| name.contains('@'));
        if directory.is_empty() || tag.is_empty() || has_digest {
            return Err(WrongUsage(format!("--to: {given:?} is not DIR or DIR:TAG")));
        }
        Ok(Self::Layout { directory: directory.into(), tag })
    }

    fn registry(given: &str, version: &str) -> Result<Self, WrongUsage> {
        match split_tag(given) {
            _ if given.contains('@') => {
                Err(WrongUsage("--to-image: specify a tag instead of a digest".to_owned()))
            }
            (_, Some(_)) => Ok(Self::Registry(given.to_owned())),
            (repository, None) => Ok(Self::Registry(format!("{repository}:{version}"))),
        }
    }

    /// Writes or pushes the image, and returns its reference by digest.
    pub(super) fn write(
        &self,
        image: &Image,
        args: &NewArgs,
        runtime: &Runtime,
        printer: &Printer,
    ) -> anyhow::Result<String> {
        match self {
            Self::Layout { directory, tag } => write_layout(directory, image, tag),
            Self::Registry(name) => {
                let name = registry::with_scheme(name, &args.access);
                let options = registry::options(&args.access)?;
                let tell = registry::push_progress(printer.clone());
                let pushed = runtime.block_on(push::push_with(image, &name, &options, tell));
                pushed.map_err(|error| advise(error, &name))
            }
        }
    }
}

fn write_layout(directory: &Path, image: &Image, tag: &str) -> anyhow::Result<String> {
    layout::add(directory, image, tag).with_hint(
        format!("cannot add the image to {}", directory.display()),
        "specify a writable directory: an OCI image layout, an empty directory, or a new one",
    )?;
    Ok(format!("oci:{}@{}", directory.display(), image.digest()))
}

/// Adds a hint to an error.
fn advise(error: push::PushError, name: &str) -> anyhow::Error {
    let hint = match &error {
        push::PushError::Reference { .. } => {
            "specify an image such as \
             registry.example/team/releases:5.1.0"
        }
        push::PushError::Plain { .. } => "use --plain-http to connect without TLS",
        push::PushError::IdentityToken { .. } => "log in with a password or a robot account",
        push::PushError::Refused { .. } => {
            "check the image name, --registry-ca, and that the credentials in --pull-secret can \
             push; a repeated push skips uploaded layers"
        }
    };
    let (message, hint) = (format!("cannot push to {name}"), hint.to_owned());
    anyhow::Error::from(error).context(WithHint::new(message, hint))
}

/// Splits off the tag. A colon before the last slash is that of a port.
fn split_tag(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((place, tag)) if !tag.contains('/') => (place, Some(tag)),
        _ => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(given: &str) -> Result<(String, String), String> {
        match Destination::layout(given, "5.1.0".to_owned()) {
            Ok(Destination::Layout { directory, tag }) => {
                Ok((directory.display().to_string(), tag))
            }
            Ok(Destination::Registry(_)) => unreachable!("the destination is a layout"),
            Err(WrongUsage(text)) => Err(text),
        }
    }

    #[test]
    fn default_tag_is_the_version() {
        for (given, directory, tag) in [
            ("releases", "releases", "5.1.0"),
            ("oci:releases", "releases", "5.1.0"),
            ("/tmp/a:b/releases", "/tmp/a:b/releases", "5.1.0"),
            ("/tmp/a@b/releases", "/tmp/a@b/releases", "5.1.0"),
            ("./releases:latest", "./releases", "latest"),
        ] {
            assert_eq!(layout(given), Ok((directory.to_owned(), tag.to_owned())), "{given}");
        }
        for given in ["", ":a", "a:", "a@sha256:12"] {
            assert!(layout(given).is_err(), "{given}");
        }
        for (given, name) in [
            ("r.example:5000/a", "r.example:5000/a:5.1.0"),
            ("r.example:5000/a:b", "r.example:5000/a:b"),
        ] {
            let name = Destination::Registry(name.to_owned());
            assert_eq!(Destination::registry(given, "5.1.0"), Ok(name), "{given}");
        }
        assert!(Destination::registry("r.example/a@sha256:12", "5.1.0").is_err());
    }
}
