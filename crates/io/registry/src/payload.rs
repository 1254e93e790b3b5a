//! The payload of a release, from wherever its image is to be had.
//!
//! An image by digest is the same wherever it comes from: layouts are looked into first, then its
//! mirrors are asked, and its own registry comes last.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fairway_release::payload::{DIRECTORIES, MAX_BYTES, MAX_FILE_BYTES, MAX_FILES, is_part};
use tokio::time::timeout;

pub use fairway_release::payload::Files;

use crate::Digest;
use crate::contents::{self, ContentsError, Wanted, split_tag};
use crate::layout::Layout;
use crate::mirrors::Mirrors;
use crate::pull::{Options, PullError, Repository, without_password};
use crate::releases::Source;

/// Where release images are, and how to ask for them.
#[derive(Clone, Debug)]
pub struct Places {
    /// Directories with OCI layouts.
    pub layouts: Vec<PathBuf>,
    /// Which repositories have the images of which others.
    pub mirrors: Mirrors,
    /// How to speak to registries.
    pub options: Options,
    /// How long one place may take before the next one is tried.
    pub patience: Duration,
}

impl Default for Places {
    /// Four minutes are what clusters always gave a release to arrive.
    fn default() -> Self {
        Self {
            layouts: Vec::new(),
            mirrors: Mirrors::default(),
            options: Options::default(),
            patience: Duration::from_mins(4),
        }
    }
}

/// Why there is no payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    /// A tag may stand for something else tomorrow.
    #[error(
        "{image:?} has no digest: reference the release by digest, such as \
         registry.example/team/releases@sha256:…"
    )]
    NotByDigest {
        /// What was given.
        image: String,
    },
    /// Nobody has it, or nobody gives it to us.
    #[error("cannot read {image} from any source: {}", listed(tried))]
    Nowhere {
        /// The image.
        image: String,
        /// Who was asked, in order.
        tried: Vec<Tried>,
    },
}

/// A place that does not have an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The repository or the directory.
    pub place: String,
    /// Why it does not have it.
    pub why: String,
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.why)
    }
}

pub(crate) fn listed(tried: &[Tried]) -> String {
    tried.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// The files of a release whose image is named by its digest, from the first place that has them.
pub async fn fetch(image: &str, places: &Places) -> Result<Files, FetchError> {
    let (repository, digest) = by_digest(image)?;
    let wanted = Arc::new(wanted(false));
    let mut tried = Vec::new();
    for place in candidates(repository, places) {
        match place.files(&digest, places, &wanted).await {
            Ok(files) => return Ok(files),
            Err(why) => tried.push(Tried { place: place.to_string(), why }),
        }
    }
    Err(FetchError::Nowhere { image: format!("{repository}@{digest}"), tried })
}

/// All files in the directories of a release in one place, for whichever machine it is: also those
/// that loading ignores, such as scripts.
pub async fn read(source: &Source, image: &Digest) -> Result<Files, ContentsError> {
    contents::read(source, image, &Arc::new(wanted(true))).await
}

/// The files of a release that is unpacked below a directory, as its image has it.
pub fn unpacked(root: &Path) -> Result<Files, Unreadable> {
    let mut files = Files::new();
    for directory in DIRECTORIES {
        read_directory(root, directory, &mut files)
            .map_err(|source| Unreadable { path: root.join(directory), source })?;
    }
    Ok(files)
}

/// A directory of a release that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
pub struct Unreadable {
    /// The directory.
    pub path: PathBuf,
    /// Why not.
    pub source: std::io::Error,
}

/// The files of a directory that belong to a release; a release may not have the directory.
fn read_directory(root: &Path, directory: &str, files: &mut Files) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(root.join(directory)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    // One more than is allowed: whoever loads them refuses that.
    for entry in entries.take(MAX_FILES + 1) {
        let entry = entry?;
        let path = format!("{directory}/{}", entry.file_name().to_string_lossy());
        if is_part(&path) {
            let file = std::fs::File::open(entry.path())?;
            // Without its size, a vector doubles until it holds a file: half of it stays unused.
            let length = usize::try_from(file.metadata()?.len()).unwrap_or(MAX_FILE_BYTES);
            let mut bytes = Vec::with_capacity(length.min(MAX_FILE_BYTES) + 1);
            file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes)?;
            files.insert(path, bytes);
        }
    }
    Ok(())
}

