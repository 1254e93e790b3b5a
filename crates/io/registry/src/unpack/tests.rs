use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::Header;

use super::*;

const GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const PLAIN: &str = "application/vnd.oci.image.layer.v1.tar";

/// Builder for archives with invalid or hostile entries.
struct HostileArchive(tar::Builder<Vec<u8>>);

impl HostileArchive {
    fn new() -> Self {
        Self(tar::Builder::new(Vec::new()))
    }

    fn entry(self, kind: EntryType, path: &str, link: &str, content: &[u8]) -> Self {
        self.entry_with_mode(kind, path, link, content, 0o755)
    }

    fn entry_with_mode(
        mut self,
        kind: EntryType,
        path: &str,
        link: &str,
        content: &[u8],
        mode: u32,
    ) -> Self {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_size(content.len() as u64);
        let fields = header.as_gnu_mut().unwrap();
        fields.name[..path.len()].copy_from_slice(path.as_bytes());
        fields.linkname[..link.len()].copy_from_slice(link.as_bytes());
        header.set_cksum();
        self.0.append(&header, content).unwrap();
        self
    }

    fn file(self, path: &str, content: &str) -> Self {
        self.entry(EntryType::Regular, path, "", content.as_bytes())
    }

    fn directory(self, path: &str) -> Self {
        self.entry(EntryType::Directory, path, "", b"")
    }

    fn symlink(self, path: &str, target: &str) -> Self {
        self.entry(EntryType::Symlink, path, target, b"")
    }

    fn hard_link(self, path: &str, target: &str) -> Self {
        self.entry(EntryType::Link, path, target, b"")
    }

    fn build(self) -> Vec<u8> {
        self.0.into_inner().unwrap()
    }
}

struct Case {
    directory: tempfile::TempDir,
    layers: Vec<PackedLayer>,
}

impl Case {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap(), layers: Vec::new() }
    }

    fn layer(mut self, archive: HostileArchive) -> Self {
        let archive = archive.build();
        let diff_id = Digest::of(&archive);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&archive).unwrap();
        self.push(GZIP, &gzip.finish().unwrap(), diff_id);
        self
    }

    fn push(&mut self, media_type: &str, blob: &[u8], diff_id: Digest) {
        let path = self.directory.path().join(format!("layer-{}", self.layers.len()));
        fs::write(&path, blob).unwrap();
        self.layers.push(PackedLayer {
            path,
            media_type: media_type.to_owned(),
            digest: Digest::of(blob),
            size: blob.len() as u64,
            diff_id,
        });
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("root")
    }

    fn unpack(&self) -> Result<(), UnpackError> {
        self.unpack_with(&UnpackLimits::default())
    }

    fn unpack_with(&self, limits: &UnpackLimits) -> Result<(), UnpackError> {
        let unpacked = unpack(&self.layers, &self.root(), limits);
        assert_eq!(self.root().exists(), unpacked.is_ok(), "whole or not at all");
        assert!(!temporary_name(&self.root()).exists(), "nothing half is left");
        unpacked
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap()
    }
}

#[test]
fn unpack_with_whiteouts_and_links_applies_them() {
    let case = Case::new()
        .layer(
            HostileArchive::new()
                .file("a", "old")
                .file("gone", "x")
                .directory("tree")
                .file("tree/x", "x")
                .directory("opaque")
                .file("opaque/old", "x")
                .directory("was-a-directory")
                .file("was-a-directory/x", "x")
                .symlink("lib", "usr/lib")
                .directory("usr/lib"),
        )
        .layer(
            HostileArchive::new()
                .file("a", "new")
                .file(".wh.gone", "")
                .file(".wh.tree", "")
                .directory("opaque")
                .file("opaque/new", "n")
                .file("opaque/.wh..wh..opq", "")
                .file("was-a-directory", "f")
                .file("lib/libx.so", "elf")
                .file("b", "linked")
                .hard_link("c", "b"),
        );
    case.unpack().unwrap();
    assert_eq!(case.read("a"), "new");
    assert_eq!(case.read("opaque/new"), "n");
    assert_eq!(case.read("was-a-directory"), "f");
    assert_eq!(case.read("usr/lib/libx.so"), "elf", "through the link of the layer below");
    let inode = |path: &str| fs::metadata(case.root().join(path)).unwrap().ino();
    assert_eq!(inode("b"), inode("c"));
    for gone in ["gone", "tree", "opaque/old", ".wh.gone", "opaque/.wh..wh..opq"] {
        assert!(!case.root().join(gone).exists(), "{gone}");
    }
}

