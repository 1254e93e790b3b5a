//! Unpacks the layers of an image into a directory.
//!
//! Layers are not trusted. Nothing outside of the directory is read or written, and the unpacked
//! size is limited.

mod stream;
mod tree;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use tar::{Archive, EntryType};

use crate::Digest;
pub(crate) use stream::LayerArchive;
use stream::LayerStream;
use tree::Tree;

/// Limits of unpacking.
#[derive(Clone, Copy, Debug)]
pub struct UnpackLimits {
    /// Bytes of all files together.
    pub bytes: u64,
    /// Entries of all layers together.
    pub entries: u64,
    /// Bytes of a path.
    pub path: usize,
    /// Maximum ratio of the size of a layer to the size of its blob.
    pub ratio: u64,
}

impl Default for UnpackLimits {
    /// Enough for all images of a platform, and less than the disk of a laptop.
    fn default() -> Self {
        Self { bytes: 8 << 30, entries: 500_000, path: 4096, ratio: 100 }
    }
}

/// A layer in an OCI layout.
#[derive(Clone, Debug)]
pub struct PackedLayer {
    /// Path of the blob.
    pub path: PathBuf,
    /// The media type.
    pub media_type: String,
    /// The digest of the file.
    pub digest: Digest,
    /// Size of the blob.
    pub size: u64,
    /// The digest of the archive inside.
    pub diff_id: Digest,
}

/// An image that cannot be unpacked.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum UnpackError {
    /// The media type of the layer is not supported.
    #[error(
        "layer {digest} has the media type {media_type:?}; only tar and tar+gzip are supported"
    )]
    MediaType { digest: Digest, media_type: String },
    /// The content does not match its digest.
    #[error("the content of layer {0} does not match its digest")]
    WrongDigest(Digest),
    /// A path is outside of the directory.
    #[error("a layer contains the path {0:?}, which is outside of the image")]
    Path(PathBuf),
    /// A limit is exceeded.
    #[error("the image has more than {0}")]
    TooMuch(String),
    /// The layer cannot be read.
    #[error("cannot read layer {digest}")]
    Layer { digest: Digest, source: io::Error },
    /// A file cannot be written.
    #[error("cannot unpack {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Unpacks layers, the lowest first, into a directory that must not exist. The directory is renamed
/// into place when it is complete.
pub fn unpack(
    layers: &[PackedLayer],
    directory: &Path,
    limits: &UnpackLimits,
) -> Result<(), UnpackError> {
    begin(None, layers, directory, limits)
}

/// Unpacks layers on top of a directory with the layers below. Files are shared by hard links, so
/// neither directory may be changed afterwards. The shared files do not count against the limits.
pub fn unpack_onto(
    below: &Path,
    layers: &[PackedLayer],
    directory: &Path,
    limits: &UnpackLimits,
) -> Result<(), UnpackError> {
    begin(Some(below), layers, directory, limits)
}

fn begin(
    below: Option<&Path>,
    layers: &[PackedLayer],
    directory: &Path,
    limits: &UnpackLimits,
) -> Result<(), UnpackError> {
    let failed = |source| UnpackError::Write { path: directory.to_owned(), source };
    let temporary = temporary_name(directory);
    if temporary.exists() {
        fs::remove_dir_all(&temporary).map_err(failed)?;
    }
    fs::create_dir_all(&temporary).map_err(failed)?;
    let shared = below.map_or(Ok(()), |below| tree::share_files(below, &temporary));
    let opened = shared.and_then(|()| Tree::open(&temporary)).map_err(failed);
    let unpacked = opened.and_then(|tree| {
        let mut unpacking = Unpacking { tree, limits, bytes: 0, entries: 0 };
        layers.iter().try_for_each(|layer| unpacking.layer(layer))
    });
    let finished = unpacked.and_then(|()| fs::rename(&temporary, directory).map_err(failed));
    if finished.is_err() {
        // The first error is returned; a failed cleanup is ignored.
        let _ = fs::remove_dir_all(&temporary);
    }
    finished
}

/// Temporary name in the same directory, so that it can be renamed, and unique to this process.
fn temporary_name(directory: &Path) -> PathBuf {
    let mut name = directory.file_name().unwrap_or_default().to_owned();
    name.push(format!(".part-{}", std::process::id()));
    directory.with_file_name(name)
}

struct Unpacking<'a> {
    tree: Tree,
    limits: &'a UnpackLimits,
    bytes: u64,
    entries: u64,
}

