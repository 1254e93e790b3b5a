//! All that was found.

use std::collections::{BTreeMap, HashMap};

use super::finding::Finding;
use crate::data::Severity;

/// All that was found, in the order of files and places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "findings must be reported"]
pub struct Report {
    /// What was found.
    pub findings: Vec<Finding>,
}

impl Report {
    pub(super) fn new(mut findings: Vec<Finding>) -> Self {
        let start = |finding: &Finding| finding.region.as_ref().map(|region| region.span.start);
        findings.sort_by(|one, other| {
            let by_file = one.file.cmp(&other.file);
            by_file.then(start(one).cmp(&start(other))).then(one.rule.id.cmp(other.rule.id))
        });
        Self { findings }
    }

    /// What was not found in another state of the files. Where the same was found twice and is now
    /// found three times, one of them is new.
    pub fn new_since(self, base: &Self) -> Self {
        let mut known: HashMap<Identity, usize> = HashMap::new();
        for finding in &base.findings {
            *known.entry(identity(finding)).or_default() += 1;
        }
        let mut findings = self.findings;
        findings.retain(|finding| match known.get_mut(&identity(finding)) {
            Some(times) if *times > 0 => {
                *times -= 1;
                false
            }
            _ => true,
        });
        Self { findings }
    }

    /// How often each rule found something, by its name.
    pub fn counts(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for finding in &self.findings {
            *counts.entry(finding.rule.id).or_default() += 1;
        }
        counts
    }

    /// The gravest of all findings.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// How many findings are that grave.
    pub fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity == severity).count()
    }
}

/// What makes two findings the same; lines may have moved in between.
type Identity = (&'static str, String, String);

fn identity(finding: &Finding) -> Identity {
    (finding.rule.id, finding.subject.clone(), finding.message.clone())
}
