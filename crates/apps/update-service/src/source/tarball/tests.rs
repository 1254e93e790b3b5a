use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use super::*;

/// A tarball with entries of these kinds, each with its path as its content.
fn tarball(entries: &[(&str, EntryType)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (path, kind) in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        if *kind == EntryType::Regular {
            header.set_size(path.len() as u64);
            builder.append_data(&mut header, path, path.as_bytes()).unwrap();
        } else {
            header.set_size(0);
            builder.append_link(&mut header, path, "elsewhere").unwrap();
        }
    }
    builder.into_inner().unwrap()
}

fn files(paths: &[&str]) -> Vec<u8> {
    let entries: Vec<_> = paths.iter().map(|path| (*path, EntryType::Regular)).collect();
    tarball(&entries)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The names of the files that are read, or why none are.
fn found(bytes: &[u8]) -> Result<Vec<String>, String> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.tar");
    std::fs::write(&path, bytes).unwrap();
    let found =
        read(&path).map_err(|error| error.to_string().replace(path.to_str().unwrap(), "a.tar"));
    found.map(|files| files.iter().map(|(path, _)| path.to_owned()).collect())
}

const PATHS: [&str; 4] =
    ["top/README.md", "top/version", "top/channels/a.yaml", "top/blocked-edges/5.1.0.yaml"];

#[test]
fn files_that_mean_something_are_found_at_both_depths() {
    let place = |above: &str, inner: &str, is_directory| {
        Some(Place { above: above.to_owned(), inner: inner.to_owned(), is_directory })
    };
    let top = "graph-data-1a2b";
    for (path, expected) in [
        ("version", place("", "version", false)),
        ("./version", place("", "version", false)),
        ("graph-data-1a2b/version", place(top, "version", false)),
        ("graph-data-1a2b/channels/a.yaml", place(top, "channels/a.yaml", false)),
        ("blocked-edges/5.1.0-Risk.yaml", place("", "blocked-edges/5.1.0-Risk.yaml", false)),
        (".//blocked-edges//a.yaml", place("", "blocked-edges/a.yaml", false)),
        ("raw/metadata.json", place("", "raw/metadata.json", false)),
        ("graph-data-1a2b/channels/", place(top, "channels", true)),
        ("raw", place("", "raw", true)),
        ("blocked-edges/deeper/x.yaml", None),
        ("raw/other.json", None),
        ("README.md", None),
        ("a/b/version", None),
        ("", None),
    ] {
        assert_eq!(Place::of(path), expected, "{path}");
    }
}

#[test]
fn half_a_tarball_is_none() {
    let whole = files(&PATHS);
    let all = ["blocked-edges/5.1.0.yaml", "channels/a.yaml", "version"];
    assert_eq!(found(&whole).unwrap(), all);
    for length in (0..whole.len()).step_by(256) {
        assert!(found(&whole[..length]).is_err(), "{length} bytes of {}", whole.len());
    }
    let compressed = gzip(&whole);
    assert_eq!(found(&compressed).unwrap(), all);
    for length in 0..compressed.len() {
        assert!(found(&compressed[..length]).is_err(), "{length} bytes of {}", compressed.len());
    }
    assert_eq!(found(&[whole, vec![0; 9 * BLOCK]].concat()).unwrap(), all, "tar fills up records");
}

#[test]
fn a_tarball_behind_a_tarball_is_not_overlooked() {
    let two = [files(&PATHS[..3]), files(&PATHS[3..])].concat();
    assert_eq!(found(&two).unwrap_err(), "a.tar has data after the end of the archive");
}

#[test]
fn a_tarball_that_is_too_large_is_not_read_in_part() {
    let mut rest = MAX_UNPACKED;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&files(&PATHS[..3])).unwrap();
    let zeros = vec![0; 1 << 20];
    while rest > 0 {
        encoder.write_all(&zeros).unwrap();
        rest = rest.saturating_sub(zeros.len() as u64);
    }
    let refused = found(&encoder.finish().unwrap()).unwrap_err();
    assert_eq!(refused, format!("a.tar has more than {MAX_UNPACKED} bytes"));
}

#[test]
fn a_link_hides_what_it_stands_for() {
    use EntryType::{Block, Fifo, Link, Symlink};
    for path in ["blocked-edges/5.1.0.yaml", "top/channels/a.yaml", "version", "top/blocked-edges"]
    {
        for kind in [Symlink, Link, Fifo, Block] {
            let refused = found(&tarball(&[(path, kind)])).unwrap_err();
            assert_eq!(refused, format!("{path} in a.tar is not a file"));
        }
    }
    let elsewhere = tarball(&[("top/docs", Symlink), ("top/version", EntryType::Regular)]);
    assert_eq!(found(&elsewhere).unwrap(), ["version"]);
}

#[test]
fn nothing_is_there_twice() {
    insta::assert_snapshot!(found(&files(&["a/version", "a/version"])).unwrap_err(), @"a/version occurs twice in a.tar");
    insta::assert_snapshot!(found(&files(&["a/version", "b/version"])).unwrap_err(), @"a.tar has graph-data in two directories, such as b/version and a/version");
    insta::assert_snapshot!(found(&files(&["version", "b/channels/c.yaml"])).unwrap_err(), @"a.tar has graph-data in two directories, such as b/channels/c.yaml and version");
}
