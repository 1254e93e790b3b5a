//! A metrics server that counts queries.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use fairway_operator::settings::MetricsSource;
use fairway_promql::evaluate::{self, QueryValue, evaluate};
use fairway_promql::{Query, Snapshot, snapshot};
use jiff::Timestamp;
use serde_json::json;

use crate::fault_proxy::{FaultProxy, lock};
use crate::support::prometheus;

/// A server with the Prometheus HTTP API for fixed samples.
pub(crate) struct Telemetry {
    pub(crate) front: FaultProxy,
    state: Arc<MetricsState>,
}

#[derive(Default)]
struct MetricsState {
    samples: Mutex<String>,
    query_counts: Mutex<BTreeMap<String, usize>>,
}

impl Telemetry {
    pub(crate) async fn of(samples: &str) -> Result<Self> {
        let state = Arc::new(MetricsState::default());
        samples.clone_into(&mut lock(&state.samples));
        let front = FaultProxy::start({
            let state = Arc::clone(&state);
            move |request| {
                let state = Arc::clone(&state);
                Box::pin(async move { state.answer(&request) })
            }
        });
        Ok(Self { front: front.await?, state })
    }

    /// Replaces the samples.
    pub(crate) fn knows(&self, samples: &str) {
        samples.clone_into(&mut lock(&self.state.samples));
    }

    /// Settings of the operator for this server.
    pub(crate) fn source(&self) -> Result<MetricsSource> {
        prometheus(&self.front.url())
    }

    /// Number of requests by query.
    pub(crate) fn query_counts(&self) -> BTreeMap<String, usize> {
        lock(&self.state.query_counts).clone()
    }
}

impl MetricsState {
    fn answer(&self, request: &Request) -> Response {
        if request.uri().path() == "/api/v1/alerts" {
            return json!({"status": "success", "data": {"alerts": []}})
                .to_string()
                .into_response();
        }
        let parameters = request.uri().query().unwrap_or_default().as_bytes();
        let mut parameters = url::form_urlencoded::parse(parameters);
        let Some((_, query)) = parameters.find(|(name, _)| name == "query") else {
            return StatusCode::NOT_FOUND.into_response();
        };
        *lock(&self.query_counts).entry(query.to_string()).or_default() += 1;
        match self.evaluate(&query) {
            Ok(values) => vector(&values).into_response(),
            Err(error) => {
                let refusal = json!({"status": "error", "errorType": "bad_data", "error": format!("{error:#}")});
                (StatusCode::BAD_REQUEST, refusal.to_string()).into_response()
            }
        }
    }

    fn evaluate(&self, query: &str) -> Result<Vec<f64>> {
        // Samples without timestamps are valid at any time.
        let now = Timestamp::UNIX_EPOCH;
        let samples =
            Snapshot::parse(&lock(&self.samples), now, &snapshot::SnapshotLimits::default())?;
        let limits = evaluate::EvaluationLimits::default();
        let value = evaluate(&Query::parse(query)?, &samples, now, &limits)?;
        let QueryValue::Vector(vector) = value else { anyhow::bail!("{value:?} is not a vector") };
        Ok(vector.iter().map(|element| element.value).collect())
    }
}

/// A response with values.
pub(crate) fn vector(values: &[f64]) -> String {
    let result: Vec<_> =
        values.iter().map(|value| json!({"metric": {}, "value": [0, value.to_string()]})).collect();
    answer("vector", &json!(result))
}

/// A response of a result type.
pub(crate) fn answer(result_type: &str, result: &serde_json::Value) -> String {
    json!({"status": "success", "data": {"resultType": result_type, "result": result}}).to_string()
}
