//! The queries of OpenShift's graph-data, from `FAIRWAY_DATA`.

use fairway_fixtures::{environment, graph_data};
use fairway_promql::Query;
use fairway_promql::analysis::{ResultCoverage, SampleValues, SeriesCount, analyze};

#[test]
fn openshift_queries_are_analyzed() {
    let Some(data) = environment::data() else { return };
    let queries = graph_data::queries(&data);
    assert!(!queries.is_empty(), "no queries in {}", data.display());
    for text in queries {
        let query = Query::parse(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let analysis = analyze(&query);
        assert_ne!(analysis.values, SampleValues::Unknown, "{text}");
        assert_ne!(analysis.series, SeriesCount::Unknown, "{text}");
        // The authors tested these queries: each can return 0, and none omits clusters by mistake.
        assert!(
            matches!(analysis.coverage, ResultCoverage::Always | ResultCoverage::WhileScraped(_)),
            "{text}\n{analysis}"
        );
    }
}
