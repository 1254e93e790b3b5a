//! What operators ask: is it alive, is it ready, how is it.

use std::sync::Arc;

use bytes::Bytes;
use fairway_clock::now;
use http::StatusCode;
use serde::Serialize;

use super::{Answer, reply};
use crate::state::State;
use crate::status::Status;

const TEXT: &str = "text/plain; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What is quarantined and shown. Real graph-data has none; who has more needs no complete list.
const MAX_SHOWN: usize = 1_000;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    ready: bool,
    /// How old what is served may be.
    age_seconds: Option<i64>,
    #[serde(flatten)]
    status: Status,
    /// What is quarantined and not shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    more_quarantined: Option<usize>,
}

/// A report, for all who ask in the same second: they may be many, and it may be long.
pub(crate) struct WrittenReport {
    of: Arc<Status>,
    ready: bool,
    age_seconds: Option<i64>,
    text: Bytes,
}

/// Whoever can answer is alive.
pub(super) fn health() -> Answer {
    reply::momentary(StatusCode::OK, TEXT, "ok\n".to_owned())
}

/// Ready is who has a graph and stays. Old data is better than none.
pub(super) fn ready(state: &State) -> Answer {
    if state.is_leaving() {
        return unready("stopping\n".to_owned());
    }
    if state.served().is_none() {
        let trouble = state.status().trouble().unwrap_or_else(|| "reading the sources".to_owned());
        return unready(format!("no update graph available yet: {trouble}\n"));
    }
    health()
}

fn unready(why: String) -> Answer {
    reply::momentary(StatusCode::SERVICE_UNAVAILABLE, TEXT, why)
}

pub(super) fn status(state: &State) -> Answer {
    let status = state.status();
    let age_seconds =
        status.graph.as_ref().map(|graph| now().as_second() - graph.confirmed.as_second());
    let ready = status.graph.is_some() && !state.is_leaving();
    let is_this = |written: &&Arc<WrittenReport>| {
        Arc::ptr_eq(&written.of, &status)
            && (written.ready, written.age_seconds) == (ready, age_seconds)
    };
    if let Some(written) = state.written.load().as_ref().filter(is_this) {
        return reply::momentary(StatusCode::OK, reply::JSON, written.text.clone());
    }
    let text = Bytes::from(write(&status, ready, age_seconds));
    let written = WrittenReport { of: status, ready, age_seconds, text: text.clone() };
    state.written.store(Some(Arc::new(written)));
    reply::momentary(StatusCode::OK, reply::JSON, text)
}

fn write(status: &Status, ready: bool, age_seconds: Option<i64>) -> String {
    let more = status.quarantined.len().saturating_sub(MAX_SHOWN);
    let mut status = status.clone();
    status.quarantined.truncate(MAX_SHOWN);
    let more_quarantined = (more > 0).then_some(more);
    let report = Report { ready, age_seconds, status, more_quarantined };
    serde_json::to_string_pretty(&report).expect("texts and numbers can be written") + "\n"
}

pub(super) fn metrics(state: &State) -> Answer {
    reply::momentary(StatusCode::OK, OPEN_METRICS, state.metrics.text())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assemble::{Kind, Quarantined};

    #[test]
    fn a_report_has_an_end() {
        let quarantined = |number| Quarantined { kind: Kind::File, why: format!("file {number}") };
        let quarantined = (0..MAX_SHOWN + 5).map(quarantined).collect();
        let status = Status { quarantined, ..Status::default() };
        let text = write(&status, true, Some(3));
        assert!(text.contains("file 999") && !text.contains("file 1000"), "{text}");
        assert!(text.contains("\"moreQuarantined\": 5"), "{text}");
        insta::assert_snapshot!(write(&Status::default(), false, None), @r#"
        {
          "ready": false,
          "ageSeconds": null,
          "graph": null,
          "held": null,
          "quarantined": [],
          "sources": []
        }
        "#);
    }
}
