//! Selects files from one layer and applies its whiteouts to the layers below.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Component, Path};

use tar::{Archive, Entry, EntryType};

use crate::unpack::LayerArchive;

/// Prefix of a whiteout: the name behind it does not exist in the layers below (OCI image layer
/// specification).
const WHITEOUT_PREFIX: &str = ".wh.";
/// Opaque whiteout: hides all content of its directory in the layers below.
pub(crate) const OPAQUE_WHITEOUT: &str = ".wh..wh..opq";

/// Files of an image to read, with limits.
#[derive(Clone, Debug)]
pub struct FileSelection {
    /// Paths of single files.
    pub files: Vec<String>,
    /// Directories whose files are read, without subdirectories.
    pub directories: Vec<String>,
    /// Maximum number of files.
    pub most_files: usize,
    /// Maximum bytes of one file.
    pub file_bytes: usize,
    /// Maximum bytes of all files together.
    pub all_bytes: usize,
    /// Accept an image for another platform if there is none for this host. Use it for images that
    /// contain only data.
    pub any_machine: bool,
}

impl FileSelection {
    fn has(&self, path: &str) -> bool {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.files.iter().any(|file| file == path)
            || self.directories.iter().any(|dir| dir == parent)
    }

    /// Whether a selected path is this path or lies below it.
    fn contains_or_is_above(&self, path: &str) -> bool {
        let below = |selection: &String| selection == path || is_below(selection, path);
        self.has(path) || self.files.iter().chain(&self.directories).any(below)
    }
}

/// Selected files of a layer, and the paths that it hides in the layers below.
#[derive(Default)]
pub(super) struct LayerFiles {
    files: BTreeMap<String, Vec<u8>>,
    bytes: usize,
    /// Removed files and directories.
    removed: BTreeSet<String>,
    /// Opaque directories: only their content is hidden.
    opaque: BTreeSet<String>,
    /// Directories that replace a file of the layers below.
    directories: BTreeSet<String>,
}

impl LayerFiles {
    pub(super) fn collect(
        archive: LayerArchive,
        selection: &FileSelection,
        max_entries: u64,
    ) -> io::Result<Self> {
        let header_limit = archive.header_limit();
        let mut archive = Archive::new(archive);
        let mut entries = archive.entries()?;
        let mut layer = Self::default();
        for _ in 0..max_entries {
            header_limit.expect_headers();
            let Some(entry) = entries.next() else {
                header_limit.expect_content();
                // Read to the end: gzip checks its trailer there.
                io::copy(&mut archive.into_inner(), &mut io::sink())?;
                return Ok(layer);
            };
            let mut entry = entry?;
            header_limit.expect_content();
            layer.take(&mut entry, selection)?;
            // Skipped here and not by the tar reader, which would count the content against the
            // limit for headers.
            io::copy(&mut entry, &mut io::sink())?;
        }
        Err(io::Error::other(format!("more than {max_entries} files")))
    }

    fn take(
        &mut self,
        entry: &mut Entry<'_, impl Read>,
        selection: &FileSelection,
    ) -> io::Result<()> {
        let path = normalized(&entry.path()?)?;
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", &path));
        if name == OPAQUE_WHITEOUT {
            self.opaque.extend(selection.contains_or_is_above(parent).then(|| parent.to_owned()));
            return self.check_limits(selection);
        }
        if let Some(name) = name.strip_prefix(WHITEOUT_PREFIX) {
            let removed = joined(parent, name);
            self.removed.extend(selection.contains_or_is_above(&removed).then_some(removed));
            return self.check_limits(selection);
        }
        match entry.header().entry_type() {
            EntryType::Directory if selection.has(&path) => {
                self.files.remove(&path);
                self.directories.insert(path);
                self.check_limits(selection)
            }
            EntryType::Directory => Ok(()),
            EntryType::Regular if selection.has(&path) => self.keep(path, entry, selection),
            // A link could point outside of the selection, and skipping it could silently drop a
            // file that the image should have.
            _ if selection.contains_or_is_above(&path) => {
                Err(io::Error::other(format!("{path} is not a regular file")))
            }
            _ => Ok(()),
        }
    }

