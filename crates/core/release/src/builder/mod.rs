//! Builds a release: manifests of operators in, the files of an image out, or all errors.

mod operator;
mod pinning;
mod problem;
mod substitution;
mod versions;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use fairway_api::read::InputLocation;
use jiff::Timestamp;

pub use self::operator::{Operator, PLACEHOLDERS};
use self::operator::{numbered, release_name};
pub use self::problem::{BuildError, BuildProblem, BuildWarning};
pub use self::substitution::SNAPSHOT;
use self::substitution::{Substitution, UnresolvedReason};
use self::versions::VersionUse;
use crate::image_references::{self, ComponentVersions, ImageReferences};
use crate::inclusion::DEFAULT_PROFILE;
use crate::metadata::{self, ReleaseMetadata};
use crate::payload::{
    Files, MAX_PROBLEMS, PayloadError, PayloadWarning, RELEASE_DIRECTORY, Release, is_manifest_name,
};

/// The name of the release image in templates while it has no digest yet.
const UNKNOWN_IMAGE: &str = "release";

/// Builds a release from the manifests of operators.
#[derive(Clone, Debug)]
pub struct ReleaseBuilder {
    metadata: ReleaseMetadata,
    images: ImageReferences,
    /// Component versions that override those of images.
    versions: ComponentVersions,
    /// The operators whose manifests use component versions.
    version_uses: Vec<VersionUse>,
    files: Files,
    /// The names of files in errors, by their paths in the image.
    origins: BTreeMap<String, String>,
    /// The highest number behind a file name that several files have, by path.
    copies: BTreeMap<String, usize>,
    is_lenient: bool,
    problems: Vec<BuildProblem>,
    warnings: Vec<BuildWarning>,
}

/// A finished release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltRelease {
    /// The files of its image, by path.
    pub files: Files,
    /// The release that these files are.
    pub release: Release,
    /// Properties that are probably mistakes.
    pub warnings: Vec<BuildWarning>,
}

impl ReleaseBuilder {
    /// Starts a release with its metadata, its images by name, and its creation time. The image has
    /// no creation time without the latter.
    pub fn new(
        mut metadata: ReleaseMetadata,
        images: BTreeMap<String, String>,
        created: Option<Timestamp>,
    ) -> Self {
        let mut problems: Vec<BuildProblem> = images
            .iter()
            .filter(|(_, image)| !pinning::is_pinned(image))
            .map(|(name, image)| (name.clone(), image.clone()))
            .map(|(name, image)| BuildProblem::NotByDigest { name, image })
            .collect();
        for versions in [&mut metadata.previous, &mut metadata.next] {
            versions.sort();
            versions.dedup();
        }
        if metadata.previous.contains(&metadata.version) {
            problems.push(BuildProblem::OwnPrevious(metadata.version.clone()));
        }
        if metadata.next.contains(&metadata.version) {
            problems.push(BuildProblem::OwnNext(metadata.version.clone()));
        }
        let name = metadata.version.to_string();
        Self {
            metadata,
            images: ImageReferences { name, created, images, ..ImageReferences::default() },
            versions: ComponentVersions::new(),
            version_uses: Vec::new(),
            files: Files::new(),
            origins: BTreeMap::new(),
            copies: BTreeMap::new(),
            is_lenient: false,
            problems,
            warnings: Vec::new(),
        }
    }

    /// Turns errors about placeholders that stay, and about images of workloads that are not pinned,
    /// into warnings.
    #[must_use]
    pub fn allow_unresolved(self, is_lenient: bool) -> Self {
        Self { is_lenient, ..self }
    }

    /// Sets the version of a component of the release, such as `kubernetes`. It overrides versions
    /// that images declare.
    pub fn set_version(&mut self, component: &str, version: &str) {
        self.versions.insert(component.to_owned(), version.to_owned());
    }

    /// Adds component versions that an image declares. Those that the image has already stay.
    pub fn declare(&mut self, image: &str, versions: ComponentVersions) {
        let declared = self.images.versions.entry(image.to_owned()).or_default();
        for (component, version) in versions {
            declared.entry(component).or_insert(version);
        }
    }

