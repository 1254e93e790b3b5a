//! Scans a repository and reads only new manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use tokio::time::{Instant, timeout, timeout_at};

use super::assemble::{ReleaseSet, ScannedManifests};
use super::manifest::{self, ScannedManifest};
use super::{ProblemReason, ReleaseImage, ScanProblem, ScanReport};
use crate::Digest;
use crate::manifest::MAX_INDEX_DEPTH;
use crate::pull::PullError;
use crate::source::{Source, Tag};

/// Bytes of the cache: ten times as much as the largest platform needs.
const MAX_CACHE_BYTES: usize = 512 << 20;

/// Concurrency and timeouts of a scan.
#[derive(Clone, Copy, Debug)]
pub struct ScanSettings {
    /// Maximum number of concurrent requests.
    pub parallel: usize,
    /// Timeout of one image.
    pub image: Duration,
    /// Timeout of the scan. It then returns what it has read.
    pub everything: Duration,
}

impl Default for ScanSettings {
    /// 16 requests at once, which registries allow to one client. One minute for an image, of which
    /// about a megabyte is read. 15 minutes cover a first scan of thousands of images over a slow
    /// connection.
    fn default() -> Self {
        let (image, everything) = (Duration::from_mins(1), Duration::from_mins(15));
        Self { parallel: 16, image, everything }
    }
}

/// Manifests and tags of earlier scans. The caller creates it empty and keeps it between scans;
/// images that are gone are removed.
#[derive(Clone, Debug, Default)]
pub struct ScanCache {
    manifests: BTreeMap<Digest, ScannedManifest>,
    tags: BTreeMap<String, Digest>,
}

impl ScanCache {
    fn memory(&self) -> usize {
        self.manifests.values().map(ScannedManifest::memory).sum()
    }
}

/// Result of a scan.
#[derive(Clone, Debug)]
pub struct ScanResult {
    /// Releases, sorted by image.
    pub releases: Vec<ReleaseImage>,
    /// Counts and problems.
    pub report: ScanReport,
}

/// A scan that has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum ScanError {
    /// The tags cannot be listed.
    #[error("cannot list the tags of {repository}")]
    Tags { repository: String, source: PullError },
    /// Listing the tags timed out.
    #[error("cannot list the tags of {repository}: timed out after {} seconds", limit.as_secs())]
    TooSlow { repository: String, limit: Duration },
}

/// Progress of a scan. The total grows when an index references new images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanProgress {
    /// Number of manifests read.
    pub read: usize,
    /// Number of manifests to read, as far as known.
    pub of: usize,
}

/// Lists the releases of a repository. Cached manifests are not read again. The future is
/// cancel-safe: manifests read before it is dropped stay in the cache.
pub async fn scan(
    source: &Source,
    cache: &mut ScanCache,
    settings: &ScanSettings,
) -> Result<ScanResult, ScanError> {
    scan_with(source, cache, settings, &|_| {}).await
}

/// Like [`scan`], with a callback for the progress.
pub async fn scan_with(
    source: &Source,
    cache: &mut ScanCache,
    settings: &ScanSettings,
    progress: &(dyn Fn(ScanProgress) + Sync),
) -> Result<ScanResult, ScanError> {
    let repository = || source.name().to_owned();
    let deadline = Instant::now() + settings.everything;
    let tags = timeout_at(deadline, source.tags())
        .await
        .map_err(|_| ScanError::TooSlow { repository: repository(), limit: settings.everything })?
        .map_err(|error| ScanError::Tags { repository: repository(), source: error })?;
    let limits = RequestLimits { source, settings, deadline };
    let mut scanning = ActiveScan { limits, cache, unread: BTreeMap::new() };
    let problems = scanning.resolve(&tags).await;
    let read = scanning.read(progress).await;
    Ok(scanning.finish(tags.len(), read, problems))
}

struct ActiveScan<'a> {
    limits: RequestLimits<'a>,
    cache: &'a mut ScanCache,
    unread: BTreeMap<Digest, ProblemReason>,
}

