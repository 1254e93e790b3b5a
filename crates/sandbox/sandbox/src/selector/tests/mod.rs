//! Tables of selectors and their results.

use std::fmt::Write;

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn object() -> Value {
    json!({
        "metadata": {
            "name": "a,b", "namespace": "n",
            "labels": { "app": "web", "tier": "", "n": "7", "example.com/x": "in", "in": "notin" },
        },
        "spec": { "nodeName": "", "unschedulable": true, "replicas": 3 },
        "status": { "phase": "Running" },
    })
}

fn matches(selector: &str) -> bool {
    LabelSelector::parse(selector).unwrap().matches(&object())
}

#[test]
fn label_selector_matches() {
    #[rustfmt::skip]
    let selectors = [
        "", " ", "app", "app=web", "app==web", "app = web", "app!=db", "absent!=x", "!absent",
        "app in (web,db)", "app in(web)", "app notin (db)", "absent notin (db)", "n>6", "n<8",
        "n > 6 , n < 8", "tier=", "tier==,app", "tier in ()", "tier in (,)", "tier in (x,)",
        "tier in (,x)", "tier in (x,,y)", "example.com/x=in", "example.com/x in (in)", "in",
        "in in (notin)", "in notin (in)", "in=notin", "!notin", "app\t=\r\nweb", "absent!=",
        "\0garbage", "app=web\0", "app\0=web",
    ];
    for selector in selectors {
        assert!(matches(selector), "{selector:?}");
    }
}

#[test]
fn label_selector_with_unmet_requirement_does_not_match() {
    #[rustfmt::skip]
    let selectors = [
        "absent", "!app", "app=", "app=db", "app!=web", "app in (db)", "app notin (web)",
        "app in ()", "n>7", "n<7", "app>1", "absent<1", "tier!=", "tier notin ()", "app,absent",
    ];
    for selector in selectors {
        assert!(!matches(selector), "{selector:?}");
    }
}

#[test]
fn invalid_label_selectors_are_refused() {
    let mut errors = String::new();
    #[rustfmt::skip]
    let selectors = [
        ",", "app,", ",app", "app,,tier", "=", "=web", "!", "!!app", "!app=web", "app web",
        "app=web tier", "app=!web", "app===web", "app>=1", "app=>1", "app in", "app in web",
        "app in (", "app in (web", "app in (web,", "app in (web db)", "app in ((web))", "app in )",
        "app in (web))", "app notin", "(app)", "app>", "app>x", "app>-1", "app<1.5",
        "app>99999999999999999999", "-app", "app-", "a/b/c", "/app", "app/", "UP/x", "a_b/x",
        "x..y/z", "app=-", "app=we/b", "app=ü", "ü", "app in (web,-)", "a\0b", "app!web",
    ];
    for selector in selectors {
        let error = LabelSelector::parse(selector).expect_err(selector);
        let position = match &error {
            LabelSelectorError::Unexpected { position, .. }
            | LabelSelectorError::Requirement { position, .. } => *position,
            LabelSelectorError::TooLong { .. } => unreachable!(),
        };
        assert!(selector.is_char_boundary(position), "{selector:?}: {position}");
        let text: String = error.to_string().chars().take(110).collect();
        writeln!(errors, "{selector:?} at {position}: {text}").unwrap();
    }
    insta::assert_snapshot!(errors);
}

#[test]
fn label_selector_limits_keys_and_values() {
    let long = |n: usize| "a".repeat(n);
    let fits = [long(63), format!("{}/{}", long(253), long(63)), format!("a={}", long(63))];
    for selector in fits {
        assert!(LabelSelector::parse(&selector).is_ok(), "{selector}");
    }
    let too_long = [
        long(64),
        format!("{}/a", long(254)),
        format!("a={}", long(64)),
        format!("a in ({})", long(64)),
    ];
    for selector in too_long {
        assert!(LabelSelector::parse(&selector).is_err(), "{selector}");
    }
}

#[test]
fn selectors_are_bounded() {
    let length = MAX_LENGTH + 1;
    let text = " ".repeat(length);
    assert_eq!(LabelSelector::parse(&text), Err(LabelSelectorError::TooLong { length }));
    let error = FieldSelector::parse(&text, &Field::METADATA);
    assert_eq!(error, Err(FieldSelectorError::TooLong { length }));

    let many = |n: usize, term: &str| vec![term; n].join(",");
    assert!(LabelSelector::parse(&many(MAX_REQUIREMENTS, "a")).is_ok());
    assert!(LabelSelector::parse(&many(MAX_REQUIREMENTS + 1, "a")).is_err());
    let fields = |n| FieldSelector::parse(&many(n, "metadata.name=a"), &Field::METADATA);
    assert!(fields(MAX_REQUIREMENTS).is_ok());
    assert_eq!(fields(MAX_REQUIREMENTS + 1), Err(FieldSelectorError::TooMany));
}

fn structured(selector: Value) -> Result<LabelSelector, RequirementError> {
    let selector: meta::LabelSelector = serde_json::from_value(selector).unwrap();
    LabelSelector::from_structured(&selector)
}