    /// The component versions that an image declares.
    pub fn declared(&self, image: &str) -> Option<&ComponentVersions> {
        self.images.versions.get(image)
    }

    /// Sets the version of a component that no image declares.
    pub fn set_default_version(&mut self, component: &str, version: &str) {
        self.images.default_versions.insert(component.to_owned(), version.to_owned());
    }

    /// The version of a component for an operator that lists these images.
    pub fn version<'a>(
        &'a self,
        component: &str,
        images: impl IntoIterator<Item = &'a String>,
    ) -> Option<&'a str> {
        if let Some(version) = self.versions.get(component) {
            return Some(version);
        }
        let declared = images.into_iter().filter_map(|name| self.images.versions.get(name));
        let mut declared = declared.filter_map(|versions| versions.get(component));
        match declared.next() {
            Some(version) => declared.all(|other| other == version).then_some(version),
            None => self.images.component(component),
        }
    }

    /// The image of that name.
    pub fn image(&self, name: &str) -> Option<&str> {
        self.images.images.get(name).map(String::as_str)
    }

    /// Adds a file unchanged, by its path in the image. `origin` is its name in errors.
    pub fn add(&mut self, path: &str, origin: &str, content: Vec<u8>) {
        match self.origins.entry(path.to_owned()) {
            Entry::Occupied(first) => {
                let (first, second) = (first.get().clone(), origin.to_owned());
                self.problems.push(BuildProblem::Collision { first, second });
            }
            Entry::Vacant(entry) => {
                entry.insert(origin.to_owned());
                self.files.insert(path.to_owned(), content);
            }
        }
    }

    /// Adds all files of an operator, with the images and versions of the release in place of their
    /// placeholders.
    pub fn add_operator(&mut self, operator: &Operator) {
        let (words, warnings) = operator.placeholders_with_warnings().unwrap_or_else(|error| {
            self.problems.push(error.into());
            Default::default()
        });
        let warnings = warnings.iter().map(|warning| BuildWarning::Payload(warning.to_string()));
        self.warnings.extend(warnings);
        let mut missing: BTreeSet<&String> =
            words.values().filter(|name| !self.images.images.contains_key(*name)).collect();
        for (name, bytes) in operator.manifests() {
            let (content, unresolved) = self.substituted(&words, bytes);
            let origin = operator.path(name);
            for found in unresolved.into_iter().take(MAX_PROBLEMS) {
                if let UnresolvedReason::NoImage { name, .. } = &found.reason {
                    missing.remove(name);
                }
                if is_manifest_name(name) {
                    self.report(BuildProblem::unresolved(&origin, found));
                }
            }
            let path = self.free_path(&release_name(&operator.image, name), &origin);
            self.add(&path, &origin, content);
        }
        let file = operator.path(PLACEHOLDERS);
        self.warnings.extend(missing.into_iter().map(|name| {
            let (file, name) = (file.clone(), name.clone());
            BuildWarning::UnusedImage { file, name }
        }));
        self.version_uses.extend(VersionUse::of(operator, words.values(), &self.versions));
    }

    fn substituted(
        &self,
        words: &BTreeMap<String, String>,
        text: &[u8],
    ) -> (Vec<u8>, Vec<substitution::Unresolved>) {
        let ImageReferences { versions, default_versions, .. } = &self.images;
        let sources = versions.values().chain([default_versions, &self.versions]);
        let components: BTreeSet<&str> = sources.flat_map(|it| it.keys().map(|it| &**it)).collect();
        let components = components.into_iter();
        let known = components.filter_map(|name| Some((name, self.version(name, words.values())?)));
        // Build metadata does not identify a version, so `oc adm release new` leaves it out as well.
        let version = self.metadata.version.without_build().to_string();
        Substitution::new(words, &self.images.images, &version, known.collect()).apply(text)
    }

    /// A path that no file has yet, for a file that several operators may have.
    fn free_path(&mut self, name: &str, origin: &str) -> String {
        let path = format!("{RELEASE_DIRECTORY}/{name}");
        let Some(first) = self.origins.get(&path) else { return path };
        let number = self.copies.entry(name.to_owned()).or_insert(1);
        let (name, path) = loop {
            *number += 1;
            let name = numbered(name, *number);
            let path = format!("{RELEASE_DIRECTORY}/{name}");
            if !self.origins.contains_key(&path) {
                break (name, path);
            }
        };
        let (file, first) = (origin.to_owned(), first.clone());
        self.warnings.push(BuildWarning::Renamed { file, name, first });
        path
    }

    fn report(&mut self, problem: BuildProblem) {
        if self.is_lenient && problem.is_unresolved() {
            self.warnings.push(BuildWarning::Unresolved(problem));
        } else {
            self.problems.push(problem);
        }
    }

    /// Adds a warning.
    pub fn warn(&mut self, warning: BuildWarning) {
        self.warnings.push(warning);
    }

    /// The errors found so far; [`ReleaseBuilder::finish`] finds more.
    pub fn problems(&self) -> &[BuildProblem] {
        &self.problems
    }

    /// The warnings found so far.
    pub fn warnings(&self) -> &[BuildWarning] {
        &self.warnings
    }

    /// The files of the image, not loaded yet.
    pub fn files(&self) -> Files {
        let mut draft = self.clone();
        draft.describe();
        draft.files
    }

    /// Adds the files with which a release describes itself.
    fn describe(&mut self) {
        versions::place(&mut self.images, &self.versions, &self.version_uses);
        let metadata = serde_json::to_string_pretty(&self.metadata).expect("strings are JSON");
        self.add(metadata::PATH, "metadata of the release", format!("{metadata}\n").into_bytes());
        let images = format!("{}\n", self.images.write());
        self.add(image_references::PATH, "images of the release", images.into_bytes());
    }

    /// Loads the result as a cluster would, and checks it.
    pub fn finish(mut self) -> Result<BuiltRelease, BuildError> {
        self.describe();
        let (release, warnings) =
            Release::load_with_warnings(&self.files, UNKNOWN_IMAGE, DEFAULT_PROFILE);
        self.add_warnings(&warnings);
        match release {
            Ok(release) => {
                self.check(&release);
                if self.problems.is_empty() {
                    let Self { files, warnings, .. } = self;
                    return Ok(BuiltRelease { files, release, warnings });
                }
            }
            Err(PayloadError { problems }) => {
                for problem in problems {
                    self.problems.push(BuildProblem::Payload(self.of_origin(&problem.to_string())));
                }
            }
        }
        self.problems.truncate(MAX_PROBLEMS);
        Err(BuildError { problems: self.problems, warnings: self.warnings })
    }

    fn add_warnings(&mut self, warnings: &[PayloadWarning]) {
        for warning in warnings {
            let mut warning = warning.clone();
            // The builder writes this file, so its line numbers mean nothing to the user.
            if let PayloadWarning::Metadata { line, .. } = &mut warning {
                *line = None;
            }
            let text = self.of_origin(&warning.to_string());
            // A file that clusters ignore, or metadata that clients ignore, is never intended.
            if matches!(warning, PayloadWarning::Template { .. } | PayloadWarning::Metadata { .. })
            {
                self.problems.push(BuildProblem::Payload(text));
            } else {
                self.warnings.push(BuildWarning::Payload(text));
            }
        }
    }

    fn check(&mut self, release: &Release) {
        for manifest in &release.manifests {
            // Templates name the release image, whose digest is not known yet.
            let Some(origin) = self.origins.get(&format!("{RELEASE_DIRECTORY}/{}", manifest.file))
            else {
                continue;
            };
            let place =
                InputLocation { source: origin.clone(), position: Some((manifest.line, 1)) };
            for pinning::Unpinned { field, image } in pinning::unpinned(manifest) {
                let (place, id) = (place.clone(), Box::new(manifest.id.clone()));
                self.report(BuildProblem::NotPinned { place, id, field, image });
            }
        }
    }

    /// A message about a file of the image, with the name of its origin in place of its path.
    fn of_origin(&self, message: &str) -> String {
        let origin = self.origins.iter().find_map(|(path, origin)| {
            let rest = message.strip_prefix(path.as_str())?;
            rest.starts_with([':', ' ']).then(|| format!("{origin}{rest}"))
        });
        origin.unwrap_or_else(|| message.to_owned())
    }
}