impl ActiveScan<'_> {
    /// Resolves the tags. A tag that fails temporarily keeps its last digest.
    async fn resolve(&mut self, tags: &[Tag]) -> Vec<ScanProblem> {
        let source = self.limits.source;
        let resolve = |tag| async move { source.resolve(tag).await.map_err(ProblemReason::from) };
        let mut resolved = pin!(self.limits.each(tags, resolve));
        let (mut stand_for, mut problems) = (BTreeMap::new(), Vec::new());
        while let Some((tag, resolved)) = resolved.next().await {
            let name = tag.name.clone();
            match resolved {
                Ok(digest) => drop(stand_for.insert(name, digest)),
                Err(reason) => {
                    let before = self.cache.tags.get(&name).filter(|_| reason.is_transient());
                    stand_for.extend(before.map(|digest| (name.clone(), digest.clone())));
                    let (kept, digest) = (before.is_some(), before.cloned());
                    problems.push(ScanProblem { tag: name, kept, digest, reason });
                }
            }
        }
        self.cache.tags = stand_for;
        problems
    }

    /// Reads new manifests, and then those that they reference. Returns the number of attempts.
    async fn read(&mut self, progress: &(dyn Fn(ScanProgress) + Sync)) -> usize {
        let source = self.limits.source;
        let mut room = MAX_CACHE_BYTES.saturating_sub(self.cache.memory());
        let mut count = 0;
        for _ in 0..=MAX_INDEX_DEPTH {
            let missing = self.missing();
            let of = count + missing.len();
            let mut read =
                pin!(self.limits.each(&missing, |digest| manifest::read(source, digest)));
            while let Some((digest, manifest)) = read.next().await {
                count += 1;
                progress(ScanProgress { read: count, of });
                match manifest.and_then(|manifest| fitting(manifest, &mut room)) {
                    Ok(manifest) => drop(self.cache.manifests.insert(digest.clone(), manifest)),
                    Err(reason) => drop(self.unread.insert(digest.clone(), reason)),
                }
            }
        }
        count
    }

    /// Manifests that are reachable from the tags and not tried in this scan.
    fn missing(&self) -> Vec<Digest> {
        let mut missing = BTreeSet::new();
        let mut level: BTreeSet<&Digest> = self.cache.tags.values().collect();
        for _ in 0..=MAX_INDEX_DEPTH {
            let mut below = BTreeSet::new();
            for digest in level {
                match self.cache.manifests.get(digest) {
                    Some(ScannedManifest::List(images)) => below.extend(images),
                    Some(_) => {}
                    None if self.unread.contains_key(digest) => {}
                    None => drop(missing.insert(digest.clone())),
                }
            }
            level = below;
        }
        missing.into_iter().collect()
    }

    fn finish(self, tags: usize, read: usize, mut problems: Vec<ScanProblem>) -> ScanResult {
        let ScanCache { manifests, tags: resolved } = self.cache;
        let mut releases = ReleaseSet::default();
        let scanned =
            ScannedManifests { name: self.limits.source.name(), manifests, unread: &self.unread };
        for (tag, digest) in resolved.iter() {
            scanned.assemble(tag, digest, &mut releases);
        }
        problems.append(&mut releases.problems);
        problems.sort_by(|one, other| one.tag.cmp(&other.tag));
        manifests.retain(|digest, _| releases.used.contains(digest));
        let report = ScanReport {
            repository: self.limits.source.name().to_owned(),
            tags,
            releases: releases.len(),
            read,
            known: releases.used.len().saturating_sub(read),
            problems,
        };
        ScanResult { releases: releases.into_releases(), report }
    }
}

/// The manifest, if the cache has room for it.
fn fitting(manifest: ScannedManifest, room: &mut usize) -> Result<ScannedManifest, ProblemReason> {
    *room = room.checked_sub(manifest.memory()).ok_or(ProblemReason::NoRoomLeft)?;
    Ok(manifest)
}

/// Runs requests with the concurrency and timeouts of a scan.
#[derive(Clone, Copy)]
struct RequestLimits<'a> {
    source: &'a Source,
    settings: &'a ScanSettings,
    deadline: Instant,
}

impl RequestLimits<'_> {
    /// Runs an action for each item, in any order.
    fn each<'t, T, R, F: Future<Output = Result<R, ProblemReason>>>(
        &self,
        things: &'t [T],
        action: impl Fn(&'t T) -> F,
    ) -> impl Stream<Item = (&'t T, Result<R, ProblemReason>)> {
        let (deadline, limit) = (self.deadline, self.settings.image);
        let actions = things.iter().map(move |thing| {
            let action = action(thing);
            async move {
                let done = match timeout_at(deadline, timeout(limit, action)).await {
                    Ok(Ok(done)) => done,
                    Ok(Err(_)) => Err(ProblemReason::TooSlow { seconds: limit.as_secs() }),
                    Err(_) => Err(ProblemReason::NoTimeLeft),
                };
                (thing, done)
            }
        });
        stream::iter(actions).buffer_unordered(self.settings.parallel.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fitting_without_room_fails_and_smaller_manifest_fits() {
        let list = |images: u8| {
            let images = (0..images).map(|image| Digest::of(&[image]));
            ScannedManifest::List(images.collect())
        };
        let mut room = list(3).memory();
        assert_eq!(fitting(list(4), &mut room).unwrap_err(), ProblemReason::NoRoomLeft);
        assert!(fitting(list(2), &mut room).is_ok());
        assert_eq!(fitting(list(2), &mut room).unwrap_err(), ProblemReason::NoRoomLeft);
    }
}
