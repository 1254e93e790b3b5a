//! Rules about versions: targets and patterns of blocked edges, stranded versions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::LazyLock;

use fairway_api::Version;
use regex::Regex;

use super::{LintContext, LintFinding, LintRule};
use crate::build::GraphBuilder;
use crate::data::{BlockedEdge, Severity, VersionPattern};
use crate::graph::Edge;

pub(super) static IDLE_PATTERN: LintRule =
    LintRule { id: "idle-pattern", summary: "`from` of a blocked edge matches no version" };

pub(super) static LOOSE_PATTERN: LintRule = LintRule {
    id: "loose-pattern",
    summary: "`from` of a blocked edge matches unintended versions",
};

pub(super) fn patterns(context: &LintContext<'_>) -> Vec<LintFinding> {
    let written = context.versions.written();
    // Cached by pattern: most files share their pattern, and few patterns match by accident.
    let mut accidents: HashMap<&str, Vec<AccidentalMatch<'_>>> = HashMap::new();
    let mut findings = Vec::new();
    for block in context.data.blocks.iter().filter(|block| context.versions.has(&block.to)) {
        let text = block.from.text();
        let accidents =
            accidents.entry(text).or_insert_with(|| accidental_matches(&block.from, &written));
        findings.extend(idle_pattern(context, block, &written));
        findings.extend(loose_pattern(context, block, accidents));
    }
    findings
}

fn idle_pattern(
    context: &LintContext<'_>,
    block: &BlockedEdge,
    written: &[&str],
) -> Option<LintFinding> {
    if context.versions.leading_to(&block.to).any(|version| block.from.matches(version)) {
        return None;
    }
    let matches_any = written.iter().any(|version| block.from.matches(version));
    let source = context.file(&block.file)?;
    let span = source.tree.get("from")?.span.clone();
    let (severity, message) = if context.versions.are_declared() {
        // Maintainers repeat a file for every release without knowing which updates the release
        // will have, so this is only a note.
        let message = format!("no version with an update to {} matches", block.to);
        (if matches_any { Severity::Note } else { Severity::Warning }, message)
    } else {
        (Severity::Warning, format!("no version older than {} matches", block.to))
    };
    let finding = source.finding(&IDLE_PATTERN, severity, span, message);
    let ends = block.from.text().ends_with('$') && !block.from.text().ends_with(".*$");
    let help =
        "versions include their architecture, such as 5.1.0+amd64: end the pattern with [+].*$";
    Some(if ends { finding.help(help) } else { finding })
}

fn loose_pattern(
    context: &LintContext<'_>,
    block: &BlockedEdge,
    accidents: &[AccidentalMatch<'_>],
) -> Option<LintFinding> {
    let leads_there =
        |version: &str| context.versions.leading_to(&block.to).any(|leading| leading == version);
    let AccidentalMatch { version, help } =
        accidents.iter().find(|found| leads_there(found.version))?;
    let source = context.file(&block.file)?;
    let span = source.tree.get("from")?.span.clone();
    let message = format!("the pattern also matches {version}");
    Some(source.finding(&LOOSE_PATTERN, Severity::Warning, span, message).help(*help))
}

/// A version that a pattern probably should not match, and how to exclude it.
struct AccidentalMatch<'a> {
    version: &'a str,
    help: &'static str,
}

/// The versions that match a pattern, but not the stricter pattern that was probably intended.
fn accidental_matches<'a>(
    pattern: &VersionPattern,
    versions: &[&'a str],
) -> Vec<AccidentalMatch<'a>> {
    let text = pattern.text();
    let minor = MINOR_VERSION_PATTERN.replace(text, "^$1[.]$2[.].*");
    let stricter = [
        (minor.into_owned(), "use [.] for a dot: `.*` also matches digits"),
        (format!("^(?:{text})"), "start with ^: patterns are not anchored"),
    ];
    let matching: Vec<&str> =
        versions.iter().copied().filter(|version| pattern.matches(version)).collect();
    let accidents = stricter.into_iter().flat_map(|(text, help)| {
        let meant =
            VersionPattern::parse(&text).unwrap_or_else(|_| VersionPattern::everything(text));
        let others = matching.iter().filter(move |version| !meant.matches(version));
        others.map(move |version| AccidentalMatch { version, help }).collect::<Vec<_>>()
    });
    accidents.collect()
}

