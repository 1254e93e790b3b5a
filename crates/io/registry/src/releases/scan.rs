//! Reading a repository, and only what is new in it.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use tokio::time::{Instant, timeout, timeout_at};

use super::assemble::{Assembled, Findings};
use super::manifest::{self, Manifest};
use super::source::{Source, Tag};
use super::{Problem, Reason, Release, Report};
use crate::Digest;
use crate::manifest::DEEPEST_INDEX;
use crate::pull::PullError;

/// What is known may take so much memory: ten times as much as the largest platform needs.
const MOST_MEMORY: usize = 512 << 20;

/// How much a scan may take.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How many things are asked for at once.
    pub parallel: usize,
    /// How long reading one image may take.
    pub image: Duration,
    /// How long everything may take. What is known by then is the result.
    pub everything: Duration,
}

impl Default for Settings {
    /// As many requests as registries let one client have; a minute for an image, which has a
    /// megabyte where it matters; and a first scan of thousands of images by a slow line.
    fn default() -> Self {
        let (image, everything) = (Duration::from_mins(1), Duration::from_mins(15));
        Self { parallel: 16, image, everything }
    }
}

/// What was seen before. It begins empty, and grows and shrinks with the repository.
#[derive(Clone, Debug, Default)]
pub struct Known {
    manifests: BTreeMap<Digest, Manifest>,
    tags: BTreeMap<String, Digest>,
}

impl Known {
    fn weight(&self) -> usize {
        self.manifests.values().map(Manifest::weight).sum()
    }
}

/// The releases of a repository, and how they were found.
#[derive(Clone, Debug)]
pub struct Scan {
    /// In the order of their images.
    pub releases: Vec<Release>,
    /// What happened.
    pub report: Report,
}

/// Why nothing is known about a repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanError {
    /// Its tags cannot be read.
    #[error("cannot list the tags of {repository}")]
    Tags {
        /// The repository.
        repository: String,
        /// Why not.
        source: PullError,
    },
    /// It takes too long.
    #[error("cannot list the tags of {repository}: timed out after {} seconds", limit.as_secs())]
    TooSlow {
        /// The repository.
        repository: String,
        /// How long it was given.
        limit: Duration,
    },
}

/// How far a scan is. Lists name images that nobody knew of, so that there may be more to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How many manifests were read.
    pub read: usize,
    /// How many there are to read, as far as it is known.
    pub of: usize,
}

/// Finds the releases of a repository. Manifests that are `known` are not read again. This may be
/// dropped before its end: what was read until then is known.
pub async fn scan(
    source: &Source,
    known: &mut Known,
    settings: &Settings,
) -> Result<Scan, ScanError> {
    scan_with(source, known, settings, &|_| {}).await
}

/// Like [`scan`], telling how far it is.
pub async fn scan_with(
    source: &Source,
    known: &mut Known,
    settings: &Settings,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Scan, ScanError> {
    let repository = || source.name().to_owned();
    let deadline = Instant::now() + settings.everything;
    let tags = timeout_at(deadline, source.tags())
        .await
        .map_err(|_| ScanError::TooSlow { repository: repository(), limit: settings.everything })?
        .map_err(|error| ScanError::Tags { repository: repository(), source: error })?;
    let pace = Pace { source, settings, deadline };
    let mut scanning = Scanning { pace, known, unread: BTreeMap::new() };
    let problems = scanning.resolve(&tags).await;
    let read = scanning.read(progress).await;
    Ok(scanning.finish(tags.len(), read, problems))
}

struct Scanning<'a> {
    pace: Pace<'a>,
    known: &'a mut Known,
    unread: BTreeMap<Digest, Reason>,
}

