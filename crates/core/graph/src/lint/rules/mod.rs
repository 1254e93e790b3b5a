//! The lint rules, by topic.

mod channels;
mod queries;
mod risks;
mod syntax;
mod versions;

use super::{LintContext, LintFinding, LintRule};

/// Rules and the function that checks them.
type Check = (&'static [&'static LintRule], fn(&LintContext<'_>) -> Vec<LintFinding>);

/// All rules. The order is the `ruleIndex` of SARIF.
pub(super) const ALL: [Check; 16] = [
    (&[&syntax::SCHEMA], syntax::schema),
    (&[&syntax::UNKNOWN_KEY], syntax::unknown_keys),
    (&[&syntax::NUMBER], syntax::unquoted_numbers),
    (&[&risks::UNEXPLAINED], risks::unexplained),
    (&[&risks::URL], risks::urls),
    (&[&risks::NAME], risks::names),
    (&[&risks::AMBIGUOUS_NAME], risks::ambiguous_names),
    (&[&versions::UNKNOWN_TARGET], versions::unknown_targets),
    (&[&versions::IDLE_PATTERN, &versions::LOOSE_PATTERN], versions::patterns),
    (&[&queries::PROMQL], queries::promql),
    (
        &[
            &queries::QUERY_RESULT,
            &queries::QUERY_SERIES,
            &queries::QUERY_VALUES,
            &queries::QUERY_COVERAGE,
        ],
        queries::outcomes,
    ),
    (&[&queries::LITERAL_PATTERN], queries::literal_patterns),
    (&[&risks::NOT_EXTENDED], risks::not_extended),
    (&[&channels::FEEDER], channels::feeders),
    (&[&channels::TOMBSTONE], channels::tombstones),
    (&[&versions::STRANDED], versions::stranded_versions),
];
