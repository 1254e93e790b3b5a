//! Responses of the API server, their normalized text and transcripts.

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use http::HeaderMap;
use regex::{Captures, Regex};
use serde_json::{Map, Value, json};

use crate::differences;

/// A response of the API server.
pub(crate) struct ApiResponse {
    /// HTTP status code.
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(super) names: Normalizer,
}

impl ApiResponse {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).with_context(|| format!("no JSON: {}", self.text()))
    }

    /// The object in a successful response.
    pub(crate) fn object(&self) -> Result<Value> {
        ensure!(self.succeeded(), "refused: {}", self.shown());
        self.json()
    }

    pub(crate) fn succeeded(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header; empty if missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Code and reason, for messages that depend on the implementation.
    pub(crate) fn outline(&self) -> String {
        let json = self.json().unwrap_or_default();
        format!("{} {}", self.status, json["reason"].as_str().unwrap_or_default())
    }

    /// Code, reason and fields, for messages that depend on the implementation.
    pub(crate) fn fields(&self) -> String {
        let json = self.json().unwrap_or_default();
        let lines = lines(&causes(&json["details"]));
        let field = |line: &String| line.split(": ").next().unwrap_or_default().to_owned();
        let fields: BTreeSet<String> = lines.iter().map(field).collect();
        fields.iter().fold(self.outline(), |text, field| format!("{text}\n  {field}"))
    }

    /// The reproducible parts of the response.
    ///
    /// For a Status: code, reason, message, details and causes. Unexpected and missing fields are
    /// shown, too.
    pub(crate) fn shown(&self) -> String {
        let text = match self.json() {
            Ok(Value::Object(mut status)) if status.get("kind") == Some(&json!("Status")) => {
                status_shown(self.status, &mut status)
            }
            Ok(document) => format!("{} {document}", self.status),
            Err(_) => format!("{} {:?}", self.status, self.text()),
        };
        self.names.normalize(&text)
    }
}

/// Formats the known fields of a `Status`, then the remaining ones.
fn status_shown(http: u16, status: &mut Map<String, Value>) -> String {
    let failure = status.get("status") == Some(&json!("Failure"));
    let mut details = status.remove("details").unwrap_or_default();
    let causes_of = details.clone();
    let causes = causes(&causes_of);
    details.as_object_mut().and_then(|details| details.remove("causes"));
    let mut text = http.to_string();
    for part in ["reason", "message"] {
        if let Some(transcript) = status.remove(part) {
            let transcript =
                transcript.as_str().map_or_else(|| transcript.to_string(), str::to_owned);
            let separator = if part == "reason" { " " } else { ": " };
            let _ = write!(text, "{separator}{}", without_causes(&transcript, &causes));
        }
    }
    if !failure {
        text.push_str(" Success");
    }
    if details.as_object().is_some_and(|details| !details.is_empty()) {
        let _ = write!(text, "\n  about {details}");
    }
    for line in lines(&causes) {
        let _ = write!(text, "\n  {line}");
    }
    let usual = [
        ("kind", json!("Status")),
        ("apiVersion", json!("v1")),
        ("metadata", json!({})),
        ("status", if failure { json!("Failure") } else { json!("Success") }),
        ("code", json!(http)),
    ];
    for (name, value) in usual {
        match status.remove(name) {
            Some(found) if found == value => {}
            None if name == "code" && !failure => {}
            other => {
                let _ = write!(text, "\n  {name} is {other:?}");
            }
        }
    }
    if !status.is_empty() {
        let _ = write!(text, "\n  and {}", Value::Object(status.clone()));
    }
    text
}

/// The causes without duplicates: servers may report a cause several times.
fn causes(details: &Value) -> Vec<Cause<'_>> {
    let mut causes: Vec<Cause<'_>> = Vec::new();
    for cause in details["causes"].as_array().into_iter().flatten().map(Cause::of) {
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    causes
}

/// A cause of an error.
#[derive(PartialEq)]
struct Cause<'a> {
    reason: &'a str,
    field: &'a str,
    message: &'a str,
}

impl<'a> Cause<'a> {
    fn of(cause: &'a Value) -> Self {
        let part = |name: &str| cause[name].as_str().unwrap_or("-");
        Self { reason: part("reason"), field: part("field"), message: part("message") }
    }
}

/// The causes, one per line, sorted: some servers report them in the order of a hash table.
fn lines(causes: &[Cause<'_>]) -> Vec<String> {
    let line = |Cause { reason, field, message }: &Cause<'_>| {
        differences::in_current_wording(&format!("{reason} {field}: {message}"))
    };
    let mut lines: Vec<String> = causes.iter().map(line).collect();
    lines.sort();
    lines
}

/// The message, with `…` where it repeats all causes.
fn without_causes(message: &str, causes: &[Cause<'_>]) -> String {
    let transcript =
        causes.iter().map(|Cause { field, message, .. }| format!("{field}: {message}"));
    let transcript: Vec<String> = transcript.collect();
    let all = match transcript.as_slice() {
        [] => return message.to_owned(),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    match message.strip_suffix(&all) {
        Some(beginning) => format!("{beginning}…"),
        None => message.to_owned(),
    }
}

/// Several responses in one text, for snapshots.
#[derive(Default)]
pub(crate) struct Transcript {
    text: String,
}

impl Transcript {
    /// Adds a response.
    pub(crate) fn add(&mut self, label: impl fmt::Display, answer: &ApiResponse) {
        self.line(label, answer.shown());
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, label: impl fmt::Display, text: impl fmt::Display) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{label}: {text}");
    }
}

impl fmt::Display for Transcript {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Patterns that differ between runs, and their replacements.
static DIFFERENT: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let table = [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
        (r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z", "TIME"),
        (r#""(resourceVersion|continue)":"[^"]+""#, r#""$1":"…""#),
        (r"in record \([0-9]+\)", "in record (…)"),
    ];
    table.map(|(pattern, name)| (Regex::new(pattern).expect("a pattern"), name)).into()
});

/// Normalizer of one run, and their replacements.
#[derive(Clone)]
pub(crate) struct Normalizer {
    namespace: Regex,
}

impl Normalizer {
    pub(crate) fn new(namespace: &str) -> Self {
        let pattern = regex::escape(namespace);
        Self { namespace: Regex::new(&pattern).expect("an escaped text") }
    }

    /// The text with names and patterns replaced.
    pub(crate) fn normalize(&self, text: &str) -> String {
        let named = self.namespace.replace_all(text, |_: &Captures<'_>| "NS");
        DIFFERENT.iter().fold(named.into_owned(), |text, (pattern, name)| {
            pattern.replace_all(&text, *name).into_owned()
        })
    }
}
