//! The audit log: who asked for what and what became of it, one line of JSON each.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::attributes::Attributes;
use super::identity::Identity;
use crate::api::Api;

/// More than the connections that there can be, so that nobody waits for room as a rule.
const QUEUE: usize = 1024;

/// The disk is stuck if a line takes longer; the answer goes out without it.
const PATIENCE: Duration = Duration::from_secs(2);

/// The audit log of a sandbox. Clones are handles to the same log.
#[derive(Clone)]
pub(crate) struct AuditLog {
    path: PathBuf,
    queue: mpsc::Sender<Line>,
}

struct Line {
    text: String,
    written: oneshot::Sender<()>,
}

/// What is logged of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    pub(super) id: String,
    pub(super) uri: String,
    pub(super) attributes: Attributes,
    pub(super) identity: Identity,
    pub(super) impersonated: Option<Identity>,
    pub(super) source: String,
    pub(super) user_agent: String,
    pub(super) received: Timestamp,
    /// Why it was allowed; `None` where it was not, or nobody was asked.
    pub(super) allowed: Option<String>,
    pub(super) was_authorized: bool,
}

/// How a request was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome<'a> {
    pub(super) stage: Stage,
    pub(super) code: u16,
    /// The reason of a refusal.
    pub(super) reason: &'a str,
}

/// How far a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    ResponseStarted,
    ResponseComplete,
}

/// Logs that a request is complete when it is dropped: whatever ends an answer that goes on.
pub(super) struct Ending {
    log: AuditLog,
    entry: Entry,
    api: Api,
}

impl Drop for Ending {
    fn drop(&mut self) {
        let outcome = Outcome { stage: Stage::ResponseComplete, code: 200, reason: "" };
        let text = format!("{}\n", event(&self.entry, outcome, self.api.now()));
        let (written, _) = oneshot::channel();
        // Nobody can wait here; a full queue costs this line.
        let _ = self.log.queue.try_send(Line { text, written });
    }
}

impl AuditLog {
    /// Begins the log at this path.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let (queue, lines) = mpsc::channel(QUEUE);
        // Ends when the last handle to the log is gone.
        tokio::task::spawn_blocking(move || write_all(file, lines));
        Ok(Self { path: path.to_owned(), queue })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns when the line can be read.
    pub(super) async fn write(&self, entry: &Entry, outcome: Outcome<'_>, now: Timestamp) {
        self.append(format!("{}\n", event(entry, outcome, now))).await;
    }

    /// Returns when everything that was logged before can be read.
    pub(crate) async fn flush(&self) {
        self.append(String::new()).await;
    }

    /// Logs that a request is complete when it is dropped.
    pub(super) fn ending(&self, entry: Entry, api: &Api) -> Ending {
        Ending { log: self.clone(), entry, api: api.clone() }
    }

    async fn append(&self, text: String) {
        let (written, done) = oneshot::channel();
        let line = Line { text, written };
        let wait = async {
            let _ = self.queue.send(line).await;
            let _ = done.await;
        };
        if timeout(PATIENCE, wait).await.is_err() {
            tracing::warn!(path = %self.path.display(), "audit log write timed out");
        }
    }
}

fn write_all(mut file: File, mut lines: mpsc::Receiver<Line>) {
    let mut batch = Vec::new();
    while lines.blocking_recv_many(&mut batch, QUEUE) > 0 {
        let text: String = batch.iter().map(|line| line.text.as_str()).collect();
        if let Err(error) = file.write_all(text.as_bytes()) {
            tracing::warn!(%error, "cannot write audit log");
        }
        for line in batch.drain(..) {
            // Whoever has gone meanwhile does not need to know.
            let _ = line.written.send(());
        }
    }
}

/// An `audit.k8s.io/v1` event.
fn event(entry: &Entry, outcome: Outcome<'_>, now: Timestamp) -> Value {
    let mut event = json!({
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": entry.id,
        "stage": match outcome.stage {
            Stage::ResponseStarted => "ResponseStarted",
            Stage::ResponseComplete => "ResponseComplete",
        },
        "requestURI": entry.uri,
        "verb": entry.attributes.verb,
        "user": entry.identity.document(),
        "impersonatedUser": entry.impersonated.as_ref().map(Identity::document),
        "sourceIPs": [entry.source],
        "userAgent": entry.user_agent,
        "objectRef": object_reference(&entry.attributes),
        "responseStatus": response_status(outcome),
        "requestReceivedTimestamp": format!("{:.6}", entry.received),
        "stageTimestamp": format!("{now:.6}"),
        "annotations": annotations(entry),
    });
    if let Some(fields) = event.as_object_mut() {
        fields.retain(|_, value| !value.is_null() && *value != "");
    }
    event
}

