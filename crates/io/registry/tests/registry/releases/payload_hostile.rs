//! Hostile images are refused when a release is read from them.

use std::time::Duration;

use fairway_registry::payload::{Files, ImageSources, fetch};
use fairway_registry::pull::PullOptions;
use serde_json::{Value, json};
use tar::EntryType;

use crate::releases::images::{Content, Style, gzip, here, image, tar};
use crate::releases::redacted;
use crate::releases::server::Server;

const FILE: &str = "release-manifests/a.yaml";
const OUTSIDE: &str = "/etc/passwd";

/// An archive of one entry. The header is written directly, because builders normalise it.
fn entry(kind: EntryType, path: &[u8], target: &str, content: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(content.len() as u64);
    header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path);
    header.as_gnu_mut().unwrap().linkname[..target.len()].copy_from_slice(target.as_bytes());
    header.set_cksum();
    let mut archive = tar::Builder::new(Vec::new());
    archive.append(&header, content).unwrap();
    archive.into_inner().unwrap()
}

fn file(path: &str) -> Vec<u8> {
    entry(EntryType::Regular, path.as_bytes(), "", b"a: 1")
}

fn special(kind: EntryType, path: &str, target: &str) -> Vec<u8> {
    entry(kind, path.as_bytes(), target, b"")
}

/// An image of one uncompressed layer.
fn plain(layer: Vec<u8>) -> Content {
    image(Style::Oci, here(), vec![(layer, false)])
}

fn packed(layer: &[u8]) -> Content {
    image(Style::Oci, here(), vec![(gzip(layer), true)])
}

/// The same image with an edited manifest.
fn edited(mut content: Content, edit: impl Fn(&mut Value)) -> Content {
    let mut manifest: Value = serde_json::from_slice(&content.manifest).unwrap();
    edit(&mut manifest);
    content.manifest = manifest.to_string().into_bytes();
    content
}

async fn read(server: &Server, content: &Content) -> Result<Files, String> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options =
        PullOptions { attempts: 1, silence: Duration::from_secs(10), ..PullOptions::default() };
    let sources = ImageSources { options, ..ImageSources::default() };
    let image = format!("{}@{}", server.repository(), content.digest());
    let outcome = fetch(&image, &sources).await;
    outcome.map_err(|error| {
        let errors = redacted(&error.to_string(), server);
        let errors =
            errors.trim_start_matches("cannot read HOST/releases@DIGEST from any source: ");
        errors.trim_start_matches("HOST/releases: ").to_owned()
    })
}

/// The error of each image; none may return a file.
async fn refusals(images: impl IntoIterator<Item = (&str, Content)>) -> String {
    let server = Server::start().await;
    let mut errors = Vec::new();
    for (name, content) in images {
        server.add_untagged(&content);
        let outcome = read(&server, &content).await;
        let why = outcome.map(|files| files.len()).expect_err(name);
        errors.push(format!("{name}: {why}"));
    }
    errors.join("\n")
}

