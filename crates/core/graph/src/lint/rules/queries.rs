//! Rules about the PromQL queries of risks.

use fairway_promql::analysis::{
    QueryAnalysis, ResultCoverage, SeriesCount, analyze, suspicious_matchers,
};
use fairway_promql::expr::ExprType;

use super::{LintContext, LintFinding, LintRule};
use crate::data::Severity;
use crate::lint::queries::{self, RuleQuery};
use crate::lint::yaml::YamlFile;
use crate::lint::yaml::{YamlNode, YamlValue};

pub(super) static QUERY_RESULT: LintRule =
    LintRule { id: "query-result", summary: "Query never returns a sample" };

pub(super) static QUERY_SERIES: LintRule =
    LintRule { id: "query-series", summary: "Query may return several series" };

pub(super) static QUERY_VALUES: LintRule =
    LintRule { id: "query-values", summary: "Query returns values other than 0 and 1" };

pub(super) static QUERY_COVERAGE: LintRule = LintRule {
    id: "query-coverage",
    summary: "Query returns no sample on clusters to which the risk does not apply",
};

pub(super) fn outcomes(context: &LintContext<'_>) -> Vec<LintFinding> {
    let parsed = context
        .queries
        .iter()
        .filter_map(|rule_query| Some((rule_query, rule_query.parsed.as_ref().ok()?)));
    parsed.flat_map(|(rule_query, query)| outcome_findings(rule_query, &analyze(query))).collect()
}

fn outcome_findings(rule_query: &RuleQuery<'_>, analysis: &QueryAnalysis) -> Vec<LintFinding> {
    if let Some(finding) = result(rule_query, analysis) {
        return vec![finding];
    }
    let all = [
        series(rule_query, analysis),
        values(rule_query, analysis),
        coverage(rule_query, analysis),
    ];
    all.into_iter().flatten().collect()
}

fn result(rule_query: &RuleQuery<'_>, analysis: &QueryAnalysis) -> Option<LintFinding> {
    let message = match analysis {
        QueryAnalysis { result, .. } if *result != ExprType::Vector => {
            format!("the query returns {result}; expected an instant vector")
        }
        QueryAnalysis { series: SeriesCount::None, .. } => {
            "the query never returns a sample".to_owned()
        }
        _ => return None,
    };
    Some(rule_query.finding(&QUERY_RESULT, Severity::Error, rule_query.whole(), message))
}

fn series(rule_query: &RuleQuery<'_>, analysis: &QueryAnalysis) -> Option<LintFinding> {
    let (severity, message) = match &analysis.series {
        SeriesCount::OnePer(labels) => {
            let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
            let message = format!("the query returns one series for each {}", labels.join(" and "));
            (Severity::Note, message)
        }
        SeriesCount::Many => {
            (Severity::Warning, "the query may return any number of series".to_owned())
        }
        SeriesCount::None
        | SeriesCount::AtMostOne
        | SeriesCount::ExactlyOne
        | SeriesCount::Unknown => return None,
    };
    let finding = rule_query.finding(&QUERY_SERIES, severity, rule_query.whole(), message);
    Some(
        finding
            .help("the operator needs exactly one series: use topk(1, …), which prefers 1 over 0"),
    )
}

fn values(rule_query: &RuleQuery<'_>, analysis: &QueryAnalysis) -> Option<LintFinding> {
    let unexpected: Vec<String> =
        analysis.values.unexpected().iter().map(ToString::to_string).collect();
    let message = if !unexpected.is_empty() {
        format!(
            "the query can return {}, which the operator treats as a failed evaluation",
            unexpected.join(" or ")
        )
    } else if analysis.values.are_never_one() {
        "the query never returns 1, so the risk never applies".to_owned()
    } else {
        return None;
    };
    let finding = rule_query.finding(&QUERY_VALUES, Severity::Warning, rule_query.whole(), message);
    Some(finding.help("return 1 if the risk applies, 0 if it does not"))
}

fn coverage(rule_query: &RuleQuery<'_>, analysis: &QueryAnalysis) -> Option<LintFinding> {
    let message = match &analysis.coverage {
        ResultCoverage::OnlyMatching => {
            "the query returns no sample on clusters to which the risk does not apply".to_owned()
        }
        restricted @ ResultCoverage::Restricted(_) => restricted.to_string(),
        ResultCoverage::Always
        | ResultCoverage::WhileScraped(_)
        | ResultCoverage::None
        | ResultCoverage::Unknown => {
            return None;
        }
    };
    let finding =
        rule_query.finding(&QUERY_COVERAGE, Severity::Warning, rule_query.whole(), message);
    Some(finding.help("add an alternative that returns 0: … or 0 * group(…)"))
}

pub(super) static PROMQL: LintRule =
    LintRule { id: "promql", summary: "Matching rule that clusters cannot evaluate" };

pub(super) fn promql(context: &LintContext<'_>) -> Vec<LintFinding> {
    let unparsable = context.queries.iter().filter_map(|rule_query| {
        let error = rule_query.parsed.as_ref().err()?;
        let message = error.problem.to_string();
        Some(rule_query.finding(&PROMQL, Severity::Error, error.span.clone(), message))
    });
    let blocks = context.blocks.iter();
    let rules =
        blocks.flat_map(|source| queries::rules(source).iter().map(move |rule| (source, rule)));
    let invalid = rules.filter_map(|(source, rule)| invalid_rule(source, rule));
    unparsable.chain(invalid).collect()
}

fn invalid_rule(source: &YamlFile<'_>, rule: &YamlNode) -> Option<LintFinding> {
    let kind = rule.get("type")?;
    let query = queries::query(rule);
    let (severity, span, message) = match kind.text()? {
        "PromQL" => match query {
            None => {
                (Severity::Error, kind.span.clone(), "rules of this type require `promql.promql`")
            }
            Some(query) if !matches!(query.value, YamlValue::Text(_)) => {
                (Severity::Error, query.span.clone(), "the query must be a string")
            }
            Some(_) => return None,
        },
        "Always" if query.is_some() => {
            (Severity::Warning, kind.span.clone(), "rules of this type have no query")
        }
        "Always" => return None,
        _ => (Severity::Note, kind.span.clone(), "unknown type; clusters skip the rule"),
    };
    Some(source.finding(&PROMQL, severity, span, message))
}

pub(super) static LITERAL_PATTERN: LintRule =
    LintRule { id: "literal-pattern", summary: "Label matcher compares a pattern as literal text" };

pub(super) fn literal_patterns(context: &LintContext<'_>) -> Vec<LintFinding> {
    let parsed = context
        .queries
        .iter()
        .filter_map(|rule_query| Some((rule_query, rule_query.parsed.as_ref().ok()?)));
    parsed
        .flat_map(|(rule_query, query)| {
            let suspicious = suspicious_matchers(query).into_iter();
            suspicious.map(move |matcher| {
                let written = matcher.to_string();
                let start = query.text().find(&written);
                let part = start.map_or(rule_query.whole(), |start| start..start + written.len());
                let message =
                    format!("`{written}` looks like a pattern, but = and != compare literal text");
                let finding =
                    rule_query.finding(&LITERAL_PATTERN, Severity::Warning, part, message);
                finding.help("use =~ or !~ to match a pattern")
            })
        })
        .collect()
}
