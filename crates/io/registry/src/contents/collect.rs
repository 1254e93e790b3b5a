//! What one layer does to the files that are wanted.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Component, Path};

use tar::{Archive, Entry, EntryType};

use crate::unpack::Unpacked;

/// What marks, in a layer, something of the layers below as gone.
const GONE: &str = ".wh.";
/// What marks everything in a directory as gone.
pub(crate) const ALL_GONE: &str = ".wh..wh..opq";

/// Which files of an image are wanted, and how much of them.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Single files.
    pub files: Vec<String>,
    /// Directories whose files are wanted, without those of directories in them.
    pub directories: Vec<String>,
    /// How many files are read.
    pub most_files: usize,
    /// How many bytes of one file are read.
    pub file_bytes: usize,
    /// How many bytes of all of them are read.
    pub all_bytes: usize,
    /// Whether an image for other machines does where there is none for this one: what is only
    /// data is the same everywhere.
    pub any_machine: bool,
}

impl Wanted {
    fn has(&self, path: &str) -> bool {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.files.iter().any(|file| file == path)
            || self.directories.iter().any(|dir| dir == parent)
    }

    /// Whether something that is wanted would have to be found through this.
    fn leads_through(&self, path: &str) -> bool {
        let below = |wanted: &String| wanted == path || is_below(wanted, path);
        self.has(path) || self.files.iter().chain(&self.directories).any(below)
    }
}

/// What a layer has, and what it hides of the layers below.
#[derive(Default)]
pub(super) struct Layer {
    files: BTreeMap<String, Vec<u8>>,
    bytes: usize,
    /// Files and whole directories.
    gone: BTreeSet<String>,
    /// Directories of which only the content is hidden.
    emptied: BTreeSet<String>,
    /// What is a directory here, whatever it was below.
    directories: BTreeSet<String>,
}

impl Layer {
    pub(super) fn collect(
        archive: Unpacked,
        wanted: &Wanted,
        most_entries: u64,
    ) -> io::Result<Self> {
        let meter = archive.meter();
        let mut archive = Archive::new(archive);
        let mut entries = archive.entries()?;
        let mut layer = Self::default();
        for _ in 0..most_entries {
            meter.expect_headers();
            let Some(entry) = entries.next() else {
                meter.expect_content();
                // Whether a layer is whole shows at its end.
                io::copy(&mut archive.into_inner(), &mut io::sink())?;
                return Ok(layer);
            };
            let mut entry = entry?;
            meter.expect_content();
            layer.take(&mut entry, wanted)?;
            // The archive's reader would skip the rest, too, but on the account of headers.
            io::copy(&mut entry, &mut io::sink())?;
        }
        Err(io::Error::other(format!("more than {most_entries} files")))
    }

    fn take(&mut self, entry: &mut Entry<'_, impl Read>, wanted: &Wanted) -> io::Result<()> {
        let path = plain(&entry.path()?)?;
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", &path));
        if name == ALL_GONE {
            self.emptied.extend(wanted.leads_through(parent).then(|| parent.to_owned()));
            return self.within(wanted);
        }
        if let Some(name) = name.strip_prefix(GONE) {
            let gone = joined(parent, name);
            self.gone.extend(wanted.leads_through(&gone).then_some(gone));
            return self.within(wanted);
        }
        match entry.header().entry_type() {
            EntryType::Directory if wanted.has(&path) => {
                self.files.remove(&path);
                self.directories.insert(path);
                self.within(wanted)
            }
            EntryType::Directory => Ok(()),
            EntryType::Regular if wanted.has(&path) => self.keep(path, entry, wanted),
            // Whoever follows a link leaves what is looked at, and whoever skips it may lose what
            // somebody wanted to say.
            _ if wanted.leads_through(&path) => {
                Err(io::Error::other(format!("{path} is not a regular file")))
            }
            _ => Ok(()),
        }
    }

    fn keep(&mut self, path: String, file: impl Read, wanted: &Wanted) -> io::Result<()> {
        let mut bytes = Vec::new();
        file.take(wanted.file_bytes as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > wanted.file_bytes {
            let limit = wanted.file_bytes;
            return Err(io::Error::other(format!("{path} has more than {limit} bytes")));
        }
        self.bytes += bytes.len();
        self.files.insert(path, bytes);
        self.within(wanted)
    }

    fn within(&self, wanted: &Wanted) -> io::Result<()> {
        let names = [&self.gone, &self.emptied, &self.directories].map(BTreeSet::len);
        if self.has_room(wanted) && names.iter().sum::<usize>() <= wanted.most_files {
            return Ok(());
        }
        Err(io::Error::other("its files exceed the limits of number or size"))
    }

    /// Whether there are no more files than are wanted, and no longer ones.
    pub(super) fn has_room(&self, wanted: &Wanted) -> bool {
        self.bytes <= wanted.all_bytes && self.files.len() <= wanted.most_files
    }

    /// Covers the layer below, and takes over what shows of it.
    pub(super) fn cover(&mut self, below: Self) {
        let Self { files, bytes: _, gone, emptied, directories } = below;
        for (path, bytes) in files {
            if !self.files.contains_key(&path) && !self.hides(&path) {
                self.bytes += bytes.len();
                self.files.insert(path, bytes);
            }
        }
        self.gone.extend(gone);
        self.emptied.extend(emptied);
        self.directories.extend(directories);
    }

    /// Whether nothing that is wanted can show of the layers below.
    pub(super) fn hides_all(&self, wanted: &Wanted) -> bool {
        let file = |path: &String| self.files.contains_key(path) || self.hides(path);
        wanted.files.iter().all(file)
            && wanted.directories.iter().all(|directory| self.hides_content_of(directory))
    }

    fn hides(&self, path: &str) -> bool {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.directories.contains(path) || self.gone.contains(path) || self.hides_content_of(parent)
    }

    fn hides_content_of(&self, directory: &str) -> bool {
        let is_emptied =
            |directory: &str| self.gone.contains(directory) || self.emptied.contains(directory);
        upwards(directory).any(is_emptied)
    }

    pub(super) fn into_files(self) -> BTreeMap<String, Vec<u8>> {
        self.files
    }
}

/// A directory and those in which it lies, up to the root.
fn upwards(directory: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(directory), |directory| {
        let parent = directory.rsplit_once('/').map_or("", |(parent, _)| parent);
        (!directory.is_empty()).then_some(parent)
    })
}

fn is_below(path: &str, directory: &str) -> bool {
    directory.is_empty() || path.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/'))
}

fn joined(parent: &str, name: &str) -> String {
    if parent.is_empty() { name.to_owned() } else { format!("{parent}/{name}") }
}

/// The path without what some builders begin it with.
fn plain(path: &Path) -> io::Result<String> {
    let mut parts = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => {
                let path = path.display();
                let part = part.to_str();
                let not_text = || io::Error::other(format!("{path} is not valid UTF-8"));
                parts.push(part.ok_or_else(not_text)?);
            }
            Component::CurDir | Component::RootDir => {}
            Component::ParentDir | Component::Prefix(_) => {
                let path = path.display();
                return Err(io::Error::other(format!("{path} is outside of the image")));
            }
        }
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests;
