//! Events, which have other names for their fields in each of their groups.

use serde_json::{Value, json};

use crate::table::subject::Subject;

struct Names {
    first: &'static str,
    last: &'static str,
    count: &'static str,
    object: &'static str,
    source: &'static str,
    reporter: &'static str,
    message: &'static str,
}

pub(in crate::table) fn core(it: Subject<'_>) -> Vec<Value> {
    cells(
        it,
        &Names {
            first: "/firstTimestamp",
            last: "/lastTimestamp",
            count: "/count",
            object: "/involvedObject",
            source: "/source",
            reporter: "/reportingComponent",
            message: "/message",
        },
    )
}

pub(in crate::table) fn new(it: Subject<'_>) -> Vec<Value> {
    cells(
        it,
        &Names {
            first: "/deprecatedFirstTimestamp",
            last: "/deprecatedLastTimestamp",
            count: "/deprecatedCount",
            object: "/regarding",
            source: "/deprecatedSource",
            reporter: "/reportingController",
            message: "/note",
        },
    )
}

fn cells(it: Subject<'_>, names: &Names) -> Vec<Value> {
    let first = if it.text(names.first).is_empty() { "/eventTime" } else { names.first };
    let series = it.fields("/series").is_some();
    let last = match it.text(names.last) {
        _ if series => "/series/lastObservedTime",
        "" => first,
        _ => names.last,
    };
    // A series counts what came after the first one.
    let count = if series {
        it.number("/series/count").saturating_add(1)
    } else {
        it.number(names.count).max(1)
    };
    vec![
        json!(it.age_of(last)),
        json!(it.text("/type")),
        json!(it.text("/reason")),
        json!(object(it, names.object)),
        json!(it.text(&format!("{}/fieldPath", names.object))),
        json!(source(it, names)),
        json!(it.text(names.message).trim()),
        json!(it.age_of(first)),
        json!(count),
        it.name(),
    ]
}

fn object(it: Subject<'_>, path: &str) -> String {
    let kind = it.text(&format!("{path}/kind")).to_lowercase();
    match it.text(&format!("{path}/name")) {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

fn source(it: Subject<'_>, names: &Names) -> String {
    let component = it.text_or(&format!("{}/component", names.source), it.text(names.reporter));
    match it.text_or(&format!("{}/host", names.source), it.text("/reportingInstance")) {
        "" => component.to_owned(),
        host => format!("{component}, {host}"),
    }
}
