//! Builds layers of images: tar archives, optionally compressed.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use flate2::{Compression, GzBuilder};
use tar::{EntryType, Header};

use crate::Digest;
use crate::contents::OPAQUE_WHITEOUT;
use crate::image::Blob;
use crate::manifest::LayerFormat;
use crate::program::{self, ProgramError};

/// A finished layer.
#[derive(Clone, Debug)]
pub struct Layer {
    pub(crate) blob: Blob,
    /// Digest of the uncompressed archive, which the configuration of an image lists.
    pub(crate) diff_id: Digest,
}

/// Collects the files of a layer. The result depends only on paths, modes and contents: entries are
/// sorted, and owners and times are zero. The last entry of a path wins.
#[derive(Debug, Default)]
pub struct LayerBuilder {
    entries: BTreeMap<PathBuf, Entry>,
}

#[derive(Debug)]
enum Entry {
    Directory { mode: u32 },
    File { mode: u32, content: Vec<u8> },
    Link { target: PathBuf },
}

/// A layer that cannot be built.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum LayerError {
    /// A path is outside of the image.
    #[error("{} is not a valid path in an image: it must be below the root directory, without `..`", .0.display())]
    Path(PathBuf),
    /// A file or link has entries below it.
    #[error("{} cannot contain other files: it is not a directory", .0.display())]
    NotADirectory(PathBuf),
    /// The shared libraries of a binary are unknown.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A file of this host cannot be read.
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A file of this host is neither a file, a directory nor a symbolic link.
    #[error("{} is neither a file, a directory nor a symbolic link", .0.display())]
    Special(PathBuf),
    /// The archive cannot be written.
    #[error("cannot write the archive of the layer")]
    Archive(#[from] io::Error),
}

impl LayerBuilder {
    /// An empty layer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an opaque directory: it hides the content of that directory in the layers below, so
    /// readers of its files need not fetch them.
    pub fn opaque_directory(self, path: impl AsRef<Path>) -> Result<Self, LayerError> {
        self.file(path.as_ref().join(OPAQUE_WHITEOUT), 0o644, "")
    }

    /// Adds a file and its missing parent directories.
    pub fn file(
        self,
        path: impl AsRef<Path>,
        mode: u32,
        content: impl Into<Vec<u8>>,
    ) -> Result<Self, LayerError> {
        self.entry(path.as_ref(), Entry::File { mode, content: content.into() })
    }

    /// Adds a directory.
    pub fn directory(self, path: impl AsRef<Path>, mode: u32) -> Result<Self, LayerError> {
        self.entry(path.as_ref(), Entry::Directory { mode })
    }

    /// Adds a symbolic link.
    pub fn link(
        self,
        path: impl AsRef<Path>,
        target: impl Into<PathBuf>,
    ) -> Result<Self, LayerError> {
        self.entry(path.as_ref(), Entry::Link { target: target.into() })
    }

    /// Adds a file of this host with its mode. Symbolic links are followed.
    pub fn host_file(self, path: impl AsRef<Path>, host: &Path) -> Result<Self, LayerError> {
        let read = |source| LayerError::Read { path: host.to_owned(), source };
        let mode = std::fs::metadata(host).map_err(read)?.permissions().mode();
        let content = std::fs::read(host).map_err(read)?;
        self.file(path, mode, content)
    }

    /// Adds a binary of this host, and the shared libraries that it needs at their own paths.
    pub fn host_program(mut self, path: impl AsRef<Path>, host: &Path) -> Result<Self, LayerError> {
        for library in program::libraries(host)? {
            self = self.host_file(&library, &library)?;
        }
        self.host_file(path, host)
    }

