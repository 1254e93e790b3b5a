//! What a release image brings: files go in, a [`Release`] comes out, or all that is wrong with it.

mod documents;
mod problem;
pub mod template;

use std::collections::BTreeMap;

use fairway_api::read::{Place, ReadError};

pub(crate) use self::documents::malformed;
pub use self::problem::{PayloadError, Problem, Warning};
use self::template::Values;
use crate::draft::PLACEHOLDERS;
use crate::image_references::{self, ImageReferences, placeholders};
use crate::manifest::Manifest;
use crate::metadata::{self, ReleaseMetadata};

/// Bytes of one file. An API server takes objects of at most 1.5 MiB, and a file has few of them.
pub const MAX_FILE_BYTES: usize = 8 << 20;

/// Bytes of one object as JSON: what an API server takes in one request.
pub const MAX_OBJECT_BYTES: usize = 3 << 20;

/// Bytes of all files together, and of all objects as JSON, which templates and aliases make longer.
/// Large platforms have 20 MiB.
pub const MAX_BYTES: usize = 64 << 20;

/// Files of one release. Large platforms have a thousand.
pub const MAX_FILES: usize = 16_384;

/// Documents of one release, empty ones included.
pub const MAX_DOCUMENTS: usize = 32_768;

/// Problems of one release. Nobody reads more, and finding them takes time.
pub const MAX_PROBLEMS: usize = 100;

/// The maximum number of warnings about one release. One more says how many are omitted.
pub const MAX_WARNINGS: usize = 1_000;

/// The operator's own manifests, which are templates. They come first.
const TEMPLATES: &str = "manifests";

/// The manifests of everything else, which are not.
pub(crate) const LITERAL: &str = "release-manifests";

/// The directories of an image in which all parts of a release lie.
pub const DIRECTORIES: [&str; 2] = [TEMPLATES, LITERAL];

/// Files by path, as they lie in a release image: relative, with `/` between the parts.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// What it says about itself.
    pub metadata: ReleaseMetadata,
    /// Its images.
    pub image_references: ImageReferences,
    /// All its manifests, in the order in which they are applied.
    pub manifests: Vec<Manifest>,
    /// Parts that are left out, and text that is easily misread, in the order of the files.
    pub warnings: Vec<Warning>,
}

/// Whether a file of an image has to be there for [`Release::load`].
pub fn is_part(path: &str) -> bool {
    path == metadata::PATH
        || path == image_references::PATH
        || is_manifest(path, TEMPLATES)
        || is_manifest(path, LITERAL)
}

fn is_manifest(path: &str, directory: &str) -> bool {
    let in_directory = |(parent, name)| parent == directory && is_manifest_name(name);
    path.rsplit_once('/').is_some_and(in_directory)
}

/// Whether a file of that name has manifests.
pub fn is_manifest_name(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    matches!(extension, Some("yaml" | "yml" | "json"))
}

/// Problems and warnings about a release or a directory of manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LintReport {
    /// Problems that make a release unusable.
    pub problems: Vec<Problem>,
    /// Parts that are left out, and text that is easily misread.
    pub warnings: Vec<Warning>,
}

impl Release {
    /// Reads a release from its files and ignores files that are not part of it.
    pub fn load(files: &Files, image: &str, profile: &str) -> Result<Self, PayloadError> {
        Self::load_with_warnings(files, image, profile).0
    }

    /// Reads a release from its files. The warnings are complete even if the release is unusable.
    pub fn load_with_warnings(
        files: &Files,
        image: &str,
        profile: &str,
    ) -> (Result<Self, PayloadError>, Vec<Warning>) {
        if let Err(error) = within_limits(files) {
            return (Err(error), Vec::new());
        }
        let mut loading = Loading::default();
        let metadata = loading.metadata(files);
        let image_references = loading.image_references(files);
        if let (Some(metadata), Some(references)) = (&metadata, &image_references) {
            loading.compare(metadata, references);
        }
        let no_images = BTreeMap::new();
        let values = Values {
            release_image: image,
            cluster_profile: profile,
            images: image_references.as_ref().map_or(&no_images, |references| &references.images),
        };
        if let Err(end) = loading.manifests(files, &values) {
            loading.problems.push(end);
        }
        let warnings = loading.take_warnings();
        let Loading { manifests, problems, .. } = loading;
        let release = match (metadata, image_references) {
            (Some(metadata), Some(image_references)) if problems.is_empty() => {
                Ok(Self { metadata, image_references, manifests, warnings: warnings.clone() })
            }
            _ => Err(PayloadError { problems }),
        };
        (release, warnings)
    }
}

/// Checks the manifests and the `image-references` of an operator, by the names of their files,
/// before they are part of a release.
pub fn lint_manifests(files: &BTreeMap<String, Vec<u8>>) -> LintReport {
    let mut loading = Loading::default();
    if let Some(bytes) = files.get(PLACEHOLDERS) {
        match placeholders(PLACEHOLDERS, bytes) {
            Ok((_, warnings)) => loading.warn(warnings),
            Err(error) => loading.problems.push(Problem::Unreadable(error)),
        }
    }
    for (name, bytes) in files.iter().filter(|(name, _)| is_manifest_name(name)) {
        if let Err(end) = loading.file(name, bytes) {
            loading.problems.push(end);
            break;
        }
    }
    let warnings = loading.take_warnings();
    LintReport { problems: loading.problems, warnings }
}

