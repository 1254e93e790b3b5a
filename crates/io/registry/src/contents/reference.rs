//! Image references to registries and OCI layouts.

use crate::Digest;
use crate::layout::{Layout, LayoutReadError};
use crate::pull::{PullError, PullOptions, Repository, is_tag, without_password};
use crate::source::{Source, Tag};

/// Prefix of references to OCI layouts.
const LAYOUT_PREFIX: &str = "oci:";
/// Tag of references without tag and digest.
const DEFAULT_TAG: &str = "latest";

/// An image reference: `registry.example/graph-data:latest`, the same with `@sha256:…`, or
/// `oci:DIR:NAME` in a layout.
#[derive(Debug)]
pub struct NamedImage {
    name: String,
    source: Source,
    pointer: Pointer,
}

#[derive(Debug, PartialEq, Eq)]
enum Pointer {
    Digest(Digest),
    Tag(String),
    /// The only image of a layout; an error if it has several.
    Only,
}

/// An invalid image reference.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum ReferenceError {
    /// The syntax is invalid.
    #[error(
        "{name:?} is not an image reference such as registry.example/graph-data:latest or oci:DIR:NAME"
    )]
    Name { name: String },
    /// The OCI layout cannot be opened.
    #[error(transparent)]
    Layout(#[from] LayoutReadError),
    /// The repository name is invalid.
    #[error(transparent)]
    Repository(#[from] PullError),
}

impl NamedImage {
    /// Parses a reference and opens its layout or creates a client for its registry.
    pub fn open(name: &str, options: &PullOptions) -> Result<Self, ReferenceError> {
        let refused = || ReferenceError::Name { name: without_password(name) };
        let (location, digest) = match name.rsplit_once('@') {
            Some((location, digest)) if digest.starts_with("sha256:") => {
                (location, Some(Digest::parse(digest).ok_or_else(refused)?))
            }
            _ => (name, None),
        };
        let (source, tag) = match location.strip_prefix(LAYOUT_PREFIX) {
            Some(location) => open_layout(location)?,
            None => open_registry(location, options)?.ok_or_else(refused)?,
        };
        let pointer = match (digest, tag) {
            (Some(digest), _) => Pointer::Digest(digest),
            (None, Some(tag)) => Pointer::Tag(tag),
            (None, None) => Pointer::Only,
        };
        Ok(Self { name: name.to_owned(), source, pointer })
    }

    /// The reference as given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Source of the image.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Resolves the reference to a digest. A tag is resolved at each call.
    pub async fn resolve(&self) -> Result<Digest, PullError> {
        let missing = || PullError::NotFound { url: self.name.clone() };
        match (&self.pointer, &self.source) {
            (Pointer::Digest(digest), _) => Ok(digest.clone()),
            (Pointer::Tag(tag), Source::Registry(repository)) => repository.resolve(tag).await,
            (Pointer::Tag(tag), Source::Layout { .. }) => {
                let mut tags = self.source.tags().await?.into_iter();
                let found = tags.find(|Tag { name, .. }| matches_tag(name, tag));
                found.and_then(|tag| tag.digest).ok_or_else(missing)
            }
            (Pointer::Only, _) => match <[Tag; 1]>::try_from(self.source.tags().await?) {
                Ok([tag]) => tag.digest.ok_or_else(missing),
                Err(tags) if tags.is_empty() => Err(missing()),
                Err(tags) => Err(PullError::Ambiguous {
                    what: self.name.clone(),
                    names: tags.into_iter().take(MAX_LISTED_NAMES).map(|tag| tag.name).collect(),
                }),
            },
        }
    }
}

fn open_layout(location: &str) -> Result<(Source, Option<String>), LayoutReadError> {
    let (directory, tag) = split_tag(location);
    let (layout, name) = (Layout::open(directory)?, directory.to_owned());
    Ok((Source::Layout { layout, name }, tag.map(str::to_owned)))
}

/// `None` if the tag is invalid.
fn open_registry(
    location: &str,
    options: &PullOptions,
) -> Result<Option<(Source, Option<String>)>, PullError> {
    let (repository, tag) = split_tag(location.strip_prefix("docker://").unwrap_or(location));
    let source = Source::Registry(Box::new(Repository::open(repository, options)?));
    let tag = tag.unwrap_or(DEFAULT_TAG);
    Ok(is_tag(tag).then(|| (source, Some(tag.to_owned()))))
}

/// Maximum number of image names in an error.
const MAX_LISTED_NAMES: usize = 5;

/// Layouts annotate images with a tag or with a complete reference.
fn matches_tag(annotated: &str, name: &str) -> bool {
    annotated == name || split_tag(annotated).1 == Some(name)
}

/// Splits off the tag. A colon before the last slash belongs to the port of the registry.
pub(crate) fn split_tag(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((location, tag)) if !tag.contains('/') => (location, Some(tag)),
        _ => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(name: &str) -> Result<NamedImage, ReferenceError> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        NamedImage::open(name, &PullOptions::default())
    }

    #[test]
    fn open_parses_registry_tag_and_digest() {
        let digest = Digest::of(b"x");
        let (tag, by_digest) =
            (|tag: &str| Pointer::Tag(tag.to_owned()), format!("r.example/a:1@{digest}"));
        let cases = [
            ("r.example/a", "r.example/a", tag("latest")),
            ("docker://r.example/a:1", "r.example/a", tag("1")),
            ("127.0.0.1:5000/a", "127.0.0.1:5000/a", tag("latest")),
            ("127.0.0.1:5000/a:1", "127.0.0.1:5000/a", tag("1")),
            (by_digest.as_str(), "r.example/a", Pointer::Digest(digest)),
        ];
        for (name, repository, pointer) in cases {
            let image = open(name).unwrap();
            assert_eq!((image.source.name(), image.pointer), (repository, pointer), "{name}");
        }
    }

    #[test]
    fn parse_with_invalid_names_fails() {
        let errors = [
            "graph-data",
            "r.example/a:",
            "r.example/a:b?c",
            "r.example/a@sha256:12",
            "user:password@r.example/a",
            "http://r.example/a",
            "oci:missing",
        ]
        .map(|name| open(name).unwrap_err().to_string());
        assert!(!errors.concat().contains("password"), "{errors:?}");
        insta::assert_snapshot!(errors.join("\n"), @r#"
        "graph-data" is not a repository such as registry.example/team/releases
        "r.example/a:" is not an image reference such as registry.example/graph-data:latest or oci:DIR:NAME
        "r.example/a:b?c" is not an image reference such as registry.example/graph-data:latest or oci:DIR:NAME
        "r.example/a@sha256:12" is not an image reference such as registry.example/graph-data:latest or oci:DIR:NAME
        "…@r.example/a" is not a repository such as registry.example/team/releases
        refusing to connect to r.example without TLS: it is not a loopback address
        cannot read missing/oci-layout
        "#);
    }
}
