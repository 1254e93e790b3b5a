//! Responses of the Prometheus HTTP API.

use std::collections::BTreeMap;

use fairway_risk::{QueryResult, QueryResultType, Sample};
use http::StatusCode;
use serde::Deserialize;
use serde::de::IgnoredAny;

/// Errors in a response.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplyError {
    /// Prometheus refuses the query.
    #[error("{kind}: {error}")]
    Refused {
        /// Error type of Prometheus.
        kind: String,
        /// Error message of Prometheus.
        error: String,
    },
    /// Unexpected HTTP status.
    #[error("unexpected HTTP status {0}")]
    Status(StatusCode),
    /// Invalid response body.
    #[error("invalid response: {0}")]
    Malformed(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an object with a query result")]
struct Reply {
    status: String,
    data: Option<Data>,
    warnings: Option<Vec<String>>,
    #[serde(default)]
    error_type: String,
    #[serde(default)]
    error: String,
}

#[derive(Deserialize)]
#[serde(tag = "resultType", content = "result", rename_all = "camelCase")]
enum Data {
    Vector(Vec<Series>),
    Scalar(IgnoredAny),
    Matrix(IgnoredAny),
    String(IgnoredAny),
}

#[derive(Deserialize)]
struct Series {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    value: (f64, String),
}

/// Parses the response to an instant query; returns its warnings, too.
pub fn read(status: StatusCode, body: &[u8]) -> Result<(QueryResult, Vec<String>), ReplyError> {
    let reply = match serde_json::from_slice::<Reply>(body) {
        Ok(reply) => reply,
        // A proxy in front of Prometheus responds in its own format.
        Err(_) if !status.is_success() => return Err(ReplyError::Status(status)),
        Err(error) => return Err(ReplyError::Malformed(error.to_string())),
    };
    if reply.status != "success" {
        return Err(ReplyError::Refused { kind: reply.error_type, error: reply.error });
    }
    let answer = match reply.data {
        None => return Err(ReplyError::Malformed("no data".to_owned())),
        Some(Data::Vector(series)) => {
            QueryResult::Samples(series.into_iter().map(sample).collect::<Result<_, _>>()?)
        }
        Some(Data::Scalar(_)) => QueryResult::Other(QueryResultType::Scalar),
        Some(Data::Matrix(_)) => QueryResult::Other(QueryResultType::Range),
        Some(Data::String(_)) => QueryResult::Other(QueryResultType::Text),
    };
    Ok((answer, reply.warnings.unwrap_or_default()))
}

fn sample(Series { metric: labels, value: (_, text) }: Series) -> Result<Sample, ReplyError> {
    // Rust parses the notation of Go: `NaN`, `+Inf`, `-Inf`.
    match text.parse() {
        Ok(value) => Ok(Sample { labels, value }),
        Err(_) => Err(ReplyError::Malformed(format!("{text:?} is not a number"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(status: u16, body: &str) -> String {
        match read(StatusCode::from_u16(status).unwrap(), body.as_bytes()) {
            Ok((QueryResult::Samples(samples), warnings)) => {
                let samples: Vec<_> = samples.iter().map(ToString::to_string).collect();
                format!("Samples [{}] {warnings:?}", samples.join("; "))
            }
            Ok((answer, warnings)) => format!("{answer:?} {warnings:?}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn read_of_each_response() {
        let results = [
            (200, r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1.5,"1"]}]}}"#),
            (200, r#"{"status":"success","data":{"resultType":"vector","result":[]},"warnings":["w"]}"#),
            (200, r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1,"NaN"]},{"metric":{},"value":[1,"+Inf"]}]}}"#),
            (200, r#"{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}"#),
            (200, r#"{"status":"success","data":{"resultType":"matrix","result":[]}}"#),
            (200, r#"{"status":"success","data":{"resultType":"string","result":[1,"x"]}}"#),
            (200, r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"one"]}]}}"#),
            (200, r#"{"status":"success"}"#),
            (200, "hello"),
            (422, r#"{"status":"error","errorType":"execution","error":"many-to-many matching"}"#),
            (403, "Forbidden"),
        ]
                .map(|(status, body)| parsed(status, body));
        insta::assert_snapshot!(results.join("\n"), @r#"
        Samples [{} 1] []
        Samples [] ["w"]
        Samples [{a="b"} NaN; {} inf] []
        Other(Scalar) []
        Other(Range) []
        Other(Text) []
        invalid response: "one" is not a number
        invalid response: no data
        invalid response: expected value at line 1 column 1
        execution: many-to-many matching
        unexpected HTTP status 403 Forbidden
        "#);
    }
}
