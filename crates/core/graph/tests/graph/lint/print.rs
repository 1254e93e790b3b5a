//! What machines get to see.

use fairway_graph::lint::lint;
use fairway_graph::lint::print::{json, sarif};
use serde_json::Value;

use super::{asking, files};

fn example() -> fairway_graph::Files {
    let question = asking("group(up{job=\"ä\"})\nor * x");
    files(&[
        ("blocked-edges/4.7.4-Risk.yaml", &question),
        ("blocked-edges/4.7.4-Two.yaml", &question.replace("to: 4.7.4", "to: 4.7.3")),
    ])
}

#[test]
fn json_has_every_place() {
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
fn sarif_names_rules_and_places() {
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
