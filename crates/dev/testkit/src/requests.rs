//! How many requests of which kind.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;

use crate::{AuditEvent, AuditLog, AuditMark};

/// How `fairway` calls itself when it asks API servers.
const USER_AGENT: &str = "fairway/";

/// Requests of the program, by what was done to what. A watch counts when its first event comes:
/// earlier, some API servers say nothing of it.
#[derive(Default)]
pub struct Requests(BTreeMap<String, usize>);

impl Requests {
    /// What the program asked since then.
    pub fn since(log: &AuditLog, mark: AuditMark) -> Result<Self> {
        let mut requests = BTreeMap::new();
        for event in log.since(mark)? {
            if event.user_agent.starts_with(USER_AGENT) && !event.ends_watch() {
                *requests.entry(what(&event)).or_default() += 1;
            }
        }
        Ok(Self(requests))
    }

    /// How many there were of those that are such as `watch configmaps`.
    pub fn count(&self, wanted: impl Fn(&str) -> bool) -> usize {
        self.0.iter().filter(|(what, _)| wanted(what)).map(|(_, count)| count).sum()
    }

    /// How many there were, by verb.
    pub fn by_verb(&self) -> BTreeMap<&str, usize> {
        let mut verbs = BTreeMap::new();
        for (what, count) in &self.0 {
            let verb = what.split(' ').next().unwrap_or_default();
            *verbs.entry(verb).or_default() += count;
        }
        verbs
    }
}

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told: Vec<String> =
            self.0.iter().map(|(what, count)| format!("{count} {what}")).collect();
        f.write_str(&told.join(", "))
    }
}

/// Such as `watch configmaps`.
fn what(event: &AuditEvent) -> String {
    let resource = event.object_ref.as_ref().map_or("", |object| &object.resource);
    format!("{} {resource}", event.verb)
}
