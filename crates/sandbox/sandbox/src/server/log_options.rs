//! Options of requests for pod logs.

use jiff::Timestamp;

use crate::api::{ApiResult, QueryParams, StatusCause, StatusError, go_parse_error};
use crate::node::logs::LogOptions;

const KIND: &str = "PodLogOptions";

/// Parses the query parameters of a log request.
pub(super) fn parse(pod: &str, query: &QueryParams) -> ApiResult<LogOptions> {
    let flag = |name: &str| {
        query.get(name).is_some_and(|word| word != "0" && !word.eq_ignore_ascii_case("false"))
    };
    let seconds = minimum(pod, query, "sinceSeconds", 1)?;
    let (since_seconds, since_time) = (seconds, since(query)?);
    if since_seconds.is_some() && since_time.is_some() {
        let cause = StatusCause {
            reason: "FieldValueForbidden".to_owned(),
            message: "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"
                .to_owned(),
            field: "[]".to_owned(),
        };
        return Err(StatusError::invalid_with_causes(KIND, "", pod, vec![cause]));
    }
    Ok(LogOptions {
        container: query.get("container").filter(|name| !name.is_empty()).map(str::to_owned),
        follow: flag("follow"),
        previous: flag("previous"),
        tail_lines: minimum(pod, query, "tailLines", 0)?.map(i64::unsigned_abs),
        limit_bytes: minimum(pod, query, "limitBytes", 1)?.map(i64::unsigned_abs),
        since_seconds,
        since_time,
        timestamps: flag("timestamps"),
    })
}

/// An integer parameter with its minimum.
fn minimum(pod: &str, query: &QueryParams, name: &str, minimum: i64) -> ApiResult<Option<i64>> {
    let Some(text) = query.get(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    let number: i64 =
        text.parse().map_err(|_| StatusError::bad_request(go_parse_error("ParseInt", text)))?;
    if number >= minimum {
        return Ok(Some(number));
    }
    let detail =
        if minimum == 0 { "must be greater than or equal to 0" } else { "must be greater than 0" };
    Err(StatusError::invalid_value((KIND, "", pod), name, text, detail))
}

fn since(query: &QueryParams) -> ApiResult<Option<Timestamp>> {
    let Some(text) = query.get("sinceTime").filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let problem = |_| {
        StatusError::bad_request(format!(
            "parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse {text:?} as \"2006\""
        ))
    };
    text.parse().map(Some).map_err(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_with_invalid_value_returns_api_server_message() {
        for (query, message) in [
            (
                "tailLines=-1",
                r#"PodLogOptions "p" is invalid: tailLines: Invalid value: -1: must be greater than or equal to 0"#,
            ),
            ("tailLines=x", r#"strconv.ParseInt: parsing "x": invalid syntax"#),
            (
                "limitBytes=0",
                r#"PodLogOptions "p" is invalid: limitBytes: Invalid value: 0: must be greater than 0"#,
            ),
            (
                "sinceSeconds=0",
                r#"PodLogOptions "p" is invalid: sinceSeconds: Invalid value: 0: must be greater than 0"#,
            ),
            (
                "sinceSeconds=1&sinceTime=2020-01-01T00:00:00Z",
                r#"PodLogOptions "p" is invalid: []: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"#,
            ),
            (
                "sinceTime=x",
                r#"parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006""#,
            ),
        ] {
            let error = parse("p", &QueryParams::parse(query)).unwrap_err();
            assert_eq!(error.message, message, "{query}");
        }
    }
}
