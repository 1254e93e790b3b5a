//! Images in an OCI image layout, a directory that `skopeo copy oci:DIR …` reads.

mod read;
mod reference;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{Blob, Image};

pub use read::{Layout, LayoutImage, LayoutReadError};

/// A file of a layout that cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}", path.display())]
pub struct LayoutError {
    path: PathBuf,
    source: io::Error,
}

/// An image that cannot be added to a layout.
#[derive(Debug, thiserror::Error)]
pub enum LayoutAddError {
    /// The existing layout cannot be read.
    #[error(transparent)]
    Read(#[from] LayoutReadError),
    /// The directory contains other files.
    #[error("{} is not empty and is not an OCI layout", .0.display())]
    Occupied(PathBuf),
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] LayoutError),
}

/// Writes an image to a layout and creates the directory if it is missing. Existing blobs are not
/// written again. The new index contains only this image, with `tag`.
pub fn write(dir: &Path, image: &Image, tag: &str) -> Result<(), LayoutError> {
    write_all(dir, [(image, tag)])
}

/// Writes several images to one layout. Blobs that they share are stored once.
pub fn write_all<'a>(
    dir: &Path,
    images: impl IntoIterator<Item = (&'a Image, &'a str)>,
) -> Result<(), LayoutError> {
    let mut entries = Vec::new();
    for (image, name) in images {
        write_content(dir, image)?;
        entries.push(entry(image.manifest(), name));
    }
    write_index(dir, &entries)
}

/// Adds an image to a layout and creates the directory if it is missing. An image that had `tag`
/// loses it.
pub fn add(dir: &Path, image: &Image, tag: &str) -> Result<(), LayoutAddError> {
    let is_empty = std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    let mut entries = match Layout::open(dir) {
        Ok(layout) => layout.index()?,
        Err(_) if is_empty || !dir.exists() => Vec::new(),
        Err(_) => return Err(LayoutAddError::Occupied(dir.to_owned())),
    };
    entries.retain(|entry| entry["annotations"][REF_NAME] != tag);
    entries.push(entry(image.manifest(), tag));
    write_content(dir, image)?;
    Ok(write_index(dir, &entries)?)
}

fn write_content(dir: &Path, image: &Image) -> Result<(), LayoutError> {
    let blobs = dir.join(BLOBS);
    std::fs::create_dir_all(&blobs)
        .map_err(|source| LayoutError { path: blobs.clone(), source })?;
    for blob in image.content().chain([image.manifest()]) {
        let path = blobs.join(blob.digest().hex());
        if !path.exists() {
            write_file(path, blob.bytes())?;
        }
    }
    Ok(())
}

fn write_index(dir: &Path, entries: &[Value]) -> Result<(), LayoutError> {
    write_file(dir.join("oci-layout"), LAYOUT_VERSION.as_bytes())?;
    write_file(dir.join("index.json"), index(entries).as_bytes())
}

/// Writes a layout as a tar archive, which `ctr images import` loads with that name.
pub fn archive(image: &Image, name: &str, out: impl io::Write) -> io::Result<()> {
    let mut archive = tar::Builder::new(out);
    let mut append = |path: &str, content: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, path, content)
    };
    append("oci-layout", LAYOUT_VERSION.as_bytes())?;
    append("index.json", index(&[entry(image.manifest(), name)]).as_bytes())?;
    for blob in image.content().chain([image.manifest()]) {
        append(&format!("{BLOBS}/{}", blob.digest().hex()), blob.bytes())?;
    }
    archive.into_inner()?.flush()
}

/// Directory of the blobs, which are named by their digests.
const BLOBS: &str = "blobs/sha256";

/// Content of `oci-layout`, which marks a directory as a layout.
const LAYOUT_VERSION: &str = r#"{"imageLayoutVersion":"1.0.0"}"#;

/// Annotation with the tag of an image.
const REF_NAME: &str = "org.opencontainers.image.ref.name";
/// Annotation with the complete reference, which containerd reads.
const CONTAINERD_NAME: &str = "io.containerd.image.name";