impl Scanning<'_> {
    /// Finds out what tags stand for. One that cannot be asked for now stands for what it did.
    async fn resolve(&mut self, tags: &[Tag]) -> Vec<Problem> {
        let source = self.pace.source;
        let resolve = |tag| async move { source.resolve(tag).await.map_err(Reason::from) };
        let mut resolved = pin!(self.pace.each(tags, resolve));
        let (mut stand_for, mut problems) = (BTreeMap::new(), Vec::new());
        while let Some((tag, resolved)) = resolved.next().await {
            let name = tag.name.clone();
            match resolved {
                Ok(digest) => drop(stand_for.insert(name, digest)),
                Err(reason) => {
                    let before = self.known.tags.get(&name).filter(|_| reason.is_transient());
                    stand_for.extend(before.map(|digest| (name.clone(), digest.clone())));
                    let (kept, digest) = (before.is_some(), before.cloned());
                    problems.push(Problem { tag: name, kept, digest, reason });
                }
            }
        }
        self.known.tags = stand_for;
        problems
    }

    /// Reads the manifests that are new, and then those that they name. Returns how many it tried.
    async fn read(&mut self, progress: &(dyn Fn(Progress) + Sync)) -> usize {
        let source = self.pace.source;
        let mut room = MOST_MEMORY.saturating_sub(self.known.weight());
        let mut count = 0;
        for _ in 0..=DEEPEST_INDEX {
            let missing = self.missing();
            let of = count + missing.len();
            let mut read = pin!(self.pace.each(&missing, |digest| manifest::read(source, digest)));
            while let Some((digest, manifest)) = read.next().await {
                count += 1;
                progress(Progress { read: count, of });
                match manifest.and_then(|manifest| fitting(manifest, &mut room)) {
                    Ok(manifest) => drop(self.known.manifests.insert(digest.clone(), manifest)),
                    Err(reason) => drop(self.unread.insert(digest.clone(), reason)),
                }
            }
        }
        count
    }

    /// The manifests that tags lead to and that nobody has tried to read.
    fn missing(&self) -> Vec<Digest> {
        let mut missing = BTreeSet::new();
        let mut level: BTreeSet<&Digest> = self.known.tags.values().collect();
        for _ in 0..=DEEPEST_INDEX {
            let mut below = BTreeSet::new();
            for digest in level {
                match self.known.manifests.get(digest) {
                    Some(Manifest::List(images)) => below.extend(images),
                    Some(_) => {}
                    None if self.unread.contains_key(digest) => {}
                    None => drop(missing.insert(digest.clone())),
                }
            }
            level = below;
        }
        missing.into_iter().collect()
    }

    fn finish(self, tags: usize, read: usize, mut problems: Vec<Problem>) -> Scan {
        let Known { manifests, tags: resolved } = self.known;
        let mut assembled = Assembled::default();
        let findings = Findings { name: self.pace.source.name(), manifests, unread: &self.unread };
        for (tag, digest) in resolved.iter() {
            findings.assemble(tag, digest, &mut assembled);
        }
        problems.append(&mut assembled.problems);
        problems.sort_by(|one, other| one.tag.cmp(&other.tag));
        manifests.retain(|digest, _| assembled.used.contains(digest));
        let report = Report {
            repository: self.pace.source.name().to_owned(),
            tags,
            releases: assembled.len(),
            read,
            known: assembled.used.len().saturating_sub(read),
            problems,
        };
        Scan { releases: assembled.into_releases(), report }
    }
}

/// The manifest, if there is room for it.
fn fitting(manifest: Manifest, room: &mut usize) -> Result<Manifest, Reason> {
    *room = room.checked_sub(manifest.weight()).ok_or(Reason::NoRoomLeft)?;
    Ok(manifest)
}

/// How a source is asked: some things at once, each within its time and all within the scan's.
#[derive(Clone, Copy)]
struct Pace<'a> {
    source: &'a Source,
    settings: &'a Settings,
    deadline: Instant,
}

impl Pace<'_> {
    /// Does something with each of some things, in any order.
    fn each<'t, T, R, F: Future<Output = Result<R, Reason>>>(
        &self,
        things: &'t [T],
        action: impl Fn(&'t T) -> F,
    ) -> impl Stream<Item = (&'t T, Result<R, Reason>)> {
        let (deadline, limit) = (self.deadline, self.settings.image);
        let actions = things.iter().map(move |thing| {
            let action = action(thing);
            async move {
                let done = match timeout_at(deadline, timeout(limit, action)).await {
                    Ok(Ok(done)) => done,
                    Ok(Err(_)) => Err(Reason::TooSlow { seconds: limit.as_secs() }),
                    Err(_) => Err(Reason::NoTimeLeft),
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
    fn what_does_not_fit_is_left_out_and_what_is_smaller_still_fits() {
        let list = |images: u8| {
            let images = (0..images).map(|image| Digest::of(&[image]));
            Manifest::List(images.collect())
        };
        let mut room = list(3).weight();
        assert_eq!(fitting(list(4), &mut room).unwrap_err(), Reason::NoRoomLeft);
        assert!(fitting(list(2), &mut room).is_ok());
        assert_eq!(fitting(list(2), &mut room).unwrap_err(), Reason::NoRoomLeft);
    }
}
