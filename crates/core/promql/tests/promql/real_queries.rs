//! The queries of a real update graph: `FAIRWAY_DATA` names a directory that has
//! `graph-data-*/blocked-edges`.

use fairway_fixtures::{environment, graph_data};
use fairway_promql::Query;
use fairway_promql::analysis::{Coverage, Series, Values, outcome};

#[test]
fn real_queries_are_understood() {
    let Some(data) = environment::data() else { return };
    let queries = graph_data::queries(&data);
    assert!(!queries.is_empty(), "no queries in {}", data.display());
    for text in queries {
        let query = Query::parse(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        let told = outcome(&query);
        assert_ne!(told.values, Values::Unknown, "{text}");
        assert_ne!(told.series, Series::Unknown, "{text}");
        // Their authors tried them: each can say 0, and none leaves clusters out by mistake.
        assert!(
            matches!(told.coverage, Coverage::Always | Coverage::WhileScraped(_)),
            "{text}\n{told}"
        );
    }
}
