//! The audit log: one `audit.k8s.io/v1` event per line.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::authn::UserInfo;
use super::authz::RequestAttributes;
use crate::api::Api;

/// Capacity of the queue, larger than the number of connections, so that requests rarely wait.
const QUEUE_CAPACITY: usize = 1024;

/// Maximum wait until a line is written. If the disk is stuck, the response is sent without it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// The audit log of a sandbox. Clones share the log.
#[derive(Clone)]
pub(crate) struct AuditLog {
    path: PathBuf,
    queue: mpsc::Sender<QueuedLine>,
}

struct QueuedLine {
    text: String,
    written: oneshot::Sender<()>,
}

/// Logged attributes of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct AuditEntry {
    pub(super) id: String,
    pub(super) uri: String,
    pub(super) attributes: RequestAttributes,
    pub(super) identity: UserInfo,
    pub(super) impersonated: Option<UserInfo>,
    pub(super) source: String,
    pub(super) user_agent: String,
    pub(super) received: Timestamp,
    /// The reason of the authorizer; `None` if it denied the request or was not called.
    pub(super) allowed: Option<String>,
    pub(super) was_authorized: bool,
}

/// Status of a response in an audit event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AuditStatus<'a> {
    pub(super) stage: AuditStage,
    pub(super) code: u16,
    /// Machine-readable reason of an error.
    pub(super) reason: &'a str,
}

/// Stage of an audit event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AuditStage {
    ResponseStarted,
    ResponseComplete,
}

/// Logs the completion of a streamed response when it is dropped.
pub(super) struct CompletionGuard {
    log: AuditLog,
    entry: AuditEntry,
    api: Api,
}

impl Drop for CompletionGuard {
    fn drop(&mut self) {
        let status = AuditStatus { stage: AuditStage::ResponseComplete, code: 200, reason: "" };
        let text = format!("{}\n", event(&self.entry, status, self.api.now()));
        let (written, _) = oneshot::channel();
        // `drop` cannot wait. The line is lost if the queue is full.
        let _ = self.log.queue.try_send(QueuedLine { text, written });
    }
}

impl AuditLog {
    /// Opens the log at a path.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        // Requests contain Secrets. A file of an earlier run may have other permissions.
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        let (queue, lines) = mpsc::channel(QUEUE_CAPACITY);
        // The writer ends when the last sender is dropped.
        tokio::task::spawn_blocking(move || write_all(file, lines));
        Ok(Self { path: path.to_owned(), queue })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes an event. Returns after it is in the file.
    pub(super) async fn write(&self, entry: &AuditEntry, status: AuditStatus<'_>, now: Timestamp) {
        self.append(format!("{}\n", event(entry, status, now))).await;
    }

    /// Returns after all previous events are in the file.
    pub(crate) async fn flush(&self) {
        self.append(String::new()).await;
    }

    /// A guard that logs the completion of a request when it is dropped.
    pub(super) fn completion_guard(&self, entry: AuditEntry, api: &Api) -> CompletionGuard {
        CompletionGuard { log: self.clone(), entry, api: api.clone() }
    }

    async fn append(&self, text: String) {
        let (written, done) = oneshot::channel();
        let line = QueuedLine { text, written };
        let wait = async {
            let _ = self.queue.send(line).await;
            let _ = done.await;
        };
        if timeout(WRITE_TIMEOUT, wait).await.is_err() {
            tracing::warn!(path = %self.path.display(), "audit log write timed out");
        }
    }
}

fn write_all(mut file: File, mut lines: mpsc::Receiver<QueuedLine>) {
    let mut batch = Vec::new();
    while lines.blocking_recv_many(&mut batch, QUEUE_CAPACITY) > 0 {
        let text: String = batch.iter().map(|line| line.text.as_str()).collect();
        if let Err(error) = file.write_all(text.as_bytes()) {
            tracing::warn!(%error, "cannot write audit log");
        }
        for line in batch.drain(..) {
            // The receiver may have timed out.
            let _ = line.written.send(());
        }
    }
}

/// An `audit.k8s.io/v1` event.
fn event(entry: &AuditEntry, status: AuditStatus<'_>, now: Timestamp) -> Value {
    let mut event = json!({
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Metadata",
        "auditID": entry.id,
        "stage": match status.stage {
            AuditStage::ResponseStarted => "ResponseStarted",
            AuditStage::ResponseComplete => "ResponseComplete",
        },
        "requestURI": entry.uri,
        "verb": entry.attributes.verb,
        "user": entry.identity.to_document(),
        "impersonatedUser": entry.impersonated.as_ref().map(UserInfo::to_document),
        "sourceIPs": [entry.source],
        "userAgent": entry.user_agent,
        "objectRef": object_reference(&entry.attributes),
        "responseStatus": response_status(status),
        "requestReceivedTimestamp": format!("{:.6}", entry.received),
        "stageTimestamp": format!("{now:.6}"),
        "annotations": annotations(entry),
    });
    if let Some(fields) = event.as_object_mut() {
        fields.retain(|_, value| !value.is_null() && *value != "");
    }
    event
}

fn response_status(status: AuditStatus<'_>) -> Value {
    let mut document = json!({ "metadata": {}, "code": status.code });
    if status.code >= 400 {
        document["status"] = json!("Failure");
    }
    if !status.reason.is_empty() {
        document["reason"] = json!(status.reason);
    }
    document
}

fn object_reference(attributes: &RequestAttributes) -> Option<Value> {
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

fn annotations(entry: &AuditEntry) -> Option<Value> {
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
    use crate::api::QueryParams;
    use crate::rbac::User;

    fn entry(path: &str) -> AuditEntry {
        AuditEntry {
            id: "id".to_owned(),
            uri: format!("{path}?limit=1"),
            attributes: RequestAttributes::new("GET", path, &QueryParams::default()),
            identity: UserInfo::authenticated(User { name: "ann".to_owned(), groups: vec![] }),
            source: "127.0.0.1".to_owned(),
            was_authorized: true,
            allowed: Some("because".to_owned()),
            ..AuditEntry::default()
        }
    }

    #[test]
    fn event_of_error_has_audit_v1_fields() {
        let status =
            AuditStatus { stage: AuditStage::ResponseComplete, code: 404, reason: "NotFound" };
        let event = event(&entry("/api/v1/namespaces/a/pods/x/log"), status, Timestamp::UNIX_EPOCH);
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
    async fn write_returns_after_line_is_in_file() {
        let directory = tempfile::tempdir().unwrap();
        let log = AuditLog::create(&directory.path().join("audit.log")).unwrap();
        let status = AuditStatus { stage: AuditStage::ResponseComplete, code: 200, reason: "" };
        for number in 1..=3 {
            log.write(&entry("/healthz"), status, Timestamp::UNIX_EPOCH).await;
            let text = std::fs::read_to_string(log.path()).unwrap();
            assert_eq!(text.lines().count(), number);
        }
        drop(log.completion_guard(entry("/api/v1/pods"), &Api::default()));
        log.flush().await;
        assert_eq!(std::fs::read_to_string(log.path()).unwrap().lines().count(), 4);
    }
}
