//! The risk report.

use std::collections::BTreeSet;

use fairway_compat::Minor;
use fairway_compat::olm::apis::Needs;
use fairway_compat::olm::{
    Declaration, Guard, InvalidPolicy, MissingPolicy, Operator, Origin, Policy, Stream,
};
use fairway_risk::sources::cluster_operators;
use fairway_risk::{Ledger, Source, Targets};
use serde_json::{Value, json};

use super::{annotated, silent};

fn report(operators: Vec<Operator>, running: &str, policy: Policy) -> Value {
    let guard = Guard::new(operators, Stream::parse(running).unwrap(), policy);
    guard.published().extension.unwrap()
}

/// `name targets: message`, a line for each.
fn told(report: &Value) -> String {
    let risks = report["risks"].as_array().unwrap().iter().map(|risk| {
        let field = |name: &str| risk[name].as_str().unwrap().to_owned();
        format!("{} {}: {}", field("name"), field("targets"), field("message"))
    });
    risks.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_operator_says_which_targets_it_stands_against() {
    let operators = || {
        vec![
            annotated("next.v1", "4.8"),
            annotated("skip-level.v1", "4.9"),
            annotated("renamed.v1", "4.23"),
            annotated("behind.v1", "4.6"),
            annotated("wrong.v1", "4.x"),
            silent("silent.v1"),
        ]
    };
    insta::assert_snapshot!(told(&report(operators(), "4.8.0", Policy::default())), @"
    OperatorWillNotRun-namespace:behind.v1 >=4.9.0: The operator namespace/behind.v1 does not support versions after 4.6 (declared by annotation operators.coreos.com/maxOpenShiftVersion), and the cluster already runs 4.8.
    OperatorWillNotRun-namespace:next.v1 >=4.9.0: The operator namespace/next.v1 does not support versions after 4.8 (declared by annotation operators.coreos.com/maxOpenShiftVersion).
    OperatorWillNotRun-namespace:skip-level.v1 >=4.10.0: The operator namespace/skip-level.v1 does not support versions after 4.9 (declared by annotation operators.coreos.com/maxOpenShiftVersion).
    OperatorWillNotRun-namespace:renamed.v1 >=5.1.0: The operator namespace/renamed.v1 does not support versions after 4.23 (declared by annotation operators.coreos.com/maxOpenShiftVersion).
    ");
    let strict = Policy { invalid: InvalidPolicy::Block, missing: MissingPolicy::Block };
    insta::assert_snapshot!(told(&report(operators().split_off(4), "4.8.0", strict)), @r#"
    OperatorWillNotRun-namespace:silent.v1 >=4.9.0: The operator namespace/silent.v1 declares no maximum version, and the OLM guard requires one.
    OperatorWillNotRun-namespace:wrong.v1 >=4.9.0: The operator namespace/wrong.v1 declares an invalid maximum version: failed to parse "4.x" as semver: unexpected character 'x' while parsing minor version number.
    "#);
}

#[test]
fn apis_that_go_are_risks_of_their_own() {
    let needs = Needs::read(&json!({"metadata": {"namespace": "namespace"}, "spec": {
        "nativeAPIs": [{"group": "policy", "version": "v1beta1", "kind": "PodSecurityPolicy"}],
    }}));
    let operator = annotated("etcd.v1", "4.12").using(&needs, Stream::new(4, 8));
    insta::assert_snapshot!(told(&report(vec![operator], "4.8.0", Policy::default())), @"
    OperatorApisMissing-namespace:etcd.v1 >=4.12.0: The operator namespace/etcd.v1 may stop working on 4.12: it uses an API that the target does not serve: podsecuritypolicies.v1beta1.policy (required; no replacement).
    OperatorWillNotRun-namespace:etcd.v1 >=4.13.0: The operator namespace/etcd.v1 does not support versions after 4.12 (declared by annotation operators.coreos.com/maxOpenShiftVersion).
    ");
}

#[test]
fn where_it_cannot_be_told_that_is_noted_and_no_risk() {
    let using = |name: &str, resource: &str| {
        let rules = json!([{"apiGroups": ["batch"], "resources": [resource]}]);
        let needs = Needs::read(&json!({"spec": {
            "install": {"spec": {"permissions": [{"serviceAccountName": "a", "rules": rules}]}},
        }}));
        annotated(name, "4.20").using(&needs, Stream::new(4, 11))
    };
    let noted = |operators| {
        let report = report(operators, "4.11.0", Policy::default());
        let about_apis = |risk: &Value| risk["name"].to_string().contains("Apis");
        assert!(!report["risks"].as_array().unwrap().iter().any(about_apis), "{report}");
        report.get("notes").cloned()
    };
    assert_eq!(noted(vec![using("exact", "jobs")]), None);
    let [wild, unversioned] = [using("wild", "*"), using("unversioned", "cronjobs")];
    insta::assert_snapshot!(noted(vec![wild.clone()]).unwrap(), @r#"[{"message":"Unknown for 1 operator whether all required APIs are served, because permissions contain wildcards or no versions. For details, run `fairway olm list -o json`","targets":">=4.12.0"}]"#);
    let both = noted(vec![wild, unversioned]).unwrap();
    assert!(both[0]["message"].as_str().unwrap().starts_with("Unknown for 2 operators "), "{both}");
}

#[test]
fn apis_that_go_some_time_are_noted() {
    let needs = Needs::read(&json!({"metadata": {"namespace": "namespace"}, "spec": {
        "nativeAPIs": [
            {"group": "flowcontrol.apiserver.k8s.io", "version": "v1beta3", "kind": "FlowSchema"},
        ],
    }}));
    let running = Stream::new(5, 1);
    let on = |kubernetes: &str| {
        let kubernetes = Minor::parse(kubernetes).unwrap();
        let operator = annotated("flows.v1", "5.9").using(&needs, running);
        let operator = operator.using_on(&needs, kubernetes);
        report(vec![operator], "5.1.0", Policy::default())
    };
    let ahead = on("1.31");
    assert_eq!(ahead["notes"][0]["targets"], ">=5.2.0");
    insta::assert_snapshot!(ahead["notes"][0]["message"].as_str().unwrap(), @"These operators may stop working with a later Kubernetes version (the release that contains it is unknown): namespace/flows.v1 with Kubernetes 1.32: it uses an API that the target does not serve: flowschemas.v1beta3.flowcontrol.apiserver.k8s.io (required; replaced by flowcontrol.apiserver.k8s.io/v1)");
    assert!(on("1.32").get("notes").is_none(), "it is gone already");
}

#[test]
fn whatever_catalogs_are_called_a_report_can_be_read() {
    let hostile = "\u{1}".repeat(2000);
    let operators = (0..60).map(|number| {
        let catalog = Declaration::Maximum(Stream::new(4, 7), Origin::Catalog(hostile.clone()));
        annotated(&format!("{}{number:02}", "n".repeat(200)), "4.8").updated_by(&catalog)
    });
    let report = report(operators.collect(), "4.8.0", Policy::default());
    assert_eq!(report["risks"].as_array().unwrap().len(), 50);
    assert!(report.to_string().len() <= 64 << 10, "{}", report.to_string().len());
}

#[test]
fn what_has_no_room_is_one_risk_together() {
    let mut operators: Vec<Operator> =
        (0..60).map(|number| annotated(&format!("n{number:02}"), "4.9")).collect();
    operators.push(annotated(&"long.".repeat(60), "4.8"));
    let report = report(operators, "4.8.0", Policy::default());
    let risks = report["risks"].as_array().unwrap();
    assert_eq!(risks.len(), 50);
    assert_eq!(risks[49]["name"], "OperatorWillNotRun-more");
    assert_eq!(risks[49]["targets"], ">=4.9.0", "the first target of all of them");
    assert!(report.to_string().len() < 64 << 10);
}

#[test]
fn where_nothing_is_known_that_is_noted_and_no_risk() {
    let operators = || vec![silent("a"), annotated("b", "x"), annotated("c", "4.9")];
    let loose = report(operators(), "4.8", Policy::default());
    assert_eq!(loose["risks"].as_array().map(Vec::len), Some(1), "of c alone");
    insta::assert_snapshot!(loose["notes"], @r#"[{"message":"These operators may not run on the target, because they declare no valid maximum version: namespace/a, namespace/b","targets":">=4.9.0"}]"#);
    let strict = Policy { invalid: InvalidPolicy::Block, missing: MissingPolicy::Block };
    assert_eq!(report(operators(), "4.8", strict).get("notes"), None);
    assert_eq!(report(operators().split_off(2), "4.8", Policy::default()).get("notes"), None);
}

#[test]
fn the_ledger_reads_every_word_of_it() {
    let mut operators: Vec<Operator> =
        (0..60).map(|number| annotated(&format!("n{number:02}.v1.0.0"), "4.9")).collect();
    operators.push(annotated("quotes", &format!("4.x{}", "\"\\".repeat(500))));
    operators.push(annotated("next", "4.8"));
    let policy = Policy { invalid: InvalidPolicy::Block, ..Policy::default() };
    let report = report(operators, "4.8.0", policy);
    let operator = json!({
        "metadata": {"name": "operator-lifecycle-manager"}, "spec": {},
        "status": {"extension": report},
    });
    let concerns = cluster_operators(&[serde_json::from_value(operator).unwrap()]);
    assert_eq!(concerns.len(), 50);
    for (concern, risk) in concerns.iter().zip(report["risks"].as_array().unwrap()) {
        assert_eq!(concern.source, Source::RiskReport("operator-lifecycle-manager".to_owned()));
        assert!(matches!(concern.targets, Targets::Range(_)), "{concern:?}");
        let read = (&*concern.risk.name, &*concern.risk.message, &*concern.risk.url);
        let written = ["name", "message", "url"].map(|field| risk[field].as_str().unwrap());
        assert_eq!(read, written.into());
    }
    let name = |risk: &Value| risk["name"].as_str().unwrap().to_owned();
    let published: BTreeSet<String> =
        report["risks"].as_array().unwrap().iter().map(name).collect();
    let ledger = Ledger::new("4.8.0", Vec::new(), concerns);
    let kept: BTreeSet<String> = ledger.sources().into_keys().map(str::to_owned).collect();
    assert_eq!(kept, published, "nothing needs a stand-in");
}