async fn parts(
    source: &Source,
    image: &Digest,
    wanted: &Arc<Wanted>,
) -> Result<Files, ContentsError> {
    let mut files = contents::read(source, image, wanted).await?;
    files.retain(|path, _| is_part(path));
    Ok(files)
}

fn wanted(any_machine: bool) -> Wanted {
    Wanted {
        files: Vec::new(),
        directories: DIRECTORIES.map(str::to_owned).to_vec(),
        most_files: MAX_FILES,
        file_bytes: MAX_FILE_BYTES,
        all_bytes: MAX_BYTES,
        any_machine,
    }
}

/// The repository and the digest of an image; a tag beside the digest says nothing.
pub(crate) fn by_digest(image: &str) -> Result<(&str, Digest), FetchError> {
    let refused = || FetchError::NotByDigest { image: without_password(image) };
    let (name, digest) = image.rsplit_once('@').ok_or_else(refused)?;
    Ok((split_tag(name).0, Digest::parse(digest).ok_or_else(refused)?))
}

/// A place that may have an image.
pub(crate) enum Place<'a> {
    Layout(&'a Path),
    Repository(String),
    /// Somebody does not want it to be asked.
    Forbidden(&'a str),
}

/// Where to look for an image, in order.
pub(crate) fn candidates<'a>(repository: &'a str, places: &'a Places) -> Vec<Place<'a>> {
    let known = places.mirrors.candidates(repository);
    let layouts = places.layouts.iter().map(|directory| Place::Layout(directory));
    let mirrors = known.mirrors.into_iter().map(Place::Repository);
    let source = if known.source {
        Place::Repository(repository.to_owned())
    } else {
        Place::Forbidden(repository)
    };
    layouts.chain(mirrors).chain([source]).collect()
}

impl Place<'_> {
    async fn files(
        &self,
        image: &Digest,
        places: &Places,
        wanted: &Arc<Wanted>,
    ) -> Result<Files, String> {
        let source = self.source(&places.options)?;
        let too_slow = || format!("timed out after {} seconds", places.patience.as_secs());
        let files = timeout(places.patience, parts(&source, image, wanted)).await;
        files.map_err(|_| too_slow())?.map_err(|error| error.to_string())
    }

    pub(crate) fn source(&self, options: &Options) -> Result<Source, String> {
        match self {
            Self::Layout(directory) => {
                let layout = Layout::open(*directory).map_err(|error| error.to_string())?;
                Ok(Source::Layout { layout, name: directory.display().to_string() })
            }
            Self::Repository(name) => {
                let opened = Repository::open(name, options);
                let repository = opened.map_err(|error: PullError| error.to_string())?;
                Ok(Source::Registry(Box::new(repository)))
            }
            Self::Forbidden(_) => {
                Err("not contacted, because its mirrors have the policy NeverContactSource"
                    .to_owned())
            }
        }
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layout(directory) => write!(f, "oci:{}", directory.display()),
            Self::Repository(name) => f.write_str(name),
            Self::Forbidden(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_is_named_by_its_digest() {
        let digest = Digest::of(b"x");
        for name in ["r.example/a", "r.example/a:1", "127.0.0.1:5000/a"] {
            let image = format!("{name}@{digest}");
            let (repository, found) = by_digest(&image).unwrap();
            assert_eq!((repository, found), (split_tag(name).0, digest.clone()));
        }
        let told = ["r.example/a:1", "r.example/a@sha256:12", "user:password@r.example/a"]
            .map(|image| by_digest(image).unwrap_err().to_string());
        insta::assert_snapshot!(told.join("\n"), @r#"
        "r.example/a:1" has no digest: reference the release by digest, such as registry.example/team/releases@sha256:…
        "r.example/a@sha256:12" has no digest: reference the release by digest, such as registry.example/team/releases@sha256:…
        "…@r.example/a" has no digest: reference the release by digest, such as registry.example/team/releases@sha256:…
        "#);
    }
}
