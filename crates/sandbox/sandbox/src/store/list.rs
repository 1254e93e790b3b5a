//! Lists: selection, revision and pagination.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::collection::{Collection, Objects};
use super::{QueryError, ReadError, ResourceKey, Store};
use crate::selector::{FieldSelector, LabelSelector};

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

/// Maximum token length. A path has two names of 253 bytes; JSON and base64 expand a byte to at
/// most eight.
const MAX_TOKEN_LENGTH: usize = 8 * 1024;

/// Revision in tokens that continue with current objects.
const CURRENT_REVISION: i64 = -1;

/// The revision of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListRevision {
    /// The current revision.
    #[default]
    Newest,
    /// Any revision. The store returns the current one, but ignores limits like the watch cache of
    /// an API server.
    Any,
    /// Exactly this revision.
    Exact(u64),
    /// This revision or later.
    NotOlderThan(u64),
}

/// Query parameters of a list. Missing ones are empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListQuery<'a> {
    /// `resourceVersion`
    pub resource_version: &'a str,
    /// `resourceVersionMatch`
    pub resource_version_match: &'a str,
    /// `continue`
    pub continue_token: &'a str,
    /// `limit`; unlimited unless positive.
    pub limit: i64,
}

/// Options of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// The revision.
    pub at: ListRevision,
    /// Maximum number of objects.
    pub limit: Option<usize>,
    /// Continues a previous list at its revision.
    pub continue_token: Option<String>,
}

/// Objects at a revision.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// The objects, sorted by namespace and name.
    pub items: Vec<Arc<Value>>,
    /// `metadata.resourceVersion`, from which a watch misses nothing.
    pub revision: u64,
    /// `metadata.continue`, if there may be more objects.
    pub continue_token: Option<String>,
    /// `metadata.remainingItemCount`; unknown with selectors.
    pub remaining: Option<usize>,
}

impl ListOptions {
    /// Parses query parameters.
    pub fn parse(query: &ListQuery<'_>) -> Result<Self, QueryError> {
        check_match(query)?;
        let limit = usize::try_from(query.limit).ok().filter(|limit| *limit > 0);
        let continued = !query.continue_token.is_empty();
        if continued && !matches!(query.resource_version, "" | "0") {
            return Err(QueryError::VersionWithContinue);
        }
        let at = match (query.resource_version, query.resource_version_match) {
            ("", _) => ListRevision::Newest,
            // Further pages have the revision of the first one.
            ("0", _) if continued => ListRevision::Newest,
            ("0", _) => ListRevision::Any,
            (version, "Exact") => ListRevision::Exact(parse_version(version)?),
            (version, "") if limit.is_some() => ListRevision::Exact(parse_version(version)?),
            (version, _) => ListRevision::NotOlderThan(parse_version(version)?),
        };
        let continue_token = continued.then(|| query.continue_token.to_owned());
        Ok(Self { at, limit, continue_token })
    }
}

impl Store {
    /// Lists the selected objects of a resource.
    pub fn list(
        &self,
        resource: &ResourceKey,
        selection: &Selection,
        options: &ListOptions,
    ) -> Result<List, ReadError> {
        let prefix = selection.prefix();
        let token = options.continue_token.as_deref().map(ContinueToken::decode).transpose()?;
        let from = format!("{prefix}{}", token.as_ref().map_or("", |token| &token.start));

        let state = self.shared.lock();
        let collection = state.collections.get(resource);
        let oldest = collection.map_or(0, Collection::oldest).max(state.compacted);
        let revision = revision(options.at, token, oldest, state.revision)?;
        let objects = collection.map(|collection| collection.objects_at(revision, &prefix, &from));
        drop(state);

        let mut objects = objects.unwrap_or_default();
        if let Some(name) = selection.fields.exact("metadata.name") {
            retain_path(&mut objects, &format!("{prefix}{name}"));
        }
        let limit = options.limit.filter(|_| options.at != ListRevision::Any).unwrap_or(usize::MAX);
        Ok(page(&objects, selection, limit, revision))
    }
}

/// The revision of a list.
fn revision(
    at: ListRevision,
    token: Option<ContinueToken>,
    oldest: u64,
    current: u64,
) -> Result<u64, ReadError> {
    match (token, at) {
        (Some(ContinueToken { revision: Some(revision), .. }), _) if revision > current => {
            Err(invalid_token(": it begins in the future"))
        }
        (Some(ContinueToken { revision: Some(revision), start }), _) if revision < oldest => {
            let token = ContinueToken { revision: None, start }.encode();
            Err(ReadError::ContinueExpired { token })
        }
        (Some(ContinueToken { revision, .. }), _) => Ok(revision.unwrap_or(current)),
        (None, ListRevision::Exact(requested) | ListRevision::NotOlderThan(requested))
            if requested > current =>
        {
            Err(ReadError::TooLarge { requested, current })
        }
        (None, ListRevision::Newest | ListRevision::Any | ListRevision::NotOlderThan(_)) => {
            Ok(current)
        }
        (None, ListRevision::Exact(requested)) if requested < oldest => {
            Err(ReadError::ListExpired { requested, oldest })
        }
        (None, ListRevision::Exact(requested)) => Ok(requested),
    }
}

