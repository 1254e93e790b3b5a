//! Downloads that break off go on from there.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use anyhow::{Result, ensure};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use fairway_registry::contents::ContentsError;
use fairway_registry::payload;
use fairway_registry::pull::Options;
use fairway_registry::{Digest, Image, ImageConfig, LayerBuilder};
use fairway_testkit::line::Line;

use crate::releases::images::{Content, Style, image, tar};
use crate::releases::real::Repository;
use crate::releases::server::Server;
use crate::releases::{anonymous, source};

const FILE: &str = "release-manifests/0000_50_a.yaml";
const LENGTH: usize = 100_000;

/// A release of one file, and the layer that has it.
fn content() -> (Content, Vec<u8>) {
    let lines: Vec<String> = (0..LENGTH / 10).map(|number| format!("{number:09}\n")).collect();
    let layer = tar(&[(FILE, &lines.concat())]);
    (image(Style::Oci, "amd64", vec![(layer.clone(), false)]), layer)
}

/// An answer that ends as if it were complete.
fn short(bytes: &[u8]) -> Response {
    bytes.to_vec().into_response()
}

fn partial(range: &str, body: &[u8]) -> Response {
    (StatusCode::PARTIAL_CONTENT, [(header::CONTENT_RANGE, range)], body.to_vec()).into_response()
}

/// Reads the release from a registry that answers the requests for its layer one after the other
/// with these; says what came of it, and from where the layer was asked for.
async fn read(answers: Vec<Response>) -> (Result<usize, String>, Vec<String>) {
    let (content, layer) = content();
    let path = format!("blobs/{}", Digest::of(&layer));
    let answers = Mutex::new(answers.into_iter());
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let server = Server::misbehaving(move |_, asked, headers| {
        if asked != path {
            return None;
        }
        let range = headers.get(header::RANGE).map(|range| range.to_str().unwrap().to_owned());
        seen.lock().unwrap().push(range.unwrap_or_else(|| "all".to_owned()));
        answers.lock().unwrap().next()
    })
    .await;
    server.add_untagged(&content);
    let source = source(&server.repository(), &Options { attempts: 3, ..Options::default() });
    let files: Result<BTreeMap<String, Vec<u8>>, ContentsError> =
        payload::read(&source, &content.digest()).await;
    let length = files.map(|files| files[FILE].len());
    let told = length.map_err(|error| anonymous(&error.to_string(), &server));
    let asked = asked.lock().unwrap().clone();
    (told, asked)
}

#[tokio::test]
async fn a_download_goes_on_where_it_broke_off() {
    let (_, layer) = content();
    let cases = [
        partial("bytes 50000-/*", &layer[50_000..]),
        // They begin earlier than they are asked to, or at the beginning.
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
async fn what_is_known_is_passed_over_as_often_as_it_takes() {
    let (_, layer) = content();
    let (told, asked) =
        read(vec![short(&layer[..50_000]), short(&layer[..30_000]), layer.clone().into_response()])
            .await;
    assert_eq!(told, Ok(LENGTH));
    assert_eq!(asked, ["all", "bytes=50000-", "bytes=50000-"]);
}

#[tokio::test]
async fn what_leads_nowhere_ends() {
    let (_, layer) = content();
    let begun = || short(&layer[..50_000]);
    let rest = &layer[50_000..];
    let mut other = rest.to_vec();
    other[100] ^= 1;
    let unsatisfiable = StatusCode::RANGE_NOT_SATISFIABLE.into_response();
    let drops = (0..4).map(|number| short(&layer[number..=number]));
    let mut told = Vec::new();
    for answers in [
        vec![begun(), partial("bytes 60000-/*", rest)],
        vec![begun(), partial("bytes */100", rest)],
        vec![begun(), partial("bytes 50000-/*", &other)],
        vec![begun(), unsatisfiable],
        vec![begun(), StatusCode::NOT_FOUND.into_response()],
        drops.collect(),
    ] {
        let (outcome, asked) = read(answers).await;
        told.push(format!("{}, asked {} times", outcome.unwrap_err(), asked.len()));
    }
    insta::assert_snapshot!(told.join("\n"), @"
    http://HOST/v2/releases/blobs/DIGEST is invalid: the response does not start at the requested byte 50000, asked 2 times
    http://HOST/v2/releases/blobs/DIGEST is invalid: the response does not start at the requested byte 50000, asked 2 times
    the content of DIGEST does not match its digest, asked 2 times
    http://HOST/v2/releases/blobs/DIGEST: HTTP status 416, asked 2 times
    http://HOST/v2/releases/blobs/DIGEST does not exist, asked 2 times
    http://HOST/v2/releases/blobs/DIGEST: the response ended early, asked 3 times
    ");
}

#[tokio::test]
async fn a_line_that_is_cut_is_used_again() {
    let (content, layer) = content();
    let path = format!("blobs/{}", Digest::of(&layer));
    let asked: Arc<Mutex<Vec<usize>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let server = Server::misbehaving(move |_, asked, headers| {
        let begin = headers.get(header::RANGE).filter(|_| asked == path)?.to_str().unwrap();
        let begin = begin.strip_prefix("bytes=").unwrap().trim_end_matches('-').parse().unwrap();
        seen.lock().unwrap().push(begin);
        Some(partial(&format!("bytes {begin}-/*"), &layer[begin..]))
    })
    .await;
    server.add_untagged(&content);
    let cut = Line::cutting_after(&server.address().to_string(), 50_000).await.unwrap();
    let name = format!("{}/releases", cut.address());
    let source = source(&name, &Options { attempts: 3, ..Options::default() });
    let files = payload::read(&source, &content.digest()).await.unwrap();
    assert_eq!(files[FILE].len(), LENGTH);
    let asked = asked.lock().unwrap();
    assert!(asked.len() > 1 && asked.is_sorted() && asked[0] > 0, "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a cluster: cargo xtask test"]
async fn a_real_registry_behind_a_bad_line_gives_all_in_the_end() -> Result<()> {
    const BYTES: usize = 8 << 20;
    const CUT_AFTER: usize = (3 << 20) / 2;
    let repository = Repository::new("bad-line")?;
    // What cannot be compressed takes its time.
    let noise: Vec<u8> = (0..BYTES / 32)
        .flat_map(|number: usize| hex_bytes(&Digest::of(&number.to_le_bytes())))
        .collect();
    let layer =
        LayerBuilder::new().file("usr/bin/noise", 0o755, noise)?.file(FILE, 0o644, "a: 1")?;
    let image = Image::new(vec![layer.build()?], &ImageConfig::default());
    repository.push("latest", &image).await?;

    let cut = Line::cutting_after(&repository.registry, CUT_AFTER).await?;
    let name = format!("{}/{}", cut.address(), repository.path);
    let source = source(&name, &Options { attempts: 2, ..Options::default() });
    let files = payload::read(&source, image.digest()).await?;
    ensure!(files[FILE] == b"a: 1");
    // Each of them brought a megabyte and a half at most.
    ensure!(cut.connections() > BYTES / CUT_AFTER, "{} connections", cut.connections());
    Ok(())
}

fn hex_bytes(digest: &Digest) -> Vec<u8> {
    let digits = digest.hex().as_bytes().chunks(2);
    digits.filter_map(|pair| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()).collect()
}
