//! Downloads resume after a broken connection.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use fairway_registry::contents::ContentsError;
use fairway_registry::payload;
use fairway_registry::pull::PullOptions;
use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder};
use fairway_testkit::FaultyProxy;

use crate::releases::images::{Content, Style, image, tar};
use crate::releases::real::Repository;
use crate::releases::server::Server;
use crate::releases::{redacted, source};

const FILE: &str = "release-manifests/0000_50_a.yaml";
const LENGTH: usize = 100_000;

/// A release of one file, and its layer.
fn content() -> (Content, Vec<u8>) {
    let lines: Vec<String> = (0..LENGTH / 10).map(|number| format!("{number:09}\n")).collect();
    let layer = tar(&[(FILE, &lines.concat())]);
    (image(Style::Oci, "amd64", vec![(layer.clone(), false)]), layer)
}

/// A response that is truncated and seems complete.
fn short(bytes: &[u8]) -> Response {
    bytes.to_vec().into_response()
}

fn partial(range: &str, body: &[u8]) -> Response {
    (StatusCode::PARTIAL_CONTENT, [(header::CONTENT_RANGE, range)], body.to_vec()).into_response()
}

/// Reads the release from a registry that returns these responses for its layer. Returns the size
/// or error, and the requested ranges.
async fn read(answers: Vec<Response>) -> (Result<usize, String>, Vec<String>) {
    let (content, layer) = content();
    let path = format!("blobs/{}", Digest::of(&layer));
    let answers = Mutex::new(answers.into_iter());
    let ranges: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&ranges);
    let server = Server::with_override(move |_, ranges, headers| {
        if ranges != path {
            return None;
        }
        let range = headers.get(header::RANGE).map(|range| range.to_str().unwrap().to_owned());
        seen.lock().unwrap().push(range.unwrap_or_else(|| "all".to_owned()));
        answers.lock().unwrap().next()
    })
    .await;
    server.add_untagged(&content);
    let source =
        source(&server.repository(), &PullOptions { attempts: 3, ..PullOptions::default() });
    let files: Result<BTreeMap<String, Vec<u8>>, ContentsError> =
        payload::read(&source, &content.digest()).await;
    let length = files.map(|files| files[FILE].len());
    let errors = length.map_err(|error| redacted(&error.to_string(), &server));
    let ranges = ranges.lock().unwrap().clone();
    (errors, ranges)
}

#[tokio::test]
async fn download_after_break_resumes() {
    let (_, layer) = content();
    let cases = [
        partial("bytes 50000-/*", &layer[50_000..]),
        // The server starts earlier than requested, or at the beginning.
        partial("bytes 40000-/*", &layer[40_000..]),
        layer.clone().into_response(),
    ];
    for (number, rest) in cases.into_iter().enumerate() {
        let answers = vec![short(&layer[..50_000]), rest];
        let expected = (Ok(LENGTH), vec!["all".to_owned(), "bytes=50000-".to_owned()]);
        assert_eq!(read(answers).await, expected, "case {number}");
    }
}

#[tokio::test]
async fn download_with_repeated_bytes_skips_them() {
    let (_, layer) = content();
    let (errors, ranges) =
        read(vec![short(&layer[..50_000]), short(&layer[..30_000]), layer.clone().into_response()])
            .await;
    assert_eq!(errors, Ok(LENGTH));
    assert_eq!(ranges, ["all", "bytes=50000-", "bytes=50000-"]);
}

#[tokio::test]
async fn download_without_progress_fails() {
    let (_, layer) = content();
    let begun = || short(&layer[..50_000]);
    let rest = &layer[50_000..];
    let mut other = rest.to_vec();
    other[100] ^= 1;
    let unsatisfiable = StatusCode::RANGE_NOT_SATISFIABLE.into_response();
    let drops = (0..4).map(|number| short(&layer[number..=number]));
    let mut errors = Vec::new();
    for answers in [
        vec![begun(), partial("bytes 60000-/*", rest)],
        vec![begun(), partial("bytes */100", rest)],
        vec![begun(), partial("bytes 50000-/*", &other)],
        vec![begun(), unsatisfiable],
        vec![begun(), StatusCode::NOT_FOUND.into_response()],
        drops.collect(),
    ] {
        let (outcome, ranges) = read(answers).await;
        errors.push(format!("{}, asked {} times", outcome.unwrap_err(), ranges.len()));
    }
    insta::assert_snapshot!(errors.join("\n"), @"
    http://HOST/v2/releases/blobs/DIGEST is invalid: the response does not start at the requested byte 50000, asked 2 times
    http://HOST/v2/releases/blobs/DIGEST is invalid: the response does not start at the requested byte 50000, asked 2 times
    the content of DIGEST does not match its digest, asked 2 times
    http://HOST/v2/releases/blobs/DIGEST: HTTP status 416, asked 2 times
    http://HOST/v2/releases/blobs/DIGEST does not exist, asked 2 times
    http://HOST/v2/releases/blobs/DIGEST: the response ended early, asked 3 times
    ");
}

#[tokio::test]
async fn download_over_cut_connection_resumes() {
    let (content, layer) = content();
    let path = format!("blobs/{}", Digest::of(&layer));
    let ranges: Arc<Mutex<Vec<usize>>> = Arc::default();
    let seen = Arc::clone(&ranges);
    let server = Server::with_override(move |_, ranges, headers| {
        let begin = headers.get(header::RANGE).filter(|_| ranges == path)?.to_str().unwrap();
        let begin = begin.strip_prefix("bytes=").unwrap().trim_end_matches('-').parse().unwrap();
        seen.lock().unwrap().push(begin);
        Some(partial(&format!("bytes {begin}-/*"), &layer[begin..]))
    })
    .await;
    server.add_untagged(&content);
    let cut = FaultyProxy::failing_after(&server.address().to_string(), 50_000).await.unwrap();
    let name = format!("{}/releases", cut.address());
    let source = source(&name, &PullOptions { attempts: 3, ..PullOptions::default() });
    let files = payload::read(&source, &content.digest()).await.unwrap();
    assert_eq!(files[FILE].len(), LENGTH);
    let ranges = ranges.lock().unwrap();
    assert!(ranges.len() > 1 && ranges.is_sorted() && ranges[0] > 0, "{ranges:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn download_from_real_registry_over_bad_connection_completes() -> Result<()> {
    const BYTES: usize = 8 << 20;
    const CUT_AFTER: usize = (3 << 20) / 2;
    let repository = Repository::new("bad-line")?;
    // Incompressible content, so that the layer is large.
    let noise: Vec<u8> = (0..BYTES / 32)
        .flat_map(|number: usize| hex_bytes(&Digest::of(&number.to_le_bytes())))
        .collect();
    let layer =
        LayerBuilder::new().file("usr/bin/noise", 0o755, noise)?.file(FILE, 0o644, "a: 1")?;
    let image = Image::new(vec![layer.build()?], &ImageConfig::default());
    repository.push("latest", &image).await?;

    let cut = FaultyProxy::failing_after(&repository.registry, CUT_AFTER).await?;
    let name = format!("{}/{}", cut.address(), repository.path);
    let source = source(&name, &PullOptions { attempts: 2, ..PullOptions::default() });
    let files = payload::read(&source, image.digest()).await?;
    ensure!(files[FILE] == b"a: 1");
    // Each connection transferred at most 1.5 MiB.
    ensure!(cut.connections() > BYTES / CUT_AFTER, "{} connections", cut.connections());
    Ok(())
}

fn hex_bytes(digest: &Digest) -> Vec<u8> {
    let digits = digest.hex().as_bytes().chunks(2);
    digits.filter_map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect()
}
