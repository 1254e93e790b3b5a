//! Unknown names, unreadable files and invalid arguments.

use super::{GRAPH, GraphFiles};
use crate::refusals;

#[test]
fn unknown_names_are_refused_with_hints() {
    let files = GraphFiles::new();
    let printed = [
        files.query(&["path", "5.0.1", "5.2.0"]),
        files.query(&["path", "5.0.1", "5.0.5"]),
        files.query(&["path", "5.0.1", "5.1.2", "--channel=stable-5.1"]),
        files.query(&["path", "5.0.1", "5.1.1", "--arch=arm64"]),
        files.query(&["why", "5.0.1", "5.2.0"]),
        files.query(&["channels", "5.2.0"]),
        files.query(&["latest", "stable-5.2"]),
        files.query(&["latest", "eus-5.1"]),
        files.query(&["latest", "fast-5.1", "--arch=s390x"]),
    ];
    insta::assert_snapshot!(refusals(printed), @r#"
    4: error: cannot find version 5.2.0 for amd64
    hint: latest version: 5.1.2
    4: error: cannot find version 5.0.5 for amd64
    hint: nearest versions: 5.0.2 and 5.1.0
    4: error: cannot find version 5.1.2 for amd64 in stable-5.1
    hint: available in fast-5.1; select one with --channel, or omit --channel
    4: error: cannot find version 5.0.1 for arm64
    hint: available for amd64; select one with --arch
    4: error: cannot find version 5.2.0 for amd64
    hint: latest version: 5.1.2
    4: error: cannot find version 5.2.0 for amd64
    hint: latest version: 5.1.2
    4: error: no release in channel stable-5.2
    hint: channels with releases: stable-5.1
    4: error: no release in channel eus-5.1
    hint: channels with releases: fast-5.1, stable-5.1
    4: error: no release for architecture s390x
    hint: architectures with releases: amd64, arm64
    "#);
    insta::assert_snapshot!(files.run(&["build", GRAPH[0], "--channel=stable-5.1"]), @r#"
    exit code: 0
    ----- stdout -----
    {"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}
    ----- stderr -----
    warning: no release in channel stable-5.1; the graph contains no channels; specify graph-data with --graph-data
    "#);
}

#[test]
fn unreadable_files_are_refused() {
    let files = GraphFiles::new();
    files.write("empty/version", "2.0.0\n");
    files.write("list.json", "[{\"image\": ");
    files.write("graph.json", "{\"nodes\": [{}]}");
    let printed = [
        files.run(&["build", "--releases=nothing.json"]),
        files.run(&["build", "--releases=list.json"]),
        files.run(&["build", "--from-graph=graph.json"]),
        files.run(&["build", GRAPH[0], "--graph-data=nowhere"]),
        files.run(&["build", GRAPH[0], "--graph-data=empty"]),
        files.run(&["lint", "nowhere"]),
    ];
    insta::assert_snapshot!(refusals(printed), @r#"
    1: error: cannot read releases
      caused by: cannot open nothing.json
      caused by: No such file or directory (os error 2)
    hint: use a JSON list: [{"image": …, "arch": …, "release-metadata": {…}}, …]
    1: error: cannot read releases
      caused by: list.json: EOF while parsing a value at line 1 column 11
    hint: use a JSON list: [{"image": …, "arch": …, "release-metadata": {…}}, …]
    1: error: cannot read graph
      caused by: graph.json: missing field `version` at line 1 column 13
    hint: use the JSON format of an update service: {"nodes": […], "edges": […], …}
    1: error: cannot read graph-data in nowhere
      caused by: cannot read nowhere
      caused by: No such file or directory (os error 2)
    hint: specify a directory with `version`, `channels` and `blocked-edges`
    1: error: cannot use graph-data in empty
      caused by: unsupported schema version 2.0.0 in version; the supported version is 1
    hint: run `fairway graph lint empty` to list its errors
    1: error: cannot read graph-data in nowhere
      caused by: cannot read nowhere
      caused by: No such file or directory (os error 2)
    hint: specify a directory with `version`, `channels` and `blocked-edges`
    "#);
}

#[test]
fn findings_are_printed_beside_the_result() {
    let files = GraphFiles::new();
    files.graph_data("graph-data", &[("blocked-edges/5.0.2.yaml", "to: 5.0.2\n")]);
    let unreadable: Vec<u32> = (0..7).collect();
    files.write("releases.json", &format!("{unreadable:?}"));
    files.write("graph.json", "{\"nodes\": [{\"version\": \"5.1.0\"}], \"edges\": [[0, 1]]}");
    let printed = [
        files.query(&["build"]),
        files.query(&["build", "--quiet"]),
        files.run(&["show", "--from-graph=graph.json"]),
    ];
    insta::assert_snapshot!(printed.join("\n"), @r#"
    exit code: 0
    ----- stdout -----
    {"version":1,"nodes":[],"edges":[],"conditionalEdges":[]}
    ----- stderr -----
    warning: blocked-edges/5.0.2.yaml: no `from`; all updates to this version are blocked
    warning: releases.json[0] omitted: invalid type: integer `0`, expected an object that describes a release image at line 1 column 1
    warning: releases.json[1] omitted: invalid type: integer `1`, expected an object that describes a release image at line 1 column 1
    warning: releases.json[2] omitted: invalid type: integer `2`, expected an object that describes a release image at line 1 column 1
    warning: releases.json[3] omitted: invalid type: integer `3`, expected an object that describes a release image at line 1 column 1
    warning: releases.json[4] omitted: invalid type: integer `4`, expected an object that describes a release image at line 1 column 1
    2 more warnings: use --verbose to show them

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
fn invalid_arguments_are_refused() {
    let files = GraphFiles::new();
    let printed = [
        files.run(&["build"]),
        files.run(&["build", GRAPH[0], "--from-graph=raw.json"]),
        files.run(&["path", "5.0", "5.1.0", GRAPH[0]]),
    ];
    insta::assert_snapshot!(refusals(printed), @r#"
    2: error: the following required arguments were not provided:
      <--releases <FILE>|--registry <REPOSITORY>|--oci-layout <DIR>|--from-graph <FILE>>

    Usage: fairway graph build <--releases <FILE>|--registry <REPOSITORY>|--oci-layout <DIR>|--from-graph <FILE>>
    2: error: the argument '--releases <FILE>' cannot be used with '--from-graph <FILE>'

    Usage: fairway graph build <--releases <FILE>|--registry <REPOSITORY>|--oci-layout <DIR>|--from-graph <FILE>>
    2: error: invalid value '5.0' for '<FROM>': "5.0" is not a semantic version such as 5.1.0 or 5.2.0-rc.1
    "#);
}