#[tokio::test]
async fn fetch_with_paths_outside_fails() {
    let errors = refusals([
        ("upwards", plain(file("../release-manifests/a.yaml"))),
        ("down and up", plain(file("release-manifests/../../a.yaml"))),
        ("not text", plain(entry(EntryType::Regular, b"release-manifests/\xfe.yaml", "", b""))),
    ])
    .await;
    insta::assert_snapshot!(errors, @"
    upwards: cannot unpack layer DIGEST: ../release-manifests/a.yaml is outside of the image
    down and up: cannot unpack layer DIGEST: release-manifests/../../a.yaml is outside of the image
    not text: cannot unpack layer DIGEST: release-manifests/.yaml is not valid UTF-8
    ");
    let server = Server::start().await;
    for path in ["/release-manifests/a.yaml", "./release-manifests/./a.yaml"] {
        let content = plain(file(path));
        server.add_untagged(&content);
        let files = read(&server, &content).await.unwrap();
        assert_eq!(files.into_keys().collect::<Vec<_>>(), [FILE], "{path}");
    }
}

#[tokio::test]
async fn fetch_with_links_or_devices_fails() {
    use EntryType::{Block, Char, Continuous, Fifo, GNUSparse, Link, Symlink};
    let errors = refusals([
        ("symbolic link", plain(special(Symlink, FILE, OUTSIDE))),
        ("hard link", plain(special(Link, FILE, OUTSIDE))),
        ("hard link inside", plain(special(Link, FILE, "release-manifests/b.yaml"))),
        ("directory link", plain(special(Symlink, "release-manifests", "etc"))),
        ("other directory link", plain(special(Symlink, "manifests", OUTSIDE))),
        ("file for a directory", plain(file("manifests"))),
        ("character device", plain(special(Char, FILE, ""))),
        ("block device", plain(special(Block, FILE, ""))),
        ("pipe", plain(special(Fifo, FILE, ""))),
        ("continuous file", plain(special(Continuous, FILE, ""))),
        ("sparse file", plain(special(GNUSparse, FILE, ""))),
    ])
    .await;
    insta::assert_snapshot!(errors, @"
    symbolic link: cannot unpack layer DIGEST: release-manifests/a.yaml is not a regular file
    hard link: cannot unpack layer DIGEST: release-manifests/a.yaml is not a regular file
    hard link inside: cannot unpack layer DIGEST: release-manifests/a.yaml is not a regular file
    directory link: cannot unpack layer DIGEST: release-manifests is not a regular file
    other directory link: cannot unpack layer DIGEST: manifests is not a regular file
    file for a directory: cannot unpack layer DIGEST: manifests is not a regular file
    character device: cannot unpack layer DIGEST: release-manifests/a.yaml is not a regular file
    block device: cannot unpack layer DIGEST: release-manifests/a.yaml is not a regular file
    pipe: cannot unpack layer DIGEST: release-manifests/a.yaml is not a regular file
    continuous file: cannot unpack layer DIGEST: release-manifests/a.yaml is not a regular file
    sparse file: cannot unpack layer DIGEST: numeric field was not a number:  when getting real_size for :
    ");
    // Outside of the selected directories, they are ignored.
    let server = Server::start().await;
    let elsewhere = [(Symlink, OUTSIDE), (Link, OUTSIDE), (Char, ""), (Block, ""), (Fifo, "")];
    for (kind, target) in elsewhere {
        let content = plain(special(kind, "etc/x", target));
        server.add_untagged(&content);
        assert_eq!(read(&server, &content).await.unwrap(), Files::new());
    }
}

#[tokio::test]
async fn fetch_beyond_limits_fails() {
    let zeros = vec![0; 64 << 20];
    let huge = vec![b'a'; (8 << 20) + 1];
    let long_name = entry(EntryType::GNULongName, b"././@LongLink", "", &vec![b'a'; 8 << 20]);
    let names: Vec<String> =
        (0..=16_384).map(|number| format!("manifests/{number}.yaml")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let hides: Vec<String> = (0..=16_384).map(|number| format!("manifests/.wh.{number}")).collect();
    let hides: Vec<(&str, &str)> = hides.iter().map(|name| (name.as_str(), "")).collect();
    let large_layer = |manifest: &mut Value| manifest["layers"][0]["size"] = json!(2_u64 << 30);
    let layers = |manifest: &mut Value| {
        let layer = manifest["layers"][0].clone();
        manifest["layers"] = vec![layer; 129].into();
    };
    let errors = refusals([
        ("bomb", packed(&entry(EntryType::Regular, b"zeros", "", &zeros))),
        ("bomb of a manifest", packed(&entry(EntryType::Regular, FILE.as_bytes(), "", &zeros))),
        ("bomb behind the archive", packed(&[file(FILE), zeros.clone()].concat())),
        ("large file", plain(entry(EntryType::Regular, FILE.as_bytes(), "", &huge))),
        ("long name", plain(long_name)),
        ("many files", plain(tar(&many))),
        ("many hidden files", plain(tar(&hides))),
        ("large layer", edited(plain(file(FILE)), large_layer)),
        ("many layers", edited(plain(file(FILE)), layers)),
    ])
    .await;
    insta::assert_snapshot!(errors, @"
    bomb: cannot unpack layer DIGEST: the uncompressed size exceeds the maximum compression ratio
    bomb of a manifest: cannot unpack layer DIGEST: release-manifests/a.yaml has more than 8388608 bytes
    bomb behind the archive: cannot unpack layer DIGEST: the uncompressed size exceeds the maximum compression ratio
    large file: cannot unpack layer DIGEST: release-manifests/a.yaml has more than 8388608 bytes
    long name: cannot unpack layer DIGEST: the headers of an entry are too long
    many files: cannot unpack layer DIGEST: its files exceed the limit on number or size
    many hidden files: cannot unpack layer DIGEST: its files exceed the limit on number or size
    large layer: cannot unpack layer DIGEST: larger than 1073741824 bytes
    many layers: DIGEST is not an image: it has too many layers
    ");
}

#[tokio::test]
async fn fetch_with_truncated_content_fails() {
    let archive = file(FILE);
    let large = entry(EntryType::Regular, FILE.as_bytes(), "", &[b'a'; 4096]);
    let gzipped = gzip(&large);
    let short = |manifest: &mut Value| manifest["layers"][0]["size"] = json!(1);
    let long = |manifest: &mut Value| manifest["layers"][0]["size"] = json!(1 << 20);
    let zstd = |manifest: &mut Value| {
        manifest["layers"][0]["mediaType"] = json!("application/vnd.oci.image.layer.v1.tar+zstd");
    };
    let truncated = image(Style::Oci, here(), vec![(gzipped[..gzipped.len() - 9].to_vec(), true)]);
    let errors = refusals([
        ("half a header", plain(archive[..300].to_vec())),
        ("half a file", plain(large[..1024].to_vec())),
        ("truncated", truncated),
        ("garbage", image(Style::Oci, here(), vec![(b"garbage".to_vec(), true)])),
        (
            "garbage behind it",
            image(Style::Oci, here(), vec![([gzipped.as_slice(), b"more"].concat(), true)]),
        ),
        ("longer than announced", edited(plain(archive.clone()), short)),
        ("shorter than announced", edited(plain(archive.clone()), long)),
        ("unknown compression", edited(plain(archive.clone()), zstd)),
        (
            "no layers that are layers",
            edited(plain(archive.clone()), |manifest| manifest["layers"] = json!({})),
        ),
        (
            "a digest that is a path",
            edited(plain(archive.clone()), |manifest| {
                manifest["layers"][0]["digest"] = json!("sha256:../x");
            }),
        ),
    ])
    .await;
    insta::assert_snapshot!(errors, @r#"
    half a header: cannot unpack layer DIGEST: failed to read entire block
    half a file: cannot unpack layer DIGEST: unexpected EOF during skip
    truncated: cannot unpack layer DIGEST: incomplete deflate stream
    garbage: cannot unpack layer DIGEST: unexpected end of file
    garbage behind it: cannot unpack layer DIGEST: unexpected end of file
    longer than announced: the content of DIGEST does not match its digest
    shorter than announced: http://HOST/v2/releases/blobs/DIGEST: the response ended early
    unknown compression: layer DIGEST has the media type "application/vnd.oci.image.layer.v1.tar+zstd"; only tar and tar+gzip are supported
    no layers that are layers: DIGEST is not an image: invalid type: map, expected a sequence at line 1 column 169
    a digest that is a path: DIGEST is not an image: "DIGEST../x" is not a SHA-256 digest at line 1 column 193
    "#);
}
