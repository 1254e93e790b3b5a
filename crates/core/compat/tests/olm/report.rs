//! The risk report.

use std::collections::BTreeSet;

use fairway_compat::KubernetesMinor;
use fairway_compat::olm::apis::ApiUsage;
use fairway_compat::olm::{
    DeclarationSource, InvalidPolicy, MaximumVersion, MinorVersion, MissingPolicy, OlmCheck,
    OlmOperator, OlmPolicy,
};
use fairway_risk::sources::cluster_operators;
use fairway_risk::{AffectedUpdates, Ledger, RiskSource};
use serde_json::{Value, json};

use super::{annotated, without_declaration};

fn report(operators: Vec<OlmOperator>, running: &str, policy: OlmPolicy) -> Value {
    let guard = OlmCheck::new(operators, MinorVersion::parse(running).unwrap(), policy);
    guard.published().extension.unwrap()
}

/// One line `name targets: message` for each risk.
fn risk_lines(report: &Value) -> String {
    let risks = report["risks"].as_array().unwrap().iter().map(|risk| {
        let field = |name: &str| risk[name].as_str().unwrap().to_owned();
        format!("{} {}: {}", field("name"), field("targets"), field("message"))
    });
    risks.collect::<Vec<_>>().join("\n")
}

#[test]
fn report_lists_operators_with_targets() {
    let operators = || {
        vec![
            annotated("next.v1", "4.8"),
            annotated("skip-level.v1", "4.9"),
            annotated("renamed.v1", "4.23"),
            annotated("behind.v1", "4.6"),
            annotated("wrong.v1", "4.x"),
            without_declaration("silent.v1"),
        ]
    };
    insta::assert_snapshot!(risk_lines(&report(operators(), "4.8.0", OlmPolicy::default())), @"
    OperatorWillNotRun-namespace:behind.v1 >=4.9.0: The operator namespace/behind.v1 does not support versions after 4.6 (declared by annotation operators.coreos.com/maxOpenShiftVersion), but the cluster already runs 4.8.
    OperatorWillNotRun-namespace:next.v1 >=4.9.0: The operator namespace/next.v1 does not support versions after 4.8 (declared by annotation operators.coreos.com/maxOpenShiftVersion).
    OperatorWillNotRun-namespace:skip-level.v1 >=4.10.0: The operator namespace/skip-level.v1 does not support versions after 4.9 (declared by annotation operators.coreos.com/maxOpenShiftVersion).
    OperatorWillNotRun-namespace:renamed.v1 >=5.1.0: The operator namespace/renamed.v1 does not support versions after 4.23 (declared by annotation operators.coreos.com/maxOpenShiftVersion).
    ");
    let strict = OlmPolicy { invalid: InvalidPolicy::Block, missing: MissingPolicy::Block };
    insta::assert_snapshot!(risk_lines(&report(operators().split_off(4), "4.8.0", strict)), @r#"
    OperatorWillNotRun-namespace:silent.v1 >=4.9.0: The operator namespace/silent.v1 declares no maximum version, and the OLM guard requires one.
    OperatorWillNotRun-namespace:wrong.v1 >=4.9.0: The operator namespace/wrong.v1 declares an invalid maximum version: failed to parse "4.x" as semver: unexpected character 'x' while parsing minor version number.
    "#);
}

#[test]
fn removed_apis_are_separate_risks() {
    let usage = ApiUsage::read(&json!({"metadata": {"namespace": "namespace"}, "spec": {
        "nativeAPIs": [{"group": "policy", "version": "v1beta1", "kind": "PodSecurityPolicy"}],
    }}));
    let operator = annotated("etcd.v1", "4.12").using(&usage, MinorVersion::new(4, 8));
    insta::assert_snapshot!(risk_lines(&report(vec![operator], "4.8.0", OlmPolicy::default())), @"
    OperatorApisMissing-namespace:etcd.v1 >=4.12.0: The operator namespace/etcd.v1 may stop working on 4.12: it uses an API that the target does not serve: podsecuritypolicies.v1beta1.policy (required; no replacement).
    OperatorWillNotRun-namespace:etcd.v1 >=4.13.0: The operator namespace/etcd.v1 does not support versions after 4.12 (declared by annotation operators.coreos.com/maxOpenShiftVersion).
    ");
}

#[test]
fn unknown_api_availability_is_a_note() {
    let using = |name: &str, resource: &str| {
        let rules = json!([{"apiGroups": ["batch"], "resources": [resource]}]);
        let usage = ApiUsage::read(&json!({"spec": {
            "install": {"spec": {"permissions": [{"serviceAccountName": "a", "rules": rules}]}},
        }}));
        annotated(name, "4.20").using(&usage, MinorVersion::new(4, 11))
    };
    let noted = |operators| {
        let report = report(operators, "4.11.0", OlmPolicy::default());
        let about_apis = |risk: &Value| risk["name"].to_string().contains("Apis");
        assert!(!report["risks"].as_array().unwrap().iter().any(about_apis), "{report}");
        report.get("notes").cloned()
    };
    assert_eq!(noted(vec![using("exact", "jobs")]), None);
    let [wild, unversioned] = [using("wild", "*"), using("unversioned", "cronjobs")];
    insta::assert_snapshot!(noted(vec![wild.clone()]).unwrap(), @r#"[{"message":"For 1 operator, it is unknown whether the target serves all required APIs, because permissions contain wildcards or omit API versions. For details, run `fairway olm list -o json`","targets":">=4.12.0"}]"#);
    let both = noted(vec![wild, unversioned]).unwrap();
    assert!(both[0]["message"].as_str().unwrap().starts_with("For 2 operators, "), "{both}");
}

#[test]
fn later_api_removals_are_notes() {
    let usage = ApiUsage::read(&json!({"metadata": {"namespace": "namespace"}, "spec": {
        "nativeAPIs": [
            {"group": "flowcontrol.apiserver.k8s.io", "version": "v1beta3", "kind": "FlowSchema"},
        ],
    }}));
    let running = MinorVersion::new(5, 1);
    let on = |kubernetes: &str| {
        let kubernetes = KubernetesMinor::parse(kubernetes).unwrap();
        let operator = annotated("flows.v1", "5.9").using(&usage, running);
        let operator = operator.using_on(&usage, kubernetes);
        report(vec![operator], "5.1.0", OlmPolicy::default())
    };
    let ahead = on("1.31");
    assert_eq!(ahead["notes"][0]["targets"], ">=5.2.0");
    insta::assert_snapshot!(ahead["notes"][0]["message"].as_str().unwrap(), @"These operators may stop working with a later Kubernetes version (the release that contains it is unknown): namespace/flows.v1 with Kubernetes 1.32: it uses an API that the target does not serve: flowschemas.v1beta3.flowcontrol.apiserver.k8s.io (required; replaced by flowcontrol.apiserver.k8s.io/v1)");
    assert!(on("1.32").get("notes").is_none(), "already removed");
}

#[test]
fn report_with_long_catalog_names_fits_limit() {
    let hostile = "\u{1}".repeat(2000);
    let operators = (0..60).map(|number| {
        let catalog = MaximumVersion::Maximum(
            MinorVersion::new(4, 7),
            DeclarationSource::Catalog(hostile.clone()),
        );
        annotated(&format!("{}{number:02}", "n".repeat(200)), "4.8").updated_by(&catalog)
    });
    let report = report(operators.collect(), "4.8.0", OlmPolicy::default());
    assert_eq!(report["risks"].as_array().unwrap().len(), 50);
    assert!(report.to_string().len() <= 64 << 10, "{}", report.to_string().len());
}

#[test]
fn risks_beyond_limit_are_combined() {
    let mut operators: Vec<OlmOperator> =
        (0..60).map(|number| annotated(&format!("n{number:02}"), "4.9")).collect();
    operators.push(annotated(&"long.".repeat(60), "4.8"));
    let report = report(operators, "4.8.0", OlmPolicy::default());
    let risks = report["risks"].as_array().unwrap();
    assert_eq!(risks.len(), 50);
    assert_eq!(risks[49]["name"], "OperatorWillNotRun-more");
    assert_eq!(risks[49]["targets"], ">=4.9.0", "the lowest target");
    assert!(report.to_string().len() < 64 << 10);
}

#[test]
fn missing_declaration_is_a_note() {
    let operators = || vec![without_declaration("a"), annotated("b", "x"), annotated("c", "4.9")];
    let loose = report(operators(), "4.8", OlmPolicy::default());
    assert_eq!(loose["risks"].as_array().map(Vec::len), Some(1), "only c");
    insta::assert_snapshot!(loose["notes"], @r#"[{"message":"These operators may not run on the target, because they declare no valid maximum version: namespace/a, namespace/b","targets":">=4.9.0"}]"#);
    let strict = OlmPolicy { invalid: InvalidPolicy::Block, missing: MissingPolicy::Block };
    assert_eq!(report(operators(), "4.8", strict).get("notes"), None);
    assert_eq!(report(operators().split_off(2), "4.8", OlmPolicy::default()).get("notes"), None);
}

#[test]
fn ledger_reads_whole_report() {
    let mut operators: Vec<OlmOperator> =
        (0..60).map(|number| annotated(&format!("n{number:02}.v1.0.0"), "4.9")).collect();
    operators.push(annotated("quotes", &format!("4.x{}", "\"\\".repeat(500))));
    operators.push(annotated("next", "4.8"));
    let policy = OlmPolicy { invalid: InvalidPolicy::Block, ..OlmPolicy::default() };
    let report = report(operators, "4.8.0", policy);
    let operator = json!({
        "metadata": {"name": "operator-lifecycle-manager"}, "spec": {},
        "status": {"extension": report},
    });
    let risks = cluster_operators(&[serde_json::from_value(operator).unwrap()]);
    assert_eq!(risks.len(), 50);
    for (reported, risk) in risks.iter().zip(report["risks"].as_array().unwrap()) {
        assert_eq!(
            reported.source,
            RiskSource::RiskReport("operator-lifecycle-manager".to_owned())
        );
        assert!(matches!(reported.targets, AffectedUpdates::Range(_)), "{reported:?}");
        let read = (&*reported.risk.name, &*reported.risk.message, &*reported.risk.url);
        let written = ["name", "message", "url"].map(|field| risk[field].as_str().unwrap());
        assert_eq!(read, written.into());
    }
    let name = |risk: &Value| risk["name"].as_str().unwrap().to_owned();
    let published: BTreeSet<String> =
        report["risks"].as_array().unwrap().iter().map(name).collect();
    let ledger = Ledger::new("4.8.0", Vec::new(), risks);
    let kept: BTreeSet<String> = ledger.sources().into_keys().map(str::to_owned).collect();
    assert_eq!(kept, published, "no risk is replaced");
}
