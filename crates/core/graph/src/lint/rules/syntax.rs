//! Rules about the syntax of files: schema, unknown keys, unquoted numbers.

use super::{LintContext, LintFinding, LintRule};
use crate::data::{self, FileLocation, GraphDataError, Severity};
use crate::lint::queries;
use crate::lint::report::FileRegion;
use crate::lint::yaml::{YamlFile, rest_of_line};
use crate::lint::yaml::{YamlNode, YamlValue};

pub(super) static UNKNOWN_KEY: LintRule = LintRule { id: "unknown-key", summary: "Unknown key" };

const BLOCKED_EDGE_KEYS: [&str; 8] =
    ["to", "from", "url", "name", "message", "matchingRules", "fixedIn", "autoExtend"];
const MATCHING_RULE_KEYS: [&str; 3] = ["type", "promql", "PromQL"];
const PROMQL_KEYS: [&str; 2] = ["promql", "PromQL"];
const CHANNEL_KEYS: [&str; 4] = ["name", "versions", "tombstones", "feeder"];
const FEEDER_KEYS: [&str; 4] = ["name", "delay", "errata", "filter"];

pub(super) fn unknown_keys(context: &LintContext<'_>) -> Vec<LintFinding> {
    let blocks = context.blocks.iter().flat_map(|source| {
        let promql = queries::rules(source)
            .iter()
            .filter(|rule| rule.get("type").and_then(YamlNode::text) == Some("PromQL"));
        let inner = promql.clone().filter_map(|rule| rule.get("promql"));
        let mut findings = keys_not_in(source, &source.tree, &BLOCKED_EDGE_KEYS);
        findings.extend(promql.flat_map(|rule| keys_not_in(source, rule, &MATCHING_RULE_KEYS)));
        findings.extend(inner.flat_map(|tree| keys_not_in(source, tree, &PROMQL_KEYS)));
        findings
    });
    let channels = context.channels.iter().flat_map(|source| {
        let mut findings = keys_not_in(source, &source.tree, &CHANNEL_KEYS);
        findings.extend(
            source
                .tree
                .get("feeder")
                .iter()
                .flat_map(|tree| keys_not_in(source, tree, &FEEDER_KEYS)),
        );
        findings
    });
    blocks.chain(channels).collect()
}

fn keys_not_in(source: &YamlFile<'_>, tree: &YamlNode, known: &[&str]) -> Vec<LintFinding> {
    let keys = tree.entries().iter().map(|(key, _)| key);
    keys.filter(|key| !known.contains(&key.name.as_str()))
        .map(|key| {
            let message = format!("unknown key `{}`", key.name);
            let finding =
                source.finding(&UNKNOWN_KEY, Severity::Warning, key.span.clone(), message);
            match known.iter().find(|known| is_similar(known, &key.name)) {
                Some(meant) => finding.help(format!("did you mean `{meant}`?")),
                None => finding,
            }
        })
        .collect()
}

/// Whether two keys are equal except for case, separators, or one final character.
fn is_similar(one: &str, other: &str) -> bool {
    let letters = |text: &str| -> String {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    let (one, other) = (letters(one), letters(other));
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    long.starts_with(&short) && long.len() - short.len() <= 1
}

pub(super) static SCHEMA: LintRule =
    LintRule { id: "schema", summary: "File does not match the graph-data schema" };

pub(super) fn schema(context: &LintContext<'_>) -> Vec<LintFinding> {
    let refusal = context.refusal.iter().map(|refusal| {
        let (file, message) = match refusal {
            GraphDataError::RawMetadata { place, why } => (place.file.as_str(), why.clone()),
            GraphDataError::NoChannels => (data::CHANNELS, refusal.to_string()),
            other => (data::SCHEMA, other.to_string()),
        };
        SCHEMA.in_file(Severity::Error, file, message)
    });
    let findings = context.data.findings.iter().map(|found| {
        let finding =
            SCHEMA.in_file(found.problem.severity(), &found.place.file, found.problem.to_string());
        LintFinding { region: region(context, &found.place), ..finding }
    });
    refusal.chain(findings).collect()
}

fn region(context: &LintContext<'_>, place: &FileLocation) -> Option<FileRegion> {
    let text = std::str::from_utf8(context.files.get(&place.file)?).ok()?;
    Some(FileRegion::new(text, rest_of_line(text, place.position?)))
}

pub(super) static NUMBER: LintRule =
    LintRule { id: "number", summary: "Unquoted number where a string is expected" };

pub(super) fn unquoted_numbers(context: &LintContext<'_>) -> Vec<LintFinding> {
    let sources = context.blocks.iter().chain(&context.channels);
    sources.flat_map(|source| numbers(source, &source.tree)).collect()
}

fn numbers(source: &YamlFile<'_>, tree: &YamlNode) -> Vec<LintFinding> {
    match &tree.value {
        YamlValue::Number => vec![number_finding(source, tree)],
        YamlValue::List(items) => items.iter().flat_map(|item| numbers(source, item)).collect(),
        YamlValue::Map(entries) => {
            // Rules of unknown types may contain any value.
            let known = entries.iter().filter(|(key, _)| key.name != "matchingRules");
            known.flat_map(|(_, value)| numbers(source, value)).collect()
        }
        YamlValue::Constant | YamlValue::Text(_) => Vec::new(),
    }
}

fn number_finding(source: &YamlFile<'_>, tree: &YamlNode) -> LintFinding {
    let written = source.source_of(tree);
    let (severity, message) = match written.parse::<f64>() {
        Ok(read) if written.contains('.') && read.to_string() != written => {
            (Severity::Error, format!("unquoted {written} is read as the number {read}"))
        }
        _ => (Severity::Warning, format!("unquoted {written} is a number, not a string")),
    };
    let finding = source.finding(&NUMBER, severity, tree.span.clone(), message);
    finding.help(format!("write '{written}'"))
}
