//! Making a release: the files of operators go in, the files of an image come out, or all that is
//! wrong with them.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use fairway_api::read::{Place, ReadError};
use jiff::Timestamp;

use crate::image_references::{self, ImageReferences, is_part_of_word, placeholders};
use crate::inclusion::DEFAULT_PROFILE;
use crate::metadata::{self, ReleaseMetadata};
use crate::payload::{
    Files, LITERAL, MAX_PROBLEMS, PayloadError, Release, Warning, is_manifest_name,
};

/// The version that operators write where they mean that of the release.
const SNAPSHOT: &str = "0.0.1-snapshot";

/// The file in which an operator says what the images in its manifests stand for.
pub const PLACEHOLDERS: &str = "image-references";

/// What the image of a release is called before it has a digest.
const UNNAMED: &str = "release";

/// A release that is being made.
#[derive(Clone, Debug)]
pub struct Draft {
    metadata: ReleaseMetadata,
    images: ImageReferences,
    files: Files,
    /// What people call each file, by its path in the image.
    origins: BTreeMap<String, String>,
    problems: Vec<DraftProblem>,
}

/// What is wrong with a release that is being made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DraftProblem {
    /// Two files would be one.
    #[error("{second}: {first} has the same name, and a release has room for one of them")]
    Collision {
        /// The file that came first.
        first: String,
        /// The file that came second.
        second: String,
    },
    /// An image could be another one tomorrow.
    #[error("image {name}: {image:?} does not end with a digest such as @sha256:…")]
    NotByDigest {
        /// The name of the image.
        name: String,
        /// What it was said to be.
        image: String,
    },
    /// A manifest needs an image that nobody has named.
    #[error("{place}: {word} stands for the image {name:?}, which is not there")]
    NoImage {
        /// Where it is needed.
        place: Place,
        /// What stands in the manifest.
        word: String,
        /// The name of the image.
        name: String,
    },
    /// A manifest wants the version of something that has none here.
    #[error("{place}: {word} stands for a version that nobody has named; only {SNAPSHOT} does")]
    NoVersion {
        /// Where it is wanted.
        place: Place,
        /// What stands in the manifest.
        word: String,
    },
    /// What an operator says about its images cannot be read.
    #[error(transparent)]
    Placeholders(#[from] ReadError),
    /// A release cannot come before or after itself.
    #[error("{0} cannot be updated to itself")]
    UpdateToItself(fairway_api::Version),
    /// What comes of it is no release.
    #[error("{0}")]
    Payload(String),
}

/// Everything that is wrong with a release that is being made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "an unread report helps nobody"]
pub struct DraftError {
    /// What is wrong. There is at least one.
    pub problems: Vec<DraftProblem>,
}

impl std::error::Error for DraftError {}

impl fmt::Display for DraftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [problem] => problem.fmt(f),
            problems => {
                write!(f, "{} things are wrong:", problems.len())?;
                problems.iter().try_for_each(|problem| write!(f, "\n* {problem}"))
            }
        }
    }
}

impl Draft {
    /// Begins a release with what it says about itself, and with its images by name. Without a time,
    /// it does not say when it was made.
    pub fn new(
        mut metadata: ReleaseMetadata,
        images: BTreeMap<String, String>,
        created: Option<Timestamp>,
    ) -> Self {
        let mut problems: Vec<DraftProblem> = images
            .iter()
            .filter(|(_, image)| !is_by_digest(image))
            .map(|(name, image)| (name.clone(), image.clone()))
            .map(|(name, image)| DraftProblem::NotByDigest { name, image })
            .collect();
        for versions in [&mut metadata.previous, &mut metadata.next] {
            versions.sort();
            versions.dedup();
            if versions.contains(&metadata.version) {
                problems.push(DraftProblem::UpdateToItself(metadata.version.clone()));
            }
        }
        let name = metadata.version.to_string();
        let images = ImageReferences { name, created, images, ..ImageReferences::default() };
        Self { metadata, images, files: Files::new(), origins: BTreeMap::new(), problems }
    }

    /// Says which version of something the release brings, such as `kubernetes`.
    pub fn brings(&mut self, component: &str, version: &str) {
        let versions = self.images.components.entry(component.to_owned()).or_default();
        versions.insert(version.to_owned());
    }

    /// Adds a file by its path in the image, as it is; `origin` is what people call it.
    pub fn add(&mut self, path: &str, origin: &str, content: Vec<u8>) {
        match self.origins.entry(path.to_owned()) {
            Entry::Occupied(first) => {
                let (first, second) = (first.get().clone(), origin.to_owned());
                self.problems.push(DraftProblem::Collision { first, second });
            }
            Entry::Vacant(entry) => {
                entry.insert(origin.to_owned());
                self.files.insert(path.to_owned(), content);
            }
        }
    }

