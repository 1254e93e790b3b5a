//! Responses of Prometheus' API: a vector of `/api/v1/query`, or a matrix of it or of
//! `/api/v1/query_range`. The query for all samples is `{__name__=~".+"}[1h]`.
//!
//! Series are added while the JSON is read, so that a response with too many of them fails early,
//! and every error has a line.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Sample;
use super::builder::SnapshotBuilder;
use super::error::{SnapshotError, SnapshotProblem};

pub(super) fn read(text: &str, builder: &mut SnapshotBuilder) -> Result<(), SnapshotError> {
    let mut problem = None;
    let mut json = serde_json::Deserializer::from_str(text);
    let response = ResponsePart { level: ResponseLevel::Response, builder, problem: &mut problem };
    response.deserialize(&mut json).and_then(|()| json.end()).map_err(|error| {
        SnapshotError::at(error.line(), problem.unwrap_or_else(|| json_problem(&error)))
    })
}

/// `serde_json` repeats the line at the end of its message.
fn json_problem(error: &serde_json::Error) -> SnapshotProblem {
    let text = error.to_string();
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
    SnapshotProblem::Json(reason.to_owned())
}

/// The part of the response that is read.
struct ResponsePart<'a> {
    level: ResponseLevel,
    builder: &'a mut SnapshotBuilder,
    /// A problem other than invalid JSON.
    problem: &'a mut Option<SnapshotProblem>,
}

/// Level in the response.
#[derive(Clone, Copy)]
enum ResponseLevel {
    /// `{"status": …, "data": …}`
    Response,
    /// `{"resultType": …, "result": …}`
    Data,
    /// The list of series.
    Result,
}

impl ResponsePart<'_> {
    fn within(&mut self, level: ResponseLevel) -> ResponsePart<'_> {
        ResponsePart { level, builder: self.builder, problem: self.problem }
    }

    fn fail<E: Error>(&mut self, problem: SnapshotProblem) -> E {
        *self.problem = Some(problem);
        E::custom("")
    }
}

impl<'de> DeserializeSeed<'de> for ResponsePart<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        match self.level {
            ResponseLevel::Response | ResponseLevel::Data => json.deserialize_map(self),
            ResponseLevel::Result => json.deserialize_seq(self),
        }
    }
}

impl<'de> Visitor<'de> for ResponsePart<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.level {
            ResponseLevel::Response | ResponseLevel::Data => "an object",
            ResponseLevel::Result => "a list of series",
        })
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match (self.level, key.as_str()) {
                (ResponseLevel::Response, "error") => {
                    let error = map.next_value()?;
                    return Err(self.fail(SnapshotProblem::Failed(error)));
                }
                (ResponseLevel::Response, "data") => {
                    map.next_value_seed(self.within(ResponseLevel::Data))?;
                }
                (ResponseLevel::Data, "result") => {
                    map.next_value_seed(self.within(ResponseLevel::Result))?;
                }
                _ => map.next_value::<IgnoredAny>().map(drop)?,
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut series: A) -> Result<(), A::Error> {
        while let Some(entry) = series.next_element::<JsonSeries>()? {
            entry.add_to(self.builder).map_err(|problem| self.fail(problem))?;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(expecting = "a series")]
struct JsonSeries {
    metric: BTreeMap<String, String>,
    #[serde(default)]
    value: Option<JsonSample>,
    #[serde(default)]
    values: Vec<JsonSample>,
    #[serde(default, alias = "histograms")]
    histogram: Option<IgnoredAny>,
}

impl JsonSeries {
    fn add_to(self, builder: &mut SnapshotBuilder) -> Result<(), SnapshotProblem> {
        let labels = self.metric.iter().map(|(label, value)| (label.as_str(), value.as_str()));
        let series = builder.labels(labels)?;
        if self.histogram.is_some() {
            return Err(SnapshotProblem::Histogram { series });
        }
        let mut samples = self.value.into_iter().chain(self.values);
        samples.try_for_each(|JsonSample(sample)| builder.add(series.clone(), sample))
    }
}

/// A sample: a time in seconds, and a value as a string, because JSON has no NaN.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "(f64, String)")]
struct JsonSample(Sample);

impl TryFrom<(f64, String)> for JsonSample {
    type Error = String;

    fn try_from((seconds, value): (f64, String)) -> Result<Self, String> {
        let at = super::from_seconds(seconds)
            .ok_or_else(|| format!("{seconds:e} is not a valid time"))?;
        let value = value.parse().map_err(|_| format!("{value:?} is not a number"))?;
        Ok(Self(Sample { at, value }))
    }
}
