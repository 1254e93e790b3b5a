//! Queries that do not answer with one sample of 0 or 1.

use fairway_promql::analysis::{Coverage, Outcome, Series, outcome};
use fairway_promql::expr::Type;

use super::{Context, Finding, Rule};
use crate::data::Severity;
use crate::lint::queries::Asked;

pub(super) static RESULT: Rule =
    Rule { id: "query-result", summary: "Query never returns a sample" };

pub(super) static SERIES: Rule =
    Rule { id: "query-series", summary: "Query may return several series" };

pub(super) static VALUES: Rule =
    Rule { id: "query-values", summary: "Query returns values other than 0 and 1" };

pub(super) static COVERAGE: Rule = Rule {
    id: "query-coverage",
    summary: "Query returns no sample on clusters to which the risk does not apply",
};

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let parsed =
        context.queries.iter().filter_map(|asked| Some((asked, asked.parsed.as_ref().ok()?)));
    parsed.flat_map(|(asked, query)| problems(asked, &outcome(query))).collect()
}

fn problems(asked: &Asked<'_>, outcome: &Outcome) -> Vec<Finding> {
    if let Some(finding) = result(asked, outcome) {
        return vec![finding];
    }
    let all = [series(asked, outcome), values(asked, outcome), coverage(asked, outcome)];
    all.into_iter().flatten().collect()
}

fn result(asked: &Asked<'_>, outcome: &Outcome) -> Option<Finding> {
    let message = match outcome {
        Outcome { result, .. } if *result != Type::Vector => {
            format!("the query returns {result}; expected an instant vector")
        }
        Outcome { series: Series::None, .. } => "the query never returns a sample".to_owned(),
        _ => return None,
    };
    Some(asked.finding(&RESULT, Severity::Error, asked.whole(), message))
}

fn series(asked: &Asked<'_>, outcome: &Outcome) -> Option<Finding> {
    let (severity, message) = match &outcome.series {
        Series::OnePer(labels) => {
            let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
            let message = format!("the query returns one series for each {}", labels.join(" and "));
            (Severity::Note, message)
        }
        Series::Many => (Severity::Warning, "the query may return any number of series".to_owned()),
        Series::None | Series::AtMostOne | Series::ExactlyOne | Series::Unknown => return None,
    };
    let finding = asked.finding(&SERIES, severity, asked.whole(), message);
    Some(
        finding
            .help("the operator needs exactly one series: use topk(1, …), which prefers 1 over 0"),
    )
}

fn values(asked: &Asked<'_>, outcome: &Outcome) -> Option<Finding> {
    let strange: Vec<String> = outcome.values.strange().iter().map(ToString::to_string).collect();
    let message = if !strange.is_empty() {
        format!(
            "the query can return {}, which the operator treats as a failed evaluation",
            strange.join(" or ")
        )
    } else if outcome.values.are_never_one() {
        "the query never returns 1, so the risk never applies".to_owned()
    } else {
        return None;
    };
    let finding = asked.finding(&VALUES, Severity::Warning, asked.whole(), message);
    Some(finding.help("return 1 if the risk applies, 0 if it does not"))
}

fn coverage(asked: &Asked<'_>, outcome: &Outcome) -> Option<Finding> {
    let message = match &outcome.coverage {
        Coverage::OnlyMatching => {
            "the query returns no sample on clusters to which the risk does not apply".to_owned()
        }
        restricted @ Coverage::Restricted(_) => restricted.to_string(),
        Coverage::Always | Coverage::WhileScraped(_) | Coverage::Nobody | Coverage::Unknown => {
            return None;
        }
    };
    let finding = asked.finding(&COVERAGE, Severity::Warning, asked.whole(), message);
    Some(finding.help("add an alternative that returns 0: … or 0 * group(…)"))
}
