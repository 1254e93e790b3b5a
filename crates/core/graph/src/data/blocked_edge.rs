//! Files in `blocked-edges`: updates that are removed or conditional.

use std::sync::Arc;

use fairway_api::cluster_version::{MatchingRule, MatchingRuleType};
use fairway_api::{UnknownFields, Version, read};
use serde::Deserialize;
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

use super::finding::{DataFinding, DataProblem, Position, error_message};
use super::pattern::{PatternCache, VersionPattern};
use crate::risk::{self, Risk, risk_defaults};

/// Content of one file in `blocked-edges`: blocks updates to one version.
#[derive(Clone, Debug)]
pub struct BlockedEdge {
    /// Path of the file.
    pub file: String,
    /// Target version of the updates, for all architectures unless it names one.
    pub to: Version,
    /// Position of `to` in the file.
    pub to_at: Option<Position>,
    /// Source versions of the updates.
    pub from: Arc<VersionPattern>,
    /// Position of `from` in the file.
    pub from_at: Option<Position>,
    /// Effect on the updates.
    pub effect: BlockedEdgeEffect,
    /// First release without the problem.
    pub fixed_in: Option<String>,
    /// Reason to repeat the file for later releases, if it should be repeated.
    pub auto_extend: Option<String>,
}

/// Effect of a blocked edge.
#[derive(Clone, Debug, PartialEq)]
pub enum BlockedEdgeEffect {
    /// The update is removed for all clusters.
    Removes,
    /// The update is conditional on a risk.
    Risks(Arc<Risk>),
}

/// Fields of a file in `blocked-edges`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlockedEdgeFile {
    to: Option<Spanned<String>>,
    from: Option<Spanned<String>>,
    url: Option<String>,
    name: Option<String>,
    message: Option<String>,
    matching_rules: Option<Spanned<Vec<MatchingRule>>>,
    fixed_in: Option<String>,
    auto_extend: Option<String>,
}

