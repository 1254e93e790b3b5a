//! One file of `blocked-edges`: which updates are not recommended, to whom, and why.

use std::sync::Arc;

use fairway_api::cluster_version::{MatchingRule, MatchingRuleType};
use fairway_api::{UnknownFields, Version, read};
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::finding::{Finding, Position, Problem, reason};
use super::pattern::{Pattern, Patterns};
use super::salvage::{named, salvage};
use crate::risk::{self, Risk, stand_in};

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
    let to_at = written.to.as_ref().map(Position::from);
    let to = written.to.as_ref().map(|to| to.value.as_str());
    let target = target(path, to, |problem| found(problem, to_at))?;
    Some(Block {
        file: path.to_owned(),
        to: target,
        to_at,
        from: sources(written.from.as_ref(), patterns, &mut found),
        from_at: written.from.as_ref().map(Position::from),
        effect: effect(path, &written, found),
        fixed_in: written.fixed_in,
        auto_extend: written.auto_extend,
    })
}

/// The version that `to` names, or the one that it probably means, or that the file's name says.
fn target(path: &str, to: Option<&str>, mut found: impl FnMut(Problem)) -> Option<Version> {
    if let Some(Ok(version)) = to.map(Version::parse) {
        return Some(version);
    }
    let meant = to.and_then(|to| Version::parse_tolerant(to).ok()).or_else(|| named(path));
    let taken_as = meant.as_ref().map(Version::to_string);
    found(match to {
        Some(to) => Problem::BadTarget { to: to.to_owned(), taken_as },
        None => Problem::NoTarget { taken_as },
    });
    meant
}

fn sources(
    from: Option<&Spanned<String>>,
    patterns: &mut Patterns,
    mut found: impl FnMut(Problem, Option<Position>),
) -> Arc<Pattern> {
    let Some(from) = from else {
        found(Problem::NoSource, None);
        return Arc::new(Pattern::everything(""));
    };
    patterns.parse(&from.value).unwrap_or_else(|why| {
        found(Problem::BadSource { why }, Some(Position::from(from)));
        Arc::new(Pattern::everything(&from.value))
    })
}

/// A block with nothing but its versions removes; everything else has a risk, and where the risk
/// does not say whom it concerns, it concerns everybody.
fn effect(
    path: &str,
    written: &Written,
    mut found: impl FnMut(Problem, Option<Position>),
) -> Effect {
    let Written { url, name, message, matching_rules, .. } = written;
    if url.is_none() && name.is_none() && message.is_none() && matching_rules.is_none() {
        return Effect::Removes;
    }
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let risk = Incomplete { url: given(url), name: given(name), message: given(message) };
    let mut missing = risk.missing();
    let rules = match matching_rules {
        None => {
            missing.push("matchingRules");
            Vec::new()
        }
        Some(rules) => match senseless(&rules.value) {
            Some(problem) => {
                found(problem, Some(Position::from(rules)));
                Vec::new()
            }
            None => rules.value.clone(),
        },
    };
    let complete = missing.is_empty();
    if !complete {
        found(Problem::Incomplete { missing }, None);
    }
    let rules = if complete && !rules.is_empty() { rules } else { risk::always() };
    Effect::Risks(Arc::new(risk.completed(path, rules)))
}

fn senseless(rules: &[MatchingRule]) -> Option<Problem> {
    let without_type = |rule: &MatchingRule| rule.type_ == MatchingRuleType::default();
    if rules.is_empty() {
        return Some(Problem::NoRules);
    }
    rules.iter().any(without_type).then_some(Problem::RuleWithoutType)
}

/// The texts of a risk, as far as they are given.
struct Incomplete {
    url: Option<String>,
    name: Option<String>,
    message: Option<String>,
}

impl Incomplete {
    fn missing(&self) -> Vec<&'static str> {
        let texts = [("url", &self.url), ("name", &self.name), ("message", &self.message)];
        texts.into_iter().filter(|(_, text)| text.is_none()).map(|(name, _)| name).collect()
    }

    fn completed(self, path: &str, matching_rules: Vec<MatchingRule>) -> Risk {
        Risk {
            url: self.url.unwrap_or_else(|| stand_in::url(path)),
            name: self.name.unwrap_or_else(|| stand_in::name(path)),
            message: self.message.unwrap_or_else(|| stand_in::message(path)),
            matching_rules,
            unknown: UnknownFields::new(),
        }
    }
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
    let Some(to) = to.or_else(|| named(path)) else {
        found(Problem::Unreadable { why }, position);
        return None;
    };
    found(Problem::Salvaged { why, to: to.to_string() }, position);
    let from = salvage.from.as_deref().and_then(|from| patterns.parse(from).ok());
    let text = |key: &str| salvage.texts.get(key).and_then(|text| text.as_str()).map(str::to_owned);
    let risk = Incomplete { url: text("url"), name: text("name"), message: text("message") };
    Some(Block {
        file: path.to_owned(),
        to,
        to_at: None,
        from: from.unwrap_or_else(|| Arc::new(Pattern::everything(""))),
        from_at: None,
        effect: Effect::Risks(Arc::new(risk.completed(path, risk::always()))),
        fixed_in: text("fixedIn"),
        auto_extend: text("autoExtend"),
    })
}
