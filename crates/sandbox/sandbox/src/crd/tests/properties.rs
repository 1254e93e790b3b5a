//! Properties that hold for all objects.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Crd, compiled, custom, everything};

/// Any JSON, with field names of the schema and others.
fn json_values() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(
        "name mode count list set map labels one template size a b apiVersion kind metadata port when"
            .split(' ')
            .collect::<Vec<_>>(),
    );
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-5..15_i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-zA-Z]{0,5}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 6, move |inner| {
        let field = (words.clone().prop_map(str::to_owned), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(Value::from),
            prop::collection::vec(field, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Objects that are likely valid.
fn specs() -> impl Strategy<Value = Value> {
    let item = ("[ab]", prop::option::of(0..3_i64)).prop_map(|(name, size)| match size {
        Some(size) => json!({ "name": name, "size": size }),
        None => json!({ "name": name, "size": null, "unknown": 1 }),
    });
    let list = prop::collection::vec("[ab]", 0..4);
    let map = prop::collection::vec(item, 0..3);
    ("[a-z]{1,5}", list.clone(), list, map, json_values()).prop_map(|(name, list, set, map, other)| {
        json!({ "name": name, "list": list, "set": set, "map": map, "unknown": other })
    })
}

proptest! {
    #[test]
    fn prune_and_default_are_idempotent(spec in prop_oneof![json_values(), specs()]) {
        let crd = compiled(&everything());
        let version = crd.storage();
        let mut once = json!({ "apiVersion": "example.dev/v1", "kind": "Thing", "spec": spec });
        version.prune(&mut once);
        let pruned = once.clone();
        version.prune(&mut once);
        prop_assert_eq!(&once, &pruned);
        version.default(&mut once);
        let defaulted = once.clone();
        version.default(&mut once);
        prop_assert_eq!(&once, &defaulted);
        version.prune(&mut once);
        prop_assert_eq!(&once, &defaulted);
    }

    #[test]
    fn validate_of_any_object_does_not_panic(object in json_values(), old in json_values(), spec in specs()) {
        let crd = compiled(&everything());
        let version = crd.storage();
        for object in [object.clone(), json!({ "spec": object })] {
            for old in [None, Some(&old), Some(&json!({ "spec": spec }))] {
                let mut object = object.clone();
                prop_assert!(version.validate(&object, old).len() <= 100);
                version.prune(&mut object);
                version.default(&mut object);
                version.retain_status(&mut object, old);
                version.with_status(&object, old.unwrap_or(&Value::Null));
                version.validate(&object, old);
            }
        }
    }

    #[test]
    fn stored_object_stays_valid(spec in specs()) {
        let crd = compiled(&everything());
        let version = crd.storage();
        let mut object = json!({ "spec": spec });
        version.prune(&mut object);
        version.default(&mut object);
        if version.validate(&object, None).is_empty() {
            let stored = object.clone();
            version.prune(&mut object);
            version.default(&mut object);
            prop_assert_eq!(&object, &stored);
            prop_assert_eq!(version.validate(&object, Some(&stored)), Vec::new());
        }
    }

    #[test]
    fn any_rule_and_pattern_does_not_panic(
        rule in prop_oneof![any::<String>(), r"[a-z.()\[\]{}!&|<>=+*/%?:, '0-9\\-]{0,30}", "(self|[.][a-c]|[(]|[)]|[.]all[(]x, | == | && |'|1|x){0,12}"],
        pattern in prop_oneof![any::<String>(), r"[a-c\[\](){}|?*+^$\\dwsbQE:&~-]{0,20}"],
    ) {
        let schema = json!({
            "type": "object",
            "properties": { "name": { "type": "string", "pattern": pattern } },
            "x-kubernetes-validations": [{ "rule": rule, "messageExpression": "'no'" }],
        });
        if let Ok(crd) = Crd::new(&custom(&schema)) {
            let object = json!({ "spec": { "name": "abc" } });
            crd.storage().validate(&object, Some(&object));
        }
    }
}
