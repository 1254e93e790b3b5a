//! Loads the payload of a release: files in, a [`Release`] out, or all problems.

mod documents;
mod problem;
pub mod template;

use std::collections::BTreeMap;

use fairway_api::read::{InputLocation, ReadError};

pub(crate) use self::documents::malformed;
pub use self::problem::{PayloadError, PayloadProblem, PayloadWarning};
use self::template::TemplateValues;
use crate::builder::PLACEHOLDERS;
use crate::image_references::{self, ImageReferences, placeholders};
use crate::manifest::Manifest;
use crate::metadata::{self, ReleaseMetadata};

/// Bytes of one file. An API server accepts objects of at most 1.5 MiB, and a file has few of them.
pub const MAX_FILE_BYTES: usize = 8 << 20;

/// Bytes of one object as JSON: the limit of requests to an API server.
pub const MAX_OBJECT_BYTES: usize = 3 << 20;

/// Bytes of all files, and of all objects as JSON, which templates and aliases enlarge. Large
/// platforms have 20 MiB.
pub const MAX_BYTES: usize = 64 << 20;

/// Files of one release. Large platforms have a thousand.
pub const MAX_FILES: usize = 16_384;

/// Documents of one release, empty ones included.
pub const MAX_DOCUMENTS: usize = 32_768;

/// Reported problems of one release; finding more takes time.
pub const MAX_PROBLEMS: usize = 100;

/// The maximum number of warnings about one release. One more says how many are omitted.
pub const MAX_WARNINGS: usize = 1_000;

/// Directory of the operator's own manifests, which are templates. They come first.
const TEMPLATE_DIRECTORY: &str = "manifests";

/// Directory of all other manifests, which are not templates.
pub(crate) const RELEASE_DIRECTORY: &str = "release-manifests";

/// Directories of an image with the files of a release.
pub const DIRECTORIES: [&str; 2] = [TEMPLATE_DIRECTORY, RELEASE_DIRECTORY];

/// Files by their relative path in a release image.
pub type Files = BTreeMap<String, Vec<u8>>;

/// A loaded release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Release metadata.
    pub metadata: ReleaseMetadata,
    /// Images of the release.
    pub image_references: ImageReferences,
    /// All manifests, in the order in which they are applied.
    pub manifests: Vec<Manifest>,
    /// Omitted parts and ambiguous text, in the order of the files.
    pub warnings: Vec<PayloadWarning>,
}

/// Whether [`Release::load`] reads a file of an image.
pub fn is_part(path: &str) -> bool {
    path == metadata::PATH
        || path == image_references::PATH
        || is_manifest(path, TEMPLATE_DIRECTORY)
        || is_manifest(path, RELEASE_DIRECTORY)
}

fn is_manifest(path: &str, directory: &str) -> bool {
    let in_directory = |(parent, name)| parent == directory && is_manifest_name(name);
    path.rsplit_once('/').is_some_and(in_directory)
}

/// Whether a file contains manifests, by its name.
pub fn is_manifest_name(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    matches!(extension, Some("yaml" | "yml" | "json"))
}

/// Problems and warnings about a release or a directory of manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LintReport {
    /// Problems that make a release unusable.
    pub problems: Vec<PayloadProblem>,
    /// Omitted parts and ambiguous text.
    pub warnings: Vec<PayloadWarning>,
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
    ) -> (Result<Self, PayloadError>, Vec<PayloadWarning>) {
        if let Err(error) = within_limits(files) {
            return (Err(error), Vec::new());
        }
        let mut loader = PayloadLoader::default();
        let metadata = loader.metadata(files);
        let image_references = loader.image_references(files);
        if let (Some(metadata), Some(references)) = (&metadata, &image_references) {
            loader.compare(metadata, references);
        }
        let no_images = BTreeMap::new();
        let values = TemplateValues {
            release_image: image,
            cluster_profile: profile,
            images: image_references.as_ref().map_or(&no_images, |references| &references.images),
        };
        if let Err(end) = loader.manifests(files, &values) {
            loader.problems.push(end);
        }
        let warnings = loader.take_warnings();
        let PayloadLoader { manifests, problems, .. } = loader;
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
    let mut loader = PayloadLoader::default();
    if let Some(bytes) = files.get(PLACEHOLDERS) {
        match placeholders(PLACEHOLDERS, bytes) {
            Ok((_, warnings)) => loader.warn(warnings),
            Err(error) => loader.problems.push(PayloadProblem::Unreadable(error)),
        }
    }
    for (name, bytes) in files.iter().filter(|(name, _)| is_manifest_name(name)) {
        if let Err(end) = loader.file(name, bytes) {
            loader.problems.push(end);
            break;
        }
    }
    let warnings = loader.take_warnings();
    LintReport { problems: loader.problems, warnings }
}

