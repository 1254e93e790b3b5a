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
    insta::assert_snapshot!(deeds.map(run).join("\n"), @r#"
    exit code: 1
    ----- stderr -----
    error: cannot read graph-data in graph-data
      caused by: cannot read graph-data/blocked-edges/out.yaml: symbolic link to a target outside of the directory
    hint: specify a directory with `version`, `channels` and `blocked-edges`
    build: exit code: 1

    exit code: 1
    ----- stderr -----
    error: cannot read graph-data in graph-data
      caused by: cannot read graph-data/blocked-edges/device.yaml: symbolic link to a target outside of the directory
    hint: specify a directory with `version`, `channels` and `blocked-edges`
    build: exit code: 1

    exit code: 1
    ----- stderr -----
    error: cannot read graph-data in graph-data
      caused by: cannot read graph-data/blocked-edges/dangling.yaml: broken symbolic link
    hint: specify a directory with `version`, `channels` and `blocked-edges`
    build: exit code: 1

    exit code: 1
    ----- stderr -----
    error: cannot read graph-data in graph-data
      caused by: cannot read graph-data/blocked-edges/self.yaml
      caused by: Too many levels of symbolic links (os error 40)
    hint: specify a directory with `version`, `channels` and `blocked-edges`
    build: exit code: 1

    exit code: 1
    ----- stderr -----
    error: cannot read graph-data in graph-data
      caused by: cannot read graph-data/blocked-edges/pipe.yaml: not a regular file
    hint: specify a directory with `version`, `channels` and `blocked-edges`
    build: exit code: 1

    exit code: 1
    ----- stderr -----
    error: cannot read graph-data in graph-data
      caused by: blocked-edges/long.yaml has 107374182400 bytes; the limit is 1048576 bytes
    hint: specify a directory with `version`, `channels` and `blocked-edges`
    build: exit code: 1

    exit code: 1
    ----- stderr -----
    error: cannot read graph-data in graph-data
      caused by: path "blocked-edges/line\nbreak\u{1b}[31m.yaml" is outside of the directory
    hint: specify a directory with `version`, `channels` and `blocked-edges`
    build: exit code: 1

    exit code: 1
    ----- stderr -----
    error: cannot read graph-data in graph-data
      caused by: path "blocked-edges/back\\slash.yaml" is outside of the directory
    hint: specify a directory with `version`, `channels` and `blocked-edges`
    build: exit code: 1

    exit code: 1
    ----- stderr -----
    error: cannot read graph-data in graph-data
      caused by: cannot read graph-data/blocked-edges/�.yaml: the name is not UTF-8
    hint: specify a directory with `version`, `channels` and `blocked-edges`
    build: exit code: 1
    "#);
}

#[test]
fn too_many_files_are_refused() {
    let printed =
        run(|blocks| (0..8_193).for_each(|number| block(blocks, &format!("{number}.yaml"), "")));
    insta::assert_snapshot!(printed, @"
    exit code: 1
    ----- stderr -----
    error: cannot read graph-data in graph-data
      caused by: more than 8192 files
    hint: specify a directory with `version`, `channels` and `blocked-edges`
    build: exit code: 1
    ");
}

#[test]
fn unreadable_files_are_reported() {
    let deeds: [Change; 5] = [
        |blocks| {
            let bomb = (1..40).fold("a0: &a0 [x, x, x, x]\n".to_owned(), |text, level| {
                let one = format!("*a{}", level - 1);
                text + &format!("a{level}: &a{level} [{one}, {one}, {one}, {one}]\n")
            });
            block(blocks, "bomb.yaml", bomb);
        },
        |blocks| block(blocks, "deep.yaml", "[".repeat(100_000)),
        |blocks| block(blocks, "bytes.yaml", b"to: 5.1.1\nfrom: \xff\n"),
        |blocks| block(blocks, "regex.yaml", "to: 5.1.1\nfrom: (x{9999}){9999}\n"),
        |blocks| {
            let list = format!("name: stable-5.2\nversions:\n{}", "- x\n".repeat(20_000));
            block(&blocks.join("../channels"), "noise.yaml", list);
        },
    ];
    insta::assert_snapshot!(deeds.map(run).join("\n"), @"
    exit code: 3
    ----- stdout -----
    error[schema]: invalid: field a6[1][2][1][2][0][3]: YAML document too large or too complex; no update is blocked
     --> blocked-edges/bomb.yaml:7:15
      |
    7 | a6: &a6 [*a5, *a5, *a5, *a5]
      |               ^^^^^^^^^^^^^^

    1 error
      1 schema
    build: exit code: 0

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

    exit code: 3
    ----- stdout -----
    error[schema]: invalid: not valid UTF-8; all updates to 5.1.1 are blocked for all clusters
    --> blocked-edges/bytes.yaml

    1 error
      1 schema
    build: exit code: 0

    exit code: 3
    ----- stdout -----
    error[schema]: invalid `from`: the compiled pattern is too large; all updates to this version are blocked
     --> blocked-edges/regex.yaml:2:7
      |
    2 | from: (x{9999}){9999}
      |       ^^^^^^^^^^^^^^^

    1 error
      1 schema
    build: exit code: 0

    exit code: 3
    ----- stdout -----
    error[schema]: skipped: more than 20 invalid versions
    --> channels/noise.yaml

    1 error
      1 schema
    build: exit code: 0
    ");
}