    /// Adds the content of a directory of this host. Symbolic links stay links.
    pub fn host_tree(mut self, path: impl AsRef<Path>, host: &Path) -> Result<Self, LayerError> {
        let read = |source| LayerError::Read { path: host.to_owned(), source };
        for entry in std::fs::read_dir(host).map_err(read)? {
            let entry = entry.map_err(read)?;
            let (inside, outside) = (path.as_ref().join(entry.file_name()), entry.path());
            let kind = entry.file_type().map_err(read)?;
            if kind.is_dir() {
                let mode = entry.metadata().map_err(read)?.permissions().mode();
                self = self.directory(&inside, mode)?.host_tree(&inside, &outside)?;
            } else if kind.is_file() {
                self = self.host_file(&inside, &outside)?;
            } else if kind.is_symlink() {
                let target = std::fs::read_link(&outside)
                    .map_err(|source| LayerError::Read { path: outside, source })?;
                self = self.link(&inside, target)?;
            } else {
                return Err(LayerError::Special(outside));
            }
        }
        Ok(self)
    }

    fn entry(mut self, path: &Path, entry: Entry) -> Result<Self, LayerError> {
        let path = normal(path)?;
        for parent in path.ancestors().skip(1).filter(|parent| *parent != Path::new("")) {
            let above = self.entries.entry(parent.to_owned());
            if !matches!(above.or_insert(Entry::Directory { mode: 0o755 }), Entry::Directory { .. })
            {
                return Err(LayerError::NotADirectory(parent.to_owned()));
            }
        }
        let is_directory = matches!(entry, Entry::Directory { .. });
        let has_content = |(below, _): (&PathBuf, _)| below.starts_with(&path) && *below != path;
        if !is_directory && self.entries.range(path.clone()..).take(2).any(has_content) {
            return Err(LayerError::NotADirectory(path));
        }
        self.entries.insert(path, entry);
        Ok(self)
    }

    /// Builds a layer that is compressed with gzip.
    pub fn build(self) -> Result<Layer, LayerError> {
        let archive = self.archive()?;
        let diff_id = Digest::of(&archive);
        // No file name and no time in the gzip header: the same files give the same bytes.
        let mut gzip = GzBuilder::new().mtime(0).write(Vec::new(), Compression::default());
        gzip.write_all(&archive)?;
        let blob = Blob::new(LayerFormat::TarGzip.media_type(), gzip.finish()?);
        Ok(Layer { blob, diff_id })
    }

    /// Builds an uncompressed layer: faster, for images that stay on this host.
    pub fn build_uncompressed(self) -> Result<Layer, LayerError> {
        let blob = Blob::new(LayerFormat::Tar.media_type(), self.archive()?);
        Ok(Layer { diff_id: blob.digest().clone(), blob })
    }

    fn archive(&self) -> io::Result<Vec<u8>> {
        let mut tar = tar::Builder::new(Vec::new());
        for (path, entry) in &self.entries {
            let mut header = Header::new_gnu();
            header.set_mtime(0);
            header.set_uid(0);
            header.set_gid(0);
            match entry {
                Entry::Directory { mode } => {
                    header.set_entry_type(EntryType::Directory);
                    header.set_mode(mode & 0o7777);
                    header.set_size(0);
                    tar.append_data(&mut header, path, io::empty())?;
                }
                Entry::File { mode, content } => {
                    header.set_entry_type(EntryType::Regular);
                    header.set_mode(mode & 0o7777);
                    header.set_size(content.len() as u64);
                    tar.append_data(&mut header, path, content.as_slice())?;
                }
                Entry::Link { target } => {
                    header.set_entry_type(EntryType::Symlink);
                    header.set_mode(0o777);
                    header.set_size(0);
                    tar.append_link(&mut header, path, target)?;
                }
            }
        }
        tar.into_inner()
    }
}

