//! The metrics of a cluster, which count who asks for what.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use fairway_operator::settings::MetricsSource;
use fairway_promql::evaluate::{self, Value, evaluate};
use fairway_promql::{Query, Snapshot, snapshot};
use jiff::Timestamp;
use serde_json::json;

use crate::front::{Front, lock};
use crate::support::prometheus;

/// Speaks Prometheus' HTTP API about samples at hand.
pub(crate) struct Telemetry {
    pub(crate) front: Front,
    known: Arc<Known>,
}

#[derive(Default)]
struct Known {
    samples: Mutex<String>,
    asked: Mutex<BTreeMap<String, usize>>,
}

impl Telemetry {
    pub(crate) async fn of(samples: &str) -> Result<Self> {
        let known = Arc::new(Known::default());
        samples.clone_into(&mut lock(&known.samples));
        let front = Front::start({
            let known = Arc::clone(&known);
            move |request| {
                let known = Arc::clone(&known);
                Box::pin(async move { known.answer(&request) })
            }
        });
        Ok(Self { front: front.await?, known })
    }

    /// From now on, it has these samples.
    pub(crate) fn knows(&self, samples: &str) {
        samples.clone_into(&mut lock(&self.known.samples));
    }

    /// How the operator asks it.
    pub(crate) fn source(&self) -> Result<MetricsSource> {
        prometheus(&self.front.url())
    }

    /// How often each query was answered.
    pub(crate) fn asked(&self) -> BTreeMap<String, usize> {
        lock(&self.known.asked).clone()
    }
}

impl Known {
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
        *lock(&self.asked).entry(query.to_string()).or_default() += 1;
        match self.evaluate(&query) {
            Ok(values) => vector(&values).into_response(),
            Err(error) => {
                let refusal = json!({"status": "error", "errorType": "bad_data", "error": format!("{error:#}")});
                (StatusCode::BAD_REQUEST, refusal.to_string()).into_response()
            }
        }
    }

    fn evaluate(&self, query: &str) -> Result<Vec<f64>> {
        // Samples without times are of any time.
        let now = Timestamp::UNIX_EPOCH;
        let samples = Snapshot::parse(&lock(&self.samples), now, &snapshot::Limits::default())?;
        let limits = evaluate::Limits::default();
        let value = evaluate(&Query::parse(query)?, &samples, now, &limits)?;
        let Value::Vector(vector) = value else { anyhow::bail!("{value:?} is not a vector") };
        Ok(vector.iter().map(|element| element.value).collect())
    }
}

/// An answer with these values.
pub(crate) fn vector(values: &[f64]) -> String {
    let result: Vec<_> =
        values.iter().map(|value| json!({"metric": {}, "value": [0, value.to_string()]})).collect();
    answer("vector", &json!(result))
}

/// An answer of any type.
pub(crate) fn answer(result_type: &str, result: &serde_json::Value) -> String {
    json!({"status": "success", "data": {"resultType": result_type, "result": result}}).to_string()
}
