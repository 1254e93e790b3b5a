//! Other places with the content of a repository, as clusters name them: in objects of the kinds
//! `ImageDigestMirrorSet` and `ImageContentSourcePolicy`, by the rules that container engines follow.
//!
//! Only the most specific source counts for an image. What several objects say of one source is
//! put together, each list in its order. Mirrors are asked first, then the source, unless
//! somebody says that it is never to be contacted.

mod merge;
mod place;

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use crate::releases::printable;
use merge::merged;
use place::{is_place, is_source, rest};

/// Where an object of one of the two kinds has its entries.
const FIELDS: [&str; 2] = ["imageDigestMirrors", "repositoryDigestMirrors"];
/// Large platforms name some hundred repositories.
const MOST_ENTRIES: usize = 4096;
/// Each of them is asked before an image counts as missing.
const MOST_MIRRORS: usize = 32;
/// Problems that somebody may read.
const MOST_PROBLEMS: usize = 100;

/// Which places have the content of which repositories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirrors {
    sources: BTreeMap<String, Rule>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rule {
    mirrors: Vec<String>,
    never_contact_source: bool,
}

/// Where to look for the images of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// Repositories with the same content, the one to ask first before the others.
    pub mirrors: Vec<String>,
    /// Whether the repository itself may be asked after them.
    pub source: bool,
}

/// What is passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The object.
    pub object: String,
    /// Where in it.
    pub field: String,
    /// Why.
    pub why: String,
}

impl fmt::Display for Problem {
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
    /// Reads objects of either kind, in any mixture. What makes no sense is passed over, and told.
    pub fn read<'a>(objects: impl IntoIterator<Item = &'a Value>) -> (Self, Vec<Problem>) {
        let mut reading = Reading::default();
        objects.into_iter().for_each(|object| reading.object(object));
        reading.finish()
    }

    /// Where to look for the images of a repository such as `registry.example/team/releases`.
    pub fn candidates(&self, repository: &str) -> Candidates {
        let matching = self.sources.iter().filter_map(|(source, rule)| {
            let rest = rest(source, repository)?;
            Some((source, rule, rest))
        });
        // A source that names the registry is more specific than all that only name its domain.
        let specific = |source: &str| (!source.starts_with('*'), source.len());
        let Some((_, rule, rest)) = matching.max_by_key(|(source, ..)| specific(source)) else {
            return Candidates { mirrors: Vec::new(), source: true };
        };
        let mirrors = rule.mirrors.iter().map(|mirror| format!("{mirror}{rest}"));
        let mirrors = mirrors.filter(|mirror| mirror != repository).collect();
        Candidates { mirrors, source: !rule.never_contact_source }
    }
}

fn name(object: &Value) -> String {
    let kind = object["kind"].as_str().unwrap_or("object");
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    format!("{kind} {name}")
}

/// What is known before all objects are read.
#[derive(Default)]
struct Reading {
    entries: usize,
    sources: BTreeMap<String, Lists>,
    problems: Vec<Problem>,
}

/// What was said of one source.
#[derive(Default)]
struct Lists {
    mirrors: Vec<Vec<String>>,
    never_contact_source: bool,
}

impl Reading {
    fn object(&mut self, object: &Value) {
        for field in FIELDS {
            let entries = object["spec"][field].as_array().into_iter().flatten();
            for (number, entry) in entries.enumerate() {
                self.entries += 1;
                let at = |rest: &str| (name(object), format!("spec.{field}[{number}]{rest}"));
                if self.entries > MOST_ENTRIES {
                    return self.refuse(at(""), format!("the limit is {MOST_ENTRIES} entries"));
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
            if known + mirrors.len() == MOST_MIRRORS {
                self.refuse(at(), format!("the limit is {MOST_MIRRORS} mirrors for a source"));
                break;
            }
            if is_place(&mirror) {
                mirrors.push(mirror);
            } else {
                self.refuse(at(), format!("{mirror:?} is not a repository"));
            }
        }
        let lists = self.sources.entry(entry.source).or_default();
        lists.mirrors.push(mirrors);
        // Whoever forbids it has a reason; whoever allows it only says nothing.
        lists.never_contact_source |= never_contact_source;
    }

    fn refuse(&mut self, (object, field): (String, String), why: String) {
        if self.problems.len() < MOST_PROBLEMS {
            let why = printable(why);
            self.problems.push(Problem { object, field, why });
        }
    }

    fn finish(self) -> (Mirrors, Vec<Problem>) {
        let sources = self.sources.into_iter().map(|(source, lists)| {
            let Lists { mirrors, never_contact_source } = lists;
            (source, Rule { mirrors: merged(&mirrors), never_contact_source })
        });
        (Mirrors { sources: sources.collect() }, self.problems)
    }
}

#[cfg(test)]
mod tests;
