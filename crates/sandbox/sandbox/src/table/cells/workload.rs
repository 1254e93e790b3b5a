//! What keeps pods running.

use serde_json::{Value, json};

use crate::table::age::{human_duration, seconds_between};
use crate::table::subject::{NONE, Subject};

pub(in crate::table) fn deployment(it: Subject<'_>) -> Vec<Value> {
    let cells = vec![
        it.name(),
        ready(it),
        json!(it.number("/status/updatedReplicas")),
        json!(it.number("/status/availableReplicas")),
        it.age(),
    ];
    with_containers(cells, it, "/spec/template", Some("/spec/selector"))
}

pub(in crate::table) fn replica_set(it: Subject<'_>) -> Vec<Value> {
    let cells = vec![
        it.name(),
        json!(it.number_or("/spec/replicas", 1)),
        json!(it.number("/status/replicas")),
        json!(it.number("/status/readyReplicas")),
        it.age(),
    ];
    with_containers(cells, it, "/spec/template", Some("/spec/selector"))
}

pub(in crate::table) fn stateful_set(it: Subject<'_>) -> Vec<Value> {
    with_containers(vec![it.name(), ready(it), it.age()], it, "/spec/template", None)
}

pub(in crate::table) fn daemon_set(it: Subject<'_>) -> Vec<Value> {
    let number = |field: &str| json!(it.number(&format!("/status/{field}")));
    let cells = vec![
        it.name(),
        number("desiredNumberScheduled"),
        number("currentNumberScheduled"),
        number("numberReady"),
        number("updatedNumberScheduled"),
        number("numberAvailable"),
        json!(it.labels("/spec/template/spec/nodeSelector")),
        it.age(),
    ];
    with_containers(cells, it, "/spec/template", Some("/spec/selector"))
}

pub(in crate::table) fn job(it: Subject<'_>) -> Vec<Value> {
    let cells = vec![it.name(), json!(completions(it)), json!(duration(it)), it.age()];
    with_containers(cells, it, "/spec/template", Some("/spec/selector"))
}

pub(in crate::table) fn cron_job(it: Subject<'_>) -> Vec<Value> {
    let suspend = match it.value("/spec/suspend").as_bool() {
        None => "<unset>",
        Some(true) => "True",
        Some(false) => "False",
    };
    let last = match it.text("/status/lastScheduleTime") {
        "" => NONE.to_owned(),
        _ => it.age_of("/status/lastScheduleTime"),
    };
    let cells = vec![
        it.name(),
        json!(it.text("/spec/schedule")),
        json!(suspend),
        json!(it.count("/status/active")),
        json!(last),
        it.age(),
    ];
    with_containers(
        cells,
        it,
        "/spec/jobTemplate/spec/template",
        Some("/spec/jobTemplate/spec/selector"),
    )
}

pub(in crate::table) fn disruption_budget(it: Subject<'_>) -> Vec<Value> {
    let bound = |path: &str| match it.value(path) {
        Value::String(text) => json!(text),
        Value::Number(number) => json!(number.to_string()),
        _ => json!("N/A"),
    };
    vec![
        it.name(),
        bound("/spec/minAvailable"),
        bound("/spec/maxUnavailable"),
        json!(it.number("/status/disruptionsAllowed")),
        it.age(),
    ]
}

fn ready(it: Subject<'_>) -> Value {
    let (ready, wanted) = (it.number("/status/readyReplicas"), it.number_or("/spec/replicas", 1));
    json!(format!("{ready}/{wanted}"))
}

fn with_containers(
    mut cells: Vec<Value>,
    it: Subject<'_>,
    template: &str,
    selector: Option<&str>,
) -> Vec<Value> {
    let containers = format!("{template}/spec/containers");
    cells.push(json!(it.texts_of(&containers, "name").join(",")));
    cells.push(json!(it.texts_of(&containers, "image").join(",")));
    cells.extend(selector.map(|selector| json!(it.selector(selector))));
    cells
}

fn completions(it: Subject<'_>) -> String {
    let done = it.number("/status/succeeded");
    let parallelism = it.number("/spec/parallelism");
    match it.value("/spec/completions").as_i64() {
        Some(wanted) => format!("{done}/{wanted}"),
        None if parallelism > 1 => format!("{done}/1 of {parallelism}"),
        None => format!("{done}/1"),
    }
}

/// From the start to the completion, or until now; nothing for what has not started.
fn duration(it: Subject<'_>) -> String {
    let time = |path: &str| it.text(path).parse().ok();
    let Some(start) = time("/status/startTime") else { return String::new() };
    human_duration(seconds_between(start, time("/status/completionTime").unwrap_or(it.now)))
}
