//! Release metadata: the updates that release images declare.

use std::collections::{BTreeMap, HashMap};

use fairway_api::Version;
use fairway_release::ReleaseMetadata;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::graph::{Graph, Node, Parts, Release, key, with_architecture};
use crate::problem::GraphProblem;

/// Bytes of a list of releases. OpenShift's list has 5 MB for 5,700 releases.
pub const MAX_BYTES: usize = 64 << 20;

/// Releases in a list: twenty times as many as OpenShift has.
pub const MAX_RELEASES: usize = 100_000;

/// Architecture of an image for several architectures.
const MULTI: &str = "multi";

/// A release image and its metadata.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", expecting = "an object that describes a release image")]
pub struct ReleaseImage {
    /// Image with digest.
    pub image: String,
    /// Architecture of the image.
    pub arch: String,
    /// Content of `release-manifests/release-metadata`.
    pub release_metadata: ReleaseMetadata,
}

/// Reason why a list of releases cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReleasesError {
    /// The list has too many bytes.
    #[error("{input} has {size} bytes; the limit is {MAX_BYTES} bytes")]
    TooLarge {
        /// Name of the input.
        input: String,
        /// Size of the input.
        size: usize,
    },
    /// The list has too many releases.
    #[error("{input} has {count} releases; the limit is {MAX_RELEASES}")]
    TooMany {
        /// Name of the input.
        input: String,
        /// Number of releases.
        count: usize,
    },
    /// The input is not a list of releases.
    #[error("{input}: {why}")]
    Malformed {
        /// Name of the input.
        input: String,
        /// Parse error with line and column.
        why: String,
    },
}

/// Reads a JSON list of releases and omits invalid ones. Errors start with `name`, the name of the
/// input.
pub fn read(
    name: &str,
    bytes: &[u8],
) -> Result<(Vec<ReleaseImage>, Vec<GraphProblem>), ReleasesError> {
    let input = || name.to_owned();
    if bytes.len() > MAX_BYTES {
        return Err(ReleasesError::TooLarge { input: input(), size: bytes.len() });
    }
    let entries: Vec<&RawValue> = serde_json::from_slice(bytes)
        .map_err(|error| ReleasesError::Malformed { input: input(), why: error.to_string() })?;
    if entries.len() > MAX_RELEASES {
        return Err(ReleasesError::TooMany { input: input(), count: entries.len() });
    }
    let (mut releases, mut problems) = (Vec::with_capacity(entries.len()), Vec::new());
    for (number, entry) in entries.into_iter().enumerate() {
        match serde_json::from_str(entry.get()) {
            Ok(release) => releases.push(release),
            Err(error) => problems.push(GraphProblem::UnreadableRelease {
                release: format!("{name}[{number}]"),
                why: error.to_string(),
            }),
        }
    }
    Ok((releases, problems))
}

/// The graph that releases declare: edges from every `previous` and to every `next` of the same
/// architecture. Referenced versions become nodes without a release.
pub fn declare(releases: Vec<ReleaseImage>) -> (Graph, Vec<GraphProblem>) {
    let mut by_architecture: BTreeMap<String, Vec<ReleaseImage>> = BTreeMap::new();
    for release in releases.into_iter().filter(|release| !is_shard(release)) {
        by_architecture.entry(release.arch.clone()).or_default().push(release);
    }
    let (mut parts, mut problems) = (Parts::default(), Vec::new());
    for (architecture, releases) in by_architecture {
        let releases = distinct(releases, &mut problems);
        Architecture::new(&architecture, &mut parts).declare(releases);
    }
    (parts.assemble(), problems)
}

/// Whether an image is the part of a multi-architecture release for one architecture.
fn is_shard(release: &ReleaseImage) -> bool {
    let own = release.release_metadata.metadata.get(key::OWN_ARCHITECTURE);
    release.arch != MULTI && own.is_some_and(|own| own == MULTI)
}

/// The releases without those whose version several images have.
fn distinct(
    mut releases: Vec<ReleaseImage>,
    problems: &mut Vec<GraphProblem>,
) -> Vec<ReleaseImage> {
    releases.sort_by(|one, other| version(one).cmp(version(other)));
    let mut kept = Vec::with_capacity(releases.len());
    let mut releases = releases.into_iter().peekable();
    while let Some(first) = releases.next() {
        let mut claims = vec![first];
        while let Some(next) = releases.next_if(|next| version(next) == version(&claims[0])) {
            claims.push(next);
        }
        match one_image(claims) {
            Ok(release) => kept.push(release),
            Err(problem) => problems.push(problem),
        }
    }
    kept
}

/// The single image of a version, which may be listed several times.
fn one_image(mut claims: Vec<ReleaseImage>) -> Result<ReleaseImage, GraphProblem> {
    if claims.iter().any(|claim| digest(claim) != digest(&claims[0])) {
        let version = with_architecture(version(&claims[0]), &claims[0].arch).to_string();
        let mut images: Vec<String> = claims.into_iter().map(|claim| claim.image).collect();
        images.sort();
        return Err(GraphProblem::DuplicateVersion { version, images });
    }
    if claims.len() > 1 {
        // The choice must not depend on the order of the input.
        claims.sort_by_cached_key(|claim| std::cmp::Reverse(format!("{claim:?}")));
    }
    Ok(claims.swap_remove(claims.len() - 1))
}

fn version(release: &ReleaseImage) -> &Version {
    &release.release_metadata.version
}

fn digest(release: &ReleaseImage) -> &str {
    release.image.rsplit_once('@').map_or(&release.image, |(_, digest)| digest)
}

/// Adds the nodes of one architecture to the parts of a graph.
struct Architecture<'a> {
    name: &'a str,
    parts: &'a mut Parts,
    places: HashMap<Version, usize>,
}

impl<'a> Architecture<'a> {
    fn new(name: &'a str, parts: &'a mut Parts) -> Self {
        Self { name, parts, places: HashMap::new() }
    }

    fn declare(&mut self, releases: Vec<ReleaseImage>) {
        for ReleaseImage { image, release_metadata, .. } in releases {
            let ReleaseMetadata { version, previous, next, metadata, kind: _ } = release_metadata;
            let place = self.place(&version);
            self.parts.nodes[place].release = Some(self.release(image, metadata));
            for from in &previous {
                let from = self.place(from);
                self.parts.connect(from, place);
            }
            for to in &next {
                let to = self.place(to);
                self.parts.connect(place, to);
            }
        }
    }

    fn place(&mut self, version: &Version) -> usize {
        if let Some(known) = self.places.get(version) {
            return *known;
        }
        let place = self.parts.nodes.len();
        self.parts.nodes.push(Node::without_release(with_architecture(version, self.name)));
        self.places.insert(version.without_build(), place);
        place
    }

    fn release(&self, payload: String, mut metadata: BTreeMap<String, String>) -> Release {
        if let Some((_, digest)) = payload.rsplit_once('@') {
            metadata.insert(key::MANIFEST_REF.to_owned(), digest.to_owned());
        }
        metadata.insert(key::ARCHITECTURE.to_owned(), self.name.to_owned());
        Release { payload, metadata }
    }
}
