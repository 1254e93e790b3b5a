use proptest::prelude::*;

use super::*;

const PLAIN: &str = "application/vnd.oci.image.layer.v1.tar";

fn wanted() -> Wanted {
    Wanted {
        files: vec!["data/version".to_owned()],
        directories: vec!["data/channels".to_owned()],
        most_files: 3,
        file_bytes: 10,
        all_bytes: 20,
        any_machine: true,
    }
}

#[test]
fn names_that_are_not_text_are_refused() {
    use std::os::unix::ffi::OsStrExt as _;

    let name = std::ffi::OsStr::from_bytes(b"data/channels/a\xfe.yaml");
    insta::assert_snapshot!(plain(Path::new(name)).unwrap_err(), @"data/channels/a�.yaml is not valid UTF-8");
}

/// A layer of files, links (`a -> b`) and directories (`a/`).
fn layer(entries: &[(&str, &str)]) -> io::Result<Layer> {
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
    let archive = Unpacked::new(io::Cursor::new(bytes), PLAIN, size, 10).unwrap();
    Layer::collect(archive, &wanted(), 8)
}

fn stacked(layers: &[&[(&str, &str)]]) -> Layer {
    let mut stack = Layer::default();
    layers.iter().rev().for_each(|entries| stack.cover(layer(entries).unwrap()));
    stack
}

fn shown(layers: &[&[(&str, &str)]]) -> String {
    let files = stacked(layers).into_files().into_iter();
    let text = |(path, bytes): (String, Vec<u8>)| format!("{path}={}", bytes.len());
    files.map(text).collect::<Vec<_>>().join(" ")
}

#[test]
fn layers_cover_and_remove_what_is_below() {
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
fn it_shows_when_the_layers_below_do_not_matter() {
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
        assert_eq!(stacked(&[entries]).hides_all(&wanted()), expected, "{entries:?}");
    }
}

#[test]
fn links_and_what_is_too_much_are_refused() {
    let nine: Vec<(String, &str)> = (0..9).map(|number| (number.to_string(), "")).collect();
    let nine: Vec<(&str, &str)> = nine.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let told: Vec<String> = [
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
    insta::assert_snapshot!(told.join("\n"), @"
    data/channels/a is not a regular file
    data/version is not a regular file
    data/channels is not a regular file
    data is not a regular file
    data/channels is not a regular file
    data/channels/a has more than 10 bytes
    its files exceed the limits of number or size
    its files exceed the limits of number or size
    its files exceed the limits of number or size
    more than 8 files
    ");
}

/// What one layer may have, of a small world in which things meet.
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

/// The same the other way round: from below, one layer is put on the other.
fn put_together(layers: &[Vec<&str>]) -> BTreeSet<String> {
    let mut files: BTreeSet<String> = BTreeSet::new();
    for layer in layers {
        for path in layer {
            let (parent, name) = path.trim_end_matches('/').rsplit_once('/').unwrap_or(("", path));
            if name == ALL_GONE {
                files.retain(|file| !is_below(file, parent));
            } else if let Some(name) = name.strip_prefix(GONE) {
                let gone = joined(parent, name);
                files.retain(|file| *file != gone && !is_below(file, &gone));
            } else {
                files.remove(path.trim_end_matches('/'));
            }
        }
        let is_file = |path: &&&str| !path.ends_with('/') && !path.contains(GONE);
        files.extend(layer.iter().filter(is_file).map(|path| (*path).to_owned()));
    }
    files
}

proptest! {
    #[test]
    fn it_makes_no_difference_where_one_begins(
        layers in prop::collection::vec(prop::collection::btree_set(entry(), 0..4), 0..5),
    ) {
        // One name is one thing in a layer.
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
            .find(|stack| stack.hides_all(&wanted()));
        if let Some(enough) = enough {
            let shown: BTreeSet<String> = enough.into_files().into_keys().collect();
            prop_assert_eq!(shown, all);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..2048)) {
        let size = bytes.len() as u64;
        let archive = Unpacked::new(io::Cursor::new(bytes), PLAIN, size, 10).unwrap();
        let _ = Layer::collect(archive, &wanted(), 8);
    }
}
