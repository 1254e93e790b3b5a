//! Request targets by path, method and query.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Catalog, Resource, Subresource, Verb};

/// Maximum path length, longer than any valid path.
const MAX_LENGTH: usize = 4096;

/// The target of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// `/api`
    CoreVersions,
    /// `/apis`
    Groups,
    /// `/apis/{group}`
    Group(String),
    /// `/api/v1` with an empty group, and `/apis/{group}/{version}`
    Resources {
        /// The group.
        group: String,
        /// The version.
        version: String,
    },
    /// `/version`
    Version,
    /// Objects of a resource.
    Objects {
        /// The resource.
        resource: Arc<Resource>,
        /// The namespace; `None` for cluster-scoped resources and for all namespaces.
        namespace: Option<String>,
        /// The name; `None` for collections and for objects to create.
        name: Option<String>,
        /// The subresource.
        subresource: Option<Subresource>,
        /// The verb.
        verb: Verb,
    },
    /// A decoded path outside of the API.
    Other(String),
}

/// Why a request has no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// 400 Bad Request.
    #[error("{message}")]
    Invalid {
        /// The message.
        message: String,
    },
    /// 404 Not Found.
    #[error("the server could not find the requested resource")]
    NotFound,
    /// 405 Method Not Allowed.
    #[error("the server does not allow this method on the requested resource")]
    MethodNotAllowed,
}

impl Target {
    /// Parses a request. The path is percent-encoded and without the query.
    pub fn parse(
        catalog: &Catalog,
        method: &str,
        path: &str,
        query: &str,
    ) -> Result<Self, PathError> {
        let path = decode_path(path)?;
        let segments: Vec<&str> = path.trim_end_matches('/').split('/').collect();
        // Objects check their verbs themselves; documents are read-only.
        let document =
            |target| if method == "GET" { Ok(target) } else { Err(PathError::MethodNotAllowed) };
        match *segments {
            ["", "version"] => document(Self::Version),
            ["", "api"] => document(Self::CoreVersions),
            ["", "apis"] => document(Self::Groups),
            ["", "api", version] => document(versioned(catalog, "", version)?),
            ["", "apis", group] if is_served(catalog, group, None) => {
                document(Self::Group(group.to_owned()))
            }
            ["", "apis", group, version] => document(versioned(catalog, group, version)?),
            ["", "api", version, ref rest @ ..] => {
                objects(catalog, "", version, rest)?.target(method, query)
            }
            ["", "apis", group, version, ref rest @ ..] if !group.is_empty() => {
                objects(catalog, group, version, rest)?.target(method, query)
            }
            ["", "apis", ..] => Err(PathError::NotFound),
            _ => Ok(Self::Other(path.into_owned())),
        }
    }
}

/// Decodes a path. Encoded slashes separate segments, as in the API server.
pub fn decode_path(path: &str) -> Result<Cow<'_, str>, PathError> {
    let invalid = |message: &str| PathError::Invalid { message: message.to_owned() };
    if path.len() > MAX_LENGTH {
        return Err(PathError::NotFound);
    }
    if !path.contains('%') {
        return Ok(Cow::Borrowed(path));
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, others @ ..] = rest {
        rest = others;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let [high, low, others @ ..] = rest else { return Err(invalid("invalid URL escape")) };
        let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|it| u8::try_from(it).ok());
        let (Some(high), Some(low)) = (digit(high), digit(low)) else {
            return Err(invalid("invalid URL escape"));
        };
        bytes.push(high * 16 + low);
        rest = others;
    }
    // All names are valid UTF-8.
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| PathError::NotFound)
}

fn is_served(catalog: &Catalog, group: &str, version: Option<&str>) -> bool {
    let versions = catalog.versions(group);
    !versions.is_empty() && version.is_none_or(|version| versions.contains(&version))
}

fn versioned(catalog: &Catalog, group: &str, version: &str) -> Result<Target, PathError> {
    if is_served(catalog, group, Some(version)) {
        Ok(Target::Resources { group: group.to_owned(), version: version.to_owned() })
    } else {
        Err(PathError::NotFound)
    }
}