fn response_status(outcome: Outcome<'_>) -> Value {
    let mut status = json!({ "metadata": {}, "code": outcome.code });
    if outcome.code >= 400 {
        status["status"] = json!("Failure");
    }
    if !outcome.reason.is_empty() {
        status["reason"] = json!(outcome.reason);
    }
    status
}

fn object_reference(attributes: &Attributes) -> Option<Value> {
    let objects = attributes.objects.as_ref()?;
    let mut reference = json!({
        "resource": objects.resource,
        "namespace": objects.namespace,
        "name": objects.name,
        "apiGroup": objects.group,
        "apiVersion": objects.version,
        "subresource": objects.subresource,
    });
    if let Some(fields) = reference.as_object_mut() {
        fields.retain(|_, value| *value != "");
    }
    Some(reference)
}

fn annotations(entry: &Entry) -> Option<Value> {
    let decision = if entry.allowed.is_some() { "allow" } else { "forbid" };
    entry.was_authorized.then(|| {
        json!({
            "authorization.k8s.io/decision": decision,
            "authorization.k8s.io/reason": entry.allowed.as_deref().unwrap_or_default(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Query;
    use crate::rbac::User;

    fn entry(path: &str) -> Entry {
        Entry {
            id: "id".to_owned(),
            uri: format!("{path}?limit=1"),
            attributes: Attributes::of("GET", path, &Query::default()),
            identity: Identity::authenticated(User { name: "ann".to_owned(), groups: vec![] }),
            source: "127.0.0.1".to_owned(),
            was_authorized: true,
            allowed: Some("because".to_owned()),
            ..Entry::default()
        }
    }

    #[test]
    fn an_event_has_the_form_that_readers_know() {
        let outcome = Outcome { stage: Stage::ResponseComplete, code: 404, reason: "NotFound" };
        let event =
            event(&entry("/api/v1/namespaces/a/pods/x/log"), outcome, Timestamp::UNIX_EPOCH);
        insta::assert_snapshot!(serde_json::to_string_pretty(&event).unwrap(), @r#"
        {
          "annotations": {
            "authorization.k8s.io/decision": "allow",
            "authorization.k8s.io/reason": "because"
          },
          "apiVersion": "audit.k8s.io/v1",
          "auditID": "id",
          "kind": "Event",
          "level": "Metadata",
          "objectRef": {
            "apiVersion": "v1",
            "name": "x",
            "namespace": "a",
            "resource": "pods",
            "subresource": "log"
          },
          "requestReceivedTimestamp": "1970-01-01T00:00:00.000000Z",
          "requestURI": "/api/v1/namespaces/a/pods/x/log?limit=1",
          "responseStatus": {
            "code": 404,
            "metadata": {},
            "reason": "NotFound",
            "status": "Failure"
          },
          "sourceIPs": [
            "127.0.0.1"
          ],
          "stage": "ResponseComplete",
          "stageTimestamp": "1970-01-01T00:00:00.000000Z",
          "user": {
            "groups": [
              "system:authenticated"
            ],
            "username": "ann"
          },
          "verb": "get"
        }
        "#);
    }

    #[tokio::test]
    async fn a_line_can_be_read_as_soon_as_it_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let log = AuditLog::create(&directory.path().join("audit.log")).unwrap();
        let outcome = Outcome { stage: Stage::ResponseComplete, code: 200, reason: "" };
        for number in 1..=3 {
            log.write(&entry("/healthz"), outcome, Timestamp::UNIX_EPOCH).await;
            let text = std::fs::read_to_string(log.path()).unwrap();
            assert_eq!(text.lines().count(), number);
        }
        drop(log.ending(entry("/api/v1/pods"), &Api::default()));
        log.flush().await;
        assert_eq!(std::fs::read_to_string(log.path()).unwrap().lines().count(), 4);
    }
}
