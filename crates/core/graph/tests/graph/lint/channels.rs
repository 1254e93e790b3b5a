//! Rules about channels.

use super::shown;

#[test]
fn tombstone() {
    let candidate = "name: candidate-4.7\nversions: ['4.7.3', '4.7.4']\ntombstones: ['4.7.4']\n";
    let fast = "name: fast-4.7\nfeeder: {name: candidate-4.7}\nversions:\n- 4.7.3\n- 4.7.4\n";
    let eus = "name: eus-4.7\nfeeder: {name: fast-4.7}\nversions:\n- 4.7.4\n";
    insta::assert_snapshot!(shown(&[("channels/candidate-4.7.yaml", candidate), ("channels/fast-4.7.yaml", fast), ("channels/eus-4.7.yaml", eus)]), @"
    warning[tombstone]: candidate-4.7 has a tombstone for 4.7.4
     --> channels/eus-4.7.yaml:4:3
      |
    4 | - 4.7.4
      |   ^^^^^

    warning[tombstone]: candidate-4.7 has a tombstone for 4.7.4
     --> channels/fast-4.7.yaml:5:3
      |
    5 | - 4.7.4
      |   ^^^^^

    2 warnings
    ");
    let other = candidate.replace("tombstones: ['4.7.4']", "tombstones: ['4.7.5']");
    assert_eq!(
        shown(&[("channels/candidate-4.7.yaml", &other), ("channels/fast-4.7.yaml", fast)]),
        "no findings\n"
    );
}

#[test]
fn feeders_in_a_circle_are_followed_once() {
    let one = "name: fast-4.7\nfeeder: {name: slow-4.7}\nversions: ['4.7.4']\n";
    let other = "name: slow-4.7\nfeeder: {name: fast-4.7}\nversions: ['4.7.4']\n";
    assert_eq!(shown(&[("channels/a.yaml", one), ("channels/b.yaml", other)]), "no findings\n");
}

#[test]
fn feeder() {
    let channel =
        |feeder: &str| format!("name: fast-4.7\nfeeder:\n  {feeder}\nversions: ['4.7.3']\n");
    let shown_of = |feeder: &str| shown(&[("channels/fast-4.7.yaml", &channel(feeder))]);
    insta::assert_snapshot!(shown_of("name: fast-4.7"), @"
    warning[feeder]: a channel cannot feed itself
     --> channels/fast-4.7.yaml:3:9
      |
    3 |   name: fast-4.7
      |         ^^^^^^^^

    1 warning
    ");
    insta::assert_snapshot!(shown_of("filter: .*"), @"
    warning[feeder]: a feeder needs the `name` of a channel
     --> channels/fast-4.7.yaml:2:1
      |
    2 | feeder:
      | ^^^^^^

    1 warning
    ");
    insta::assert_snapshot!(shown_of("name: candidate-4.7"), @"
    warning[feeder]: channel candidate-4.7 does not exist
     --> channels/fast-4.7.yaml:3:9
      |
    3 |   name: candidate-4.7
      |         ^^^^^^^^^^^^^

    1 warning
    ");
    insta::assert_snapshot!(shown_of("{name: stable, filter: '4[.]7[.'}"), @"
    error[feeder]: not a valid regular expression: unclosed character class
     --> channels/fast-4.7.yaml:3:26
      |
    3 |   {name: stable, filter: '4[.]7[.'}
      |                          ^^^^^^^^^

    1 error
    ");
    insta::assert_snapshot!(shown_of("{name: stable, filter: '4[.]8[.].*'}"), @"
    warning[feeder]: no version of fast-4.7 matches the filter the filter
     --> channels/fast-4.7.yaml:3:26
      |
    3 |   {name: stable, filter: '4[.]8[.].*'}
      |                          ^^^^^^^^^^^^

    1 warning
    ");
    insta::assert_snapshot!(shown_of("{name: stable, delay: 48h}"), @r#"
    error[feeder]: "48h" is not an ISO 8601 duration such as PT48H or P1W
     --> channels/fast-4.7.yaml:3:25
      |
    3 |   {name: stable, delay: 48h}
      |                         ^^^

    1 error
    "#);
    insta::assert_snapshot!(shown_of("{name: stable, delay: PT}"), @r#"
    error[feeder]: "PT" is not an ISO 8601 duration such as PT48H or P1W
     --> channels/fast-4.7.yaml:3:25
      |
    3 |   {name: stable, delay: PT}
      |                         ^^

    1 error
    "#);
    for delay in ["PT48H", "P1W", "P4D", "PT0H", "P1DT12H"] {
        let feeder = format!("{{name: stable-4.7, delay: {delay}, filter: '4[.]7[.].*'}}");
        assert_eq!(shown_of(&feeder), "no findings\n", "{delay}");
    }
}