/// The target of a path, before its method is considered.
struct PathTarget<'a> {
    resource: &'a Arc<Resource>,
    namespace: Option<&'a str>,
    name: Option<&'a str>,
    subresource: Option<Subresource>,
}

/// Parses the segments after the version.
fn objects<'a>(
    catalog: &'a Catalog,
    group: &str,
    version: &str,
    rest: &[&'a str],
) -> Result<PathTarget<'a>, PathError> {
    let find = |plural: &str| catalog.resource(group, version, plural);
    let (namespace, rest) = match *rest {
        // Segments after the name of a namespace are its subresources, unless they are resources.
        ["namespaces", _, below, ..] if find(below).is_none() && group.is_empty() => (None, rest),
        ["namespaces", namespace, _, ..] => (Some(namespace), &rest[2..]),
        _ => (None, rest),
    };
    let (plural, name, subresource) = match *rest {
        [plural] => (plural, None, None),
        [plural, name] => (plural, Some(name), None),
        [plural, name, subresource] => (plural, Some(name), Some(subresource)),
        _ => return Err(PathError::NotFound),
    };
    let resource = find(plural).ok_or(PathError::NotFound)?;
    let all_namespaces = namespace.is_none() && name.is_none();
    if resource.namespaced != namespace.is_some() && !(resource.namespaced && all_namespaces) {
        return Err(PathError::NotFound);
    }
    for part in namespace.into_iter().chain(name) {
        check_name(part)?;
    }
    let known = |word: &str| {
        let named = Subresource::ALL.into_iter().find(|it| it.as_str() == word);
        named.filter(|it| resource.subresources.contains(it)).ok_or(PathError::NotFound)
    };
    let subresource = subresource.map(known).transpose()?;
    Ok(PathTarget { resource, namespace, name, subresource })
}

/// Refuses names that are not valid path segments.
fn check_name(name: &str) -> Result<(), PathError> {
    let problem = match name {
        "" => return Err(PathError::NotFound),
        "." | ".." => format!("may not be '{name}'"),
        _ if name.contains('%') => "may not contain '%'".to_owned(),
        _ => return Ok(()),
    };
    Err(PathError::Invalid { message: format!("Name parameter invalid: {name:?}: {problem}") })
}

impl PathTarget<'_> {
    fn target(&self, method: &str, query: &str) -> Result<Target, PathError> {
        let of_all_namespaces = self.resource.namespaced && self.namespace.is_none();
        if of_all_namespaces && !self.resource.verbs.contains(&Verb::List) {
            return Err(PathError::NotFound);
        }
        let verb = self.verb(method, query).ok_or(PathError::MethodNotAllowed)?;
        let allowed = self.subresource.map_or(self.resource.verbs, Subresource::verbs);
        if !allowed.contains(&verb) {
            return Err(PathError::MethodNotAllowed);
        }
        if of_all_namespaces && !matches!(verb, Verb::List | Verb::Watch) {
            let custom = self.resource.custom.is_some();
            return Err(if custom { PathError::NotFound } else { PathError::MethodNotAllowed });
        }
        Ok(Target::Objects {
            resource: Arc::clone(self.resource),
            namespace: self.namespace.map(str::to_owned),
            name: self.name.map(str::to_owned),
            subresource: self.subresource,
            verb,
        })
    }

    fn verb(&self, method: &str, query: &str) -> Option<Verb> {
        let has_name = self.name.is_some();
        match method {
            "GET" if has_name => Some(Verb::Get),
            "GET" if asks_to_watch(query) => Some(Verb::Watch),
            "GET" => Some(Verb::List),
            "POST" if !has_name || self.subresource.is_some() => Some(Verb::Create),
            "PUT" if has_name => Some(Verb::Update),
            "PATCH" if has_name => Some(Verb::Patch),
            "DELETE" if has_name => Some(Verb::Delete),
            "DELETE" => Some(Verb::DeleteCollection),
            _ => None,
        }
    }
}

/// Whether the query requests a watch. As in the API server, every value except `false` and `0`
/// does.
fn asks_to_watch(query: &str) -> bool {
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    let watch = pairs.find(|(name, _)| name == "watch");
    watch.is_some_and(|(_, value)| !(value.eq_ignore_ascii_case("false") || value == "0"))
}
