//! Reads the payload of a release image from its sources.
//!
//! Content by digest is the same in every source. OCI layouts are tried first, then mirrors, and
//! the repository of the image last.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fairway_release::payload::{DIRECTORIES, MAX_BYTES, MAX_FILE_BYTES, MAX_FILES, is_part};
use tokio::time::timeout;

pub use fairway_release::payload::Files;

use crate::Digest;
use crate::contents::{self, ContentsError, FileSelection, split_tag};
use crate::layout::Layout;
use crate::mirrors::Mirrors;
use crate::pull::{PullError, PullOptions, Repository, without_password};
use crate::source::Source;

/// Sources of release images.
#[derive(Clone, Debug)]
pub struct ImageSources {
    /// Directories of OCI layouts.
    pub layouts: Vec<PathBuf>,
    /// Mirrors of repositories.
    pub mirrors: Mirrors,
    /// Settings for registries.
    pub options: PullOptions,
    /// Timeout of one source before the next one is tried.
    pub timeout: Duration,
}

impl Default for ImageSources {
    /// The timeout of the Go operator for retrieving a release is four minutes.
    fn default() -> Self {
        Self {
            layouts: Vec::new(),
            mirrors: Mirrors::default(),
            options: PullOptions::default(),
            timeout: Duration::from_mins(4),
        }
    }
}

/// A payload that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum FetchError {
    /// The reference has no digest; a tag may move.
    #[error(
        "{image:?} has no digest: reference the release by digest, such as \
         registry.example/team/releases@sha256:…"
    )]
    NotByDigest { image: String },
    /// No source has a readable copy.
    #[error("cannot read {image} from any source: {}", join_failures(tried))]
    Nowhere { image: String, tried: Vec<FailedSource> },
}

/// A source from which an image cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedSource {
    /// Name of the repository or layout.
    pub place: String,
    /// Cause.
    pub why: String,
}

impl fmt::Display for FailedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.why)
    }
}

pub(crate) fn join_failures(tried: &[FailedSource]) -> String {
    tried.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Reads the files of a release, by digest, from the first source that has them.
pub async fn fetch(image: &str, sources: &ImageSources) -> Result<Files, FetchError> {
    let (repository, digest) = by_digest(image)?;
    let selection = Arc::new(selection(false));
    let mut tried = Vec::new();
    for candidate in candidates(repository, sources) {
        match candidate.files(&digest, sources, &selection).await {
            Ok(files) => return Ok(files),
            Err(why) => tried.push(FailedSource { place: candidate.to_string(), why }),
        }
    }
    Err(FetchError::Nowhere { image: format!("{repository}@{digest}"), tried })
}

/// Reads all files in the directories of a release from one source, for any platform. The result
/// includes files that loading ignores, such as scripts.
pub async fn read(source: &Source, image: &Digest) -> Result<Files, ContentsError> {
    contents::read(source, image, &Arc::new(selection(true))).await
}

/// Reads the files of a release from a directory to which its image is unpacked.
pub fn read_unpacked(root: &Path) -> Result<Files, UnreadableDirectory> {
    let mut files = Files::new();
    for directory in DIRECTORIES {
        read_directory(root, directory, &mut files)
            .map_err(|source| UnreadableDirectory { path: root.join(directory), source })?;
    }
    Ok(files)
}

/// A directory of an unpacked release that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
pub struct UnreadableDirectory {
    /// The directory.
    pub path: PathBuf,
    /// Cause.
    pub source: std::io::Error,
}

/// Reads the files of one directory of a release. A missing directory is empty.
fn read_directory(root: &Path, directory: &str, files: &mut Files) -> std::io::Result<()> {
    let entries = match std::fs::read_dir(root.join(directory)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    // One more than the limit: loading reports the excess.
    for entry in entries.take(MAX_FILES + 1) {
        let entry = entry?;
        let path = format!("{directory}/{}", entry.file_name().to_string_lossy());
        if is_part(&path) {
            let file = std::fs::File::open(entry.path())?;
            // Reserve the file size: a growing vector would leave up to half of its memory unused.
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
    selection: &Arc<FileSelection>,
) -> Result<Files, ContentsError> {
    let mut files = contents::read(source, image, selection).await?;
    files.retain(|path, _| is_part(path));
    Ok(files)
}

fn selection(any_platform: bool) -> FileSelection {
    FileSelection {
        files: Vec::new(),
        directories: DIRECTORIES.map(str::to_owned).to_vec(),
        most_files: MAX_FILES,
        file_bytes: MAX_FILE_BYTES,
        all_bytes: MAX_BYTES,
        any_machine: any_platform,
    }
}

/// Splits a reference into repository and digest. A tag beside the digest is ignored.
pub(crate) fn by_digest(image: &str) -> Result<(&str, Digest), FetchError> {
    let refused = || FetchError::NotByDigest { image: without_password(image) };
    let (name, digest) = image.rsplit_once('@').ok_or_else(refused)?;
    Ok((split_tag(name).0, Digest::parse(digest).ok_or_else(refused)?))
}

/// A source that may have an image.
pub(crate) enum CandidateSource<'a> {
    Layout(&'a Path),
    Repository(String),
    /// The repository of the image, excluded by `NeverContactSource`.
    Forbidden(&'a str),
}

/// The sources of an image in the order in which they are tried.
pub(crate) fn candidates<'a>(
    repository: &'a str,
    sources: &'a ImageSources,
) -> Vec<CandidateSource<'a>> {
    let known = sources.mirrors.candidates(repository);
    let layouts = sources.layouts.iter().map(|directory| CandidateSource::Layout(directory));
    let mirrors = known.mirrors.into_iter().map(CandidateSource::Repository);
    let source = if known.source {
        CandidateSource::Repository(repository.to_owned())
    } else {
        CandidateSource::Forbidden(repository)
    };
    layouts.chain(mirrors).chain([source]).collect()
}

impl CandidateSource<'_> {
    async fn files(
        &self,
        image: &Digest,
        sources: &ImageSources,
        selection: &Arc<FileSelection>,
    ) -> Result<Files, String> {
        let source = self.source(&sources.options)?;
        let too_slow = || format!("timed out after {} seconds", sources.timeout.as_secs());
        let files = timeout(sources.timeout, parts(&source, image, selection)).await;
        files.map_err(|_| too_slow())?.map_err(|error| error.to_string())
    }

    pub(crate) fn source(&self, options: &PullOptions) -> Result<Source, String> {
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

impl fmt::Display for CandidateSource<'_> {
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
    fn by_digest_without_digest_fails() {
        let digest = Digest::of(b"x");
        for name in ["r.example/a", "r.example/a:1", "127.0.0.1:5000/a"] {
            let image = format!("{name}@{digest}");
            let (repository, found) = by_digest(&image).unwrap();
            assert_eq!((repository, found), (split_tag(name).0, digest.clone()));
        }
        let errors = ["r.example/a:1", "r.example/a@sha256:12", "user:password@r.example/a"]
            .map(|image| by_digest(image).unwrap_err().to_string());
        insta::assert_snapshot!(errors.join("\n"), @r#"
        "r.example/a:1" has no digest: reference the release by digest, such as registry.example/team/releases@sha256:…
        "r.example/a@sha256:12" has no digest: reference the release by digest, such as registry.example/team/releases@sha256:…
        "…@r.example/a" has no digest: reference the release by digest, such as registry.example/team/releases@sha256:…
        "#);
    }
}