/// Lists a directory recursively: mode, and content or link target.
fn listing(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let (kind, name) = (fs::symlink_metadata(&path).unwrap(), path.file_name().unwrap());
        let mode = format!("{:?} {:o}", name, kind.permissions().mode());
        if kind.is_dir() {
            found.push(mode);
            found.extend(listing(&path).iter().map(|below| format!("{name:?}/{below}")));
        } else if kind.is_symlink() {
            found.push(format!("{mode} -> {}", fs::read_link(&path).unwrap().display()));
        } else {
            found.push(format!("{mode} {:?}", fs::read_to_string(&path).unwrap()));
        }
    }
    found.sort();
    found
}

#[test]
fn unpack_onto_equals_unpack_and_shares_files() {
    let below = HostileArchive::new()
        .directory("dir")
        .entry_with_mode(EntryType::Directory, "tmp", "", b"", 0o1777)
        .file("dir/kept", "kept")
        .file("dir/replaced", "old")
        .file("dir/gone", "x")
        .symlink("link", "/etc/passwd");
    let above = HostileArchive::new()
        .file("dir/replaced", "new")
        .file("dir/.wh.gone", "")
        .file("link", "a file now")
        .hard_link("dir/again", "dir/kept");
    let case = Case::new().layer(below).layer(above);
    let limits = UnpackLimits::default();
    let [at_once, lower, upper] =
        ["at-once", "lower", "upper"].map(|name| case.directory.path().join(name));
    unpack(&case.layers, &at_once, &limits).unwrap();

    unpack(&case.layers[..1], &lower, &limits).unwrap();
    let before = listing(&lower);
    unpack_onto(&lower, &case.layers[1..], &upper, &limits).unwrap();
    assert_eq!(listing(&upper), listing(&at_once));
    assert_eq!(listing(&lower), before, "what is below stays as it was");
    let inode = |root: &Path| fs::metadata(root.join("dir/kept")).unwrap().ino();
    assert_eq!(inode(&upper), inode(&lower), "and is there once");
}

#[test]
fn unpack_with_parent_paths_fails() {
    for path in ["../x", "a/../../x", "/../x", ".."] {
        let case = Case::new().layer(HostileArchive::new().file(path, "x"));
        assert!(matches!(case.unpack().unwrap_err(), UnpackError::Path(_)), "{path}");
    }
    let case = Case::new().layer(HostileArchive::new().hard_link("x", "../outside"));
    assert!(matches!(case.unpack().unwrap_err(), UnpackError::Path(_)));
}

#[test]
fn unpack_with_absolute_paths_stays_inside() {
    let case = Case::new().layer(HostileArchive::new().file("/etc/x", "inside"));
    case.unpack().unwrap();
    assert_eq!(case.read("etc/x"), "inside");
}

/// Each archive tries to write, read or remove `outside` through a link that it made before.
#[test]
fn unpack_with_links_never_touches_outside() {
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim");
    fs::write(&victim, "untouched").unwrap();
    let there = outside.path().to_str().unwrap();
    let file = victim.to_str().unwrap();
    let tricks = [
        ("a directory link", HostileArchive::new().symlink("l", there).file("l/victim", "x")),
        ("a file link", HostileArchive::new().symlink("l", file).file("l", "x")),
        (
            "a relative link",
            HostileArchive::new().symlink("l", "../../../../../../tmp").file("l/v", "x"),
        ),
        (
            "a chain",
            HostileArchive::new().symlink("a", "b").symlink("b", there).file("a/victim", "x"),
        ),
        (
            "a hard link to a link",
            HostileArchive::new().symlink("l", file).hard_link("h", "l").file("h", "x"),
        ),
        (
            "a hard link through a link",
            HostileArchive::new().symlink("l", there).hard_link("h", "l/victim"),
        ),
        (
            "a whiteout through a link",
            HostileArchive::new().symlink("l", there).file("l/.wh.victim", ""),
        ),
        (
            "emptying through a link",
            HostileArchive::new().symlink("l", there).file("l/.wh..wh..opq", ""),
        ),
        ("a mode through a link", HostileArchive::new().symlink("l", there).directory("l")),
        (
            "the process directory",
            HostileArchive::new().symlink("l", "/proc/self/root").file("l/v", "x"),
        ),
    ];
    let before = fs::metadata(outside.path()).unwrap();
    for (name, archive) in tricks {
        let case = Case::new().layer(archive);
        // The archive may be refused or unpacked inside; both are safe.
        let _ = case.unpack();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched", "{name}");
        assert_eq!(fs::metadata(&victim).unwrap().nlink(), 1, "{name}");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1, "{name}");
        assert_eq!(fs::metadata(outside.path()).unwrap().mode(), before.mode(), "{name}");
    }
}