fn within_limits(files: &Files) -> Result<(), PayloadError> {
    let parts = || files.iter().filter(|(path, _)| is_part(path));
    let refused = |problem| Err(PayloadError { problems: vec![problem] });
    if parts().count() > MAX_FILES {
        return refused(PayloadProblem::TooManyFiles);
    }
    if parts().map(|(_, bytes)| bytes.len()).sum::<usize>() > MAX_BYTES {
        return refused(PayloadProblem::TooLarge);
    }
    Ok(())
}

/// State of loading a release.
#[derive(Default)]
struct PayloadLoader {
    documents: usize,
    bytes: usize,
    manifests: Vec<Manifest>,
    problems: Vec<PayloadProblem>,
    warnings: Vec<PayloadWarning>,
    /// The last file with omitted warnings, and how many were omitted.
    omitted: Option<(String, usize)>,
}

impl PayloadLoader {
    fn metadata(&mut self, files: &Files) -> Option<ReleaseMetadata> {
        let Some(bytes) = files.get(metadata::PATH) else {
            self.problems.push(PayloadProblem::Missing { file: metadata::PATH });
            return None;
        };
        let read = ReleaseMetadata::read_with_warnings(metadata::PATH, bytes);
        let read = read.map_err(|error| self.problems.push(PayloadProblem::Metadata(error)));
        let (metadata, warnings) = read.ok()?;
        self.warn(warnings);
        Some(metadata)
    }

    fn image_references(&mut self, files: &Files) -> Option<ImageReferences> {
        let Some(bytes) = files.get(image_references::PATH) else {
            self.problems.push(PayloadProblem::Missing { file: image_references::PATH });
            return None;
        };
        let read = ImageReferences::read_with_warnings(image_references::PATH, bytes);
        let read = read.map_err(|error| self.problems.push(PayloadProblem::Unreadable(error)));
        let (references, warnings) = read.ok()?;
        self.warn(warnings);
        Some(references)
    }

    fn compare(&mut self, metadata: &ReleaseMetadata, references: &ImageReferences) {
        // Compared as text: versions that differ only in build metadata are different releases.
        if references.name != metadata.version.to_string() {
            let (images, metadata) = (references.name.clone(), metadata.version.clone());
            self.problems.push(PayloadProblem::OtherVersion { images, metadata });
        }
    }

    /// Reads all manifests, or stops at a limit with that problem.
    fn manifests(
        &mut self,
        files: &Files,
        values: &TemplateValues<'_>,
    ) -> Result<(), PayloadProblem> {
        for directory in [TEMPLATE_DIRECTORY, RELEASE_DIRECTORY] {
            for (path, bytes) in files.iter().filter(|(path, _)| is_manifest(path, directory)) {
                if directory == RELEASE_DIRECTORY || bytes.len() > MAX_FILE_BYTES {
                    self.file(path, bytes)?;
                } else if let Some(bytes) = self.rendered(path, bytes, values) {
                    self.file(path, &bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Reads the manifests of a file.
    fn file(&mut self, path: &str, bytes: &[u8]) -> Result<(), PayloadProblem> {
        if bytes.len() > MAX_FILE_BYTES {
            let (file, size) = (path.to_owned(), bytes.len());
            self.problems.push(PayloadProblem::FileTooLarge { file, size });
            return Ok(());
        }
        for (document, warnings) in documents::read(path, bytes) {
            self.warn(warnings);
            self.take(path, document)?;
        }
        Ok(())
    }

    /// Adds warnings, up to the limit.
    fn warn(&mut self, warnings: Vec<PayloadWarning>) {
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
    fn take_warnings(&mut self) -> Vec<PayloadWarning> {
        let omitted =
            self.omitted.take().map(|(file, count)| PayloadWarning::Omitted { file, count });
        self.warnings.extend(omitted);
        std::mem::take(&mut self.warnings)
    }

    fn take(
        &mut self,
        path: &str,
        document: Result<Option<Manifest>, PayloadProblem>,
    ) -> Result<(), PayloadProblem> {
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
            return Err(PayloadProblem::TooManyDocuments { file: path.to_owned() });
        }
        if self.bytes > MAX_BYTES {
            return Err(PayloadProblem::TooLarge);
        }
        if self.problems.len() >= MAX_PROBLEMS {
            return Err(PayloadProblem::TooManyProblems { file: path.to_owned() });
        }
        Ok(())
    }

    fn rendered(
        &mut self,
        path: &str,
        bytes: &[u8],
        values: &TemplateValues<'_>,
    ) -> Option<Vec<u8>> {
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let before = &bytes[..error.valid_up_to()];
                let line = before.split(|byte| *byte == b'\n').count();
                self.problems.push(PayloadProblem::Unreadable(ReadError::Malformed {
                    place: InputLocation {
                        source: path.to_owned(),
                        position: Some((line as u64, 1)),
                    },
                    field: String::new(),
                    problem: "not valid UTF-8".to_owned(),
                }));
                return None;
            }
        };
        match template::render(text, values) {
            Ok(text) => Some(text.into_bytes()),
            Err((line, why)) => {
                self.warnings.push(PayloadWarning::Template { file: path.to_owned(), line, why });
                None
            }
        }
    }
}
