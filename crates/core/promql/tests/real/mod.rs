//! The queries of a real update graph.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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

/// The distinct queries below a directory that has `graph-data-*/blocked-edges`.
pub(crate) fn queries(data: &Path) -> BTreeSet<String> {
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
