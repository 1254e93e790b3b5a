//! Files that cannot be read as what they should be.

use super::{Context, Finding, Rule};
use crate::data::{self, Place, Refusal, Severity};
use crate::lint::finding::Region;
use crate::lint::source::rest_of_line;

pub(super) static RULE: Rule =
    Rule { id: "schema", summary: "File does not match the graph-data schema" };

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let refusal = context.refusal.iter().map(|refusal| {
        let (file, message) = match refusal {
            Refusal::RawMetadata { place, why } => (place.file.as_str(), why.clone()),
            Refusal::NoChannels => (data::CHANNELS, refusal.to_string()),
            other => (data::SCHEMA, other.to_string()),
        };
        RULE.in_file(Severity::Error, file, message)
    });
    let findings = context.data.findings.iter().map(|found| {
        let finding =
            RULE.in_file(found.problem.severity(), &found.place.file, found.problem.to_string());
        Finding { region: region(context, &found.place), ..finding }
    });
    refusal.chain(findings).collect()
}

fn region(context: &Context<'_>, place: &Place) -> Option<Region> {
    let text = std::str::from_utf8(context.files.get(&place.file)?).ok()?;
    Some(Region::of(text, rest_of_line(text, place.position?)))
}
