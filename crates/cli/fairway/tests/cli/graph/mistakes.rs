//! What is asked for and is not there, and what cannot be read.

use super::{Desk, GRAPH};

#[test]
fn what_is_not_there() {
    let desk = Desk::new();
    let said = [
        desk.ask(&["path", "5.0.1", "5.2.0"]),
        desk.ask(&["path", "5.0.1", "5.0.5"]),
        desk.ask(&["path", "5.0.1", "5.1.2", "--channel=stable-5.1"]),
        desk.ask(&["path", "5.0.1", "5.1.1", "--arch=arm64"]),
        desk.ask(&["why", "5.0.1", "5.2.0"]),
        desk.ask(&["channels", "5.2.0"]),
        desk.ask(&["latest", "stable-5.2"]),
        desk.ask(&["latest", "eus-5.1"]),
        desk.ask(&["latest", "fast-5.1", "--arch=s390x"]),
        desk.run(&["build", GRAPH[0], "--channel=stable-5.1"]),
    ];
    insta::assert_snapshot!(said.join("\n"), @r#"
    exit code: 4
    ----- stderr -----
    error: there is no version 5.2.0 for amd64
    hint: the latest is 5.1.2

    exit code: 4
    ----- stderr -----
    error: there is no version 5.0.5 for amd64
    hint: 5.0.2 comes before it, and 5.1.0 after it

    exit code: 4
    ----- stderr -----
    error: there is no version 5.1.2 for amd64 in stable-5.1
    hint: it is in fast-5.1: choose one with --channel, or leave that out

    exit code: 4
    ----- stderr -----
    error: there is no version 5.0.1 for arm64
    hint: it is there for amd64: choose one with --arch

    exit code: 4
    ----- stderr -----
    error: there is no version 5.2.0 for amd64
    hint: the latest is 5.1.2

    exit code: 4
    ----- stderr -----
    error: there is no version 5.2.0 for amd64
    hint: the latest is 5.1.2

    exit code: 4
    ----- stderr -----
    error: no release is in channel stable-5.2
    hint: channels with releases: stable-5.1

    exit code: 4
    ----- stderr -----
    error: no release is in channel eus-5.1
    hint: channels with releases: fast-5.1, stable-5.1

    exit code: 4
    ----- stderr -----
    error: no release is for architecture s390x
    hint: architectures with releases: amd64, arm64

    exit code: 0
    ----- stdout -----
    {"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}
    ----- stderr -----
    warning: no release is in channel stable-5.1; the graph knows no channels: --graph-data names the directory that has them
    "#);
}

#[test]
fn what_cannot_be_read() {
    let desk = Desk::new();
    desk.write("empty/version", "2.0.0\n");
    desk.write("list.json", "[{\"image\": ");
    desk.write("graph.json", "{\"nodes\": [{}]}");
    let said = [
        desk.run(&["build", "--releases=nothing.json"]),
        desk.run(&["build", "--releases=list.json"]),
        desk.run(&["build", "--from-graph=graph.json"]),
        desk.run(&["build", GRAPH[0], "--graph-data=nowhere"]),
        desk.run(&["build", GRAPH[0], "--graph-data=empty"]),
        desk.run(&["lint", "nowhere"]),
    ];
    insta::assert_snapshot!(said.join("\n"), @r#"
    exit code: 1
    ----- stderr -----
    error: cannot read the releases
      caused by: cannot open nothing.json
      caused by: No such file or directory (os error 2)
    hint: they are a JSON list: [{"image": …, "arch": …, "release-metadata": {…}}, …]

    exit code: 1
    ----- stderr -----
    error: cannot read the releases
      caused by: list.json: EOF while parsing a value at line 1 column 11
    hint: they are a JSON list: [{"image": …, "arch": …, "release-metadata": {…}}, …]

    exit code: 1
    ----- stderr -----
    error: cannot read the graph
      caused by: graph.json: missing field `version` at line 1 column 13
    hint: it is JSON, as an update service answers it: {"nodes": […], "edges": […], …}

    exit code: 1
    ----- stderr -----
    error: cannot read the graph-data in nowhere
      caused by: cannot read nowhere
      caused by: No such file or directory (os error 2)
    hint: name a directory that has `version`, `channels` and `blocked-edges`

    exit code: 1
    ----- stderr -----
    error: the graph-data in empty cannot be used
      caused by: unsupported schema version 2.0.0 in version; the supported version is 1
    hint: `fairway graph lint empty` shows what is wrong in it

    exit code: 1
    ----- stderr -----
    error: cannot read the graph-data in nowhere
      caused by: cannot read nowhere
      caused by: No such file or directory (os error 2)
    hint: name a directory that has `version`, `channels` and `blocked-edges`
    "#);
}

#[test]
fn what_is_wrong_beside_the_answer() {
    let desk = Desk::new();
    desk.graph_data("graph-data", &[("blocked-edges/5.0.2.yaml", "to: 5.0.2\n")]);
    let unreadable: Vec<u32> = (0..7).collect();
    desk.write("releases.json", &format!("{unreadable:?}"));
    desk.write("graph.json", "{\"nodes\": [{\"version\": \"5.1.0\"}], \"edges\": [[0, 1]]}");
    let said = [
        desk.ask(&["build"]),
        desk.ask(&["build", "--quiet"]),
        desk.run(&["show", "--from-graph=graph.json"]),
    ];
    insta::assert_snapshot!(said.join("\n"), @r#"
    exit code: 0
    ----- stdout -----
    {"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}
    ----- stderr -----
    warning: blocked-edges/5.0.2.yaml: no `from`, all updates to this version are blocked
    warning: releases.json[0] omitted: invalid type: integer `0`, expected struct ReleaseImage at line 1 column 1
    warning: releases.json[1] omitted: invalid type: integer `1`, expected struct ReleaseImage at line 1 column 1
    warning: releases.json[2] omitted: invalid type: integer `2`, expected struct ReleaseImage at line 1 column 1
    warning: releases.json[3] omitted: invalid type: integer `3`, expected struct ReleaseImage at line 1 column 1
    warning: releases.json[4] omitted: invalid type: integer `4`, expected struct ReleaseImage at line 1 column 1
    2 more warnings: --verbose shows them

    exit code: 0
    ----- stdout -----
    {"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}

    exit code: 0
    ----- stdout -----
    all channels
    releases: 1, recommended updates: 0, conditional updates: 0

    5.1
      5.1.0  no updates to this release
    ----- stderr -----
    warning: update from node 0 to node 1 omitted: one of the releases does not exist
    "#);
}

#[test]
fn arguments_that_make_no_sense() {
    let desk = Desk::new();
    let said = [
        desk.run(&["build"]),
        desk.run(&["build", GRAPH[0], "--from-graph=raw.json"]),
        desk.run(&["path", "5.0", "5.1.0", GRAPH[0]]),
    ];
    insta::assert_snapshot!(said.join("\n"), @r#"
    exit code: 2
    ----- stderr -----
    error: the following required arguments were not provided:
      <--releases <FILE>|--registry <REPOSITORY>|--oci-layout <DIR>|--from-graph <FILE>>

    Usage: fairway graph build <--releases <FILE>|--registry <REPOSITORY>|--oci-layout <DIR>|--from-graph <FILE>>

    For more information, try '--help'.

    exit code: 2
    ----- stderr -----
    error: the argument '--releases <FILE>' cannot be used with '--from-graph <FILE>'

    Usage: fairway graph build <--releases <FILE>|--registry <REPOSITORY>|--oci-layout <DIR>|--from-graph <FILE>>

    For more information, try '--help'.

    exit code: 2
    ----- stderr -----
    error: invalid value '5.0' for '<FROM>': "5.0" is not a semantic version such as 5.1.0 or 5.2.0-rc.1

    For more information, try '--help'.
    "#);
}
