//! Read-only OCI registry with the images of the nodes.
//!
//! Clients read release images from it by digest. It serves plain HTTP on loopback, like other
//! local registries.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{self, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use fairway_registry::Digest;
use fairway_registry::layout::Layout;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST};
use http::{HeaderMap, Method, StatusCode};
use serde_json::Value;
use tokio::fs::File;
use tokio::net::TcpListener;
use tokio_util::io::ReaderStream;
use tokio_util::sync::CancellationToken;

use crate::node::layouts_in;

/// Maximum manifest size, as in most registries.
const MAX_MANIFEST_BYTES: u64 = 4 << 20;

/// Response header with the digest.
const DIGEST_HEADER: &str = "Docker-Content-Digest";

/// Media type of blobs.
const BLOB_MEDIA_TYPE: &str = "application/octet-stream";

/// OCI media types of image indexes and manifests.
const INDEX_MEDIA_TYPE: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST_MEDIA_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";

/// Serves the OCI layouts in these directories, including later ones, until the sandbox stops.
pub(crate) async fn serve(listener: TcpListener, images: Vec<PathBuf>, stop: CancellationToken) {
    let router = Router::new()
        .route("/v2/", get(|| async { "{}" }))
        .route("/v2/{*path}", get(handle))
        .with_state(Arc::new(images));
    let served = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned());
    if let Err(error) = served.await {
        tracing::warn!(%error, "registry stopped");
    }
}

async fn handle(
    State(images): State<Arc<Vec<PathBuf>>>,
    extract::Path(path): extract::Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let found = match RegistryPath::parse(&path) {
        Some(RegistryPath::Blob(digest)) => blob(&images, digest, BLOB_MEDIA_TYPE.to_owned()).await,
        Some(RegistryPath::Manifest { name, reference }) => {
            manifest(&images, &format!("{host}/{name}"), reference).await
        }
        None => None,
    };
    match found {
        Some(found) if method == Method::HEAD => found.map(|_| Body::empty()),
        Some(found) => found,
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// The target of a path.
#[derive(Debug, PartialEq, Eq)]
enum RegistryPath<'a> {
    Manifest { name: &'a str, reference: &'a str },
    Blob(Digest),
}

impl<'a> RegistryPath<'a> {
    fn parse(path: &'a str) -> Option<Self> {
        let (rest, reference) = path.rsplit_once('/')?;
        let (name, what) = rest.rsplit_once('/')?;
        match what {
            "manifests" => Some(Self::Manifest { name, reference }),
            "blobs" => Digest::parse(reference).map(Self::Blob),
            _ => None,
        }
    }
}

async fn manifest(images: &[PathBuf], name: &str, reference: &str) -> Option<Response> {
    let digest = match Digest::parse(reference) {
        Some(digest) => digest,
        None => find_by_name(images.to_vec(), format!("{name}:{reference}")).await?,
    };
    let path = blob_path(images, &digest)?;
    if tokio::fs::metadata(&path).await.ok()?.len() > MAX_MANIFEST_BYTES {
        return None;
    }
    let bytes = tokio::fs::read(&path).await.ok()?;
    let document: Value = serde_json::from_slice(&bytes).ok()?;
    blob(images, digest, media_type(&document).to_owned()).await
}

/// The media type of a manifest. OCI manifests may omit it.
fn media_type(document: &Value) -> &str {
    let is_index = document["manifests"].is_array();
    let default = if is_index { INDEX_MEDIA_TYPE } else { MANIFEST_MEDIA_TYPE };
    document["mediaType"].as_str().unwrap_or(default)
}

/// The digest of an image name in one of the layouts.
async fn find_by_name(images: Vec<PathBuf>, name: String) -> Option<Digest> {
    let search = move || {
        let layouts = images.iter().flat_map(|directory| layouts_in(directory));
        let mut found = layouts.filter_map(|layout| Layout::open(layout).ok()?.find(&name).ok()?);
        found.next().map(|image| image.digest)
    };
    tokio::task::spawn_blocking(search).await.ok()?
}

async fn blob(images: &[PathBuf], digest: Digest, media_type: String) -> Option<Response> {
    let file = File::open(blob_path(images, &digest)?).await.ok()?;
    let length = file.metadata().await.ok()?.len();
    let headers = [
        (CONTENT_TYPE.as_str(), media_type),
        (CONTENT_LENGTH.as_str(), length.to_string()),
        (DIGEST_HEADER, digest.to_string()),
    ];
    Some((headers, Body::from_stream(ReaderStream::new(file))).into_response())
}

/// The file of a digest. Digests are hexadecimal, so the path stays in the layout.
fn blob_path(images: &[PathBuf], digest: &Digest) -> Option<PathBuf> {
    let layouts = images.iter().flat_map(|directory| layouts_in(directory));
    let path = |layout: PathBuf| layout.join("blobs/sha256").join(digest.hex());
    layouts.map(path).find(|path: &PathBuf| Path::is_file(path))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parse_of_manifest_and_blob_paths() {
        let digest = format!("sha256:{}", "0".repeat(64));
        let blob = format!("example/release/blobs/{digest}");
        assert_eq!(RegistryPath::parse(&blob), Digest::parse(&digest).map(RegistryPath::Blob));
        let manifest = RegistryPath::Manifest { name: "example/release", reference: "5.0.0" };
        assert_eq!(RegistryPath::parse("example/release/manifests/5.0.0"), Some(manifest));
        for path in
            ["", "manifests/1", "a/tags/list", "a/blobs/../../etc/passwd", "a/blobs/sha256:x"]
        {
            assert_eq!(RegistryPath::parse(path), None, "{path}");
        }
    }

    #[test]
    fn media_type_defaults_by_content() {
        let docker = "application/vnd.docker.distribution.manifest.v2+json";
        assert_eq!(media_type(&json!({ "mediaType": docker, "layers": [] })), docker);
        assert_eq!(media_type(&json!({ "layers": [] })), MANIFEST_MEDIA_TYPE);
        assert_eq!(media_type(&json!({ "manifests": [] })), INDEX_MEDIA_TYPE);
    }
}
