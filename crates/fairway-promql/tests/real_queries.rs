//! The queries of a real update graph: `FAIRWAY_DATA` names a directory that has
//! `graph-data-*/blocked-edges`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fairway_promql::Query;
use fairway_promql::analysis::{Coverage, Series, Values, outcome};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Block {
    #[serde(default)]
    matching_rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    promql: Option<PromQl>,
}

#[derive(Deserialize)]
struct PromQl {
    promql: String,
}

fn queries(data: &Path) -> BTreeSet<String> {
    let directories = fs::read_dir(data).unwrap().map(|entry| entry.unwrap().path());
    let blocks = directories.map(|path| path.join("blocked-edges")).filter(|path| path.is_dir());
    let files = blocks.flat_map(|path| fs::read_dir(path).unwrap());
    files
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .filter_map(|text| serde_saphyr::from_str::<Block>(&text).ok())
        .flat_map(|block| block.matching_rules)
        .filter_map(|rule| rule.promql)
        .map(|rule| rule.promql)
        .collect()
}

#[test]
fn real_queries_are_understood() {
    let Some(data) = std::env::var_os("FAIRWAY_DATA") else {
        println!("skipped: FAIRWAY_DATA is not set");
        return;
    };
    let queries = queries(Path::new(&data));
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