impl BlockedEdgeFile {
    /// Removes the line break that this YAML parser adds to a block scalar at the end of a file
    /// without a final newline. Other readers of graph-data do not add one.
    fn without_added_line_break(mut self, bytes: &[u8]) -> Self {
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

/// Reads one file. Missing or invalid fields block more updates, never fewer.
pub(super) fn read(
    path: &str,
    bytes: &[u8],
    patterns: &mut PatternCache,
    findings: &mut Vec<DataFinding>,
) -> Option<BlockedEdge> {
    let mut report = |problem: DataProblem, position| findings.push(problem.at(path, position));
    let written = match read::document::<BlockedEdgeFile>(path, bytes) {
        Ok(written) => written.without_added_line_break(bytes),
        Err(error) => return read_salvaged(path, bytes, patterns, error, report),
    };
    let to_at = written.to.as_ref().map(Position::from);
    let to = written.to.as_ref().map(|to| to.value.as_str());
    let target = target(path, to, |problem| report(problem, to_at))?;
    Some(BlockedEdge {
        file: path.to_owned(),
        to: target,
        to_at,
        from: sources(written.from.as_ref(), patterns, &mut report),
        from_at: written.from.as_ref().map(Position::from),
        effect: effect(path, &written, report),
        fixed_in: written.fixed_in,
        auto_extend: written.auto_extend,
    })
}

/// The version in `to`; if it is invalid, the tolerantly parsed version or the one in the file
/// name.
fn target(path: &str, to: Option<&str>, mut report: impl FnMut(DataProblem)) -> Option<Version> {
    if let Some(Ok(version)) = to.map(Version::parse) {
        return Some(version);
    }
    let meant =
        to.and_then(|to| Version::parse_tolerant(to).ok()).or_else(|| target_from_file_name(path));
    let taken_as = meant.as_ref().map(Version::to_string);
    report(match to {
        Some(to) => DataProblem::BadTarget { to: to.to_owned(), taken_as },
        None => DataProblem::NoTarget { taken_as },
    });
    meant
}

fn sources(
    from: Option<&Spanned<String>>,
    patterns: &mut PatternCache,
    mut report: impl FnMut(DataProblem, Option<Position>),
) -> Arc<VersionPattern> {
    let Some(from) = from else {
        report(DataProblem::NoSource, None);
        return Arc::new(VersionPattern::everything(""));
    };
    patterns.parse(&from.value).unwrap_or_else(|why| {
        report(DataProblem::BadSource { why }, Some(Position::from(from)));
        Arc::new(VersionPattern::everything(&from.value))
    })
}

/// The effect of a file: with versions only, it removes updates; otherwise it adds a risk. A risk
/// without valid rules applies to all clusters.
fn effect(
    path: &str,
    written: &BlockedEdgeFile,
    mut report: impl FnMut(DataProblem, Option<Position>),
) -> BlockedEdgeEffect {
    let BlockedEdgeFile { url, name, message, matching_rules, .. } = written;
    if url.is_none() && name.is_none() && message.is_none() && matching_rules.is_none() {
        return BlockedEdgeEffect::Removes;
    }
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    let risk = RiskFields { url: given(url), name: given(name), message: given(message) };
    let mut missing = risk.missing();
    let rules = match matching_rules {
        None => {
            missing.push("matchingRules");
            Vec::new()
        }
        Some(rules) => match invalid_rules(&rules.value) {
            Some(problem) => {
                report(problem, Some(Position::from(rules)));
                Vec::new()
            }
            None => rules.value.clone(),
        },
    };
    let complete = missing.is_empty();
    if !complete {
        report(DataProblem::Incomplete { missing }, None);
    }
    let rules = if complete && !rules.is_empty() { rules } else { risk::always() };
    BlockedEdgeEffect::Risks(Arc::new(risk.completed(path, rules)))
}

fn invalid_rules(rules: &[MatchingRule]) -> Option<DataProblem> {
    let without_type = |rule: &MatchingRule| rule.type_ == MatchingRuleType::default();
    if rules.is_empty() {
        return Some(DataProblem::NoRules);
    }
    rules.iter().any(without_type).then_some(DataProblem::RuleWithoutType)
}

/// Fields of a risk, as far as the file has them.
struct RiskFields {
    url: Option<String>,
    name: Option<String>,
    message: Option<String>,
}

impl RiskFields {
    fn missing(&self) -> Vec<&'static str> {
        let texts = [("url", &self.url), ("name", &self.name), ("message", &self.message)];
        texts.into_iter().filter(|(_, text)| text.is_none()).map(|(name, _)| name).collect()
    }

    fn completed(self, path: &str, matching_rules: Vec<MatchingRule>) -> Risk {
        Risk {
            url: self.url.unwrap_or_else(|| risk_defaults::url(path)),
            name: self.name.unwrap_or_else(|| risk_defaults::name(path)),
            message: self.message.unwrap_or_else(|| risk_defaults::message(path)),
            matching_rules,
            unknown: UnknownFields::new(),
        }
    }
}

fn read_salvaged(
    path: &str,
    bytes: &[u8],
    patterns: &mut PatternCache,
    error: read::ReadError,
    mut report: impl FnMut(DataProblem, Option<Position>),
) -> Option<BlockedEdge> {
    let (why, position) = error_message(error);
    let salvage = salvage(path, bytes);
    let to = salvage.to.as_deref().and_then(|to| Version::parse_tolerant(to).ok());
    let Some(to) = to.or_else(|| target_from_file_name(path)) else {
        report(DataProblem::Unreadable { why }, position);
        return None;
    };
    report(DataProblem::Salvaged { why, to: to.to_string() }, position);
    let from = salvage.from.as_deref().and_then(|from| patterns.parse(from).ok());
    let text = |key: &str| salvage.texts.get(key).and_then(|text| text.as_str()).map(str::to_owned);
    let risk = RiskFields { url: text("url"), name: text("name"), message: text("message") };
    Some(BlockedEdge {
        file: path.to_owned(),
        to,
        to_at: None,
        from: from.unwrap_or_else(|| Arc::new(VersionPattern::everything(""))),
        from_at: None,
        effect: BlockedEdgeEffect::Risks(Arc::new(risk.completed(path, risk::always()))),
        fixed_in: text("fixedIn"),
        auto_extend: text("autoExtend"),
    })
}

/// Fields of an invalid file in `blocked-edges` that can be read.
#[derive(Default)]
pub(super) struct SalvagedFields {
    /// Target version.
    pub to: Option<String>,
    /// Pattern of source versions, if the whole value can be read.
    pub from: Option<String>,
    /// Fields with string values.
    pub texts: Map<String, Value>,
}

#[derive(Deserialize)]
struct EdgeEnds {
    to: Option<String>,
    from: Option<String>,
}

/// Reads `to` and `from` alone. If that fails, searches for a line with `to:`.
pub(super) fn salvage(path: &str, bytes: &[u8]) -> SalvagedFields {
    match read::document::<EdgeEnds>(path, bytes) {
        Ok(EdgeEnds { to, from }) => {
            let mut texts = read::document::<Map<String, Value>>(path, bytes).unwrap_or_default();
            texts.retain(|_, value| value.is_string());
            SalvagedFields { to, from, texts }
        }
        Err(_) => SalvagedFields { to: line(bytes, "to:"), ..SalvagedFields::default() },
    }
}

fn line(bytes: &[u8], key: &str) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    let value = value.split(" #").next().unwrap_or_default();
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// The target version in a file name such as `5.1.0-Risk.yaml` or `5.0.9-to-5.1.0.yaml`.
pub(super) fn target_from_file_name(path: &str) -> Option<Version> {
    let file = path.rsplit('/').next()?;
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let target = stem.split_once("-to-").map_or(stem, |(_, target)| target);
    let mut parts = target.split('-');
    let release = parts.next()?;
    let candidate = parts.next().filter(|part| is_pre_release(part));
    let whole = candidate.map(|candidate| format!("{release}-{candidate}"));
    Version::parse(whole.as_deref().unwrap_or(release)).ok()
}

/// Whether a part of a file name is a pre-release such as `rc.1`, not the name of a risk.
fn is_pre_release(text: &str) -> bool {
    let Some((word, number)) = text.split_once('.') else { return false };
    let is_all = |text: &str, is: fn(u8) -> bool| !text.is_empty() && text.bytes().all(is);
    is_all(word, |byte| byte.is_ascii_lowercase()) && is_all(number, |byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_from_file_name_parses_versions() {
        let cases = [
            ("blocked-edges/5.1.0-LeakyProxy.yaml", Some("5.1.0")),
            ("blocked-edges/5.1.0.yaml", Some("5.1.0")),
            ("blocked-edges/5.1.0-zz-last.yml", Some("5.1.0")),
            ("blocked-edges/5.1.0-rc.2-LeakyProxy.yaml", Some("5.1.0-rc.2")),
            ("blocked-edges/5.0.9-to-5.1.0.yaml", Some("5.1.0")),
            ("blocked-edges/LeakyProxy.yaml", None),
            ("blocked-edges/5.1-LeakyProxy.yaml", None),
            ("blocked-edges/.yaml", None),
        ];
        for (path, expected) in cases {
            let version = target_from_file_name(path).map(|version| version.to_string());
            assert_eq!(version.as_deref(), expected, "{path}");
        }
    }
}
