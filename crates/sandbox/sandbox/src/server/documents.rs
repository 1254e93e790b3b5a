//! What is served beside objects: discovery, the version, and how the server is.

use axum::body::Body;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};

use super::negotiate::{Accepted, Form};
use super::respond;
use crate::api::Query;
use crate::catalog::{Catalog, ServerVersion, Target, version_document};

/// The server whose API this one follows.
pub(super) const VERSION: ServerVersion<'static> =
    ServerVersion { major: 1, minor: 33, git_version: "v1.33.0+fairway" };

/// What is checked for health; nothing here can be ill while it answers.
const CHECKS: [&str; 3] = ["ping", "log", "etcd"];

const HEALTH: [&str; 3] = ["healthz", "livez", "readyz"];

/// A document of discovery; `None` where the target is not one.
pub(super) fn discovery(
    catalog: &Catalog,
    target: &Target,
    address: &str,
    accepted: Accepted,
) -> Option<Response<Body>> {
    let aggregated = accepted.form == Form::Aggregated;
    let document = match target {
        Target::CoreVersions if aggregated => Some(catalog.aggregated_core()),
        Target::Groups if aggregated => Some(catalog.aggregated_groups()),
        Target::CoreVersions => Some(catalog.core_versions(address)),
        Target::Groups => Some(catalog.group_list()),
        Target::Group(group) => catalog.group(group),
        Target::Resources { group, version } => catalog.resource_list(group, version),
        Target::Version => Some(version_document(VERSION)),
        Target::Objects { .. } | Target::Other(_) => None,
    }?;
    let mut response = respond::document(200, &document, accepted);
    if aggregated && matches!(target, Target::CoreVersions | Target::Groups) {
        let media_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        let vary = HeaderValue::from_static("Accept");
        response.headers_mut().insert(http::header::VARY, vary);
    }
    Some(response)
}

/// Whether the server is well; `None` where the path does not ask for that.
pub(super) fn health(path: &str, query: &Query) -> Option<Response<Body>> {
    let (endpoint, check) = match *path.split('/').collect::<Vec<_>>() {
        ["", endpoint] => (endpoint, None),
        ["", endpoint, check] => (endpoint, Some(check)),
        _ => return None,
    };
    if !HEALTH.contains(&endpoint) {
        return None;
    }
    match check {
        None if query.get("verbose").is_some() => Some(respond::text_plain(200, verbose(endpoint))),
        None | Some("") => Some(respond::text_plain(200, "ok")),
        Some(check) if CHECKS.contains(&check) => Some(respond::text_plain(200, "ok")),
        Some(_) => None,
    }
}

fn verbose(endpoint: &str) -> String {
    let checks = CHECKS.map(|check| format!("[+]{check} ok\n"));
    format!("{}{endpoint} check passed\n", checks.concat())
}

/// Every path that is no object: what `/` shows, and what is shown where there is nothing.
pub(super) fn paths(catalog: &Catalog) -> Value {
    let groups = catalog.groups().into_iter().flat_map(|group| {
        let versions = catalog.versions(group).into_iter();
        let versions = versions.map(move |version| format!("/apis/{group}/{version}"));
        std::iter::once(format!("/apis/{group}")).chain(versions)
    });
    let health = HEALTH.iter().flat_map(|endpoint| {
        let checks = CHECKS.iter().map(move |check| format!("/{endpoint}/{check}"));
        std::iter::once(format!("/{endpoint}")).chain(checks)
    });
    let others = ["/api", "/api/v1", "/apis", "/openapi/v3", "/version"].map(str::to_owned);
    let mut paths: Vec<_> = others.into_iter().chain(groups).chain(health).collect();
    paths.sort();
    json!({ "paths": paths })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_is_asked_for_by_several_names() {
        for (path, served) in [
            ("/healthz", true),
            ("/livez", true),
            ("/readyz", true),
            ("/readyz/ping", true),
            ("/readyz/nothing", false),
            ("/health", false),
            ("/healthz/ping/more", false),
        ] {
            assert_eq!(health(path, &Query::default()).is_some(), served, "{path}");
        }
    }

    #[test]
    fn who_wants_it_verbose_gets_all_checks() {
        insta::assert_snapshot!(verbose("readyz"), @r"
        [+]ping ok
        [+]log ok
        [+]etcd ok
        readyz check passed
        ");
    }
}
