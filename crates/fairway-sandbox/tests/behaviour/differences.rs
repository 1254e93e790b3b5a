//! Where the real cluster of the tests is too old to behave as the sandbox does.
//!
//! The sandbox follows Kubernetes 1.33, the real cluster is 1.20. What they do differently is
//! here and nowhere else, found out by what a server does and not by which one it is.

use std::sync::LazyLock;

use anyhow::Result;
use regex::Regex;
use serde_json::{Value, json};

use crate::support::{Case, DEFINITIONS, widgets};

/// What old servers say, and what new ones say instead.
static WORDS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let table = [
        // Values of a wrong type have a reason of their own since 1.27.
        (r"FieldValueInvalid (.*) must be of type", "FieldValueTypeInvalid $1 must be of type"),
        // So have texts that are too long, …
        (
            r#"FieldValueInvalid (\S+): Invalid value: "[^"]*": \S+ in body should be at most ([0-9]+) chars long"#,
            "FieldValueTooLong $1: Too long: may not be more than $2 bytes",
        ),
        // … whose limit is told in other words since 1.32, …
        (r"Too long: must have at most ([0-9]+) bytes", "Too long: may not be more than $1 bytes"),
        // … and lists.
        (
            r"FieldValueInvalid (\S+): Invalid value: ([0-9]+): \S+ in body should have at most ([0-9]+) items",
            "FieldValueTooMany $1: Too many: $2: must have at most $3 items",
        ),
        // A sentence that was no English before 1.21.
        (r"must to greater or equal than 0", "must be greater than or equal to 0"),
    ];
    table.map(|(old, new)| (Regex::new(old).expect("a pattern"), new)).into()
});

/// What a server said, in the words of new servers.
pub(crate) fn in_new_words(said: &str) -> String {
    WORDS.iter().fold(said.to_owned(), |said, (old, new)| old.replace_all(&said, *new).into_owned())
}

/// Whether definitions may have rules (`x-kubernetes-validations`): since 1.25 without being
/// switched on. Older servers pass over them.
pub(crate) async fn has_rules(case: &Case) -> Result<bool> {
    let rules = json!([{ "rule": "true" }]);
    let schema = json!({ "type": "object", "x-kubernetes-validations": rules });
    let path = format!("{DEFINITIONS}?dryRun=All");
    let defined = case.create(&path, &widgets(case.ns(), &schema)).await?.object()?;
    let schema = &defined["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    Ok(schema["properties"]["spec"]["x-kubernetes-validations"] == rules)
}

/// Whether a server passed over a field that is newer than itself: `suspend` of a Job came with
/// 1.21, `ttlSecondsAfterFinished` counts since 1.21 without being switched on.
pub(crate) fn drops(spec: &Value, field: &str) -> bool {
    spec[field].is_null()
}