fn within_limits(files: &Files) -> Result<(), PayloadError> {
    let parts = || files.iter().filter(|(path, _)| is_part(path));
    let refused = |problem| Err(PayloadError { problems: vec![problem] });
    if parts().count() > MAX_FILES {
        return refused(Problem::TooManyFiles);
    }
    if parts().map(|(_, bytes)| bytes.len()).sum::<usize>() > MAX_BYTES {
        return refused(Problem::TooLarge);
    }
    Ok(())
}

/// What is known of a release so far.
#[derive(Default)]
struct Loading {
    documents: usize,
    bytes: usize,
    manifests: Vec<Manifest>,
    problems: Vec<Problem>,
    warnings: Vec<Warning>,
    /// The last file with omitted warnings, and how many were omitted.
    omitted: Option<(String, usize)>,
}

impl Loading {
    fn metadata(&mut self, files: &Files) -> Option<ReleaseMetadata> {
        let Some(bytes) = files.get(metadata::PATH) else {
            self.problems.push(Problem::Missing { file: metadata::PATH });
            return None;
        };
        let read = ReleaseMetadata::read_with_warnings(metadata::PATH, bytes);
        let read = read.map_err(|error| self.problems.push(Problem::Metadata(error)));
        let (metadata, warnings) = read.ok()?;
        self.warn(warnings);
        Some(metadata)
    }

    fn image_references(&mut self, files: &Files) -> Option<ImageReferences> {
        let Some(bytes) = files.get(image_references::PATH) else {
            self.problems.push(Problem::Missing { file: image_references::PATH });
            return None;
        };
        let read = ImageReferences::read_with_warnings(image_references::PATH, bytes);
        let read = read.map_err(|error| self.problems.push(Problem::Unreadable(error)));
        let (references, warnings) = read.ok()?;
        self.warn(warnings);
        Some(references)
    }

    fn compare(&mut self, metadata: &ReleaseMetadata, references: &ImageReferences) {
        // As texts: releases that differ in build metadata alone are different releases.
        if references.name != metadata.version.to_string() {
            let (images, metadata) = (references.name.clone(), metadata.version.clone());
            self.problems.push(Problem::OtherVersion { images, metadata });
        }
    }

    /// Reads all manifests, or up to the problem with which reading ends.
    fn manifests(&mut self, files: &Files, values: &Values<'_>) -> Result<(), Problem> {
        for directory in [TEMPLATES, LITERAL] {
            for (path, bytes) in files.iter().filter(|(path, _)| is_manifest(path, directory)) {
                if directory == LITERAL || bytes.len() > MAX_FILE_BYTES {
                    self.file(path, bytes)?;
                } else if let Some(bytes) = self.rendered(path, bytes, values) {
                    self.file(path, &bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Reads the manifests of a file.
    fn file(&mut self, path: &str, bytes: &[u8]) -> Result<(), Problem> {
        if bytes.len() > MAX_FILE_BYTES {
            let (file, size) = (path.to_owned(), bytes.len());
            self.problems.push(Problem::FileTooLarge { file, size });
            return Ok(());
        }
        for (document, warnings) in documents::read(path, bytes) {
            self.warn(warnings);
            self.take(path, document)?;
        }
        Ok(())
    }

    /// Adds warnings, up to the limit.
    fn warn(&mut self, warnings: Vec<Warning>) {
        for warning in warnings {
            // Warnings about parts that are left out are few, and have to be reported.
            if self.warnings.len() < MAX_WARNINGS || !warning.is_informational() {
                self.warnings.push(warning);
            } else {
                let (_, count) = self.omitted.take().unwrap_or_default();
                self.omitted = Some((warning.file().to_owned(), count + 1));
            }
        }
    }

    /// The warnings, with a note about omitted ones at the end.
    fn take_warnings(&mut self) -> Vec<Warning> {
        let omitted = self.omitted.take().map(|(file, count)| Warning::Omitted { file, count });
        self.warnings.extend(omitted);
        std::mem::take(&mut self.warnings)
    }

    fn take(
        &mut self,
        path: &str,
        document: Result<Option<Manifest>, Problem>,
    ) -> Result<(), Problem> {
        match document {
            Ok(None) => {}
            Ok(Some(manifest)) => {
                self.bytes += manifest.json.len();
                self.manifests.push(manifest);
            }
            Err(problem) => self.problems.push(problem),
        }
        self.documents += 1;
        if self.documents > MAX_DOCUMENTS {
            return Err(Problem::TooManyDocuments { file: path.to_owned() });
        }
        if self.bytes > MAX_BYTES {
            return Err(Problem::TooLarge);
        }
        if self.problems.len() >= MAX_PROBLEMS {
            return Err(Problem::TooManyProblems { file: path.to_owned() });
        }
        Ok(())
    }

    fn rendered(&mut self, path: &str, bytes: &[u8], values: &Values<'_>) -> Option<Vec<u8>> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let before = &bytes[..error.valid_up_to()];
                let line = before.split(|byte| *byte == b'\n').count();
                self.problems.push(Problem::Unreadable(ReadError::Malformed {
                    place: Place { source: path.to_owned(), position: Some((line as u64, 1)) },
                    field: String::new(),
                    problem: "not valid UTF-8".to_owned(),
                }));
                return None;
            }
        };
        match template::render(text, values) {
            Ok(text) => Some(text.into_bytes()),
            Err((line, why)) => {
                self.warnings.push(Warning::Template { file: path.to_owned(), line, why });
                None
            }
        }
    }
}
