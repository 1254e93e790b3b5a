//! What operators ask: is it alive, is it ready, how is it.

use http::StatusCode;
use serde::Serialize;

use super::{Answer, reply};
use crate::clock::now;
use crate::state::State;
use crate::status::Status;

const TEXT: &str = "text/plain; charset=utf-8";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    ready: bool,
    /// How old what is served may be.
    age_seconds: Option<i64>,
    #[serde(flatten)]
    status: &'a Status,
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
        return unready(format!("there is no update graph yet: {trouble}\n"));
    }
    health()
}

fn unready(why: String) -> Answer {
    reply::momentary(StatusCode::SERVICE_UNAVAILABLE, TEXT, why)
}

pub(super) fn status(state: &State) -> Answer {
    let status = state.status();
    let age = status.graph.as_ref().map(|graph| now().as_second() - graph.confirmed.as_second());
    let ready = status.graph.is_some() && !state.is_leaving();
    let report = Report { ready, age_seconds: age, status: &status };
    let text = serde_json::to_string_pretty(&report).expect("texts and numbers can be written");
    reply::momentary(StatusCode::OK, reply::JSON, text + "\n")
}

pub(super) fn metrics(state: &State) -> Answer {
    reply::momentary(StatusCode::OK, OPEN_METRICS, state.metrics.text())
}
