//! Who asked the API server for what.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde::Deserialize;

/// Every request that the API server answered.
pub struct AuditLog {
    path: PathBuf,
}

/// A moment in the log.
#[derive(Clone, Copy, Debug)]
pub struct AuditMark(u64);

/// One request.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEvent {
    /// How far it was: `ResponseStarted` for what goes on, `ResponseComplete` for what has ended.
    pub stage: String,
    /// What was done: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, …
    pub verb: String,
    /// Who did it.
    pub user: AuditUser,
    /// The program.
    #[serde(default)]
    pub user_agent: String,
    /// What was asked for, to the letter.
    #[serde(default, rename = "requestURI")]
    pub request_uri: String,
    /// When the API server received it.
    pub request_received_timestamp: Option<MicroTime>,
    /// To what it was done; missing for requests that concern no object.
    pub object_ref: Option<AuditObject>,
    /// How it was answered.
    pub response_status: Option<AuditResponse>,
}

/// Who did it.
#[derive(Clone, Debug, Deserialize)]
pub struct AuditUser {
    /// The name that the API server knows.
    pub username: String,
    /// What else it knows, such as the pod of a token.
    #[serde(default)]
    extra: BTreeMap<String, Vec<String>>,
}

impl AuditUser {
    /// The pod that it is, if it shows the token of one.
    pub fn pod(&self) -> Option<&str> {
        let names = self.extra.get("authentication.kubernetes.io/pod-name")?;
        names.first().map(String::as_str)
    }
}

/// To what it was done.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditObject {
    /// The resource, in the plural.
    pub resource: String,
    /// The subresource, or nothing.
    pub subresource: String,
    /// The namespace, or nothing.
    pub namespace: String,
    /// The name, or nothing for all of them.
    pub name: String,
}

/// How it was answered.
#[derive(Clone, Debug, Deserialize)]
pub struct AuditResponse {
    /// The HTTP status.
    pub code: u16,
}

impl AuditLog {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Now.
    pub fn mark(&self) -> Result<AuditMark> {
        let metadata = std::fs::metadata(&self.path)
            .with_context(|| format!("cannot read the metadata of {}", self.path.display()))?;
        Ok(AuditMark(metadata.len()))
    }

    /// What was answered since then. An event is written before its answer is sent.
    pub fn since(&self, mark: AuditMark) -> Result<Vec<AuditEvent>> {
        ensure!(self.mark()?.0 >= mark.0, "{} was truncated or rotated", self.path.display());
        let read = || -> std::io::Result<String> {
            let mut file = File::open(&self.path)?;
            file.seek(SeekFrom::Start(mark.0))?;
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            Ok(text)
        };
        let text = read().with_context(|| format!("cannot read {}", self.path.display()))?;
        // The last line may still be being written.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).context("not an audit event")).collect()
    }
}

impl AuditEvent {
    /// Whether it was about objects of that resource.
    pub fn is_about(&self, resource: &str) -> bool {
        self.object_ref.as_ref().is_some_and(|object| object.resource == resource)
    }

    /// Whether a watch has ended that was told of at its begin.
    pub fn ends_watch(&self) -> bool {
        let succeeded = self.response_status.as_ref().is_some_and(|status| status.code == 200);
        self.verb == "watch" && self.stage == "ResponseComplete" && succeeded
    }

    /// Whether it was only to be tried, and could change nothing.
    pub fn is_dry_run(&self) -> bool {
        let (_, query) = self.request_uri.split_once('?').unwrap_or_default();
        query.split('&').any(|parameter| parameter == "dryRun=All")
    }

    /// Whether it was meant to change something.
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
    }
}

/// Such as `admin patch clusterversions/version/status: 200`.
impl fmt::Display for AuditEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.user.username, self.verb)?;
        if let Some(object) = &self.object_ref {
            let AuditObject { resource, subresource, namespace, name } = object;
            write!(f, " {resource}")?;
            for part in [namespace, name, subresource].into_iter().filter(|part| !part.is_empty()) {
                write!(f, "/{part}")?;
            }
        }
        match &self.response_status {
            Some(response) => write!(f, ": {}", response.code),
            None => Ok(()),
        }
    }
}
