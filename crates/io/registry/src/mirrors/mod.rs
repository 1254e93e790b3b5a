//! Mirrors of repositories, from `ImageDigestMirrorSet` and `ImageContentSourcePolicy` objects,
//! with the rules of container engines (containers-registries.conf).
//!
//! Only the most specific source applies to an image. Mirrors of several objects for one source are
//! merged, each list in its order. Mirrors are tried first, then the source, unless its policy is
//! `NeverContactSource`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use crate::releases::printable;

/// Fields with the entries in the two kinds.
const FIELDS: [&str; 2] = ["imageDigestMirrors", "repositoryDigestMirrors"];
/// Entries of all objects: large platforms have some hundred.
const MAX_ENTRIES: usize = 4096;
/// Mirrors of a source: each is tried before an image counts as missing.
const MAX_MIRRORS: usize = 32;
/// Reported problems.
const MAX_PROBLEMS: usize = 100;

/// Length of an image name (distribution specification).
const MAX_NAME_LENGTH: usize = 255;

/// Mirrors by source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirrors {
    sources: BTreeMap<String, Rule>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rule {
    mirrors: Vec<String>,
    never_contact_source: bool,
}

/// Repositories from which an image can be pulled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorCandidates {
    /// Mirrors in the order in which they are tried.
    pub mirrors: Vec<String>,
    /// Whether the source repository may be contacted after the mirrors.
    pub source: bool,
}

/// An entry that is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MirrorProblem {
    /// Kind and name of the object.
    pub object: String,
    /// Path of the field.
    pub field: String,
    /// Cause.
    pub why: String,
}

impl fmt::Display for MirrorProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { object, field, why } = self;
        write!(f, "{object}: {field} is ignored: {why}")
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with a source and its mirrors")]
struct Entry {
    source: String,
    #[serde(default)]
    mirrors: Vec<String>,
    #[serde(default)]
    mirror_source_policy: Policy,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
enum Policy {
    #[default]
    AllowContactingSource,
    NeverContactSource,
}

impl Mirrors {
    /// Reads objects of both kinds. Invalid entries are ignored and reported.
    pub fn read<'a>(objects: impl IntoIterator<Item = &'a Value>) -> (Self, Vec<MirrorProblem>) {
        let mut reader = MirrorReader::default();
        objects.into_iter().for_each(|object| reader.object(object));
        reader.finish()
    }

    /// The mirrors of a repository such as `registry.example/team/releases`.
    pub fn candidates(&self, repository: &str) -> MirrorCandidates {
        let matching = self.sources.iter().filter_map(|(source, rule)| {
            let suffix = repository_suffix(source, repository)?;
            Some((source, rule, suffix))
        });
        // A source with a registry name is more specific than a wildcard.
        let specific = |source: &str| (!source.starts_with('*'), source.len());
        let Some((_, rule, suffix)) = matching.max_by_key(|(source, ..)| specific(source)) else {
            return MirrorCandidates { mirrors: Vec::new(), source: true };
        };
        let mirrors = rule.mirrors.iter().map(|mirror| format!("{mirror}{suffix}"));
        let mirrors = mirrors.filter(|mirror| mirror != repository).collect();
        MirrorCandidates { mirrors, source: !rule.never_contact_source }
    }
}

fn name(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or("object");
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    format!("{kind} {name}")
}

/// Entries read so far.
#[derive(Default)]
struct MirrorReader {
    entries: usize,
    sources: BTreeMap<String, SourceEntries>,
    problems: Vec<MirrorProblem>,
}

/// Lists of mirrors of one source.
#[derive(Default)]
struct SourceEntries {
    mirrors: Vec<Vec<String>>,
    never_contact_source: bool,
}

impl MirrorReader {
    fn object(&mut self, object: &Value) {
        for field in FIELDS {
            let entries = object["spec"][field].as_array().into_iter().flatten();
            for (number, entry) in entries.enumerate() {
                self.entries += 1;
                let at = |rest: &str| (name(object), format!("spec.{field}[{number}]{rest}"));
                if self.entries > MAX_ENTRIES {
                    return self.refuse(at(""), format!("the limit is {MAX_ENTRIES} entries"));
                }
                match Entry::deserialize(entry) {
                    Ok(entry) => self.entry(entry, at),
                    Err(error) => self.refuse(at(""), error.to_string()),
                }
            }
        }
    }

