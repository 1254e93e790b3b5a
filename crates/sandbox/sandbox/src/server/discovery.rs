//! Documents other than objects: discovery, version and health.

use axum::body::Body;
use http::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use serde_json::{Value, json};

use super::negotiate::{Representation, ResponseFormat};
use super::response;
use crate::api::QueryParams;
use crate::catalog::{Catalog, ServerVersion, Target, version_document};

/// The reported server version.
pub(super) const SERVER_VERSION: ServerVersion<'static> =
    ServerVersion { major: 1, minor: 33, git_version: "v1.33.0+fairway" };

/// Health checks. They pass whenever the server responds.
const HEALTH_CHECKS: [&str; 3] = ["ping", "log", "etcd"];

const HEALTH_ENDPOINTS: [&str; 3] = ["healthz", "livez", "readyz"];

/// The discovery document of a target; `None` for other targets.
pub(super) fn discovery_document(
    catalog: &Catalog,
    target: &Target,
    address: &str,
    format: ResponseFormat,
) -> Option<Response<Body>> {
    let aggregated = format.representation == Representation::AggregatedDiscovery;
    let document = match target {
        Target::CoreVersions if aggregated => Some(catalog.aggregated_core()),
        Target::Groups if aggregated => Some(catalog.aggregated_groups()),
        Target::CoreVersions => Some(catalog.core_versions(address)),
        Target::Groups => Some(catalog.group_list()),
        Target::Group(group) => catalog.group(group),
        Target::Resources { group, version } => catalog.resource_list(group, version),
        Target::Version => Some(version_document(SERVER_VERSION)),
        Target::Objects { .. } | Target::Other(_) => None,
    }?;
    let mut response = response::document(200, &document, format);
    if aggregated && matches!(target, Target::CoreVersions | Target::Groups) {
        let media_type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        let vary = HeaderValue::from_static("Accept");
        response.headers_mut().insert(http::header::VARY, vary);
    }
    Some(response)
}

/// The response of a health endpoint; `None` for other paths.
pub(super) fn health(path: &str, query: &QueryParams) -> Option<Response<Body>> {
    let (endpoint, check) = match *path.split('/').collect::<Vec<_>>() {
        ["", endpoint] => (endpoint, None),
        ["", endpoint, check] => (endpoint, Some(check)),
        _ => return None,
    };
    if !HEALTH_ENDPOINTS.contains(&endpoint) {
        return None;
    }
    match check {
        None if query.get("verbose").is_some() => {
            Some(response::plain_text(200, verbose_health(endpoint)))
        }
        None | Some("") => Some(response::plain_text(200, "ok")),
        Some(check) if HEALTH_CHECKS.contains(&check) => Some(response::plain_text(200, "ok")),
        Some(_) => None,
    }
}

fn verbose_health(endpoint: &str) -> String {
    let checks = HEALTH_CHECKS.map(|check| format!("[+]{check} ok\n"));
    format!("{}{endpoint} check passed\n", checks.concat())
}

/// All paths that are not objects, which `/` and 404 responses list.
pub(super) fn path_index(catalog: &Catalog) -> Value {
    let groups = catalog.groups().into_iter().flat_map(|group| {
        let versions = catalog.versions(group).into_iter();
        let versions = versions.map(move |version| format!("/apis/{group}/{version}"));
        std::iter::once(format!("/apis/{group}")).chain(versions)
    });
    let health = HEALTH_ENDPOINTS.iter().flat_map(|endpoint| {
        let checks = HEALTH_CHECKS.iter().map(move |check| format!("/{endpoint}/{check}"));
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
    fn health_verbose_lists_all_checks() {
        insta::assert_snapshot!(verbose_health("readyz"), @r"
        [+]ping ok
        [+]log ok
        [+]etcd ok
        readyz check passed
        ");
    }
}
