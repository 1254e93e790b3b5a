//! A Prometheus with the same samples.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpStream;

use fairway_promql::snapshot::{self, Snapshot};
use fairway_promql::{EvaluationError, Query, evaluate};
use fairway_testbed::prometheus::{Options, Prometheus};
use jiff::Timestamp;

use crate::promql::result::QueryResult;

/// The query time of the first state.
const BEGIN: i64 = 1_700_000_000_000;
/// The distance of states, so that no query sees another state.
const APART: i64 = 6 * 3_600_000;

/// States in Prometheus and in memory. Each has its own query time.
pub(crate) struct Oracle {
    prometheus: Prometheus,
    snapshot: Snapshot,
}

impl Oracle {
    /// Loads states, whose samples have times relative to the query.
    pub(crate) fn start<'a>(states: impl IntoIterator<Item = &'a Snapshot>) -> Self {
        let samples = open_metrics(states);
        let limits = snapshot::SnapshotLimits::default();
        let snapshot = Snapshot::parse(&samples, Timestamp::UNIX_EPOCH, &limits).unwrap();
        let prometheus = Prometheus::start(Options::default().backfill(samples)).unwrap();
        Self { prometheus, snapshot }
    }

    /// The reason why `fairway-promql` refuses a query.
    pub(crate) fn refusal(&self, query: &str) -> Option<String> {
        let query = match Query::parse(query) {
            Ok(query) => query,
            Err(error) => return Some(error.to_string()),
        };
        match evaluate(&query, &self.snapshot, time(0), &evaluate::EvaluationLimits::default()) {
            Err(error @ EvaluationError::Unsupported { .. }) => Some(error.to_string()),
            _ => None,
        }
    }

    /// The result of `fairway-promql`.
    pub(crate) fn ours(&self, state: usize, query: &str) -> Result<QueryResult, EvaluationError> {
        let query = Query::parse(query).unwrap_or_else(|error| panic!("{query}\n{error}"));
        let limits = evaluate::EvaluationLimits::default();
        let value = evaluate(&query, &self.snapshot, time(state), &limits);
        value.map(QueryResult::from)
    }

    /// The result of Prometheus.
    pub(crate) fn theirs(&self, state: usize, query: &str) -> Result<QueryResult, String> {
        QueryResult::read(&self.query(state, query))
    }

    /// The response of Prometheus.
    pub(crate) fn query(&self, state: usize, query: &str) -> String {
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

    /// Queries both. They have to return the same result, or both an error.
    pub(crate) fn same(&self, state: usize, query: &str) -> Result<QueryResult, String> {
        self.compare(state, query).unwrap_or_else(|difference| panic!("{difference}"))
    }

    /// Queries both. Returns the common result or the difference.
    pub(crate) fn compare(
        &self,
        state: usize,
        query: &str,
    ) -> Result<Result<QueryResult, String>, String> {
        let (ours, theirs) = (self.ours(state, query), self.theirs(state, query));
        let agree = match (&ours, &theirs) {
            (Ok(ours), Ok(theirs)) => ours.is_equal(theirs),
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

/// The query time of a state.
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
