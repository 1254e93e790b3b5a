//! What a request asks for, as access rules and the audit log see it: by its path alone, whether
//! that is served or not.

use crate::api::Query;
use crate::rbac::Request;
use crate::selector::{Field, FieldSelector};

/// What follows a namespace and is not a resource in it.
const PARTS_OF_NAMESPACES: [&str; 2] = ["status", "finalize"];

/// What a request asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes {
    /// Such as `list`, or the method in small letters where it is not about objects.
    pub(super) verb: String,
    /// The path as it came, without the query.
    pub(super) path: String,
    /// `None` where it is not about objects.
    pub(super) objects: Option<Objects>,
}

/// Which objects a request is about; what is not said is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Objects {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) resource: String,
    pub(super) subresource: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Attributes {
    /// Of a request with this method and path, which is decoded.
    pub(super) fn of(method: &str, path: &str, query: &Query) -> Self {
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let (group, version, rest) = match *segments {
            ["api", version, ref rest @ ..] if !rest.is_empty() => ("", version, rest),
            ["apis", group, version, ref rest @ ..] if !rest.is_empty() => (group, version, rest),
            _ => {
                let verb = method.to_ascii_lowercase();
                return Self { verb, path: path.to_owned(), objects: None };
            }
        };
        let mut objects = below_version(rest);
        let verb = verb(method, &mut objects, query).to_owned();
        let objects = Objects { group: group.to_owned(), version: version.to_owned(), ..objects };
        Self { verb, path: path.to_owned(), objects: Some(objects) }
    }

    /// The same as a question to the access rules.
    pub(super) fn request(&self) -> Request<'_> {
        let Some(objects) = &self.objects else {
            return Request::Path { verb: &self.verb, path: &self.path };
        };
        Request::Resource {
            verb: &self.verb,
            group: &objects.group,
            resource: &objects.resource,
            subresource: &objects.subresource,
            namespace: &objects.namespace,
            name: &objects.name,
        }
    }
}

fn below_version(rest: &[&str]) -> Objects {
    let (namespace, rest) = match *rest {
        ["namespaces", namespace, below, ..] if !PARTS_OF_NAMESPACES.contains(&below) => {
            (namespace, &rest[2..])
        }
        ["namespaces", namespace, ..] => (namespace, rest),
        _ => ("", rest),
    };
    let part = |index: usize| rest.get(index).copied().unwrap_or_default().to_owned();
    Objects {
        namespace: namespace.to_owned(),
        resource: part(0),
        name: part(1),
        subresource: part(2),
        ..Objects::default()
    }
}

/// Lists and watches that select one name are about this one.
fn verb(method: &str, objects: &mut Objects, query: &Query) -> &'static str {
    match method {
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" if objects.name.is_empty() => "deletecollection",
        "DELETE" => "delete",
        "GET" | "HEAD" if objects.name.is_empty() => {
            let selector = query.get("fieldSelector").unwrap_or_default();
            let selector = FieldSelector::parse(selector, &Field::METADATA).unwrap_or_default();
            selector.exact("metadata.name").unwrap_or_default().clone_into(&mut objects.name);
            match query.get("watch") {
                None | Some("0") => "list",
                Some(word) if word.eq_ignore_ascii_case("false") => "list",
                Some(_) => "watch",
            }
        }
        "GET" | "HEAD" => "get",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_what_it_is_about() {
        for (method, path, query, expected) in [
            ("GET", "/healthz", "", "get /healthz"),
            ("GET", "/api/v1", "", "get /api/v1"),
            ("GET", "/apis/apps/v1", "", "get /apis/apps/v1"),
            ("GET", "/api/v1/pods", "", "list - - pods - -"),
            ("GET", "/api/v1/pods", "watch", "watch - - pods - -"),
            ("GET", "/api/v1/pods", "watch=false", "list - - pods - -"),
            ("GET", "/api/v1/pods", "fieldSelector=metadata.name%3Dx", "list - - pods x -"),
            ("HEAD", "/api/v1/nodes/n", "", "get - - nodes n -"),
            ("POST", "/api/v1/namespaces/a/pods", "", "create a - pods - -"),
            ("PUT", "/api/v1/namespaces/a/pods/x/status", "", "update a - pods x status"),
            ("PUT", "/api/v1/namespaces/a/finalize", "", "update a - namespaces a finalize"),
            ("GET", "/api/v1/namespaces/a", "", "get a - namespaces a -"),
            ("GET", "/api/v1/namespaces", "", "list - - namespaces - -"),
            ("PATCH", "/apis/x.org/v2/namespaces/a/ys/y", "", "patch a x.org ys y -"),
            ("DELETE", "/apis/x.org/v2/ys", "", "deletecollection - x.org ys - -"),
            ("DELETE", "/apis/x.org/v2/ys/y", "", "delete - x.org ys y -"),
        ] {
            let attributes = Attributes::of(method, path, &Query::parse(query));
            let shown = match &attributes.objects {
                None => format!("{} {}", attributes.verb, attributes.path),
                Some(it) => {
                    let words = [&it.namespace, &it.group, &it.resource, &it.name, &it.subresource];
                    let words = words.map(|word| if word.is_empty() { "-" } else { word });
                    format!("{} {}", attributes.verb, words.join(" "))
                }
            };
            assert_eq!(shown, expected, "{method} {path}?{query}");
        }
    }
}
