//! Primary metadata: the graph that releases declare by themselves.

use std::collections::{BTreeMap, HashMap};

use fairway_api::Version;
use fairway_release::ReleaseMetadata;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::graph::{Graph, Node, Parts, Release, key, with_architecture};
use crate::problem::Problem;

/// Bytes of a list of releases: the real one has 5 MB for 5,700 releases.
pub const MAX_BYTES: usize = 64 << 20;

/// Releases in a list: twenty times as many as there are.
pub const MAX_RELEASES: usize = 100_000;

/// The architecture of an image that runs on several.
const MULTI: &str = "multi";

/// A release image, and what it says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ReleaseImage {
    /// The image, by digest.
    pub image: String,
    /// Its architecture.
    pub arch: String,
    /// What it says about itself.
    pub release_metadata: ReleaseMetadata,
}

/// Why a list of releases could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReleasesError {
    /// It is too large to be looked at.
    #[error("{input} has {size} bytes; the limit is {MAX_BYTES} bytes")]
    TooLarge {
        /// What people call the input.
        input: String,
        /// Its size.
        size: usize,
    },
    /// It has too many releases.
    #[error("{input} has {count} releases; the limit is {MAX_RELEASES}")]
    TooMany {
        /// What people call the input.
        input: String,
        /// How many.
        count: usize,
    },
    /// It is not a list of releases.
    #[error("{input}: {why}")]
    Malformed {
        /// What people call the input.
        input: String,
        /// What the parser says, with line and column.
        why: String,
    },
}

/// Reads a JSON list of releases; those that cannot be read are left out. `name` is what people
/// call the input; errors begin with it.
pub fn read(name: &str, bytes: &[u8]) -> Result<(Vec<ReleaseImage>, Vec<Problem>), ReleasesError> {
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
            Err(error) => problems.push(Problem::UnreadableRelease {
                release: format!("{name}[{number}]"),
                why: error.to_string(),
            }),
        }
    }
    Ok((releases, problems))
}

/// The graph that releases declare: an edge from every `previous` and to every `next`, within one
/// architecture. Versions that are only named become nodes without a release.
pub fn declare(releases: Vec<ReleaseImage>) -> (Graph, Vec<Problem>) {
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

/// Whether it is the part of an image for several architectures that runs on one of them.
fn is_shard(release: &ReleaseImage) -> bool {
    let own = release.release_metadata.metadata.get(key::OWN_ARCHITECTURE);
    release.arch != MULTI && own.is_some_and(|own| own == MULTI)
}

/// The releases without those whose version another image claims, too.
fn distinct(mut releases: Vec<ReleaseImage>, problems: &mut Vec<Problem>) -> Vec<ReleaseImage> {
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

/// The one image that claims a version, perhaps several times.
fn one_image(mut claims: Vec<ReleaseImage>) -> Result<ReleaseImage, Problem> {
    if claims.iter().any(|claim| digest(claim) != digest(&claims[0])) {
        let version = with_architecture(version(&claims[0]), &claims[0].arch).to_string();
        let mut images: Vec<String> = claims.into_iter().map(|claim| claim.image).collect();
        images.sort();
        return Err(Problem::DuplicateVersion { version, images });
    }
    if claims.len() > 1 {
        // Whichever is taken, it must not depend on their order.
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

/// The nodes of one architecture while they are put into parts.
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
        self.parts.nodes.push(Node::named(with_architecture(version, self.name)));
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
