//! Rules about risks: explanation, name, URL and extension to later releases.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use fairway_api::Version;
use fairway_api::condition::REASON_PATTERN;
use fairway_api::risk_name;
use regex::Regex;

use super::{LintContext, LintFinding, LintRule};
use crate::data::{BlockedEdge, BlockedEdgeEffect, Severity};
use crate::lint::yaml::YamlNode;
use crate::risk::Risk;

pub(super) static AMBIGUOUS_NAME: LintRule =
    LintRule { id: "ambiguous-name", summary: "Different risks with the same name" };

/// One definition of a risk, and the files that have it.
struct Definition<'a> {
    risk: &'a Arc<Risk>,
    blocks: Vec<&'a BlockedEdge>,
}

pub(super) fn ambiguous_names(context: &LintContext<'_>) -> Vec<LintFinding> {
    let mut by_name: BTreeMap<&str, Vec<Definition<'_>>> = BTreeMap::new();
    for block in &context.data.blocks {
        let BlockedEdgeEffect::Risks(risk) = &block.effect else { continue };
        let definitions = by_name.entry(&risk.name).or_default();
        match definitions.iter_mut().find(|definition| definition.risk == risk) {
            Some(definition) => definition.blocks.push(block),
            None => definitions.push(Definition { risk, blocks: vec![block] }),
        }
    }
    by_name.into_values().flat_map(|definitions| ambiguities(context, definitions)).collect()
}

/// The definition in most files is considered the intended one.
fn ambiguities(
    context: &LintContext<'_>,
    mut definitions: Vec<Definition<'_>>,
) -> Vec<LintFinding> {
    definitions.sort_by_key(|definition| std::cmp::Reverse(definition.blocks.len()));
    let Some((usual, others)) = definitions.split_first() else { return Vec::new() };
    others.iter().filter_map(|other| ambiguity(context, usual, other)).collect()
}

fn ambiguity(
    context: &LintContext<'_>,
    usual: &Definition<'_>,
    other: &Definition<'_>,
) -> Option<LintFinding> {
    let [first, rest @ ..] = other.blocks.as_slice() else { return None };
    let key = difference(usual.risk, other.risk);
    let file = &usual.blocks.first()?.file;
    let message = format!("{} has a different `{key}` in {file}", usual.risk.name);
    let source = context.file(&first.file)?;
    let (written, _) = source.tree.entry(key).or_else(|| source.tree.entry("name"))?;
    let finding = source.finding(&AMBIGUOUS_NAME, Severity::Error, written.span.clone(), message);
    let help = "rename one of the risks, or use the same content in both files";
    let also = rest.iter().map(|block| block.file.clone()).collect();
    Some(finding.help(help).also(also))
}

fn difference(one: &Risk, other: &Risk) -> &'static str {
    if one.url != other.url {
        "url"
    } else if one.message != other.message {
        "message"
    } else {
        "matchingRules"
    }
}

pub(super) static UNEXPLAINED: LintRule = LintRule {
    id: "unexplained",
    summary: "Blocked edge without a risk: the update is removed without an explanation",
};

const RISK_KEYS: [&str; 4] = ["url", "name", "message", "matchingRules"];

pub(super) fn unexplained(context: &LintContext<'_>) -> Vec<LintFinding> {
    context
        .blocks
        .iter()
        .filter(|source| RISK_KEYS.iter().all(|key| source.tree.get(key).is_none()))
        .filter_map(|source| {
            let to = source.tree.get("to")?;
            let message = "this removes the update without an explanation";
            let finding = source.finding(&UNEXPLAINED, Severity::Warning, to.span.clone(), message);
            Some(finding.help("set `url`, `name`, `message` and `matchingRules`"))
        })
        .collect()
}

pub(super) static URL: LintRule =
    LintRule { id: "url", summary: "URL of a risk is not an http or https URL" };

pub(super) fn urls(context: &LintContext<'_>) -> Vec<LintFinding> {
    let urls = context.blocks.iter().filter_map(|source| Some((source, source.tree.get("url")?)));
    let unusable =
        |url: &YamlNode| url.text().is_some_and(|text| !text.is_empty() && !is_url(text));
    urls.filter(|(_, url)| unusable(url))
        .map(|(source, url)| {
            let message = "not an absolute http or https URL";
            source.finding(&URL, Severity::Error, url.span.clone(), message)
        })
        .collect()
}