fn entry(manifest: &Blob, name: &str) -> Value {
    let mut descriptor = manifest.descriptor();
    descriptor["annotations"] = json!({ REF_NAME: name, CONTAINERD_NAME: name });
    descriptor
}

fn index(entries: &[Value]) -> String {
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": entries,
    })
    .to_string()
}

/// Writes to a temporary name and renames it, so that readers never see a partial file.
fn write_file(path: PathBuf, bytes: &[u8]) -> Result<(), LayoutError> {
    let temporary = path.with_extension("part");
    std::fs::write(&temporary, bytes)
        .and_then(|()| std::fs::rename(&temporary, &path))
        .map_err(|source| LayoutError { path, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Digest, ImageConfig, LayerBuilder};

    #[test]
    fn write_twice_stores_blobs_once_by_digest() {
        let layer = LayerBuilder::new().file("a", 0o644, "x").unwrap().build().unwrap();
        let image = Image::new(vec![layer], &ImageConfig::default());
        let dir = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            write(dir.path(), &image, "dev").unwrap();
            let blobs: Vec<_> = std::fs::read_dir(dir.path().join("blobs/sha256"))
                .unwrap()
                .map(|blob| blob.unwrap().path())
                .collect();
            assert_eq!(blobs.len(), 3, "a layer, a configuration and a manifest: {blobs:?}");
            for blob in blobs {
                let digest = Digest::of(&std::fs::read(&blob).unwrap());
                assert_eq!(blob.file_name().unwrap().to_str(), Some(digest.hex()));
            }
        }
        let index = std::fs::read_to_string(dir.path().join("index.json")).unwrap();
        assert!(index.contains(image.digest().as_str()));
    }

    #[test]
    fn write_all_shares_layers() {
        let layer = LayerBuilder::new().file("a", 0o644, "x").unwrap().build().unwrap();
        let image = |cmd: &str| {
            let config = ImageConfig { cmd: vec![cmd.to_owned()], ..ImageConfig::default() };
            Image::new(vec![layer.clone()], &config)
        };
        let (one, two) = (image("1"), image("2"));
        let dir = tempfile::tempdir().unwrap();
        write_all(dir.path(), [(&one, "a:1"), (&two, "a:2")]).unwrap();
        let layout = Layout::open(dir.path()).unwrap();
        for (image, name) in [(&one, "a:1"), (&two, "a:2")] {
            assert_eq!(layout.find(name).unwrap().unwrap().digest, *image.digest());
        }
        let blobs = std::fs::read_dir(dir.path().join(BLOBS)).unwrap().count();
        assert_eq!(blobs, 5, "two manifests, two configurations and a layer");
    }

    #[test]
    fn add_with_existing_tag_replaces_it() {
        let image = |cmd: &str| {
            Image::new(Vec::new(), &ImageConfig { cmd: vec![cmd.to_owned()], ..Default::default() })
        };
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("images");
        for (cmd, tag) in [("1", "a"), ("2", "b"), ("3", "a")] {
            add(&dir, &image(cmd), tag).unwrap();
        }
        let layout = Layout::open(&dir).unwrap();
        let found = |tag: &str| layout.find(tag).unwrap().unwrap().digest;
        assert_eq!((&found("a"), &found("b")), (image("3").digest(), image("2").digest()));
        assert_eq!(layout.index().unwrap().len(), 2);
    }

    #[test]
    fn add_to_other_directory_fails() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("diary"), "dear").unwrap();
        let image = Image::new(Vec::new(), &ImageConfig::default());
        assert!(matches!(add(dir.path(), &image, "a").unwrap_err(), LayoutAddError::Occupied(_)));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn write_without_permission_fails_with_path() {
        let image = Image::new(Vec::new(), &ImageConfig::default());
        let error = write(Path::new("/dev/null/x"), &image, "dev").unwrap_err();
        assert_eq!(error.to_string(), "cannot write /dev/null/x/blobs/sha256");
    }
}
