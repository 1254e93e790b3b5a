//! Finds release metadata in a layer while it is downloaded.
//!
//! Only this one file is kept, and the archive is unpacked only up to it. The rest is still
//! downloaded, because the digest of the complete layer must be verified.

use std::io::{self, Read};
use std::path::{Component, Path};

use fairway_release::metadata::{MAX_BYTES, PATH};
use tar::{Archive, EntryType};

use super::{ProblemReason, printable};
use crate::manifest::{Descriptor, MAX_LAYER_BYTES};
use crate::pull::stream_verified;
use crate::source::Source;
use crate::unpack::{LayerArchive, UnpackLimits};

/// The release metadata of a layer, if it has any.
pub(super) async fn search(
    source: &Source,
    layer: &Descriptor,
) -> Result<Option<Vec<u8>>, ProblemReason> {
    let failed =
        |why: String| ProblemReason::Layer { layer: layer.digest.clone(), why: printable(why) };
    if layer.size > MAX_LAYER_BYTES {
        return Err(failed(format!("larger than {MAX_LAYER_BYTES} bytes")));
    }
    let body = source.layer(layer).await?;
    let (media_type, size) = (layer.media_type.clone(), layer.size);
    let found = stream_verified(body, layer, move |chunks| find(chunks, &media_type, size)).await?;
    match found.map_err(|error| failed(error.to_string()))? {
        Ok(found) => Ok(found),
        Err(FindError::MediaType) => {
            let (layer, media_type) = (layer.digest.clone(), printable(&layer.media_type));
            Err(ProblemReason::LayerType { layer, media_type })
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
    let UnpackLimits { ratio, entries, .. } = UnpackLimits::default();
    let archive = LayerArchive::new(layer, media_type, size, ratio).ok_or(FindError::MediaType)?;
    find_in(archive, entries).map_err(FindError::Archive)
}

fn find_in(archive: LayerArchive, max_entries: u64) -> io::Result<Option<Vec<u8>>> {
    let header_limit = archive.header_limit();
    let mut archive = Archive::new(archive);
    let mut entries = archive.entries()?;
    for _ in 0..max_entries {
        header_limit.expect_headers();
        let Some(entry) = entries.next() else { return Ok(None) };
        let entry = entry?;
        header_limit.expect_content();
        let is_file = matches!(entry.header().entry_type(), EntryType::Regular);
        if is_file && is_metadata(&entry.path()?) {
            let mut content = Vec::new();
            // One byte more than the limit: parsing reports the excess.
            entry.take(MAX_BYTES as u64 + 1).read_to_end(&mut content)?;
            return Ok(Some(content));
        }
        skip(entry)?;
    }
    Err(io::Error::other(format!("more than {max_entries} files")))
}

/// Skips to the next entry. The tar reader would count the content against the limit for headers.
fn skip(mut entry: impl Read) -> io::Result<()> {
    io::copy(&mut entry, &mut io::sink()).map(drop)
}

/// Some builders write paths with `./` or `/`.
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
            // The builder would normalise the path.
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
    fn find_matches_exact_path() {
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
    fn find_stops_behind_the_file() {
        let mut archive = archive(&[(PATH, b"{}")]);
        archive.truncate(1024);
        archive.extend([0xff; 4096]);
        assert_eq!(found(archive).unwrap(), b"{}");
    }

    #[test]
    fn find_with_broken_archive_or_unknown_type_fails() {
        let broken = find(Cursor::new(vec![0xff; 4096]), PLAIN, 4096);
        assert!(matches!(broken, Err(FindError::Archive(_))));
        let unknown =
            find(Cursor::new(Vec::new()), "application/vnd.oci.image.layer.v1.tar+zstd", 0);
        assert!(matches!(unknown, Err(FindError::MediaType)));
    }

    #[test]
    fn find_with_compression_bomb_fails() {
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