fn is_url(text: &str) -> bool {
    let parsed = url::Url::parse(text);
    parsed.is_ok_and(|url| url.has_host() && matches!(url.scheme(), "http" | "https"))
}

pub(super) static NAME: LintRule =
    LintRule { id: "name", summary: "Risk name is reserved or not CamelCase" };

/// Pattern of reasons in the ClusterVersion API.
static REASON_REGEX: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(REASON_PATTERN).expect("the pattern is a constant"));

pub(super) fn names(context: &LintContext<'_>) -> Vec<LintFinding> {
    let names = context.blocks.iter().filter_map(|source| Some((source, source.tree.get("name")?)));
    names
        .filter_map(|(source, name)| {
            let (severity, message) = name_problem(name)?;
            let finding = source.finding(&NAME, severity, name.span.clone(), message);
            Some(finding.help("use a name such as AuthOAuthProxyLeakedConnections"))
        })
        .collect()
}

fn name_problem(name: &YamlNode) -> Option<(Severity, String)> {
    let name = name.text().filter(|name| !name.is_empty())?;
    if risk_name::is_reserved(name) {
        let message = format!(
            "{name} is reserved for risks that clusters report; operators rename the risk to {}",
            risk_name::of_graph(name)
        );
        return Some((Severity::Error, message));
    }
    if is_camel_case(name) {
        return None;
    }
    if REASON_REGEX.is_match(name) {
        return Some((Severity::Warning, format!("{name} is not CamelCase")));
    }
    Some((Severity::Error, format!("{name:?} is not CamelCase; the ClusterVersion API rejects it")))
}

fn is_camel_case(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric())
}

pub(super) static NOT_EXTENDED: LintRule = LintRule {
    id: "not-extended",
    summary: "Risk is neither extended to the next version nor marked as fixed",
};

/// The files of one risk with targets in one minor version.
type RiskStream<'a> = ((&'a str, u64, u64), Vec<&'a BlockedEdge>);

pub(super) fn not_extended(context: &LintContext<'_>) -> Vec<LintFinding> {
    let mut streams: BTreeMap<(&str, u64, u64), Vec<&BlockedEdge>> = BTreeMap::new();
    for block in &context.data.blocks {
        let BlockedEdgeEffect::Risks(risk) = &block.effect else { continue };
        // A generated name is different in every file.
        if context.file(&block.file).is_none_or(|source| source.tree.get("name").is_none()) {
            continue;
        }
        let (major, minor) = (block.to.major(), block.to.minor());
        streams.entry((&risk.name, major, minor)).or_default().push(block);
    }
    streams.into_iter().filter_map(|stream| missing_extension(context, &stream)).collect()
}

fn missing_extension(
    context: &LintContext<'_>,
    (key, blocks): &RiskStream<'_>,
) -> Option<LintFinding> {
    if blocks.iter().any(|block| block.fixed_in.is_some()) {
        return None;
    }
    let targets: BTreeSet<Version> = blocks.iter().map(|block| block.to.without_build()).collect();
    let (first, last) = (targets.first()?, targets.last()?);
    let later = context.versions.known.range(first.clone()..).filter(|version| {
        (version.major(), version.minor()) == (key.1, key.2) && has_same_maturity(version, last)
    });
    let missing: Vec<&Version> = later.filter(|version| !targets.contains(version)).collect();
    let uncovered = missing.first()?;
    let before = targets.range(..(*uncovered).clone()).next_back()?;
    let block = blocks.iter().find(|block| block.to == *before)?;
    let others = match missing.len() - 1 {
        0 => String::new(),
        1 => " and 1 more".to_owned(),
        others => format!(" and {others} more"),
    };
    let message = format!("{} covers {before}, but not {uncovered}{others}", key.0);
    let source = context.file(&block.file)?;
    let span = source.tree.get("to")?.span.clone();
    let finding = source.finding(&NOT_EXTENDED, Severity::Warning, span, message).about(key.0);
    Some(finding.help(format!("add a blocked edge for {uncovered}, or set `fixedIn: {uncovered}`")))
}

/// Risks of pre-releases need not be extended to the release.
fn has_same_maturity(version: &Version, last: &Version) -> bool {
    version.pre_release().is_empty() == last.pre_release().is_empty()
}