/// The path in the archive: relative and without `..`.
fn normal(path: &Path) -> Result<PathBuf, LayerError> {
    let refused = || LayerError::Path(path.to_owned());
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => normal.push(name),
            Component::RootDir | Component::CurDir => {}
            Component::ParentDir | Component::Prefix(_) => return Err(refused()),
        }
    }
    if normal.as_os_str().is_empty() { Err(refused()) } else { Ok(normal) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(layer: &Layer) -> Vec<String> {
        let archive = flate2::read::GzDecoder::new(layer.blob.bytes());
        let mut archive = tar::Archive::new(archive);
        let entries = archive.entries().unwrap();
        entries.map(|entry| entry.unwrap().path().unwrap().display().to_string()).collect()
    }

    #[test]
    fn build_is_independent_of_insertion_order() {
        let one = LayerBuilder::new().file("b", 0o644, "2").unwrap().file("a", 0o644, "1").unwrap();
        let two =
            LayerBuilder::new().file("/a", 0o644, "1").unwrap().file("b", 0o644, "2").unwrap();
        assert_eq!(one.build().unwrap().blob.digest(), two.build().unwrap().blob.digest());
    }

    #[test]
    fn build_uncompressed_has_same_archive() {
        let layer = || LayerBuilder::new().file("a", 0o644, "1").unwrap();
        let (packed, plain) = (layer().build().unwrap(), layer().build_uncompressed().unwrap());
        assert_eq!(plain.diff_id, packed.diff_id);
        assert_eq!(plain.blob.digest(), &plain.diff_id);
    }

    #[test]
    fn file_creates_parents_and_keeps_their_modes() {
        let layer = LayerBuilder::new()
            .directory("tmp", 0o1777)
            .and_then(|layer| layer.file("tmp/a/b", 0o644, ""))
            .and_then(LayerBuilder::build)
            .unwrap();
        assert_eq!(paths(&layer), ["tmp", "tmp/a", "tmp/a/b"]);
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(layer.blob.bytes()));
        let tmp = archive.entries().unwrap().next().unwrap().unwrap();
        assert_eq!(tmp.header().mode().unwrap(), 0o1777);
    }

    #[test]
    fn file_with_path_outside_fails() {
        for path in ["", "/", ".", "../a", "a/../../b"] {
            let refused = LayerBuilder::new().file(path, 0o644, "");
            assert!(matches!(refused, Err(LayerError::Path(_))), "{path:?}");
        }
    }

    #[test]
    fn file_below_a_file_fails() {
        let file = || LayerBuilder::new().file("a", 0o644, "").unwrap();
        let below = file().file("a/b", 0o644, "").unwrap_err();
        assert_eq!(below.to_string(), "a cannot contain other files: it is not a directory");
        let above = LayerBuilder::new().file("a/b", 0o644, "").unwrap().file("a", 0o644, "");
        assert!(matches!(above, Err(LayerError::NotADirectory(_))));
        assert!(file().file("a-b", 0o644, "").is_ok(), "a neighbour is not below");
    }

    #[test]
    fn host_program_adds_shared_libraries() {
        let layer = LayerBuilder::new().host_program("bin/sh", Path::new("/bin/sh")).unwrap();
        let paths = paths(&layer.build().unwrap());
        assert!(paths.iter().any(|path| path == "bin/sh"));
        assert!(paths.iter().any(|path| path.contains("libc.so")), "{paths:?}");
    }

    #[test]
    fn host_tree_keeps_links() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("sub")).unwrap();
        std::fs::write(dir.path().join("sub/file"), "x").unwrap();
        std::os::unix::fs::symlink("sub/file", dir.path().join("link")).unwrap();
        let layer = LayerBuilder::new()
            .host_tree("manifests", dir.path())
            .and_then(LayerBuilder::build)
            .unwrap();
        assert_eq!(
            paths(&layer),
            ["manifests", "manifests/link", "manifests/sub", "manifests/sub/file"]
        );
    }

    #[test]
    fn file_with_long_path_is_kept() {
        let path = "d/".repeat(120) + "file";
        let layer = LayerBuilder::new().file(&path, 0o644, "x").unwrap().build().unwrap();
        assert_eq!(paths(&layer).last().unwrap(), &path);
    }

    #[test]
    fn host_file_missing_fails_with_its_path() {
        let error = LayerBuilder::new().host_file("a", Path::new("/does/not/exist")).unwrap_err();
        assert_eq!(error.to_string(), "cannot read /does/not/exist");
    }
}
