//! Releases in arguments, requests and documents.

use std::fmt;

use fairway_api::ClusterVersionStatus;
use fairway_api::cluster_version::{Release, Update};
use fairway_api::image::same_content;
use fairway_insight::ShellWord;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::upgrade::RequestArgs;
use crate::args::upgrade_preflight::ReleaseChoice;
use crate::errors::WrongUsage;
use crate::foreign_text::OneLine;

/// Version and image of a release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(super) struct ReleaseReference {
    /// Version of the release, if known.
    pub(super) version: Option<String>,
    /// Image of the release, if known.
    pub(super) image: Option<String>,
}

impl ReleaseReference {
    /// Release of a version.
    pub(super) fn of_version(version: &str) -> Self {
        Self { version: Some(version.to_owned()), image: None }
    }

    /// Release of a request.
    pub(super) fn requested(update: &Update) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Self { version: owned(update.version()), image: owned(update.image()) }
    }

    /// Release with version and image as far as they are not empty.
    pub(super) fn known(version: &str, image: &str) -> Self {
        let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Self { version: known(version), image: known(image) }
    }

    /// Version, or the image without a version.
    pub(super) fn name(&self) -> &str {
        self.version.as_deref().or(self.image.as_deref()).unwrap_or("no release")
    }

    /// Whether both are certainly one release: by image if both have one, else by version.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        match (&self.image, &other.image) {
            (Some(one), Some(other)) => same_content(one, other),
            _ => self.version.is_some() && self.version == other.version,
        }
    }

    /// Adds the version or image of the same release in `known`.
    pub(super) fn completed(self, mut known: impl Iterator<Item = Self>) -> Self {
        match known.find(|known| known.is_same_as(&self)) {
            Some(known) => {
                Self { version: self.version.or(known.version), image: self.image.or(known.image) }
            }
            None => self,
        }
    }
}

impl From<&Release> for ReleaseReference {
    fn from(release: &Release) -> Self {
        Self::known(&release.version, &release.image)
    }
}

impl From<&ReleaseChoice> for ReleaseReference {
    fn from(choice: &ReleaseChoice) -> Self {
        match choice.clone() {
            ReleaseChoice::Version(version) => Self { version: Some(version), image: None },
            ReleaseChoice::Image(image) => Self { version: None, image: Some(image) },
        }
    }
}

/// Release that the arguments of a request name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RequestTarget {
    /// Release of a version.
    Version(String),
    /// Release image, and the version that it must have.
    Image { image: String, version: Option<String> },
    /// Latest release.
    Latest,
}

impl RequestTarget {
    /// The release of the arguments, `None` if they name none.
    pub(super) fn of(args: &RequestArgs) -> Result<Option<Self>, WrongUsage> {
        Ok(match (&args.to_image, &args.to) {
            (Some(image), version) => {
                if !image.by_digest && !args.force {
                    return Err(WrongUsage(format!(
                        "--to-image: {} has a tag, which can change and has no signature; use the \
                         digest: @sha256:…",
                        image.text
                    )));
                }
                Some(Self::Image { image: image.text.clone(), version: version.clone() })
            }
            (None, Some(version)) => Some(Self::Version(version.clone())),
            (None, None) => args.to_latest.then_some(Self::Latest),
        })
    }

    /// The named release, `None` for the latest.
    pub(super) fn reference(self) -> Option<ReleaseReference> {
        match self {
            Self::Version(version) => {
                Some(ReleaseReference { version: Some(version), image: None })
            }
            Self::Image { image, version } => {
                Some(ReleaseReference { version, image: Some(image) })
            }
            Self::Latest => None,
        }
    }
}

impl From<ReleaseReference> for RequestTarget {
    fn from(release: ReleaseReference) -> Self {
        match release {
            ReleaseReference { image: Some(image), version } => Self::Image { image, version },
            ReleaseReference { version, .. } => Self::Version(version.unwrap_or_default()),
        }
    }
}

/// Updates that ClusterVersion lists, recommended or not.
pub(super) fn listed_releases(status: &ClusterVersionStatus) -> impl Iterator<Item = &Release> {
    let conditional = status.conditional_updates.iter().map(|update| &update.release);
    status.available_updates.iter().flatten().chain(conditional)
}

/// Arguments of `fairway upgrade` that select a release.
pub(super) struct ReleaseArguments<'a>(pub(super) &'a ReleaseReference);

impl fmt::Display for ReleaseArguments<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |text: &String| ShellWord(text).to_string();
        match (self.0.version.as_ref().map(word), self.0.image.as_ref().map(word)) {
            (Some(version), _) => write!(f, "--to={}", OneLine(&version)),
            (None, Some(image)) => {
                write!(f, "--to-image={} --allow-explicit-upgrade", OneLine(&image))
            }
            (None, None) => f.write_str("--to=VERSION"),
        }
    }
}
