//! One file of `blocked-edges`: which updates are not recommended, to whom, and why.

use std::sync::Arc;

use fairway_api::cluster_version::{MatchingRule, MatchingRuleType};
use fairway_api::{UnknownFields, Version, read};
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::finding::{Finding, Position, Problem, reason};
use super::pattern::{Pattern, Patterns};
use super::salvage::salvage;
use crate::risk::{self, Risk};

/// A block: updates to one version, from some versions, are not for everybody.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its file.
    pub file: String,
    /// The version that the updates lead to; all its architectures, unless it names one.
    pub to: Version,
    /// Where in the file the target is.
    pub to_at: Option<Position>,
    /// The versions that the updates come from.
    pub from: Arc<Pattern>,
    /// Where in the file they are.
    pub from_at: Option<Position>,
    /// What becomes of these updates.
    pub effect: Effect,
    /// The release that no longer has the problem.
    pub fixed_in: Option<String>,
    /// Whether, and why, the block is to be repeated for later releases.
    pub auto_extend: Option<String>,
}

/// What a block does to an update.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Nobody gets it.
    Removes,
    /// It has a risk, which decides who gets it.
    Risks(Arc<Risk>),
}

/// A block file as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    to: Option<Spanned<String>>,
    from: Option<Spanned<String>>,
    url: Option<String>,
    name: Option<String>,
    message: Option<String>,
    matching_rules: Option<Spanned<Vec<MatchingRule>>>,
    fixed_in: Option<String>,
    auto_extend: Option<String>,
}

impl Written {
    /// Takes away the line break that this parser adds to a text which ends, without one, where
    /// the file does. Other readers of the same file do not see any.
    fn with_end_of(mut self, bytes: &[u8]) -> Self {
        let last_line = bytes.rsplit(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii();
        let rules = self.matching_rules.iter_mut().flat_map(|rules| &mut rules.value);
        let queries = rules.filter_map(|rule| Some(&mut rule.promql.as_mut()?.promql));
        for text in self.message.iter_mut().chain(queries) {
            let body = text.strip_suffix('\n').map(str::as_bytes);
            if !last_line.is_empty() && body.is_some_and(|body| body.ends_with(last_line)) {
                text.pop();
            }
        }
        self
    }
}

/// Reads one block. What is missing or unreadable makes it wider.
pub(super) fn read(
    path: &str,
    bytes: &[u8],
    patterns: &mut Patterns,
    findings: &mut Vec<Finding>,
) -> Option<Block> {
    let mut found = |problem: Problem, position| findings.push(problem.at(path, position));
    let written = match read::document::<Written>(path, bytes) {
        Ok(written) => written.with_end_of(bytes),
        Err(error) => return salvaged(path, bytes, patterns, error, found),
    };
    let Some(to) = &written.to else {
        found(Problem::NoTarget, None);
        return None;
    };
    let to_at = Some(Position::from(to));
    let target = target(&to.value, |problem| found(problem, to_at))?;
    let from_at = written.from.as_ref().map(Position::from);
    let from = match written.from.as_ref().map(|from| patterns.parse(&from.value)) {
        Some(Ok(pattern)) => pattern,
        Some(Err(why)) => {
            found(Problem::BadSource { why }, from_at);
            Arc::new(Pattern::everything(written.from.as_ref().map_or("", |from| &from.value)))
        }
        None => {
            found(Problem::NoSource, None);
            Arc::new(Pattern::everything(""))
        }
    };
    let effect = effect(path, &written, found);
    let Written { fixed_in, auto_extend, .. } = written;
    Some(Block {
        file: path.to_owned(),
        to: target,
        to_at,
        from,
        from_at,
        effect,
        fixed_in,
        auto_extend,
    })
}

fn target(text: &str, mut found: impl FnMut(Problem)) -> Option<Version> {
    if let Ok(version) = Version::parse(text) {
        return Some(version);
    }
    let meant = Version::parse_tolerant(text).ok();
    let taken_as = meant.as_ref().map(Version::to_string);
    found(Problem::BadTarget { to: text.to_owned(), taken_as });
    meant
}

/// A block with nothing but its versions removes; everything else has a risk, and where the risk
/// does not say whom it concerns, it concerns everybody.
fn effect(
    path: &str,
    written: &Written,
    mut found: impl FnMut(Problem, Option<Position>),
) -> Effect {
    let texts = [("url", &written.url), ("name", &written.name), ("message", &written.message)];
    let rules = written.matching_rules.as_ref();
    if texts.iter().all(|(_, text)| text.is_none()) && rules.is_none() {
        return Effect::Removes;
    }
    let empty = |text: &Option<String>| text.as_ref().is_none_or(|text| text.trim().is_empty());
    let mut missing: Vec<&str> =
        texts.iter().filter(|(_, text)| empty(text)).map(|(name, _)| *name).collect();
    if rules.is_none() {
        missing.push("matchingRules");
    }
    if !missing.is_empty() {
        found(Problem::Incomplete { missing: missing.clone() }, None);
    }
    let at = rules.map(Position::from);
    let mut matching_rules = rules.map(|rules| rules.value.clone()).unwrap_or_default();
    if matching_rules.iter().any(|rule| rule.type_ == MatchingRuleType::default()) {
        found(Problem::RuleWithoutType, at);
        matching_rules.clear();
    } else if rules.is_some() && matching_rules.is_empty() {
        found(Problem::NoRules, at);
    }
    if !missing.is_empty() || matching_rules.is_empty() {
        matching_rules = risk::always();
    }
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    Effect::Risks(Arc::new(Risk {
        url: given(&written.url).unwrap_or_else(|| risk::stand_in::url(path)),
        name: given(&written.name).unwrap_or_else(|| risk::stand_in::name(path)),
        message: given(&written.message).unwrap_or_else(|| risk::stand_in::message(path)),
        matching_rules,
        unknown: UnknownFields::new(),
    }))
}

fn salvaged(
    path: &str,
    bytes: &[u8],
    patterns: &mut Patterns,
    error: read::ReadError,
    mut found: impl FnMut(Problem, Option<Position>),
) -> Option<Block> {
    let (why, position) = reason(error);
    let salvage = salvage(path, bytes);
    let to = salvage.to.as_deref().and_then(|to| Version::parse_tolerant(to).ok());
    let Some(to) = to else {
        found(Problem::Unreadable { why }, position);
        return None;
    };
    found(Problem::Salvaged { why, to: to.to_string() }, position);
    let text = |key: &str| salvage.texts.get(key).and_then(|text| text.as_str()).map(str::to_owned);
    let from = salvage.from.as_deref().and_then(|from| patterns.parse(from).ok());
    Some(Block {
        file: path.to_owned(),
        to,
        to_at: None,
        from: from.unwrap_or_else(|| Arc::new(Pattern::everything(""))),
        from_at: None,
        effect: Effect::Risks(Arc::new(Risk {
            url: text("url").unwrap_or_else(|| risk::stand_in::url(path)),
            name: text("name").unwrap_or_else(|| risk::stand_in::name(path)),
            message: text("message").unwrap_or_else(|| risk::stand_in::message(path)),
            matching_rules: risk::always(),
            unknown: UnknownFields::new(),
        })),
        fixed_in: text("fixedIn"),
        auto_extend: text("autoExtend"),
    })
}