/// A pattern such as `4.1.*`, which seems to select 4.1, but also matches 4.10 to 4.19.
static MINOR_VERSION_PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\^?(\d+)(?:\.|\\.|\[\.\])(\d+)\.\*").expect("the pattern is a constant")
});

pub(super) static UNKNOWN_TARGET: LintRule =
    LintRule { id: "unknown-target", summary: "Blocked edge to a version that does not exist" };

pub(super) fn unknown_targets(context: &LintContext<'_>) -> Vec<LintFinding> {
    let unknown = context.data.blocks.iter().filter(|block| !context.versions.has(&block.to));
    unknown
        .filter_map(|block| {
            let source = context.file(&block.file)?;
            let span = source.tree.get("to")?.span.clone();
            let message = if context.versions.are_declared() {
                format!("release {} does not exist", block.to)
            } else {
                format!("{} is in no channel", block.to)
            };
            Some(source.finding(&UNKNOWN_TARGET, Severity::Warning, span, message))
        })
        .collect()
}

pub(super) static STRANDED: LintRule = LintRule {
    id: "stranded",
    summary: "Version without an unconditional update to a later version in its channel",
};

/// A version without an unconditional update in some channels.
#[derive(Default)]
struct StrandedVersion<'a> {
    channels: BTreeSet<&'a str>,
    /// Whether there is a conditional update.
    has_conditional: bool,
}

pub(super) fn stranded_versions(context: &LintContext<'_>) -> Vec<LintFinding> {
    let Some(declared) = context.declared else { return Vec::new() };
    let builder = GraphBuilder::new(declared.clone(), context.data);
    let open = builder.graph().clone();
    let (closed, _) = builder.finish();
    let channels: Vec<BTreeSet<&str>> =
        closed.nodes().iter().map(|node| node.channels().collect()).collect();
    let reached = |edges: &mut dyn Iterator<Item = &Edge>| -> BTreeSet<&str> {
        edges.flat_map(|edge| channels[edge.to.index()].iter().copied()).collect()
    };
    let mut stranded: BTreeMap<Version, StrandedVersion<'_>> = BTreeMap::new();
    for (id, node) in closed.node_ids() {
        let before = reached(&mut open.edges_from(id).iter());
        let edges = closed.edges_from(id).iter();
        let certain = reached(&mut edges.clone().filter(|edge| !edge.is_conditional()));
        let without = &(&channels[id.index()] & &before) - &certain;
        if !without.is_empty() {
            let found = stranded.entry(node.version.without_build()).or_default();
            found.has_conditional |= !reached(&mut edges.clone()).is_disjoint(&without);
            found.channels.extend(without);
        }
    }
    stranded
        .iter()
        .filter_map(|(version, stranded)| stranded_finding(context, version, stranded))
        .collect()
}

fn stranded_finding(
    context: &LintContext<'_>,
    version: &Version,
    stranded: &StrandedVersion<'_>,
) -> Option<LintFinding> {
    let channel = stranded.channels.first()?;
    let channel = context.data.channels.iter().find(|found| found.name == **channel)?;
    let listed = channel.versions.iter().find(|listed| listed.version == *version)?;
    let source = context.file(&channel.file)?;
    let span = source.item("versions", &listed.version.to_string())?;
    let channels: Vec<&str> = stranded.channels.iter().copied().collect();
    let (severity, message) = if stranded.has_conditional {
        (Severity::Note, "all updates from this version are conditional")
    } else {
        (Severity::Warning, "all updates from this version are blocked")
    };
    let message = format!("{message}: {version} in {}", channels.join(", "));
    Some(source.finding(&STRANDED, severity, span, message).about(version.to_string()))
}