    fn entry(&mut self, entry: Entry, at: impl Fn(&str) -> (String, String)) {
        let never_contact_source = entry.mirror_source_policy == Policy::NeverContactSource;
        if !is_source(&entry.source) {
            return self.refuse(at(".source"), format!("{:?} is not a repository", entry.source));
        }
        if entry.mirrors.is_empty() {
            if never_contact_source {
                self.refuse(at(""), "NeverContactSource has no effect without mirrors".to_owned());
            }
            return;
        }
        let known = self.sources.get(&entry.source);
        let known = known.map_or(0, |lists| lists.mirrors.iter().map(Vec::len).sum());
        let mut mirrors = Vec::new();
        for (number, mirror) in entry.mirrors.into_iter().enumerate() {
            let at = || at(&format!(".mirrors[{number}]"));
            if known + mirrors.len() == MAX_MIRRORS {
                self.refuse(at(), format!("the limit is {MAX_MIRRORS} mirrors for a source"));
                break;
            }
            if is_repository_prefix(&mirror) {
                mirrors.push(mirror);
            } else {
                self.refuse(at(), format!("{mirror:?} is not a repository"));
            }
        }
        let lists = self.sources.entry(entry.source).or_default();
        lists.mirrors.push(mirrors);
        // `NeverContactSource` is explicit and wins; the other policy is the default.
        lists.never_contact_source |= never_contact_source;
    }

    fn refuse(&mut self, (object, field): (String, String), why: String) {
        if self.problems.len() < MAX_PROBLEMS {
            let why = printable(why);
            self.problems.push(MirrorProblem { object, field, why });
        }
    }

    fn finish(self) -> (Mirrors, Vec<MirrorProblem>) {
        let sources = self.sources.into_iter().map(|(source, lists)| {
            let SourceEntries { mirrors, never_contact_source } = lists;
            (source, Rule { mirrors: merged(&mirrors), never_contact_source })
        });
        (Mirrors { sources: sources.collect() }, self.problems)
    }
}

/// All mirrors, once. The order of every list is kept; where lists contradict each other, the first
/// one wins.
fn merged(lists: &[Vec<String>]) -> Vec<String> {
    let mut left: Vec<&String> = Vec::new();
    for mirror in lists.iter().flatten() {
        if !left.contains(&mirror) {
            left.push(mirror);
        }
    }
    let mut merged = Vec::new();
    while !left.is_empty() {
        let waits = |mirror: &&String| {
            let before = lists.iter().filter_map(|list| {
                let index = list.iter().position(|other| other == *mirror)?;
                Some(&list[..index])
            });
            before.flatten().any(|other| left.contains(&other) && other != *mirror)
        };
        let next = left.iter().position(|mirror| !waits(mirror)).unwrap_or_default();
        merged.push(left.remove(next).clone());
    }
    merged
}

/// Whether a text names a registry or a part of one: `registry.example:5000/team/releases`.
fn is_repository_prefix(text: &str) -> bool {
    let (registry, path) =
        text.split_once('/').map_or((text, None), |(registry, path)| (registry, Some(path)));
    let in_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    let in_path =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-/".contains(&byte);
    let is_step = |part: &str| matches!(part, "" | "." | "..");
    let is_path = |path: &str| path.bytes().all(in_path) && !path.split('/').any(is_step);
    let is_registry = |registry: &str| !registry.is_empty() && registry.bytes().all(in_host);
    text.len() <= MAX_NAME_LENGTH && is_registry(registry) && path.is_none_or(is_path)
}

/// Whether a text is a source of mirrors: a repository prefix, or `*.example` for all registries of
/// a domain.
fn is_source(text: &str) -> bool {
    match text.strip_prefix("*.") {
        Some(domain) => is_repository_prefix(domain) && !domain.contains(['/', ':']),
        None => is_repository_prefix(text),
    }
}

/// The rest of a repository name behind a source; `None` if the source does not contain the
/// repository.
fn repository_suffix<'a>(source: &str, repository: &'a str) -> Option<&'a str> {
    let suffix = match source.strip_prefix('*') {
        Some(domain) => {
            let registry = repository.split('/').next().unwrap_or(repository);
            let host = registry.split(':').next().unwrap_or(registry);
            (host.ends_with(domain) && host.len() > domain.len()).then(|| &repository[host.len()..])
        }
        None => repository.strip_prefix(source),
    };
    // The port is part of the registry name: a source without it does not match a registry with
    // one.
    suffix.filter(|suffix| suffix.is_empty() || suffix.starts_with('/'))
}

#[cfg(test)]
mod tests;
