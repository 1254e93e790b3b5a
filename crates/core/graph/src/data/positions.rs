//! Where the parts of a block file are, for those who complain about them.

use std::collections::BTreeMap;

use fairway_api::read::{self, ReadError};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_saphyr::Spanned;

use super::finding::Position;

/// Where the parts of a block file are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Positions {
    /// Where the values of its keys are, known or not.
    pub values: BTreeMap<String, Position>,
    /// Its queries.
    pub queries: Vec<Query>,
}

/// A query in a block file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Which rule it belongs to, counted from zero.
    pub rule: usize,
    /// The query.
    pub text: String,
    /// Where its first letter is.
    pub at: Position,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rules {
    #[serde(default)]
    matching_rules: Vec<Rule>,
}

#[derive(Deserialize)]
struct Rule {
    #[serde(alias = "PromQL")]
    promql: Option<Queried>,
}

#[derive(Deserialize)]
struct Queried {
    #[serde(alias = "PromQL")]
    promql: Option<Spanned<String>>,
}

impl Positions {
    /// Finds them in a file that can be read.
    pub fn read(path: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let values: BTreeMap<String, Spanned<IgnoredAny>> = read::document(path, bytes)?;
        let rules: Rules = read::document(path, bytes)?;
        let query = |(rule, written): (usize, Rule)| {
            let query = written.promql?.promql?;
            Some(Query { rule, at: Position::from(&query), text: query.value })
        };
        Ok(Self {
            values: values.into_iter().map(|(key, value)| (key, Position::from(&value))).collect(),
            queries: rules.matching_rules.into_iter().enumerate().filter_map(query).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_queries_are_found() {
        let text = "to: 4.7.4\nfrom: .*\nodd: [1]\nmatchingRules:\n- type: Always\n- type: PromQL\n  promql:\n    promql: up\n- type: PromQL\n  PromQL:\n    PromQL: |\n      up\n      or down\n";
        let found = Positions::read("a.yaml", text.as_bytes()).unwrap();
        let at = |position: Position| format!("{}:{}", position.line, position.column);
        let values: Vec<String> =
            found.values.iter().map(|(key, value)| format!("{key} {}", at(*value))).collect();
        assert_eq!(values, ["from 2:7", "matchingRules 5:3", "odd 3:6", "to 1:5"]);
        let queries: Vec<String> = found
            .queries
            .iter()
            .map(|query| format!("{} {} {:?}", query.rule, at(query.at), query.text))
            .collect();
        assert_eq!(queries, ["1 8:13 \"up\"", "2 12:7 \"up\\nor down\\n\""]);
    }

    #[test]
    fn the_rest_may_be_missing() {
        assert_eq!(Positions::read("a.yaml", b"to: 4.7.4\n").unwrap().queries, []);
        assert!(Positions::read("a.yaml", b"- to\n").is_err());
    }
}