    /// Adds the manifests of an operator, by the names of their files; `directory` is what people
    /// call the place where they are. Images and versions that stand for those of the release are
    /// replaced. Files that are no manifests are left out.
    pub fn add_operator(&mut self, directory: &str, files: &BTreeMap<String, Vec<u8>>) {
        let place = |file: &str| format!("{directory}/{file}");
        let words = files.get(PLACEHOLDERS).map(|bytes| placeholders(&place(PLACEHOLDERS), bytes));
        let words = words.transpose().unwrap_or_else(|error| {
            self.problems.push(error.into());
            None
        });
        let words = words.unwrap_or_default();
        for (name, bytes) in files {
            if !is_manifest_name(name) {
                continue;
            }
            let (path, origin) = (format!("{LITERAL}/{name}"), place(name));
            let content = match std::str::from_utf8(bytes) {
                Ok(text) => self.replaced(text, &words, &origin).into_bytes(),
                // Loading says where it is no text.
                Err(_) => bytes.clone(),
            };
            self.add(&path, &origin, content);
        }
    }

    /// The text with the images and the version of this release.
    fn replaced(&mut self, text: &str, words: &BTreeMap<String, String>, origin: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for (line, content) in (1..).zip(text.split_inclusive('\n')) {
            let place = || Place { source: origin.to_owned(), position: Some((line, 1)) };
            for word in words_of(content) {
                match self.meaning(word, words, place) {
                    Ok(meaning) => out.push_str(meaning),
                    Err(problem) => self.problems.push(problem),
                }
            }
        }
        out
    }

    /// What a word stands for: mostly for itself.
    fn meaning<'a>(
        &'a self,
        word: &'a str,
        words: &BTreeMap<String, String>,
        place: impl Fn() -> Place,
    ) -> Result<&'a str, DraftProblem> {
        if let Some(name) = words.get(word) {
            let image = self.images.images.get(name).map(String::as_str);
            return image.ok_or_else(|| {
                let (word, name) = (word.to_owned(), name.clone());
                DraftProblem::NoImage { place: place(), word, name }
            });
        }
        match word.strip_prefix(SNAPSHOT) {
            Some("") => Ok(&self.images.name),
            Some(component) if component.starts_with('-') => {
                Err(DraftProblem::NoVersion { place: place(), word: word.to_owned() })
            }
            _ => Ok(word),
        }
    }

    /// The files of the image, and what they mean.
    pub fn finish(mut self) -> Result<(Files, Release), DraftError> {
        let metadata = serde_json::to_string_pretty(&self.metadata).expect("texts are JSON");
        self.add(metadata::PATH, "the release's metadata", format!("{metadata}\n").into_bytes());
        let images = format!("{}\n", self.images.write());
        self.add(image_references::PATH, "the release's images", images.into_bytes());
        match Release::load(&self.files, UNNAMED, DEFAULT_PROFILE) {
            Ok(mut release)
                if self.problems.is_empty()
                    && release.warnings.iter().all(Warning::is_informational) =>
            {
                for warning in &mut release.warnings {
                    if let Some(origin) = self.origins.get(warning.file()) {
                        warning.rename(origin);
                    }
                }
                return Ok((self.files, release));
            }
            Ok(release) => {
                let refusals =
                    release.warnings.iter().filter(|warning| !warning.is_informational());
                self.take(refusals.map(Warning::to_string));
            }
            Err(PayloadError { problems }) => {
                let unusable: Vec<Warning> = Warning::of_metadata(&self.metadata).collect();
                self.take(unusable.iter().map(Warning::to_string));
                self.take(problems.iter().map(ToString::to_string));
            }
        }
        self.problems.truncate(MAX_PROBLEMS);
        Err(DraftError { problems: self.problems })
    }

    /// Takes what was found in the files of the image, and says it of the files of people.
    fn take(&mut self, told: impl Iterator<Item = String>) {
        for told in told {
            let origin = self.origins.iter().find_map(|(path, origin)| {
                let rest = told.strip_prefix(path.as_str())?;
                rest.starts_with([':', ' ']).then(|| format!("{origin}{rest}"))
            });
            self.problems.push(DraftProblem::Payload(origin.unwrap_or(told)));
        }
    }
}

/// A text in pieces: words, and what is between them.
fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_word = rest.chars().next().map(is_part_of_word)?;
        let end = rest.find(|letter| is_part_of_word(letter) != is_word).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

fn is_by_digest(image: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    image.rsplit_once("@sha256:").is_some_and(|(name, digits)| {
        !name.is_empty()
            && name.chars().all(is_part_of_word)
            && digits.len() == 64
            && digits.bytes().all(is_digit)
    })
}
