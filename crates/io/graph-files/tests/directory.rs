//! Reading directories, valid and invalid.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use fairway_graph_files::read;

const CHANNEL: &str = "name: stable-4.7\nversions: []\n";

#[test]
fn read_of_link_out_of_directory_fails() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join("data").join(name);
    fs::create_dir_all(path("channels")).unwrap();
    fs::write(path("version"), "1.1.0").unwrap();
    fs::write(path("channels/stable-4.7.yaml"), CHANNEL).unwrap();
    fs::write(path("unrelated"), "not read").unwrap();
    symlink("stable-4.7.yaml", path("channels/link.yaml")).unwrap();
    let files = read(&path("")).unwrap();
    let names: Vec<&str> = files.iter().map(|(path, _)| path).collect();
    assert_eq!(names, ["channels/link.yaml", "channels/stable-4.7.yaml", "version"]);

    fs::write(root.path().join("secret"), "name: stable-4.7\n").unwrap();
    symlink("../../secret", path("channels/out.yaml")).unwrap();
    let refused = read(&path("")).unwrap_err().to_string();
    assert!(
        refused.ends_with("channels/out.yaml: symbolic link to a target outside of the directory"),
        "{refused}"
    );
    fs::remove_file(path("channels/out.yaml")).unwrap();
    fs::create_dir(root.path().join("elsewhere")).unwrap();
    symlink("../elsewhere", path("blocked-edges")).unwrap();
    assert!(read(&path("")).is_err());
}

#[test]
fn read_of_too_many_files_fails() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("blocked-edges")).unwrap();
    for number in 0..8_193 {
        fs::write(root.path().join(format!("blocked-edges/{number}.yaml")), "").unwrap();
    }
    insta::assert_snapshot!(read(root.path()).unwrap_err(), @"more than 8192 files");
}

#[test]
fn read_of_anything_but_files_fails() {
    let refused = |spoil: fn(&Path)| {
        let root = tempfile::tempdir().unwrap();
        let blocks = root.path().join("blocked-edges");
        fs::create_dir(&blocks).unwrap();
        spoil(&blocks);
        let error = read(root.path()).unwrap_err().to_string();
        error.replace(&root.path().display().to_string(), "ROOT")
    };
    let refused = [
        refused(|blocks| symlink("nowhere", blocks.join("a.yaml")).unwrap()),
        refused(|blocks| symlink("/dev/zero", blocks.join("a.yaml")).unwrap()),
        refused(|blocks| drop(UnixListener::bind(blocks.join("a.yaml")).unwrap())),
        refused(|blocks| fs::write(blocks.join("a\n.yaml"), "").unwrap()),
        refused(|blocks| {
            let file = fs::File::create(blocks.join("a.yaml")).unwrap();
            file.set_len(1 << 40).unwrap();
        }),
        refused(|blocks| {
            fs::remove_dir(blocks).unwrap();
            symlink("nowhere", blocks).unwrap();
        }),
    ];
    insta::assert_snapshot!(refused.join("\n"), @r#"
    cannot read ROOT/blocked-edges/a.yaml: broken symbolic link
    cannot read ROOT/blocked-edges/a.yaml: symbolic link to a target outside of the directory
    cannot read ROOT/blocked-edges/a.yaml: not a regular file
    path "blocked-edges/a\n.yaml" is outside of the directory
    blocked-edges/a.yaml has 1099511627776 bytes; the limit is 1048576 bytes
    cannot read ROOT/blocked-edges: broken symbolic link
    "#);
}

#[test]
fn read_of_mounted_config_map_returns_each_file_once() {
    // The kubelet mounts a ConfigMap as links into a directory that it replaces at once.
    let root = tempfile::tempdir().unwrap();
    let channels = root.path().join("channels");
    fs::create_dir_all(channels.join("..2026_11_15")).unwrap();
    fs::write(channels.join("..2026_11_15/c.yaml"), CHANNEL).unwrap();
    symlink("..2026_11_15", channels.join("..data")).unwrap();
    symlink("..data/c.yaml", channels.join("c.yaml")).unwrap();
    let files = read(root.path()).unwrap();
    assert_eq!(files.iter().map(|(path, _)| path).collect::<Vec<_>>(), ["channels/c.yaml"]);
}