#[test]
fn unpack_drops_setuid_and_devices() {
    let case = Case::new().layer(
        HostileArchive::new()
            .entry_with_mode(EntryType::Regular, "su", "", b"x", 0o6755)
            .entry_with_mode(EntryType::Directory, "tmp", "", b"", 0o1777)
            .entry(EntryType::Char, "null", "", b"")
            .entry(EntryType::Block, "disk", "", b"")
            .entry(EntryType::Fifo, "pipe", "", b""),
    );
    case.unpack().unwrap();
    let mode = |path: &str| fs::metadata(case.root().join(path)).unwrap().permissions().mode();
    assert_eq!(mode("su") & 0o7777, 0o755);
    assert_eq!(mode("tmp") & 0o7777, 0o1777);
    for left_out in ["null", "disk", "pipe"] {
        assert!(!case.root().join(left_out).exists(), "{left_out}");
    }
}

#[test]
fn unpack_beyond_limits_fails() {
    let limits = UnpackLimits { bytes: 10, entries: 2, path: 8, ratio: 100 };
    let cases = [
        (HostileArchive::new().file("a", "01234567890"), "10 bytes"),
        (HostileArchive::new().file("a", "012345").file("b", "012345"), "10 bytes"),
        (HostileArchive::new().file("a", "").file("b", "").file("c", ""), "2 entries"),
        (HostileArchive::new().file("long/path", ""), "8 characters in a path"),
    ];
    for (archive, expected) in cases {
        let error = Case::new().layer(archive).unpack_with(&limits).unwrap_err();
        assert_eq!(error.to_string(), format!("the image has more than {expected}"));
    }
}

#[test]
fn unpack_with_compression_bomb_fails() {
    let zeros = vec![0; 64 << 20];
    let case =
        Case::new().layer(HostileArchive::new().entry(EntryType::Regular, "zeros", "", &zeros));
    let error = case.unpack().unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "the uncompressed size exceeds the maximum compression ratio");
}

#[test]
fn unpack_with_long_name_fails() {
    let name = vec![b'a'; 8 << 20];
    let archive = HostileArchive::new().entry(EntryType::GNULongName, "././@LongLink", "", &name);
    let error = Case::new().layer(archive.file("x", "")).unpack().unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "the headers of an entry are too long");
}

#[test]
fn unpack_with_wrong_digest_fails() {
    let mut case = Case::new().layer(HostileArchive::new().file("a", "x"));
    let good = case.layers[0].clone();
    let blob = fs::read(&good.path).unwrap();

    case.layers[0].digest = Digest::of(b"other");
    assert!(matches!(case.unpack().unwrap_err(), UnpackError::WrongDigest(_)));
    case.layers[0] = PackedLayer { diff_id: Digest::of(b"other"), ..good.clone() };
    assert!(matches!(case.unpack().unwrap_err(), UnpackError::WrongDigest(_)));
    case.layers[0] = PackedLayer { size: good.size + 1, ..good.clone() };
    assert!(matches!(case.unpack().unwrap_err(), UnpackError::WrongDigest(_)));

    case.layers[0] = good.clone();
    fs::write(&good.path, &blob[..blob.len() - 4]).unwrap();
    assert!(matches!(case.unpack().unwrap_err(), UnpackError::Layer { .. }), "truncated");
    fs::write(&good.path, "no archive").unwrap();
    assert!(matches!(case.unpack().unwrap_err(), UnpackError::Layer { .. }), "garbage");
    fs::write(&good.path, [blob.as_slice(), b"more"].concat()).unwrap();
    assert!(case.unpack().is_err(), "something behind it");
}

#[test]
fn unpack_with_tar_succeeds_and_with_zstd_fails() {
    let archive = HostileArchive::new().file("a", "x").build();
    let mut case = Case::new();
    case.push(PLAIN, &archive, Digest::of(&archive));
    case.unpack().unwrap();
    assert_eq!(case.read("a"), "x");

    let mut case = Case::new();
    case.push("application/vnd.oci.image.layer.v1.tar+zstd", b"x", Digest::of(b"x"));
    let error = case.unpack().unwrap_err().to_string();
    assert!(
        error.ends_with(
            "has the media type \"application/vnd.oci.image.layer.v1.tar+zstd\"; \
             only tar and tar+gzip are supported"
        ),
        "{error}"
    );
}