/// Reduces the objects to the one at a path. Without a namespace this applies only to
/// cluster-scoped resources, since other paths contain a slash.
fn retain_path(objects: &mut Objects, path: &str) {
    if let Some((path, object)) = objects.remove_entry(path) {
        *objects = Objects::from([(path, object)]);
    }
}

/// The first page of the selected objects. As in the API server, any objects behind it, selected or
/// not, make a further page possible.
fn page(objects: &Objects, selection: &Selection, limit: usize, revision: u64) -> List {
    let mut rest = objects.iter();
    let mut items = Vec::new();
    let mut last = None;
    while items.len() < limit
        && let Some((path, object)) = rest.next()
    {
        last = Some(path);
        if selection.matches(object) {
            items.push(Arc::clone(object));
        }
    }
    let left = rest.len();
    let last = last.filter(|_| left > 0);
    let token = last.map(|last| ContinueToken::after(last, &selection.prefix(), revision).encode());
    let remaining = last.filter(|_| !selection.has_selectors()).map(|_| left);
    List { items, revision, continue_token: token, remaining }
}

fn check_match(query: &ListQuery<'_>) -> Result<(), QueryError> {
    let forbidden = |detail| Err(QueryError::MatchForbidden { detail });
    match query.resource_version_match {
        "" => Ok(()),
        _ if query.resource_version.is_empty() => {
            forbidden("resourceVersionMatch is forbidden unless resourceVersion is provided")
        }
        _ if !query.continue_token.is_empty() => {
            forbidden("resourceVersionMatch is forbidden when continue is provided")
        }
        "Exact" if query.resource_version == "0" => {
            forbidden("resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"")
        }
        "Exact" | "NotOlderThan" => Ok(()),
        other => Err(QueryError::MatchUnknown { value: other.to_owned() }),
    }
}

pub(super) fn parse_version(version: &str) -> Result<u64, QueryError> {
    let invalid = |_| QueryError::ResourceVersion { value: version.to_owned() };
    version.parse().map_err(invalid)
}

/// Selects objects of a resource. The default selects all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Only matching labels.
    pub labels: LabelSelector,
    /// Only matching fields.
    pub fields: FieldSelector,
}

impl Selection {
    /// All objects in one namespace.
    pub fn in_namespace(namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..Self::default() }
    }

    /// Path prefix of the objects.
    pub(super) fn prefix(&self) -> String {
        self.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default()
    }

    pub(super) fn has_selectors(&self) -> bool {
        !self.labels.is_everything() || !self.fields.is_everything()
    }

    pub(super) fn matches(&self, object: &Value) -> bool {
        self.labels.matches(object) && self.fields.matches(object)
    }
}

/// A continue token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ContinueToken {
    /// Revision of the first page; `None` to continue with current objects.
    pub(super) revision: Option<u64>,
    /// First path of the next page, relative to the prefix of the list.
    pub(super) start: String,
}

#[derive(Serialize, Deserialize)]
struct EncodedToken {
    #[serde(default)]
    v: String,
    #[serde(default)]
    rv: i64,
    #[serde(default)]
    start: String,
}

impl ContinueToken {
    /// Continues after the path `last`, which begins with `prefix`.
    pub(super) fn after(last: &str, prefix: &str, revision: u64) -> Self {
        // The next possible path.
        let start = format!("{}\0", last.strip_prefix(prefix).unwrap_or(last));
        Self { revision: Some(revision), start }
    }

    pub(super) fn encode(&self) -> String {
        let rv = self.revision.map_or(CURRENT_REVISION, |revision| {
            i64::try_from(revision).unwrap_or(CURRENT_REVISION)
        });
        let encoded = EncodedToken { v: TOKEN_VERSION.to_owned(), rv, start: self.start.clone() };
        let json = serde_json::to_vec(&encoded).unwrap_or_default();
        URL_SAFE_NO_PAD.encode(json)
    }

    pub(super) fn decode(text: &str) -> Result<Self, ReadError> {
        if text.len() > MAX_TOKEN_LENGTH {
            return Err(invalid_token(""));
        }
        let json =
            URL_SAFE_NO_PAD.decode(text).map_err(|error| invalid_token(format!(": {error}")))?;
        let encoded =
            serde_json::from_slice(&json).map_err(|error| invalid_token(format!(": {error}")));
        let EncodedToken { v, rv, start } = encoded?;
        if v != TOKEN_VERSION {
            let problem = format!(": server does not recognize this encoded version {v:?}");
            return Err(invalid_token(problem));
        }
        let revision = match rv {
            CURRENT_REVISION => None,
            1.. => rv.try_into().ok(),
            _ => {
                let problem = ": incorrect encoded start resourceVersion (version meta.k8s.io/v1)";
                return Err(invalid_token(problem));
            }
        };
        if start.is_empty() {
            return Err(invalid_token(": encoded start key empty (version meta.k8s.io/v1)"));
        }
        if start.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err(invalid_token(format!(": {start}")));
        }
        Ok(Self { revision, start })
    }
}

/// An error with the message of the API server.
pub(super) fn invalid_token(problem: impl std::fmt::Display) -> ReadError {
    ReadError::InvalidContinue { problem: format!("continue key is not valid{problem}") }
}
