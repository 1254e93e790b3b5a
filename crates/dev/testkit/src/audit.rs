//! The requests that an API server received, by its audit log.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use serde::Deserialize;

/// The audit log of an API server.
pub struct AuditLog {
    path: PathBuf,
}

/// A position in the log.
#[derive(Clone, Copy, Debug)]
pub struct AuditMark(u64);

/// One request.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEvent {
    /// `ResponseStarted` for a watch in progress, `ResponseComplete` for a request that has ended.
    pub stage: String,
    /// The verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, …
    pub verb: String,
    /// The user of the request.
    pub user: AuditUser,
    /// The `User-Agent` header.
    #[serde(default)]
    pub user_agent: String,
    /// Path and query.
    #[serde(default, rename = "requestURI")]
    pub request_uri: String,
    /// The time at which the API server received the request.
    pub request_received_timestamp: Option<MicroTime>,
    /// The resource, missing for paths such as `/healthz`.
    pub object_ref: Option<AuditObject>,
    /// The response, missing while the request is in progress.
    pub response_status: Option<AuditResponse>,
}

/// The user of a request.
#[derive(Clone, Debug, Deserialize)]
pub struct AuditUser {
    /// The authenticated name.
    pub username: String,
    /// Further attributes, such as the pod of a token.
    #[serde(default)]
    extra: BTreeMap<String, Vec<String>>,
}

impl AuditUser {
    /// The pod whose token authenticated the request.
    pub fn pod(&self) -> Option<&str> {
        let names = self.extra.get("authentication.kubernetes.io/pod-name")?;
        names.first().map(String::as_str)
    }
}

/// The resource of a request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuditObject {
    /// The plural name of the resource.
    pub resource: String,
    /// The subresource, or empty.
    pub subresource: String,
    /// The namespace, or empty.
    pub namespace: String,
    /// The name, or empty for a list.
    pub name: String,
}

/// The response to a request.
#[derive(Clone, Debug, Deserialize)]
pub struct AuditResponse {
    /// The HTTP status.
    pub code: u16,
}

impl AuditLog {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// The current end of the log.
    pub fn mark(&self) -> Result<AuditMark> {
        let metadata = std::fs::metadata(&self.path)
            .with_context(|| format!("cannot read the metadata of {}", self.path.display()))?;
        Ok(AuditMark(metadata.len()))
    }

    /// The events after a position. The API server writes an event before it sends the response.
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
        // The last line may be incomplete.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).context("not an audit event")).collect()
    }
}

impl AuditEvent {
    /// Whether the request is about a resource.
    pub fn is_about(&self, resource: &str) -> bool {
        self.object_ref.as_ref().is_some_and(|object| object.resource == resource)
    }

    /// Whether this is the end of a watch, whose start has its own event.
    pub fn ends_watch(&self) -> bool {
        let succeeded = self.response_status.as_ref().is_some_and(|status| status.code == 200);
        self.verb == "watch" && self.stage == "ResponseComplete" && succeeded
    }

    /// Whether the request is a dry run.
    pub fn is_dry_run(&self) -> bool {
        let (_, query) = self.request_uri.split_once('?').unwrap_or_default();
        query.split('&').any(|parameter| parameter == "dryRun=All")
    }

    /// Whether the verb is one that changes objects.
    pub fn is_write(&self) -> bool {
        matches!(self.verb.as_str(), "create" | "update" | "patch" | "delete" | "deletecollection")
    }
}

/// For example `admin patch clusterversions/version/status: 200`.
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

/// The beginning of the `User-Agent` of `fairway`.
const USER_AGENT: &str = "fairway/";

/// Numbers of requests of `fairway`, by verb and resource. A watch counts from its first event: some
/// API servers do not log it earlier.
#[derive(Default)]
pub struct Requests(BTreeMap<String, usize>);

impl Requests {
    /// Counts the requests after a position of the log.
    pub fn since(log: &AuditLog, mark: AuditMark) -> Result<Self> {
        let mut requests = BTreeMap::new();
        for event in log.since(mark)? {
            if event.user_agent.starts_with(USER_AGENT) && !event.ends_watch() {
                *requests.entry(verb_and_resource(&event)).or_default() += 1;
            }
        }
        Ok(Self(requests))
    }

    /// The number of requests that meet a condition on text such as `watch configmaps`.
    pub fn count(&self, wanted: impl Fn(&str) -> bool) -> usize {
        self.0.iter().filter(|(request, _)| wanted(request)).map(|(_, count)| count).sum()
    }

    /// The number of requests for each verb.
    pub fn by_verb(&self) -> BTreeMap<&str, usize> {
        let mut verbs = BTreeMap::new();
        for (request, count) in &self.0 {
            let verb = request.split(' ').next().unwrap_or_default();
            *verbs.entry(verb).or_default() += count;
        }
        verbs
    }
}

impl fmt::Display for Requests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: Vec<String> =
            self.0.iter().map(|(request, count)| format!("{count} {request}")).collect();
        f.write_str(&counts.join(", "))
    }
}

/// For example `watch configmaps`.
fn verb_and_resource(event: &AuditEvent) -> String {
    let resource = event.object_ref.as_ref().map_or("", |object| &object.resource);
    format!("{} {resource}", event.verb)
}
