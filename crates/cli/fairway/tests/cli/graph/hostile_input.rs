//! Malicious or damaged graph-data.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::{GRAPH, GraphFiles};

/// A change to a directory of blocked edges.
type Change = fn(&Path);

fn block(directory: &Path, name: &str, text: impl AsRef<[u8]>) {
    fs::write(directory.join(name), text).unwrap();
}

/// Changes graph-data, and runs `lint` and `build`.
fn run(change: Change) -> String {
    let files = GraphFiles::new();
    change(&files.path().join("graph-data/blocked-edges"));
    let linted = files.run(&["lint", "graph-data", "--allow=unexplained"]);
    let built = files.run(&["build", GRAPH[0], GRAPH[1], "--channel=nothing", "--quiet"]);
    let end = built.lines().next().unwrap();
    format!("{linted}build: {end}\n")
}

/// The cause for which both commands refuse changed graph-data.
fn refused(change: Change) -> String {
    let printed = run(change);
    let cause = printed.strip_prefix(
        "exit code: 1\n----- stderr -----\nerror: cannot read graph-data in graph-data\n  caused by: ",
    );
    let cause = cause.and_then(|rest| {
        rest.strip_suffix(
            "hint: specify a directory with `version`, `channels` and `blocked-edges`\nbuild: exit code: 1\n",
        )
    });
    cause.unwrap_or_else(|| panic!("{printed}")).to_owned()
}

#[test]
fn special_files_and_links_are_refused() {
    let deeds: [Change; 9] = [
        |blocks| symlink("../../releases.json", blocks.join("out.yaml")).unwrap(),
        |blocks| symlink("/dev/zero", blocks.join("device.yaml")).unwrap(),
        |blocks| symlink("nowhere", blocks.join("dangling.yaml")).unwrap(),
        |blocks| symlink("self.yaml", blocks.join("self.yaml")).unwrap(),
        |blocks| {
            let made = Command::new("mkfifo").arg(blocks.join("pipe.yaml")).status().unwrap();
            assert!(made.success());
        },
        |blocks| File::create(blocks.join("long.yaml")).unwrap().set_len(100 << 30).unwrap(),
        |blocks| block(blocks, "line\nbreak\u{1b}[31m.yaml", ""),
        |blocks| block(blocks, "back\\slash.yaml", ""),
        |blocks| {
            let name = OsStr::from_bytes(b"\xff.yaml");
            fs::write(blocks.join(name), "").unwrap();
        },
    ];
    insta::assert_snapshot!(deeds.map(refused).concat(), @r#"
    cannot read graph-data/blocked-edges/out.yaml: symbolic link to a target outside of the directory
    cannot read graph-data/blocked-edges/device.yaml: symbolic link to a target outside of the directory
    cannot read graph-data/blocked-edges/dangling.yaml: broken symbolic link
    cannot read graph-data/blocked-edges/self.yaml
      caused by: Too many levels of symbolic links (os error 40)
    cannot read graph-data/blocked-edges/pipe.yaml: not a regular file
    blocked-edges/long.yaml has 107374182400 bytes; the limit is 1048576 bytes
    path "blocked-edges/line\nbreak\u{1b}[31m.yaml" is outside of the directory
    path "blocked-edges/back\\slash.yaml" is outside of the directory
    cannot read graph-data/blocked-edges/�.yaml: the name is not UTF-8
    "#);
}

#[test]
fn unreadable_file_is_reported_with_an_excerpt() {
    insta::assert_snapshot!(run(|blocks| block(blocks, "deep.yaml", "[".repeat(100_000))), @"
    exit code: 3
    ----- stdout -----
    error[schema]: invalid: recursion limit exceeded; no update is blocked
     --> blocked-edges/deep.yaml:1:256
      |
    1 | ...[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[...[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[
      |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^...^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

    1 error
      1 schema
    build: exit code: 0
    ");
}
