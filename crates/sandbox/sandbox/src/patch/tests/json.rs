use serde_json::{Value, json};

use super::{check, fails, gives, nested};
use crate::patch::json as apply;

fn object() -> Value {
    json!({ "m": { "a": "1", "b~/": 2 }, "l": [1, 2] })
}

#[test]
fn json_patch_operations() {
    let op =
        |op: &str, path: &str, value: Value| json!([{ "op": op, "path": path, "value": value }]);
    let from = |op: &str, from: &str, path: &str| json!([{ "op": op, "from": from, "path": path }]);
    let list = |list: Value| json!({ "m": { "a": "1", "b~/": 2 }, "l": list });
    let map = |map: Value| json!({ "m": map, "l": [1, 2] });
    let examples = vec![
        gives("no patch", json!(null), object()),
        gives("no operation", json!([]), object()),
        gives(
            "add a field",
            op("add", "/m/c", json!(3)),
            map(json!({ "a": "1", "b~/": 2, "c": 3 })),
        ),
        gives("add over a field", op("add", "/m/a", json!(3)), map(json!({ "a": 3, "b~/": 2 }))),
        gives(
            "add without value",
            json!([{ "op": "add", "path": "/m", "more": 1 }]),
            map(json!(null)),
        ),
        gives("add at the end", op("add", "/l/-", json!(3)), list(json!([1, 2, 3]))),
        gives("add at the front", op("add", "/l/0", json!(3)), list(json!([3, 1, 2]))),
        gives("add behind", op("add", "/l/2", json!(3)), list(json!([1, 2, 3]))),
        gives("add from the end", op("add", "/l/-2", json!(3)), list(json!([1, 3, 2]))),
        gives("add before all", op("add", "/l/-3", json!(3)), list(json!([3, 1, 2]))),
        fails("add beyond", op("add", "/l/3", json!(3)), 422),
        fails("add before the front", op("add", "/l/-4", json!(3)), 422),
        fails("add into nothing", op("add", "/x/a", json!(3)), 422),
        fails("add into a value", op("add", "/m/a/a", json!(3)), 422),
        fails("add the whole", op("add", "", json!({})), 422),
        fails("a path without slash", op("add", "m", json!({})), 422),
        gives("remove a field", op("remove", "/m/b~0~1", json!(0)), map(json!({ "a": "1" }))),
        gives("remove from the end", op("remove", "/l/-1", json!(0)), list(json!([1]))),
        gives("numbers as they come", op("remove", "/l/01", json!(0)), list(json!([1]))),
        fails("remove nothing", op("remove", "/m/x", json!(0)), 422),
        fails("remove behind", op("remove", "/l/-", json!(0)), 422),
        fails("remove no index", op("remove", "/l/x", json!(0)), 422),
        gives("replace", op("replace", "/l/1", json!(9)), list(json!([1, 9]))),
        fails("replace nothing", op("replace", "/m/x", json!(9)), 422),
        gives("move", from("move", "/m/a", "/l/0"), json!({ "m": { "b~/": 2 }, "l": ["1", 1, 2] })),
        gives("move to itself", from("move", "/m/a", "/m/a"), object()),
        fails("move into itself", from("move", "/m", "/m/x"), 422),
        fails("move nothing", from("move", "/m/x", "/m/y"), 422),
        fails("move from nowhere", json!([{ "op": "move", "path": "/m/y" }]), 422),
        gives("copy", from("copy", "/l", "/m"), map(json!([1, 2]))),
        fails("copy nothing", from("copy", "/m/x", "/m/y"), 422),
        gives("test", op("test", "/l", json!([1, 2])), object()),
        gives("test what is not there", op("test", "/m/x", json!(null)), object()),
        fails("test another value", op("test", "/m/a", json!("2")), 422),
        fails("test another type", op("test", "/l/0", json!(1.0)), 422),
        fails("test nothing", op("test", "/x/y", json!(null)), 422),
        fails("an unknown operation", op("invent", "/m/a", json!(1)), 422),
        fails("no operation at all", json!([{ "path": "/m/a" }]), 422),
        fails("a path that is not a string", json!([{ "op": "add", "path": 5 }]), 422),
        fails("an operation that is no object", json!([5]), 400),
        fails("no list", json!({}), 400),
        fails(
            "all or nothing",
            json!([{ "op": "add", "path": "/m/c" }, { "op": "remove", "path": "/x" }]),
            422,
        ),
    ];
    check(examples, |patch| apply(patch, &object()));
}

#[test]
fn json_patch_limits() {
    let many =
        |count: usize| json!(vec![json!({ "op": "test", "path": "/l/0", "value": 1 }); count]);
    let add = json!({ "op": "add", "path": "/x", "value": { "y": "z".repeat(100_000) } });
    let copies = (0..40).map(|n| json!({ "op": "copy", "from": "/x/y", "path": format!("/c{n}") }));
    let doubling =
        (0..60).map(|n| json!({ "op": "copy", "from": "/x", "path": format!("/x/{n}") }));
    let moves = (0..1000).map(|n| {
        json!({ "op": "move", "from": format!("/x{}", n % 2), "path": format!("/x{}", (n + 1) % 2) })
    });
    let nesting = (0..500).flat_map(|_| {
        [
            json!({ "op": "add", "path": "/n", "value": {} }),
            json!({ "op": "move", "from": "/m", "path": "/n/m" }),
            json!({ "op": "move", "from": "/n", "path": "/m" }),
        ]
    });
    let with = |first: &Value, more: &mut dyn Iterator<Item = Value>| {
        Value::Array([first.clone()].into_iter().chain(more).collect())
    };
    let big = json!({ "op": "add", "path": "/x0", "value": "z".repeat(100_000) });
    let examples = vec![
        gives("as many as allowed", many(10_000), object()),
        fails("one more", many(10_001), 413),
        fails("copies", with(&add, &mut copies.into_iter()), 422),
        fails("doubling copies", with(&add, &mut doubling.into_iter()), 422),
        fails("moves", with(&big, &mut moves.into_iter()), 422),
        fails("nesting by moves", Value::Array(nesting.collect()), 422),
        fails("a deep value", json!([{ "op": "add", "path": "/x", "value": nested(100) }]), 422),
    ];
    check(examples, |patch| apply(patch, &object()));
}

#[test]
fn json_patch_error_names_operation() {
    let patch =
        json!([{ "op": "test", "path": "/l/0", "value": 1 }, { "op": "remove", "path": "/m/x" }]);
    let error = apply(&patch, &object()).unwrap_err();
    insta::assert_snapshot!(error, @r#"operation 1 (remove "/m/x"): "x" does not exist"#);
}
