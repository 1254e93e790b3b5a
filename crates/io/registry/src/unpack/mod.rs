//! Making a directory of files from the layers of an image.
//!
//! Layers come from anywhere. Whatever they contain, nothing outside the directory is written or
//! read, and what they unpack to is bounded.

mod share;
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
use stream::LayerStream;
pub(crate) use stream::Unpacked;
use tree::Tree;

/// How much an image may unpack to.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The content of all files together.
    pub bytes: u64,
    /// Files, directories and links of all layers together.
    pub entries: u64,
    /// The length of a path.
    pub path: usize,
    /// How many times larger than its blob a layer may be.
    pub ratio: u64,
}

impl Default for Limits {
    /// Room for every image that a platform is made of, and not for an attack on a laptop's disk.
    fn default() -> Self {
        Self { bytes: 8 << 30, entries: 500_000, path: 4096, ratio: 100 }
    }
}

/// A layer as it lies in a layout.
#[derive(Clone, Debug)]
pub struct PackedLayer {
    /// The file.
    pub path: PathBuf,
    /// How it is packed.
    pub media_type: String,
    /// The digest of the file.
    pub digest: Digest,
    /// Its size.
    pub size: u64,
    /// The digest of the archive inside.
    pub diff_id: Digest,
}

/// Why an image could not be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The layer is packed in a way that is not known here.
    #[error(
        "layer {digest} has the media type {media_type:?}; only tar and tar+gzip are supported"
    )]
    MediaType {
        /// The layer.
        digest: Digest,
        /// How it is packed.
        media_type: String,
    },
    /// The content is not what its name says.
    #[error("the content of layer {0} does not match its digest")]
    WrongDigest(Digest),
    /// A path would lead out of the directory.
    #[error("a layer contains the path {0:?}, which is outside of the image")]
    Path(PathBuf),
    /// It would take too much.
    #[error("the image has more than {0}")]
    TooMuch(String),
    /// The layer could not be read to its end.
    #[error("cannot read layer {digest}")]
    Layer {
        /// The layer.
        digest: Digest,
        /// Why not.
        source: io::Error,
    },
    /// A file could not be written.
    #[error("cannot unpack {}", path.display())]
    Write {
        /// The path in the image.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// Unpacks layers, the lowest first, into a directory that does not exist yet. It appears when it
/// is complete.
pub fn unpack(
    layers: &[PackedLayer],
    directory: &Path,
    limits: &Limits,
) -> Result<(), UnpackError> {
    begin(None, layers, directory, limits)
}

/// The same over what layers below were unpacked to before. Its files are shared and not copied, so
/// nobody may write into either directory any more. What lies below counts against no limit again.
pub fn unpack_onto(
    below: &Path,
    layers: &[PackedLayer],
    directory: &Path,
    limits: &Limits,
) -> Result<(), UnpackError> {
    begin(Some(below), layers, directory, limits)
}

fn begin(
    below: Option<&Path>,
    layers: &[PackedLayer],
    directory: &Path,
    limits: &Limits,
) -> Result<(), UnpackError> {
    let failed = |source| UnpackError::Write { path: directory.to_owned(), source };
    let unfinished = unfinished_name(directory);
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(failed)?;
    }
    fs::create_dir_all(&unfinished).map_err(failed)?;
    let shared = below.map_or(Ok(()), |below| share::share(below, &unfinished));
    let opened = shared.and_then(|()| Tree::open(&unfinished)).map_err(failed);
    let unpacked = opened.and_then(|tree| {
        let mut unpacking = Unpacking { tree, limits, bytes: 0, entries: 0 };
        layers.iter().try_for_each(|layer| unpacking.layer(layer))
    });
    let finished = unpacked.and_then(|()| fs::rename(&unfinished, directory).map_err(failed));
    if finished.is_err() {
        // What went wrong first is what matters.
        let _ = fs::remove_dir_all(&unfinished);
    }
    finished
}

/// Beside the directory, so that renaming is possible, and of this process alone.
fn unfinished_name(directory: &Path) -> PathBuf {
    let mut name = directory.file_name().unwrap_or_default().to_owned();
    name.push(format!(".part-{}", std::process::id()));
    directory.with_file_name(name)
}

struct Unpacking<'a> {
    tree: Tree,
    limits: &'a Limits,
    bytes: u64,
    entries: u64,
}

impl Unpacking<'_> {
    fn layer(&mut self, layer: &PackedLayer) -> Result<(), UnpackError> {
        let failed = |source| UnpackError::Layer { digest: layer.digest.clone(), source };
        let stream = LayerStream::open(layer, self.limits.ratio)?;
        let meter = stream.meter();
        let mut archive = Archive::new(stream);
        let mut entries = archive.entries().map_err(failed)?;
        // What this layer brings is not hidden by its own whiteouts, wherever they stand in it.
        let mut brought = BTreeSet::new();
        loop {
            meter.expect_headers();
            let Some(entry) = entries.next() else { break };
            let mut entry = entry.map_err(failed)?;
            meter.expect_content();
            self.entry(&mut entry, &mut brought, layer)?;
        }
        meter.expect_content();
        archive.into_inner().verify(layer)
    }

    fn entry<R: Read>(
        &mut self,
        entry: &mut tar::Entry<'_, R>,
        brought: &mut BTreeSet<PathBuf>,
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
            return self.hide(&hidden, brought);
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
            // Devices and pipes: a container gets its devices from the machine, not from an image.
            _ => return Ok(()),
        }
        .map_err(|source| UnpackError::Write { path: path.clone(), source })?;
        let header = entry.header();
        let owner = header.uid().and_then(|user| Ok((user, header.gid()?))).map_err(unreadable)?;
        // A hard link is one more name of a file, which has an owner.
        if kind != EntryType::Link {
            self.own(&path, owner, mode)?;
        }
        brought.insert(path);
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

    /// Owners beyond what the kernel can count are nobody's.
    fn own(&self, path: &Path, owner: (u64, u64), mode: u32) -> Result<(), UnpackError> {
        let (Ok(user), Ok(group)) = (u32::try_from(owner.0), u32::try_from(owner.1)) else {
            return Ok(());
        };
        self.tree
            .own(path, user, group, mode)
            .map_err(|source| UnpackError::Write { path: path.to_owned(), source })
    }

    fn hide(&self, hidden: &Whiteout, brought: &BTreeSet<PathBuf>) -> Result<(), UnpackError> {
        match hidden {
            Whiteout::Path(path) => self.tree.remove(path),
            Whiteout::Content(path) => self.tree.empty(path, brought),
        }
        .map_err(|source| UnpackError::Write { path: hidden.path().to_owned(), source })
    }

    /// The path below the directory. An absolute one begins there, as in every container engine.
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

/// What a layer takes away from those below it.
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
            // Other words after a second prefix are notes of storage drivers.
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
