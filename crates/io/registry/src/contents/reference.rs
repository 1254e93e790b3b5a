//! What somebody calls an image, in a registry or in a layout.

use crate::Digest;
use crate::layout::{Layout, ReadError};
use crate::pull::{Options, PullError, Repository, is_tag, without_password};
use crate::releases::{Source, Tag};

/// What the name of an image in a layout begins with.
const LAYOUT: &str = "oci:";
/// The tag of those who name none.
const LATEST: &str = "latest";

/// An image by its name: `registry.example/graph-data:latest`, the same with `@sha256:…`, or
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
    /// The only image of a layout.
    Only,
}

/// Why a name is none of an image.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// It cannot be one.
    #[error(
        "{name:?} is not an image reference such as registry.example/graph-data:latest or oci:DIR:NAME"
    )]
    Name {
        /// What was given.
        name: String,
    },
    /// There is no layout.
    #[error(transparent)]
    Layout(#[from] ReadError),
    /// There is no such repository.
    #[error(transparent)]
    Repository(#[from] PullError),
}

impl NamedImage {
    /// Prepares to look at an image.
    pub fn open(name: &str, options: &Options) -> Result<Self, ReferenceError> {
        let refused = || ReferenceError::Name { name: without_password(name) };
        let (place, digest) = match name.rsplit_once('@') {
            Some((place, digest)) if digest.starts_with("sha256:") => {
                (place, Some(Digest::parse(digest).ok_or_else(refused)?))
            }
            _ => (name, None),
        };
        let (source, tag) = match place.strip_prefix(LAYOUT) {
            Some(place) => in_layout(place)?,
            None => in_registry(place, options)?.ok_or_else(refused)?,
        };
        let pointer = match (digest, tag) {
            (Some(digest), _) => Pointer::Digest(digest),
            (None, Some(tag)) => Pointer::Tag(tag),
            (None, None) => Pointer::Only,
        };
        Ok(Self { name: name.to_owned(), source, pointer })
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Which image the name stands for now.
    pub async fn resolve(&self) -> Result<Digest, PullError> {
        let missing = || PullError::NotFound { url: self.name.clone() };
        match (&self.pointer, &self.source) {
            (Pointer::Digest(digest), _) => Ok(digest.clone()),
            (Pointer::Tag(tag), Source::Registry(repository)) => repository.resolve(tag).await,
            (Pointer::Tag(tag), Source::Layout { .. }) => {
                let mut tags = self.source.tags().await?.into_iter();
                let found = tags.find(|Tag { name, .. }| is_called(name, tag));
                found.and_then(|tag| tag.digest).ok_or_else(missing)
            }
            (Pointer::Only, _) => match <[Tag; 1]>::try_from(self.source.tags().await?) {
                Ok([tag]) => tag.digest.ok_or_else(missing),
                Err(tags) if tags.is_empty() => Err(missing()),
                Err(tags) => Err(PullError::Ambiguous {
                    what: self.name.clone(),
                    names: tags.into_iter().take(MOST_NAMES).map(|tag| tag.name).collect(),
                }),
            },
        }
    }
}

fn in_layout(place: &str) -> Result<(Source, Option<String>), ReadError> {
    let (directory, tag) = split_tag(place);
    let (layout, name) = (Layout::open(directory)?, directory.to_owned());
    Ok((Source::Layout { layout, name }, tag.map(str::to_owned)))
}

/// `None` if what follows the repository cannot be a tag.
fn in_registry(
    place: &str,
    options: &Options,
) -> Result<Option<(Source, Option<String>)>, PullError> {
    let (repository, tag) = split_tag(place.strip_prefix("docker://").unwrap_or(place));
    let source = Source::Registry(Box::new(Repository::open(repository, options)?));
    let tag = tag.unwrap_or(LATEST);
    Ok(is_tag(tag).then(|| (source, Some(tag.to_owned()))))
}

/// As many names of images are said.
const MOST_NAMES: usize = 5;

/// Layouts have tags alone, or whole names.
fn is_called(annotated: &str, name: &str) -> bool {
    annotated == name || split_tag(annotated).1 == Some(name)
}

/// A colon before the last slash belongs to a registry's port.
pub(crate) fn split_tag(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((place, tag)) if !tag.contains('/') => (place, Some(tag)),
        _ => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(name: &str) -> Result<NamedImage, ReferenceError> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        NamedImage::open(name, &Options::default())
    }

    #[test]
    fn a_name_says_where_an_image_is() {
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
    fn other_names_are_refused() {
        let told = [
            "graph-data",
            "r.example/a:",
            "r.example/a:b?c",
            "r.example/a@sha256:12",
            "user:password@r.example/a",
            "http://r.example/a",
            "oci:missing",
        ]
        .map(|name| open(name).unwrap_err().to_string());
        assert!(!told.concat().contains("password"), "{told:?}");
        insta::assert_snapshot!(told.join("\n"), @r#"
        "graph-data" is not a repository such as registry.example/team/releases
        "r.example/a:" is not an image reference such as registry.example/graph-data:latest or oci:DIR:NAME
        "r.example/a:b?c" is not an image reference such as registry.example/graph-data:latest or oci:DIR:NAME
        "r.example/a@sha256:12" is not an image reference such as registry.example/graph-data:latest or oci:DIR:NAME
        "…@r.example/a" is not a repository such as registry.example/team/releases
        r.example is on another host, and the connection would not use TLS
        cannot read missing/oci-layout
        "#);
    }
}
