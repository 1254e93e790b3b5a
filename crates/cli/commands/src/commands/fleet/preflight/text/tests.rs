use super::*;
use crate::commands::upgrade::preflight::of_a_fleet::fixtures;
use crate::exit::ExitStatus;
use crate::text;
use fairway_insight::fleet::ClusterError;

fn failed(message: &str, hint: &str) -> ClusterError {
    ClusterError { message: message.to_owned(), hint: Some(hint.to_owned()) }
}

/// A preflight on five clusters.
fn preflights(width: usize) -> FleetPreflight {
    let away = failed(
        "cannot reach the API server at https://lab.example:6443: Connection refused",
        "check that the server is running and reachable",
    );
    let clusters = [
        ("prod-eu", Ok(Some(fixtures::clean()))),
        ("prod-us", Ok(Some(fixtures::found()))),
        ("staging", Ok(Some(fixtures::late()))),
        ("lab", Err(away)),
        ("canary", Ok(None)),
    ];
    let clusters = clusters.map(|(name, asked)| ClusterPreflight::of(name.to_owned(), asked));
    let selection = "--all-contexts".to_owned();
    FleetPreflight {
        target: "5.2.0".to_owned(),
        clusters: clusters.into(),
        selection,
        width: Some(width),
    }
}

#[test]
fn text_on_a_wide_terminal() {
    insta::assert_snapshot!(preflights(100));
}

#[test]
fn text_at_40_columns() {
    let text = text::laid_out(&preflights(40).to_string(), 40);
    let mut lines = text.lines().take_while(|line| !line.starts_with("Show the state"));
    assert!(lines.all(|line| line.chars().count() <= 40), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn exit_status_is_the_worst_of_all_clusters() {
    let ends = |keep: &[usize]| {
        let mut all = preflights(80);
        let mut number = 0;
        all.clusters.retain(|_| {
            number += 1;
            keep.contains(&(number - 1))
        });
        all.exit_status()
    };
    assert_eq!(ends(&[0, 4]), ExitStatus::Success);
    assert_eq!(ends(&[0, 1, 2, 3]), ExitStatus::Refused);
    assert_eq!(ends(&[0, 2]), ExitStatus::TimedOut);
    assert_eq!(ends(&[0, 2, 3]), ExitStatus::Unknown);
    assert_eq!(ends(&[3]), ExitStatus::Error, "no cluster could be queried");
}
