//! Text, JSON and SARIF output.

use fairway_graph::lint::lint;
use fairway_graph::lint::print::{Style, json, sarif, text};
use serde_json::Value;

use super::{block_with_query, files};

fn example() -> fairway_graph::Files {
    let query_block = block_with_query("group(up{job=\"ä\"})\nor * x");
    files(&[
        ("blocked-edges/4.7.4-Risk.yaml", &query_block),
        ("blocked-edges/4.7.4-Two.yaml", &query_block.replace("to: 4.7.4", "to: 4.7.3")),
    ])
}

#[test]
fn text_contains_excerpts_help_and_summary() {
    let block = block_with_query("group(up{job=\"a\"})");
    let names: Vec<String> = (0..5).map(|n| format!("blocked-edges/4.7.4-{n}.yaml")).collect();
    let texts: Vec<(&str, &str)> = names.iter().map(|name| (&**name, &*block)).collect();
    let files = files(&texts);
    insta::assert_snapshot!(text(&lint(&files, None), &files, Style::Plain), @r#"
    warning[query-coverage]: the query returns no sample on clusters to which the risk does not apply
      --> blocked-edges/4.7.4-0.yaml:11:7
       |
    11 |       group(up{job="a"})
       |       ^^^^^^^^^^^^^^^^^^
       |
       = note: also in blocked-edges/4.7.4-1.yaml, blocked-edges/4.7.4-2.yaml, blocked-edges/4.7.4-3.yaml and 1 more
       = help: add an alternative that returns 0: … or 0 * group(…)

    1 warning
    "#);
    let files = super::files(&[
        ("blocked-edges/4.7.4.yml", &super::block("4.7.4", "Risk")),
        ("blocked-edges/4.7.4.txt", ""),
    ]);
    insta::assert_snapshot!(text(&lint(&files, None), &files, Style::Plain), @"
    note[schema]: skipped: not a .yaml file
    --> blocked-edges/4.7.4.txt

    warning[schema]: rename the file to .yaml: other tools skip .yml files
    --> blocked-edges/4.7.4.yml

    1 warning, 1 note
    ");
    let files = super::files(&[]);
    assert_eq!(text(&lint(&files, None), &files, Style::Plain), "no findings\n");
}

#[test]
fn json_contains_positions() {
    let report = lint(&example(), None);
    insta::assert_snapshot!(serde_json::to_string_pretty(&json(&report)).unwrap(), @r#"
    {
      "summary": {
        "errors": 1,
        "warnings": 0,
        "notes": 0
      },
      "findings": [
        {
          "rule": "promql",
          "severity": "error",
          "file": "blocked-edges/4.7.4-Risk.yaml",
          "start": {
            "line": 12,
            "column": 10
          },
          "end": {
            "line": 12,
            "column": 11
          },
          "message": "unexpected `*`",
          "subject": "Risk",
          "otherFiles": [
            "blocked-edges/4.7.4-Two.yaml"
          ]
        }
      ]
    }
    "#);
}

#[test]
fn sarif_contains_rules_and_locations() {
    let mut log: Value = serde_json::from_str(&sarif(&lint(&example(), None)).unwrap()).unwrap();
    let rules = log["runs"][0]["tool"]["driver"]["rules"].take();
    assert_eq!(rules.as_array().unwrap().len(), fairway_graph::lint::rules().len());
    insta::assert_snapshot!(serde_json::to_string_pretty(&log).unwrap(), @r#"
    {
      "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
      "runs": [
        {
          "columnKind": "unicodeCodePoints",
          "results": [
            {
              "level": "error",
              "locations": [
                {
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "blocked-edges/4.7.4-Risk.yaml"
                    },
                    "region": {
                      "endColumn": 11,
                      "endLine": 12,
                      "startColumn": 10,
                      "startLine": 12
                    }
                  }
                }
              ],
              "message": {
                "text": "unexpected `*`"
              },
              "partialFingerprints": {
                "subject/v1": "Risk: unexpected `*`"
              },
              "relatedLocations": [
                {
                  "physicalLocation": {
                    "artifactLocation": {
                      "uri": "blocked-edges/4.7.4-Two.yaml"
                    }
                  }
                }
              ],
              "ruleId": "promql",
              "ruleIndex": 10
            }
          ],
          "tool": {
            "driver": {
              "name": "fairway graph lint",
              "rules": null
            }
          }
        }
      ],
      "version": "2.1.0"
    }
    "#);
}
