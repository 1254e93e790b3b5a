//! Alert rules: whether Prometheus accepts them, and when they fire.

use std::fs;
use std::process::Command;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::manifests;

fn groups() -> Result<Value> {
    let [rule] = &manifests::objects("alerts.yaml")?[..] else { panic!("one object") };
    Ok(rule["spec"]["groups"].clone())
}

fn rules() -> Result<Vec<Value>> {
    let groups = groups()?;
    let groups = groups.as_array().into_iter().flatten();
    Ok(groups.flat_map(|group| group["rules"].as_array().cloned().unwrap_or_default()).collect())
}

#[test]
fn alerts_have_description_and_remediation() -> Result<()> {
    let rules = rules()?;
    let mut names: Vec<&str> = rules.iter().filter_map(|rule| rule["alert"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "CannotEvaluateConditionalUpdates",
            "CannotRetrieveUpdates",
            "ClusterNotUpgradeable",
            "ClusterOperatorDegraded",
            "ClusterOperatorDown",
            "ClusterOperatorFlapping",
            "ClusterReleaseNotAccepted",
            "ClusterVersionOperatorDown",
            "OpenShiftUpdateRiskMightApply",
            "PreflightFailed",
            "PreflightFoundCriticalRisks",
            "UpdateAvailable",
        ]
    );
    for rule in &rules {
        let expression = rule["expr"].as_str().unwrap_or_default();
        fairway_promql::Query::parse(expression)?;
        let severity = rule["labels"]["severity"].as_str().unwrap_or_default();
        assert!(["critical", "warning", "info"].contains(&severity), "{rule}");
        for text in ["summary", "description"] {
            let text = rule["annotations"][text].as_str().unwrap_or_default();
            assert!(text.ends_with('.') && !text.contains('\n'), "{text:?}");
        }
    }
    Ok(())
}

#[test]
#[ignore = "needs a cluster: cargo xtask test"]
fn alert_rules_pass_promtool_tests() -> Result<()> {
    let directory = tempfile::tempdir()?;
    // JSON is valid YAML.
    fs::write(directory.path().join("rules.yaml"), json!({ "groups": groups()? }).to_string())?;
    let tests = directory.path().join("tests.yaml");
    fs::write(&tests, include_str!("alerts.yaml"))?;
    let output = Command::new("promtool").args(["test", "rules"]).arg(&tests).output()?;
    ensure!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}