    fn keep(&mut self, path: String, file: impl Read, selection: &FileSelection) -> io::Result<()> {
        let mut bytes = Vec::new();
        file.take(selection.file_bytes as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > selection.file_bytes {
            let limit = selection.file_bytes;
            return Err(io::Error::other(format!("{path} has more than {limit} bytes")));
        }
        self.bytes += bytes.len();
        self.files.insert(path, bytes);
        self.check_limits(selection)
    }

    fn check_limits(&self, selection: &FileSelection) -> io::Result<()> {
        let names = [&self.removed, &self.opaque, &self.directories].map(BTreeSet::len);
        if self.has_room(selection) && names.iter().sum::<usize>() <= selection.most_files {
            return Ok(());
        }
        Err(io::Error::other("its files exceed the limit on number or size"))
    }

    /// Whether number and size of the files are within the limits.
    pub(super) fn has_room(&self, selection: &FileSelection) -> bool {
        self.bytes <= selection.all_bytes && self.files.len() <= selection.most_files
    }

    /// Puts this layer on top of the one below and keeps the files of that which remain visible.
    pub(super) fn cover(&mut self, below: Self) {
        let Self { files, bytes: _, removed, opaque, directories } = below;
        for (path, bytes) in files {
            if !self.files.contains_key(&path) && !self.hides(&path) {
                self.bytes += bytes.len();
                self.files.insert(path, bytes);
            }
        }
        self.removed.extend(removed);
        self.opaque.extend(opaque);
        self.directories.extend(directories);
    }

    /// Whether the layers below cannot contribute any selected file.
    pub(super) fn hides_all(&self, selection: &FileSelection) -> bool {
        let file = |path: &String| self.files.contains_key(path) || self.hides(path);
        selection.files.iter().all(file)
            && selection.directories.iter().all(|directory| self.hides_content_of(directory))
    }

    fn hides(&self, path: &str) -> bool {
        let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.directories.contains(path)
            || self.removed.contains(path)
            || self.hides_content_of(parent)
    }

    fn hides_content_of(&self, directory: &str) -> bool {
        let is_emptied =
            |directory: &str| self.removed.contains(directory) || self.opaque.contains(directory);
        upwards(directory).any(is_emptied)
    }

    pub(super) fn into_files(self) -> BTreeMap<String, Vec<u8>> {
        self.files
    }
}

/// A directory and its ancestors, up to the root.
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

/// The path without the leading `/` or `./` that some builders write.
fn normalized(path: &Path) -> io::Result<String> {
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLAIN: &str = "application/vnd.oci.image.layer.v1.tar";

    fn selection() -> FileSelection {
        FileSelection {
            files: vec!["data/version".to_owned()],
            directories: vec!["data/channels".to_owned()],
            most_files: 3,
            file_bytes: 10,
            all_bytes: 20,
            any_machine: true,
        }
    }

    #[test]
    fn normalized_without_utf8_fails() {
        use std::os::unix::ffi::OsStrExt as _;

        let name = std::ffi::OsStr::from_bytes(b"data/channels/a\xfe.yaml");
        insta::assert_snapshot!(normalized(Path::new(name)).unwrap_err(), @"data/channels/a�.yaml is not valid UTF-8");
    }

    /// Builds a layer of files, links (`a -> b`) and directories (`a/`).
    fn layer(entries: &[(&str, &str)]) -> io::Result<LayerFiles> {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, content) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_size(0);
            if let Some((path, target)) = path.split_once(" -> ") {
                header.set_entry_type(EntryType::Symlink);
                archive.append_link(&mut header, path, target).unwrap();
            } else if path.ends_with('/') {
                header.set_entry_type(EntryType::Directory);
                archive.append_data(&mut header, path, io::empty()).unwrap();
            } else {
                header.set_size(content.len() as u64);
                archive.append_data(&mut header, path, content.as_bytes()).unwrap();
            }
        }
        let bytes = archive.into_inner().unwrap();
        let size = bytes.len() as u64;
        let archive = LayerArchive::new(io::Cursor::new(bytes), PLAIN, size, 10).unwrap();
        LayerFiles::collect(archive, &selection(), 8)
    }

    fn stacked(layers: &[&[(&str, &str)]]) -> LayerFiles {
        let mut stack = LayerFiles::default();
        layers.iter().rev().for_each(|entries| stack.cover(layer(entries).unwrap()));
        stack
    }

    fn shown(layers: &[&[(&str, &str)]]) -> String {
        let files = stacked(layers).into_files().into_iter();
        let text = |(path, bytes): (String, Vec<u8>)| format!("{path}={}", bytes.len());
        files.map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn cover_applies_whiteouts_and_replacements() {
        let below: &[(&str, &str)] = &[
            ("etc/passwd", "root"),
            ("data/version", "1"),
            ("./data/channels/a", "aa"),
            ("data/channels/b", "b"),
            ("data/channels/deep/c", "c"),
        ];
        let whole = "data/channels/a=2 data/channels/b=1 data/version=1";
        assert_eq!(shown(&[below]), whole);
        let cases: [(&[(&str, &str)], &str); 8] = [
            (&[("data/channels/b", "bbb")], "data/channels/a=2 data/channels/b=3 data/version=1"),
            (&[("data/channels/.wh.b", "")], "data/channels/a=2 data/version=1"),
            (
                &[("data/channels/.wh..wh..opq", ""), ("data/channels/c", "c")],
                "data/channels/c=1 data/version=1",
            ),
            (&[("data/.wh.channels", "")], "data/version=1"),
            (&[(".wh.data", ""), ("data/version", "2.0")], "data/version=3"),
            (&[(".wh..wh..opq", "")], ""),
            (&[("data/channels/", ""), ("other -> data", "")], whole),
            (&[("data/channels/b/", "")], "data/channels/a=2 data/version=1"),
        ];
        for (above, expected) in cases {
            assert_eq!(shown(&[below, above]), expected, "{above:?}");
            assert_eq!(shown(&[below, above, &[]]), expected, "{above:?}");
        }
    }

    #[test]
    fn hides_all_with_opaque_directories_returns_true() {
        let version = ("data/version", "1");
        let cases: [(&[(&str, &str)], bool); 8] = [
            (&[], false),
            (&[version, ("data/channels/a", "")], false),
            (&[version, ("data/channels/.wh..wh..opq", "")], true),
            (&[("data/channels/.wh..wh..opq", "")], false),
            (&[version, ("data/.wh.channels", "")], true),
            (&[version, ("data/channels/.wh.a", "")], false),
            (&[(".wh.data", "")], true),
            (&[("data/.wh..wh..opq", "")], true),
        ];
        for (entries, expected) in cases {
            assert_eq!(stacked(&[entries]).hides_all(&selection()), expected, "{entries:?}");
        }
    }

    #[test]
    fn collect_with_links_or_beyond_limits_fails() {
        let nine: Vec<(String, &str)> = (0..9).map(|number| (number.to_string(), "")).collect();
        let nine: Vec<(&str, &str)> =
            nine.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let errors: Vec<String> = [
            [("data/channels/a -> b", "")].as_slice(),
            &[("data/version -> /etc/passwd", "")],
            &[("data/channels -> elsewhere", "")],
            &[("data -> elsewhere", "")],
            &[("data/channels", "a file")],
            &[("data/channels/a", "12345678901")],
            &[
                ("data/channels/a", "1234567890"),
                ("data/channels/b", "1234567890"),
                ("data/version", "1"),
            ],
            &[
                ("data/channels/a", ""),
                ("data/channels/b", ""),
                ("data/channels/c", ""),
                ("data/version", ""),
            ],
            &[
                ("data/channels/.wh.a", ""),
                ("data/channels/.wh.b", ""),
                ("data/channels/.wh.c", ""),
                ("data/channels/.wh.d", ""),
            ],
            &nine,
        ]
        .into_iter()
        .map(|entries| layer(entries).err().unwrap().to_string())
        .collect();
        insta::assert_snapshot!(errors.join("\n"), @"
        data/channels/a is not a regular file
        data/version is not a regular file
        data/channels is not a regular file
        data is not a regular file
        data/channels is not a regular file
        data/channels/a has more than 10 bytes
        its files exceed the limit on number or size
        its files exceed the limit on number or size
        its files exceed the limit on number or size
        more than 8 files
        ");
    }

    /// Entries of a layer, few enough that layers often have the same paths.
    fn entry() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "data/version",
            "data/.wh.version",
            "data/channels/a",
            "data/channels/a/",
            "data/channels/b",
            "data/channels/.wh.a",
            "data/channels/.wh.b",
            "data/channels/.wh..wh..opq",
            "data/.wh.channels",
            "data/.wh..wh..opq",
            ".wh.data",
        ])
    }

    /// Reference implementation: applies the layers from the lowest up.
    fn put_together(layers: &[Vec<&str>]) -> BTreeSet<String> {
        let mut files: BTreeSet<String> = BTreeSet::new();
        for layer in layers {
            for path in layer {
                let (parent, name) =
                    path.trim_end_matches('/').rsplit_once('/').unwrap_or(("", path));
                if name == OPAQUE_WHITEOUT {
                    files.retain(|file| !is_below(file, parent));
                } else if let Some(name) = name.strip_prefix(WHITEOUT_PREFIX) {
                    let removed = joined(parent, name);
                    files.retain(|file| *file != removed && !is_below(file, &removed));
                } else {
                    files.remove(path.trim_end_matches('/'));
                }
            }
            let is_file = |path: &&&str| !path.ends_with('/') && !path.contains(WHITEOUT_PREFIX);
            files.extend(layer.iter().filter(is_file).map(|path| (*path).to_owned()));
        }
        files
    }

    proptest! {
        #[test]
        fn cover_from_top_equals_applying_from_bottom(
            layers in prop::collection::vec(prop::collection::btree_set(entry(), 0..4), 0..5),
        ) {
            // A layer has a path once, as a file or as a directory.
            let is_once = |layer: &BTreeSet<&str>, path: &str| !layer.contains(format!("{path}/").as_str());
            let layers: Vec<Vec<&str>> = layers
                .iter()
                .map(|layer| layer.iter().copied().filter(|path| is_once(layer, path)).collect())
                .collect();
            let entries: Vec<Vec<(&str, &str)>> =
                layers.iter().map(|layer| layer.iter().map(|path| (*path, "")).collect()).collect();
            let entries: Vec<&[(&str, &str)]> = entries.iter().map(Vec::as_slice).collect();
            let all: BTreeSet<String> = stacked(&entries).into_files().into_keys().collect();
            prop_assert_eq!(&all, &put_together(&layers));
            let enough = (0..=entries.len())
                .map(|count| stacked(&entries[entries.len() - count..]))
                .find(|stack| stack.hides_all(&selection()));
            if let Some(enough) = enough {
                let shown: BTreeSet<String> = enough.into_files().into_keys().collect();
                prop_assert_eq!(shown, all);
            }
        }

        #[test]
        fn collect_with_arbitrary_bytes_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..2048)) {
            let size = bytes.len() as u64;
            let archive = LayerArchive::new(io::Cursor::new(bytes), PLAIN, size, 10).unwrap();
            let _ = LayerFiles::collect(archive, &selection(), 8);
        }
    }
}
