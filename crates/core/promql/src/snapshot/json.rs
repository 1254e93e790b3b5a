//! Answers of Prometheus' API: a vector of `/api/v1/query`, or a matrix of that or of
//! `/api/v1/query_range`. The whole state is the answer to `{__name__=~".+"}[1h]`.
//!
//! Series are taken in while they are read, so that an answer with too many of them is given up at
//! once, and every error has its line.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::Sample;
use super::builder::Builder;
use super::error::{SnapshotError, SnapshotProblem};

pub(super) fn read(text: &str, builder: &mut Builder) -> Result<(), SnapshotError> {
    let mut problem = None;
    let mut json = serde_json::Deserializer::from_str(text);
    let answer = Part { level: Level::Answer, builder, problem: &mut problem };
    answer.deserialize(&mut json).and_then(|()| json.end()).map_err(|error| {
        SnapshotError::at(error.line(), problem.unwrap_or_else(|| unreadable(&error)))
    })
}

/// The reader repeats the line at the end of its text.
fn unreadable(error: &serde_json::Error) -> SnapshotProblem {
    let text = error.to_string();
    let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
    SnapshotProblem::Json { reason: reason.to_owned() }
}

/// A part of the answer that is being read.
struct Part<'a> {
    level: Level,
    builder: &'a mut Builder,
    /// What is wrong, where it is more than that the text is no JSON.
    problem: &'a mut Option<SnapshotProblem>,
}

/// How deep in the answer it is.
#[derive(Clone, Copy)]
enum Level {
    /// `{"status": …, "data": …}`
    Answer,
    /// `{"resultType": …, "result": …}`
    Data,
    /// The series.
    Result,
}

impl Part<'_> {
    fn within(&mut self, level: Level) -> Part<'_> {
        Part { level, builder: self.builder, problem: self.problem }
    }

    fn fail<E: Error>(&mut self, problem: SnapshotProblem) -> E {
        *self.problem = Some(problem);
        E::custom("")
    }
}

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        match self.level {
            Level::Answer | Level::Data => json.deserialize_map(self),
            Level::Result => json.deserialize_seq(self),
        }
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.level {
            Level::Answer | Level::Data => "an object",
            Level::Result => "a list of series",
        })
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match (self.level, key.as_str()) {
                (Level::Answer, "error") => {
                    let error = map.next_value()?;
                    return Err(self.fail(SnapshotProblem::Failed { error }));
                }
                (Level::Answer, "data") => map.next_value_seed(self.within(Level::Data))?,
                (Level::Data, "result") => map.next_value_seed(self.within(Level::Result))?,
                _ => map.next_value::<IgnoredAny>().map(drop)?,
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut series: A) -> Result<(), A::Error> {
        while let Some(entry) = series.next_element::<Entry>()? {
            entry.add_to(self.builder).map_err(|problem| self.fail(problem))?;
        }
        Ok(())
    }
}

#[derive(Deserialize)]
#[serde(expecting = "a series")]
struct Entry {
    metric: BTreeMap<String, String>,
    #[serde(default)]
    value: Option<Point>,
    #[serde(default)]
    values: Vec<Point>,
    #[serde(default, alias = "histograms")]
    histogram: Option<IgnoredAny>,
}

impl Entry {
    fn add_to(self, builder: &mut Builder) -> Result<(), SnapshotProblem> {
        let labels = self.metric.iter().map(|(label, value)| (label.as_str(), value.as_str()));
        let series = builder.labels(labels)?;
        if self.histogram.is_some() {
            return Err(SnapshotProblem::Histogram { series });
        }
        let mut samples = self.value.into_iter().chain(self.values);
        samples.try_for_each(|Point(sample)| builder.add(series.clone(), sample))
    }
}

/// A time in seconds, and a value as text: JSON has no NaN.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "(f64, String)")]
struct Point(Sample);

impl TryFrom<(f64, String)> for Point {
    type Error = String;

    fn try_from((seconds, value): (f64, String)) -> Result<Self, String> {
        let at = super::from_seconds(seconds)
            .ok_or_else(|| format!("{seconds:e} is not a valid time"))?;
        let value = value.parse().map_err(|_| format!("{value:?} is not a number"))?;
        Ok(Self(Sample { at, value }))
    }
}
