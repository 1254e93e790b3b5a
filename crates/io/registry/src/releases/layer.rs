//! Finding release metadata in a layer while it arrives.
//!
//! Nothing of a layer is kept but the one file. It is unpacked no further than to that file; what
//! follows only passes by, because what a layer says counts for nothing before all of it was
//! compared with its digest.

use std::io::{self, Read};
use std::path::{Component, Path};

use fairway_release::metadata::{MAX_BYTES, PATH};
use tar::{Archive, EntryType};

use super::source::Source;
use super::{Reason, printable};
use crate::manifest::{Descriptor, LARGEST_LAYER};
use crate::pull::pass;
use crate::unpack::{Limits, Unpacked};

/// The file with release metadata, if the layer has one.
pub(super) async fn search(source: &Source, layer: &Descriptor) -> Result<Option<Vec<u8>>, Reason> {
    let failed = |why: String| Reason::Layer { layer: layer.digest.clone(), why: printable(why) };
    if layer.size > LARGEST_LAYER {
        return Err(failed(format!("larger than {LARGEST_LAYER} bytes")));
    }
    let body = source.layer(layer).await?;
    let (media_type, size) = (layer.media_type.clone(), layer.size);
    let found = pass(body, layer, move |chunks| find(chunks, &media_type, size)).await?;
    match found.map_err(|error| failed(error.to_string()))? {
        Ok(found) => Ok(found),
        Err(FindError::MediaType) => {
            let (layer, media_type) = (layer.digest.clone(), printable(&layer.media_type));
            Err(Reason::LayerType { layer, media_type })
        }
        Err(FindError::Archive(error)) => Err(failed(error.to_string())),
    }
}

enum FindError {
    MediaType,
    Archive(io::Error),
}

fn find(
    layer: impl Read + 'static,
    media_type: &str,
    size: u64,
) -> Result<Option<Vec<u8>>, FindError> {
    let Limits { ratio, entries, .. } = Limits::default();
    let archive = Unpacked::new(layer, media_type, size, ratio).ok_or(FindError::MediaType)?;
    find_in(archive, entries).map_err(FindError::Archive)
}

fn find_in(archive: Unpacked, most_entries: u64) -> io::Result<Option<Vec<u8>>> {
    let meter = archive.meter();
    let mut archive = Archive::new(archive);
    let mut entries = archive.entries()?;
    for _ in 0..most_entries {
        meter.expect_headers();
        let Some(entry) = entries.next() else { return Ok(None) };
        let entry = entry?;
        meter.expect_content();
        let is_file = matches!(entry.header().entry_type(), EntryType::Regular);
        if is_file && is_metadata(&entry.path()?) {
            let mut content = Vec::new();
            // One byte more shows that it is too long to be read.
            entry.take(MAX_BYTES as u64 + 1).read_to_end(&mut content)?;
            return Ok(Some(content));
        }
        skip(entry)?;
    }
    Err(io::Error::other(format!("more than {most_entries} files")))
}

/// Reads on to the next entry. The archive's reader would, too, but on the account of its headers.
fn skip(mut entry: impl Read) -> io::Result<()> {
    io::copy(&mut entry, &mut io::sink()).map(drop)
}

/// Some builders begin paths with `./`, and some with `/`.
fn is_metadata(path: &Path) -> bool {
    let inside =
        |component: &Component<'_>| !matches!(component, Component::CurDir | Component::RootDir);
    path.components().filter(inside).eq(Path::new(PATH).components())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const PLAIN: &str = "application/vnd.oci.image.layer.v1.tar";

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            // Written by hand, because the builder would tidy the path.
            header.as_mut_bytes()[..path.len()].copy_from_slice(path.as_bytes());
            header.set_cksum();
            archive.append(&header, *content).unwrap();
        }
        archive.into_inner().unwrap()
    }

    fn found(archive: Vec<u8>) -> Option<Vec<u8>> {
        let size = archive.len() as u64;
        find(Cursor::new(archive), PLAIN, size).ok().unwrap()
    }

    #[test]
    fn the_file_is_found_by_its_path_alone() {
        let paths = [
            ("release-manifests/release-metadata", true),
            ("./release-manifests/release-metadata", true),
            ("/release-manifests/release-metadata", true),
            ("release-manifests/release-metadata2", false),
            ("a/release-manifests/release-metadata", false),
            ("release-manifests/../release-manifests/release-metadata", false),
        ];
        for (path, expected) in paths {
            let archive = archive(&[("a", b"1"), (path, b"{}"), ("z", b"2")]);
            assert_eq!(found(archive).is_some(), expected, "{path}");
        }
    }

    #[test]
    fn nothing_behind_the_file_is_read() {
        let mut archive = archive(&[(PATH, b"{}")]);
        archive.truncate(1024);
        archive.extend([0xff; 4096]);
        assert_eq!(found(archive).unwrap(), b"{}");
    }

    #[test]
    fn broken_archives_and_unknown_types_are_told_apart() {
        let broken = find(Cursor::new(vec![0xff; 4096]), PLAIN, 4096);
        assert!(matches!(broken, Err(FindError::Archive(_))));
        let unknown =
            find(Cursor::new(Vec::new()), "application/vnd.oci.image.layer.v1.tar+zstd", 0);
        assert!(matches!(unknown, Err(FindError::MediaType)));
    }

    #[test]
    fn an_archive_that_unpacks_to_far_more_than_its_size_is_left() {
        let bomb = archive(&[("zeros", &vec![0; 32 << 20])]);
        let size = 1 << 10;
        let Err(FindError::Archive(error)) = find(Cursor::new(bomb), PLAIN, size) else {
            panic!("it was read");
        };
        assert_eq!(
            error.to_string(),
            "the uncompressed size exceeds the maximum compression ratio"
        );
    }
}
