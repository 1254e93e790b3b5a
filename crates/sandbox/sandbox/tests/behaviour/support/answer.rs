//! What a server answered.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context, Result, ensure};
use http::HeaderMap;
use serde_json::{Map, Value, json};

use super::normal::Names;
use crate::differences;

/// What a server answered.
pub(crate) struct Answer {
    /// The HTTP status.
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(super) names: Names,
}

impl Answer {
    /// The body as JSON, whatever the status.
    pub(crate) fn json(&self) -> Result<Value> {
        serde_json::from_slice(&self.body).with_context(|| format!("no JSON: {}", self.text()))
    }

    /// The object in the answer to a request that has to succeed.
    pub(crate) fn object(&self) -> Result<Value> {
        ensure!(self.succeeded(), "refused: {}", self.shown());
        self.json()
    }

    pub(crate) fn succeeded(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as text, as it came.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A header, empty if it is missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Its code and reason, where a server's words are about its own insides.
    pub(crate) fn outline(&self) -> String {
        let json = self.json().unwrap_or_default();
        format!("{} {}", self.status, json["reason"].as_str().unwrap_or_default())
    }

    /// Its code, its reason and the fields that it names, where a server's words are about its own
    /// insides.
    pub(crate) fn fields(&self) -> String {
        let json = self.json().unwrap_or_default();
        let lines = lines(&causes(&json["details"]));
        let field = |line: &String| line.split(": ").next().unwrap_or_default().to_owned();
        let fields: BTreeSet<String> = lines.iter().map(field).collect();
        fields.iter().fold(self.outline(), |text, field| format!("{text}\n  {field}"))
    }

    /// Everything that the answer says and that is the same in every run.
    ///
    /// Of a refusal that is its code, reason, message, details and causes; whatever else there is
    /// in it is shown too, and so is what is missing.
    pub(crate) fn shown(&self) -> String {
        let text = match self.json() {
            Ok(Value::Object(mut status)) if status.get("kind") == Some(&json!("Status")) => {
                status_shown(self.status, &mut status)
            }
            Ok(document) => format!("{} {document}", self.status),
            Err(_) => format!("{} {:?}", self.status, self.text()),
        };
        self.names.forget(&text)
    }
}

/// Takes the parts of a `Status` that have a place in the text, and adds those that are left.
fn status_shown(http: u16, status: &mut Map<String, Value>) -> String {
    let failure = status.get("status") == Some(&json!("Failure"));
    let mut details = status.remove("details").unwrap_or_default();
    let causes_of = details.clone();
    let causes = causes(&causes_of);
    details.as_object_mut().and_then(|details| details.remove("causes"));
    let mut text = http.to_string();
    for part in ["reason", "message"] {
        if let Some(said) = status.remove(part) {
            let said = said.as_str().map_or_else(|| said.to_string(), str::to_owned);
            let separator = if part == "reason" { " " } else { ": " };
            let _ = write!(text, "{separator}{}", without_causes(&said, &causes));
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

/// What is wrong. Servers tell some of it several times, according to how often they look.
fn causes(details: &Value) -> Vec<Cause<'_>> {
    let mut causes: Vec<Cause<'_>> = Vec::new();
    for cause in details["causes"].as_array().into_iter().flatten().map(Cause::of) {
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    causes
}

/// One of several things that are wrong.
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

/// What is wrong, a line each. A server that keeps fields in a hash table tells it in any order.
fn lines(causes: &[Cause<'_>]) -> Vec<String> {
    let line = |Cause { reason, field, message }: &Cause<'_>| {
        differences::in_new_words(&format!("{reason} {field}: {message}"))
    };
    let mut lines: Vec<String> = causes.iter().map(line).collect();
    lines.sort();
    lines
}

/// The message, with `…` where it repeats all causes to the letter.
fn without_causes(message: &str, causes: &[Cause<'_>]) -> String {
    let said = causes.iter().map(|Cause { field, message, .. }| format!("{field}: {message}"));
    let said: Vec<String> = said.collect();
    let all = match said.as_slice() {
        [] => return message.to_owned(),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    match message.strip_suffix(&all) {
        Some(beginning) => format!("{beginning}…"),
        None => message.to_owned(),
    }
}