#[test]
fn label_selector_from_structured_matches_as_text() {
    let term = |key: &str, operator: &str, values: Value| json!({ "matchExpressions": [{ "key": key, "operator": operator, "values": values }] });
    for (selector, selects) in [
        (json!({}), true),
        (json!({ "matchLabels": { "app": "web", "tier": "" } }), true),
        (json!({ "matchLabels": { "app": "db" } }), false),
        (term("app", "In", json!(["web", "db"])), true),
        (term("app", "NotIn", json!(["web"])), false),
        (term("absent", "NotIn", json!(["web"])), true),
        (term("app", "Exists", json!([])), true),
        (term("app", "DoesNotExist", json!(null)), false),
    ] {
        assert_eq!(structured(selector.clone()).unwrap().matches(&object()), selects, "{selector}");
    }
    for selector in [
        json!({ "matchLabels": { "-": "web" } }),
        json!({ "matchLabels": { "app": "-" } }),
        term("app", "In", json!([])),
        term("app", "NotIn", json!(null)),
        term("app", "Exists", json!(["web"])),
        term("app", "Gt", json!(["1"])),
        term("app", "in", json!(["web"])),
    ] {
        structured(selector.clone()).expect_err(&selector.to_string());
    }
}

const FIELDS: [Field; 6] = [
    Field::at("metadata.name"),
    Field::at("metadata.namespace"),
    Field::at("status.phase"),
    Field::at("spec.nodeName"),
    Field::named("spec.unschedulable", "spec.unschedulable", "false"),
    Field::named("status.successful", "status.succeeded", "0"),
];

#[test]
fn field_selector_matches() {
    for (selector, selects) in [
        ("", true),
        (",,", true),
        ("=", true),
        ("!=", true),
        ("==,metadata.namespace!=n", false),
        ("metadata.namespace=n", true),
        ("metadata.namespace==n", true),
        ("metadata.namespace!=n", false),
        ("metadata.namespace=n,status.phase=Running", true),
        ("metadata.namespace=n,status.phase!=Running", false),
        ("metadata.namespace=n,", true),
        (r"metadata.name=a\,b", true),
        (r"metadata.name=a\\b", false),
        (r"metadata.name!=a\=b", true),
        ("spec.nodeName=", true),
        ("spec.nodeName!=", false),
        ("spec.unschedulable=true", true),
        ("spec.unschedulable=false", false),
        ("status.successful=0", true),
        ("metadata.namespace= n", false),
    ] {
        let parsed = FieldSelector::parse(selector, &FIELDS).unwrap();
        assert_eq!(parsed.matches(&object()), selects, "{selector}");
    }
}

#[test]
fn invalid_field_selectors_are_refused() {
    let mut errors = String::new();
    for selector in [
        "metadata.name",
        "metadata.name,metadata.namespace=n",
        "=x",
        "!=x",
        "metadata.name>x",
        "metadata.uid=x",
        "metadata.name =x",
        "Metadata.name=x",
        r"metadata.name=\a",
        r"metadata.name=a\",
        "metadata.name=a=b",
        "metadata.name===b",
        "ü=ü",
        "status.succeeded=0",
    ] {
        let error = FieldSelector::parse(selector, &FIELDS).expect_err(selector);
        writeln!(errors, "{selector}\n    {error}").unwrap();
    }
    insta::assert_snapshot!(errors);
}

#[test]
fn exact_with_equality_returns_value() {
    let of = |text| FieldSelector::parse(text, &FIELDS).unwrap();
    let name = "metadata.name";
    assert_eq!(of("metadata.name=x").exact(name), Some("x"));
    assert_eq!(of("status.phase=y,metadata.name==x").exact(name), Some("x"));
    assert_eq!(of("metadata.name!=x").exact(name), None);
    assert_eq!(of("").exact(name), None);
}

#[test]
fn field_selector_of_crd_field_matches() {
    let color = Field::of_json_path(".spec.nodeName");
    assert_eq!(color.label(), "spec.nodeName");
    let selector = FieldSelector::parse("spec.nodeName=", &[color]).unwrap();
    assert!(selector.matches(&object()));
}

proptest! {
    #[test]
    fn parse_of_any_text_does_not_panic(text in "[ab,=!<>()\\\\ \0ü./innot0-9-]{0,40}|\\PC{0,40}") {
        let object = object();
        let _ = LabelSelector::parse(&text).map(|selector| selector.matches(&object));
        let _ = FieldSelector::parse(&text, &FIELDS).map(|selector| selector.matches(&object));
    }

    #[test]
    fn label_selector_operators_agree_with_equality(
        key in "[a-z]([a-z0-9.-]{0,9}[a-z0-9])?",
        value in "[a-zA-Z0-9]([a-zA-Z0-9_.-]{0,9}[a-zA-Z0-9])?",
        other in "[a-zA-Z0-9]{1,9}",
    ) {
        let object = json!({ "metadata": { "labels": { key.clone(): value.clone() } } });
        let selects = |text: String| LabelSelector::parse(&text).map(|it| it.matches(&object));
        let same = value == other;
        prop_assert_eq!(selects(format!("{key}={value}")), Ok(true));
        prop_assert_eq!(selects(format!("{key}={other}")), Ok(same));
        prop_assert_eq!(selects(format!("{key}!={other}")), Ok(!same));
        prop_assert_eq!(selects(format!("{key} in ({other}, {value})")), Ok(true));
        prop_assert_eq!(selects(format!("{key} notin ({other})")), Ok(!same));
        prop_assert_eq!(selects(format!("{key},!{key}")), Ok(false));
    }
}
