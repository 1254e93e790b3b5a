//! What somebody wants to read of a log.

use jiff::Timestamp;

use super::invalid::Invalid;
use crate::api::{Query, Refusal};
use crate::node::logs::LogOptions;

/// Reads the parameters of a request for the log of this pod.
pub(super) fn options(pod: &str, query: &Query) -> Result<LogOptions, Refusal> {
    let flag = |name: &str| {
        query.get(name).is_some_and(|word| word != "0" && !word.eq_ignore_ascii_case("false"))
    };
    let options = Invalid { kind: "PodLogOptions", name: pod, ..Invalid::default() };
    let (since_seconds, since_time) = (at_least(query, options, "sinceSeconds", 1)?, since(query)?);
    if since_seconds.is_some() && since_time.is_some() {
        let problem = "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified";
        return Err(options.because("FieldValueForbidden", "[]", problem.to_owned()));
    }
    Ok(LogOptions {
        container: query.get("container").filter(|name| !name.is_empty()).map(str::to_owned),
        follow: flag("follow"),
        previous: flag("previous"),
        tail_lines: at_least(query, options, "tailLines", 0)?.map(i64::unsigned_abs),
        limit_bytes: at_least(query, options, "limitBytes", 1)?.map(i64::unsigned_abs),
        since_seconds,
        since_time,
        timestamps: flag("timestamps"),
    })
}

fn at_least(
    query: &Query,
    options: Invalid<'_>,
    name: &str,
    least: i64,
) -> Result<Option<i64>, Refusal> {
    let Some(text) = query.get(name).filter(|text| !text.is_empty()) else { return Ok(None) };
    let number: i64 = text.parse().map_err(|_| {
        Refusal::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
    })?;
    if number >= least {
        return Ok(Some(number));
    }
    let detail =
        if least == 0 { "must be greater than or equal to 0" } else { "must be greater than 0" };
    Err(options.value(name, text, detail))
}

fn since(query: &Query) -> Result<Option<Timestamp>, Refusal> {
    let Some(text) = query.get("sinceTime").filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let problem = |_| {
        Refusal::bad_request(format!(
            "parsing time {text:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse {text:?} as \"2006\""
        ))
    };
    text.parse().map(Some).map_err(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_no_sense_is_refused_in_the_words_of_the_api_server() {
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
            let refusal = options("p", &Query::parse(query)).unwrap_err();
            assert_eq!(refusal.message, message, "{query}");
        }
    }

    #[test]
    fn everything_can_be_asked_for() {
        let query = "container=c&follow=true&previous=false&tailLines=5&limitBytes=9&sinceSeconds=3&timestamps=1";
        let expected = LogOptions {
            container: Some("c".to_owned()),
            follow: true,
            previous: false,
            tail_lines: Some(5),
            limit_bytes: Some(9),
            since_seconds: Some(3),
            since_time: None,
            timestamps: true,
        };
        assert_eq!(options("p", &Query::parse(query)), Ok(expected));
        assert_eq!(options("p", &Query::default()), Ok(LogOptions::default()));
    }
}
