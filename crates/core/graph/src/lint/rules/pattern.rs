//! Patterns that match nothing, or more than they seem to.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;

use super::{Context, Finding, Rule};
use crate::data::{Block, Pattern, Severity};

pub(super) static IDLE: Rule =
    Rule { id: "idle-pattern", summary: "`from` of a blocked edge matches no version" };

pub(super) static LOOSE: Rule =
    Rule { id: "loose-pattern", summary: "`from` of a blocked edge matches unintended versions" };

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let written = context.versions.written();
    // Most blocks share their pattern with others, and few patterns match by accident.
    let mut accidents: HashMap<&str, Vec<Accident<'_>>> = HashMap::new();
    let mut findings = Vec::new();
    for block in context.data.blocks.iter().filter(|block| context.versions.has(&block.to)) {
        let text = block.from.text();
        let accidents = accidents.entry(text).or_insert_with(|| accidental(&block.from, &written));
        findings.extend(idle(context, block, &written));
        findings.extend(loose(context, block, accidents));
    }
    findings
}

fn idle(context: &Context<'_>, block: &Block, written: &[&str]) -> Option<Finding> {
    if context.versions.leading_to(&block.to).any(|version| block.from.matches(version)) {
        return None;
    }
    let matches_any = written.iter().any(|version| block.from.matches(version));
    let source = context.source(&block.file)?;
    let span = source.tree.get("from")?.span.clone();
    let (severity, message) = if context.versions.are_declared() {
        // Whoever repeats a block for every release cannot know which updates each will have.
        let message = format!("no version with an update to {} matches", block.to);
        (if matches_any { Severity::Note } else { Severity::Warning }, message)
    } else {
        (Severity::Warning, format!("no version older than {} matches", block.to))
    };
    let finding = source.finding(&IDLE, severity, span, message);
    let ends = block.from.text().ends_with('$') && !block.from.text().ends_with(".*$");
    let help =
        "versions include their architecture, such as 5.1.0+amd64: end the pattern with [+].*$";
    Some(if ends { finding.help(help) } else { finding })
}

fn loose(context: &Context<'_>, block: &Block, accidents: &[Accident<'_>]) -> Option<Finding> {
    let leads_there =
        |version: &str| context.versions.leading_to(&block.to).any(|leading| leading == version);
    let Accident { version, help } = accidents.iter().find(|found| leads_there(found.version))?;
    let source = context.source(&block.file)?;
    let span = source.tree.get("from")?.span.clone();
    let message = format!("the pattern also matches {version}");
    Some(source.finding(&LOOSE, Severity::Warning, span, message).help(*help))
}

/// A version that matches although it was perhaps not meant to, and how to leave it out.
struct Accident<'a> {
    version: &'a str,
    help: &'static str,
}

/// The versions that match a pattern, but none of the stricter ones that were perhaps meant.
fn accidental<'a>(pattern: &Pattern, versions: &[&'a str]) -> Vec<Accident<'a>> {
    let text = pattern.text();
    let minor = MINOR.replace(text, "^$1[.]$2[.].*");
    let stricter = [
        (minor.into_owned(), "use [.] for a dot: `.*` also matches digits"),
        (format!("^(?:{text})"), "start with ^: patterns are not anchored"),
    ];
    let matching: Vec<&str> =
        versions.iter().copied().filter(|version| pattern.matches(version)).collect();
    let accidents = stricter.into_iter().flat_map(|(text, help)| {
        let meant = Pattern::parse(&text).unwrap_or_else(|_| Pattern::everything(text));
        let others = matching.iter().filter(move |version| !meant.matches(version));
        others.map(move |version| Accident { version, help }).collect::<Vec<_>>()
    });
    accidents.collect()
}

/// A pattern like `4.1.*`: it looks like every release of 4.1, and has 4.10 to 4.19 as well.
static MINOR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\^?(\d+)(?:\.|\\.|\[\.\])(\d+)\.\*").expect("the pattern is a constant")
});
