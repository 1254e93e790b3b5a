//! Tables of patches and their results.

mod json;
mod properties;
mod strategic;

use serde_json::{Value, json};

use super::{PatchError, merge};

/// A patch with the expected object or HTTP status.
struct Example {
    what: &'static str,
    patch: Value,
    result: Result<Value, u16>,
}

fn gives(what: &'static str, patch: Value, result: Value) -> Example {
    Example { what, patch, result: Ok(result) }
}

fn fails(what: &'static str, patch: Value, code: u16) -> Example {
    Example { what, patch, result: Err(code) }
}

fn check(examples: Vec<Example>, apply: impl Fn(&Value) -> Result<Value, PatchError>) {
    for Example { what, patch, result } in examples {
        let applied = apply(&patch).map_err(|error| error.code());
        assert_eq!(applied, result, "{what}: {patch}");
    }
}

/// Nested lists.
fn nested(levels: usize) -> Value {
    (0..levels).fold(json!(1), |inner, _| json!([inner]))
}

#[test]
fn merge_patch_follows_rfc_7386() {
    let object = json!({ "a": { "b": 1, "c": [1, 2] }, "d": "x" });
    let examples = vec![
        gives("nothing", json!({}), object.clone()),
        gives("a value", json!({ "d": 2 }), json!({ "a": { "b": 1, "c": [1, 2] }, "d": 2 })),
        gives("null deletes", json!({ "a": null, "zz": null }), json!({ "d": "x" })),
        gives(
            "lists are replaced",
            json!({ "a": { "b": null, "c": [3] } }),
            json!({ "a": { "c": [3] }, "d": "x" }),
        ),
        gives(
            "nulls of new objects go",
            json!({ "d": { "e": null, "f": 1 } }),
            json!({ "a": { "b": 1, "c": [1, 2] }, "d": { "f": 1 } }),
        ),
        fails("no object", json!([1]), 400),
        fails("too deep", json!({ "a": nested(100) }), 400),
    ];
    check(examples, |patch| merge(patch, &object));
    assert!(merge(&json!({ "a": nested(99) }), &object).is_ok());
}
