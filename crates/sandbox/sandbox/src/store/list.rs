//! Lists: at which revision, and in pages.

use std::sync::Arc;

use serde_json::Value;

use super::collection::{Collection, Objects};
use super::token::{self, Token};
use super::{QueryError, ReadError, Resource, Selection, Store};

/// As of when a list is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum At {
    /// Now.
    #[default]
    Newest,
    /// Whenever is convenient. There is nothing more convenient here than now, but a real server
    /// answers from its cache, which knows no pages.
    Any,
    /// At this revision.
    Exact(u64),
    /// At this revision or later.
    NotOlderThan(u64),
}

/// The parameters of a list as they come in a URL; what is missing there is empty here.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListQuery<'a> {
    /// `resourceVersion`
    pub resource_version: &'a str,
    /// `resourceVersionMatch`
    pub resource_version_match: &'a str,
    /// `continue`
    pub continue_token: &'a str,
    /// `limit`: there is none unless it is positive.
    pub limit: i64,
}

/// What a list shows of what is selected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// As of when.
    pub at: At,
    /// No more than this many objects.
    pub limit: Option<usize>,
    /// From here on, and as of when that list began.
    pub continue_token: Option<String>,
}

/// Some objects as they were at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// The objects, in the order of namespaces and names.
    pub items: Vec<Arc<Value>>,
    /// `metadata.resourceVersion`: a watch from here on misses nothing.
    pub revision: u64,
    /// `metadata.continue`, if there may be more.
    pub continue_token: Option<String>,
    /// `metadata.remainingItemCount`; not known where selectors choose.
    pub remaining: Option<usize>,
}

impl ListOptions {
    /// Reads the parameters of a URL.
    pub fn parse(query: &ListQuery<'_>) -> Result<Self, QueryError> {
        check_match(query)?;
        let limit = usize::try_from(query.limit).ok().filter(|limit| *limit > 0);
        let continued = !query.continue_token.is_empty();
        if continued && !matches!(query.resource_version, "" | "0") {
            return Err(QueryError::VersionWithContinue);
        }
        let at = match (query.resource_version, query.resource_version_match) {
            ("", _) => At::Newest,
            // A page that goes on does so as of when the first one was.
            ("0", _) if continued => At::Newest,
            ("0", _) => At::Any,
            (version, "Exact") => At::Exact(parse_version(version)?),
            (version, "") if limit.is_some() => At::Exact(parse_version(version)?),
            (version, _) => At::NotOlderThan(parse_version(version)?),
        };
        let continue_token = continued.then(|| query.continue_token.to_owned());
        Ok(Self { at, limit, continue_token })
    }
}

impl Store {
    /// Lists the selected objects of a resource.
    pub fn list(
        &self,
        resource: &Resource,
        selection: &Selection,
        options: &ListOptions,
    ) -> Result<List, ReadError> {
        let prefix = selection.prefix();
        let token = options.continue_token.as_deref().map(Token::decode).transpose()?;
        let from = format!("{prefix}{}", token.as_ref().map_or("", |token| &token.start));

        let state = self.shared.lock();
        let collection = state.collections.get(resource);
        let oldest = collection.map_or(0, Collection::oldest).max(state.compacted);
        let revision = revision(options.at, token, oldest, state.revision)?;
        let objects = collection.map(|collection| collection.objects_at(revision, &prefix, &from));
        drop(state);

        let mut objects = objects.unwrap_or_default();
        if let Some(name) = selection.fields.exact("metadata.name") {
            only(&mut objects, &format!("{prefix}{name}"));
        }
        let limit = options.limit.filter(|_| options.at != At::Any).unwrap_or(usize::MAX);
        Ok(page(&objects, selection, limit, revision))
    }
}

/// As of which revision a list is.
fn revision(at: At, token: Option<Token>, oldest: u64, current: u64) -> Result<u64, ReadError> {
    match (token, at) {
        (Some(Token { revision: Some(revision), .. }), _) if revision > current => {
            Err(token::invalid(": it begins in the future"))
        }
        (Some(Token { revision: Some(revision), start }), _) if revision < oldest => {
            let token = Token { revision: None, start }.encode();
            Err(ReadError::ContinueExpired { token })
        }
        (Some(Token { revision, .. }), _) => Ok(revision.unwrap_or(current)),
        (None, At::Exact(requested) | At::NotOlderThan(requested)) if requested > current => {
            Err(ReadError::TooLarge { requested, current })
        }
        (None, At::Newest | At::Any | At::NotOlderThan(_)) => Ok(current),
        (None, At::Exact(requested)) if requested < oldest => {
            Err(ReadError::ListExpired { requested, oldest })
        }
        (None, At::Exact(requested)) => Ok(requested),
    }
}

/// Where a name identifies one object, nothing can come behind it. Without a namespace it does so
/// for cluster-wide resources only, which no other has a path like.
fn only(objects: &mut Objects, path: &str) {
    if let Some((path, object)) = objects.remove_entry(path) {
        *objects = Objects::from([(path, object)]);
    }
}

/// The first page of what is selected. As with a real server there may be more as soon as there
/// are objects behind it, selected or not.
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
    let token = last.map(|last| Token::after(last, &selection.prefix(), revision).encode());
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
