//! A real Prometheus that holds the same samples.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpStream;

use fairway_promql::snapshot::{self, Snapshot};
use fairway_promql::{EvaluationError, Query, evaluate};
use fairway_testbed::prometheus::{Options, Prometheus};
use jiff::Timestamp;

use crate::promql::answer::Answer;

/// When the first state is asked.
const BEGIN: i64 = 1_700_000_000_000;
/// So far apart that no query about one state sees another one.
const APART: i64 = 6 * 3_600_000;

/// States of clusters, in Prometheus and at hand. Each has its own time.
pub(crate) struct Oracle {
    prometheus: Prometheus,
    snapshot: Snapshot,
}

impl Oracle {
    /// Loads states whose samples have times relative to when they are asked.
    pub(crate) fn start<'a>(states: impl IntoIterator<Item = &'a Snapshot>) -> Self {
        let samples = open_metrics(states);
        let limits = snapshot::Limits::default();
        let snapshot = Snapshot::parse(&samples, Timestamp::UNIX_EPOCH, &limits).unwrap();
        let prometheus = Prometheus::start(Options::default().backfill(samples)).unwrap();
        Self { prometheus, snapshot }
    }

    /// Why we do not say anything, if so.
    pub(crate) fn refusal(&self, query: &str) -> Option<String> {
        let query = match Query::parse(query) {
            Ok(query) => query,
            Err(error) => return Some(error.to_string()),
        };
        match evaluate(&query, &self.snapshot, time(0), &evaluate::Limits::default()) {
            Err(error @ EvaluationError::Unsupported { .. }) => Some(error.to_string()),
            _ => None,
        }
    }

    /// What we say, unless we refuse to say anything.
    pub(crate) fn ours(&self, state: usize, query: &str) -> Result<Answer, EvaluationError> {
        let query = Query::parse(query).unwrap_or_else(|error| panic!("{query}\n{error}"));
        let limits = evaluate::Limits::default();
        let value = evaluate(&query, &self.snapshot, time(state), &limits);
        value.map(Answer::from)
    }

    /// What Prometheus says.
    pub(crate) fn theirs(&self, state: usize, query: &str) -> Result<Answer, String> {
        Answer::read(&self.ask(state, query))
    }

    /// What Prometheus sends.
    pub(crate) fn ask(&self, state: usize, query: &str) -> String {
        let time = time(state).as_second();
        let form = format!("time={time}&query={}", percent_encoded(query));
        let mut connection = TcpStream::connect(self.prometheus.address()).unwrap();
        write!(
            connection,
            "POST /api/v1/query HTTP/1.0\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\n\r\n{form}",
            form.len()
        )
        .unwrap();
        let mut response = String::new();
        connection.read_to_string(&mut response).unwrap();
        let (_, body) = response.split_once("\r\n\r\n").unwrap();
        body.to_owned()
    }

    /// Asks both; they have to agree. That is in the answer, or in that there is none.
    pub(crate) fn same(&self, state: usize, query: &str) -> Result<Answer, String> {
        self.compare(state, query).unwrap_or_else(|difference| panic!("{difference}"))
    }

    /// Asks both, and says how they differ, or what both say.
    pub(crate) fn compare(
        &self,
        state: usize,
        query: &str,
    ) -> Result<Result<Answer, String>, String> {
        let (ours, theirs) = (self.ours(state, query), self.theirs(state, query));
        let agree = match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => ours.is_like(theirs),
            (Err(EvaluationError::Unsupported { .. } | EvaluationError::Budget { .. }), _) => false,
            (Err(_), Err(_)) => true,
            _ => false,
        };
        if agree {
            return Ok(theirs);
        }
        Err(format!("in state {state}, {query}\nours:   {ours:?}\ntheirs: {theirs:?}"))
    }
}

/// When a state is asked.
pub(crate) fn time(state: usize) -> Timestamp {
    Timestamp::from_millisecond(BEGIN + i64::try_from(state).unwrap() * APART).unwrap()
}

fn open_metrics<'a>(states: impl IntoIterator<Item = &'a Snapshot>) -> String {
    let mut text = String::new();
    for (state, snapshot) in states.into_iter().enumerate() {
        let now = time(state).as_millisecond();
        for series in snapshot.series() {
            let labels: Vec<String> = series
                .labels
                .iter()
                .filter(|(label, _)| *label != "__name__")
                .map(|(label, value)| format!("{label}={value:?}"))
                .collect();
            let (metric, labels) = (series.labels.metric(), labels.join(","));
            for sample in &series.samples {
                let at = now + sample.at;
                let (seconds, millis) = (at / 1000, at % 1000);
                let value = sample.value;
                writeln!(text, "{metric}{{{labels}}} {value} {seconds}.{millis:03}").unwrap();
            }
        }
    }
    text + "# EOF\n"
}

fn percent_encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() {
            encoded.push(byte.into());
        } else {
            write!(encoded, "%{byte:02X}").unwrap();
        }
        encoded
    })
}
