//! The images of the nodes for others to read: a registry that gives, and takes nothing.
//!
//! Whoever reads releases by their digests finds here what pods run from. It speaks plain HTTP on
//! loopback, as registries on one's own machine do.

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

/// As many bytes as a manifest may have, in most registries.
const LARGEST_MANIFEST: u64 = 4 << 20;

/// What registries call the digest of what they give.
const DIGEST: &str = "Docker-Content-Digest";

/// What a blob is, as far as a registry knows.
const BYTES: &str = "application/octet-stream";

/// What a list of images is in OCI's words, and one image.
const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// Serves what these directories have, and will have, until the sandbox stops.
pub(crate) async fn serve(listener: TcpListener, images: Vec<PathBuf>, stop: CancellationToken) {
    let router = Router::new()
        .route("/v2/", get(|| async { "{}" }))
        .route("/v2/{*path}", get(answer))
        .with_state(Arc::new(images));
    let served = axum::serve(listener, router).with_graceful_shutdown(stop.cancelled_owned());
    if let Err(error) = served.await {
        tracing::warn!(%error, "registry stopped");
    }
}

async fn answer(
    State(images): State<Arc<Vec<PathBuf>>>,
    extract::Path(path): extract::Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let found = match Wanted::parse(&path) {
        Some(Wanted::Blob(digest)) => blob(&images, digest, BYTES.to_owned()).await,
        Some(Wanted::Manifest { name, reference }) => {
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

/// What a path asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wanted<'a> {
    Manifest { name: &'a str, reference: &'a str },
    Blob(Digest),
}

impl<'a> Wanted<'a> {
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
        None => named(images.to_vec(), format!("{name}:{reference}")).await?,
    };
    let path = find(images, &digest)?;
    if tokio::fs::metadata(&path).await.ok()?.len() > LARGEST_MANIFEST {
        return None;
    }
    let bytes = tokio::fs::read(&path).await.ok()?;
    let document: Value = serde_json::from_slice(&bytes).ok()?;
    blob(images, digest, media_type(&document).to_owned()).await
}

/// What a manifest says it is, and where it does not, what it must be: OCI images need not say it.
fn media_type(document: &Value) -> &str {
    let lists_images = document["manifests"].is_array();
    let must_be = if lists_images { INDEX } else { MANIFEST };
    document["mediaType"].as_str().unwrap_or(must_be)
}

/// The image that has a name in one of the layouts.
async fn named(images: Vec<PathBuf>, name: String) -> Option<Digest> {
    let look = move || {
        let layouts = images.iter().flat_map(|directory| layouts_in(directory));
        let mut found = layouts.filter_map(|layout| Layout::open(layout).ok()?.find(&name).ok()?);
        found.next().map(|image| image.digest)
    };
    tokio::task::spawn_blocking(look).await.ok()?
}

async fn blob(images: &[PathBuf], digest: Digest, media_type: String) -> Option<Response> {
    let file = File::open(find(images, &digest)?).await.ok()?;
    let length = file.metadata().await.ok()?.len();
    let headers = [
        (CONTENT_TYPE.as_str(), media_type),
        (CONTENT_LENGTH.as_str(), length.to_string()),
        (DIGEST, digest.to_string()),
    ];
    Some((headers, Body::from_stream(ReaderStream::new(file))).into_response())
}

/// Where the content of a digest is. Its name consists of hexadecimal digits alone.
fn find(images: &[PathBuf], digest: &Digest) -> Option<PathBuf> {
    let layouts = images.iter().flat_map(|directory| layouts_in(directory));
    let path = |layout: PathBuf| layout.join("blobs/sha256").join(digest.hex());
    layouts.map(path).find(|path: &PathBuf| Path::is_file(path))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_name_manifests_and_blobs() {
        let digest = format!("sha256:{}", "0".repeat(64));
        let blob = format!("example/release/blobs/{digest}");
        assert_eq!(Wanted::parse(&blob), Digest::parse(&digest).map(Wanted::Blob));
        let manifest = Wanted::Manifest { name: "example/release", reference: "5.0.0" };
        assert_eq!(Wanted::parse("example/release/manifests/5.0.0"), Some(manifest));
        for path in
            ["", "manifests/1", "a/tags/list", "a/blobs/../../etc/passwd", "a/blobs/sha256:x"]
        {
            assert_eq!(Wanted::parse(path), None, "{path}");
        }
    }

    #[test]
    fn a_manifest_need_not_say_what_it_is() {
        let docker = "application/vnd.docker.distribution.manifest.v2+json";
        assert_eq!(media_type(&json!({ "mediaType": docker, "layers": [] })), docker);
        assert_eq!(media_type(&json!({ "layers": [] })), MANIFEST);
        assert_eq!(media_type(&json!({ "manifests": [] })), INDEX);
    }
}