impl Unpacking<'_> {
    fn layer(&mut self, layer: &PackedLayer) -> Result<(), UnpackError> {
        let failed = |source| UnpackError::Layer { digest: layer.digest.clone(), source };
        let stream = LayerStream::open(layer, self.limits.ratio)?;
        let header_limit = stream.header_limit();
        let mut archive = Archive::new(stream);
        let mut entries = archive.entries().map_err(failed)?;
        // Entries of this layer: its own whiteouts do not hide them, regardless of their order.
        let mut own_entries = BTreeSet::new();
        loop {
            header_limit.expect_headers();
            let Some(entry) = entries.next() else { break };
            let mut entry = entry.map_err(failed)?;
            header_limit.expect_content();
            self.entry(&mut entry, &mut own_entries, layer)?;
        }
        header_limit.expect_content();
        archive.into_inner().verify(layer)
    }

    fn entry<R: Read>(
        &mut self,
        entry: &mut tar::Entry<'_, R>,
        own_entries: &mut BTreeSet<PathBuf>,
        layer: &PackedLayer,
    ) -> Result<(), UnpackError> {
        let unreadable = |source| UnpackError::Layer { digest: layer.digest.clone(), source };
        self.entries += 1;
        if self.entries > self.limits.entries {
            return Err(UnpackError::TooMuch(format!("{} entries", self.limits.entries)));
        }
        let path = self.inside(&entry.path().map_err(unreadable)?)?;
        if path.as_os_str().is_empty() {
            return Ok(());
        }
        if let Some(hidden) = Whiteout::read(&path) {
            return self.apply_whiteout(&hidden, own_entries);
        }
        let kind = entry.header().entry_type();
        let mode = entry.header().mode().map_err(unreadable)?;
        let link = entry.link_name().map_err(unreadable)?.map(std::borrow::Cow::into_owned);
        match (kind, link) {
            (EntryType::Directory, _) => self.tree.directory(&path, mode),
            (EntryType::Symlink, Some(target)) => self.tree.symlink(&path, &target),
            (EntryType::Link, Some(target)) => {
                let target = self.inside(&target)?;
                self.tree.hard_link(&path, &target)
            }
            (EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse, _) => {
                self.file(&path, mode, &mut *entry)?;
                Ok(())
            }
            // Devices and pipes are skipped: a container gets its devices from the host.
            _ => return Ok(()),
        }
        .map_err(|source| UnpackError::Write { path: path.clone(), source })?;
        let header = entry.header();
        let owner = header.uid().and_then(|user| Ok((user, header.gid()?))).map_err(unreadable)?;
        // A hard link has the owner of its target.
        if kind != EntryType::Link {
            self.set_owner(&path, owner, mode)?;
        }
        own_entries.insert(path);
        Ok(())
    }

    fn file(&mut self, path: &Path, mode: u32, content: impl Read) -> Result<(), UnpackError> {
        let failed = |source| UnpackError::Write { path: path.to_owned(), source };
        let room = self.limits.bytes - self.bytes;
        let mut file = self.tree.file(path, mode).map_err(failed)?;
        self.bytes += io::copy(&mut content.take(room + 1), &mut file).map_err(failed)?;
        if self.bytes > self.limits.bytes {
            return Err(UnpackError::TooMuch(format!("{} bytes", self.limits.bytes)));
        }
        Ok(())
    }

    /// Sets the owner. IDs that the kernel cannot represent are ignored.
    fn set_owner(&self, path: &Path, owner: (u64, u64), mode: u32) -> Result<(), UnpackError> {
        let (Ok(user), Ok(group)) = (u32::try_from(owner.0), u32::try_from(owner.1)) else {
            return Ok(());
        };
        self.tree
            .set_owner(path, user, group, mode)
            .map_err(|source| UnpackError::Write { path: path.to_owned(), source })
    }

    fn apply_whiteout(
        &self,
        hidden: &Whiteout,
        own_entries: &BTreeSet<PathBuf>,
    ) -> Result<(), UnpackError> {
        match hidden {
            Whiteout::Path(path) => self.tree.remove(path),
            Whiteout::Content(path) => self.tree.empty(path, own_entries),
        }
        .map_err(|source| UnpackError::Write { path: hidden.path().to_owned(), source })
    }

    /// The path relative to the directory. Absolute paths start there, as in container engines.
    fn inside(&self, path: &Path) -> Result<PathBuf, UnpackError> {
        if path.as_os_str().len() > self.limits.path {
            let length = self.limits.path;
            return Err(UnpackError::TooMuch(format!("{length} characters in a path")));
        }
        let mut inside = PathBuf::new();
        for component in path.components() {
            match component {
                Component::Normal(name) => inside.push(name),
                Component::RootDir | Component::CurDir => {}
                Component::ParentDir | Component::Prefix(_) => {
                    return Err(UnpackError::Path(path.to_owned()));
                }
            }
        }
        Ok(inside)
    }
}

/// A path of the layers below that a layer removes.
#[derive(Debug, PartialEq, Eq)]
enum Whiteout {
    Path(PathBuf),
    Content(PathBuf),
}

impl Whiteout {
    fn read(path: &Path) -> Option<Self> {
        let hidden = path.file_name()?.to_str()?.strip_prefix(".wh.")?;
        match hidden {
            ".wh..opq" => Some(Self::Content(path.parent()?.to_owned())),
            // Other names with the prefix twice are metadata of storage drivers.
            _ if hidden.starts_with(".wh.") || hidden.is_empty() => None,
            "." | ".." => None,
            _ => Some(Self::Path(path.with_file_name(hidden))),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Self::Path(path) | Self::Content(path) => path,
        }
    }
}
