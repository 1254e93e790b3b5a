//! Unusable and hostile graph-data.

use fairway_graph::{Files, GraphData};

use crate::support::{data, files, lines};

const CHANNEL: (&str, &str) = ("channels/stable-4.7.yaml", "name: stable-4.7\nversions: []\n");

#[test]
fn read_with_invalid_structure_fails() {
    let refused = [
        files([CHANNEL]),
        files([("version", "one\n"), CHANNEL]),
        files([("version", "2.0.0\n"), CHANNEL]),
        files([("version", "1.0.0\n")]),
        files([("version", "1.0.0\n"), CHANNEL, ("raw/metadata.json", "{\"4.1.0\":\n [1]}")]),
        files([("version", "1.0.0\n"), CHANNEL, ("raw/metadata.json", "{\"4.1\": {}}")]),
    ]
    .map(|files: Files| GraphData::read(&files).unwrap_err().to_string());
    insta::assert_snapshot!(refused.join("\n"), @r#"
    file version with the schema version is missing
    version contains "one\n", which is not a version
    unsupported schema version 2.0.0 in version; the supported version is 1
    no channels in channels
    raw/metadata.json:2:2: field 4.1.0: expected mapping start
    raw/metadata.json: "4.1" is not a semantic version such as 5.1.0 or 5.2.0-rc.1
    "#);
}

#[test]
fn read_with_newer_minor_schema_reports_it() {
    let read = GraphData::read(&files([("version", " 1.3.0 \n"), CHANNEL])).unwrap();
    insta::assert_snapshot!(lines(&read.findings), @"version: schema 1.3.0 is newer than the supported schema; unknown fields are ignored");
}

#[test]
fn invalid_channels_are_skipped_and_reported() {
    let data = data([
        ("channels/bad.yaml", "name: Stable!\nversions: []\n"),
        ("channels/broken.yaml", "name: [\n"),
        ("channels/nameless.yaml", "versions: [4.7.4]\n"),
        ("channels/twice.yaml", "name: stable-4.7\nversions:\n- 4.7.4\n- 4.10\n- soon\n"),
    ]);
    insta::assert_snapshot!(lines(&data.findings), @r#"
    channels/bad.yaml:1:7: skipped: invalid channel name "Stable!"; use lowercase letters, digits, dots and hyphens
    channels/broken.yaml:1:7: skipped: field name: expected string scalar
    channels/nameless.yaml: skipped: the channel has no name
    channels/twice.yaml: another file also defines channel stable-4.7; the versions are merged
    channels/twice.yaml:4:3: "4.10" is not a version; skipped
    channels/twice.yaml:5:3: "soon" is not a version; skipped
    "#);
    assert_eq!(data.channels.len(), 1);
}

#[test]
fn channel_with_feeder_and_tombstones_is_read() {
    let data = data([(
        "channels/fast.yaml",
        "feeder:\n  delay: P1W\n  errata: public\n  filter: 4[.]7[.].*\n  name: candidate-4.7\nname: fast-4.7\ntombstones:\n- 4.7.1\nversions:\n- 4.7.2\n",
    )]);
    assert_eq!(data.findings, []);
    let fast = &data.channels[0];
    let feeder = fast.feeder.as_ref().unwrap();
    assert_eq!(feeder.name.as_deref(), Some("candidate-4.7"));
    assert_eq!(feeder.delay.as_deref(), Some("P1W"));
    assert_eq!(fast.tombstones[0].version.to_string(), "4.7.1");
    assert_eq!((fast.tombstones[0].at.line, fast.tombstones[0].at.column), (8, 3));
}

#[test]
fn hostile_files_are_rejected() {
    let bomb = (1..40).fold("a0: &a0 [x, x, x, x]\n".to_owned(), |text, level| {
        let before = level - 1;
        text + &format!("a{level}: &a{level} [*a{before}, *a{before}, *a{before}, *a{before}]\n")
    });
    let deep = "[".repeat(100_000);
    let mut hostile = Files::default();
    for (path, bytes) in [
        ("version", b"1.1.0".to_vec()),
        ("channels/stable-4.7.yaml", CHANNEL.1.as_bytes().to_vec()),
        ("blocked-edges/bomb.yaml", bomb.into_bytes()),
        ("blocked-edges/deep.yaml", deep.into_bytes()),
        ("blocked-edges/bytes.yaml", b"to: 4.7.4\nfrom: \xff\n".to_vec()),
        ("blocked-edges/regex.yaml", b"to: 4.7.4\nfrom: (x{9999}){9999}\n".to_vec()),
    ] {
        hostile.insert(path, bytes).unwrap();
    }
    insta::assert_snapshot!(lines(&GraphData::read(&hostile).unwrap().findings), @"
    blocked-edges/bomb.yaml:7:15: invalid: field a6[1][2][1][2][0][3]: YAML document too large or too complex; no update is blocked
    blocked-edges/bytes.yaml:2:7: invalid: not valid UTF-8; all updates to 4.7.4 are blocked for all clusters
    blocked-edges/deep.yaml:1:256: invalid: recursion limit exceeded; no update is blocked
    blocked-edges/regex.yaml:2:7: invalid `from`: the compiled pattern is too large; all updates to this version are blocked
    ");
}

#[test]
fn channels_with_too_many_versions_are_skipped() {
    let list = |entries: String| format!("name: long\nversions:\n{entries}");
    let (many, noise) = (list("- 4.7.1\n".repeat(5_001)), list("- x\n".repeat(20_000)));
    let data = data([("channels/many.yaml", many.as_str()), ("channels/noise.yaml", &noise)]);
    insta::assert_snapshot!(lines(&data.findings), @"
    channels/many.yaml: skipped: more than 5000 versions
    channels/noise.yaml: skipped: more than 20 invalid versions
    ");
}

#[test]
fn patterns_beyond_limit_block_all_sources() {
    let blocks: Vec<(String, String)> = (0..1_026)
        .map(|number| {
            (
                format!("blocked-edges/{number:04}.yaml"),
                format!("to: 4.7.4\nfrom: 4[.]6[.]{number}\n"),
            )
        })
        .collect();
    let data = data(blocks.iter().map(|(path, text)| (path.as_str(), text.as_str())));
    insta::assert_snapshot!(lines(&data.findings), @"
    blocked-edges/1024.yaml:2:7: invalid `from`: more than 1024 different patterns; all updates to this version are blocked
    blocked-edges/1025.yaml:2:7: invalid `from`: more than 1024 different patterns; all updates to this version are blocked
    ");
    assert!(data.blocks[1_025].from.matches("4.7.3+amd64"));
}
