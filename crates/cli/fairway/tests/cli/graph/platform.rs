//! The graph of a large platform, from `FAIRWAY_DATA`.

use std::process::Command;

use crate::{fairway, transcript};

fn graph(command: &str) -> Option<Command> {
    let data = fairway_testkit::environment::data()?;
    let mut fairway = fairway();
    fairway.current_dir(data).args(["graph", command]);
    Some(fairway)
}

#[test]
fn queries_of_a_large_platform() {
    let inputs = ["--releases=releases-2026-08.json", "--graph-data=graph-data-2026-08"];
    let Some(mut latest) = graph("latest") else { return };
    let printed = transcript(latest.arg("stable-4.18").args(inputs));
    assert_eq!(printed, "exit code: 0\n----- stdout -----\n4.18.52\n");
    let Some(mut why) = graph("why") else { return };
    let printed = transcript(why.args(["4.16.1", "4.16.7"]).args(inputs));
    insta::assert_snapshot!(printed, @"
    exit code: 0
    ----- stdout -----
    4.16.1+amd64 -> 4.16.7+amd64: conditional: recommended if its risks do not apply
      blocked-edges/4.16.7-HyperShiftNodePoolSkewBinaryDownload.yaml:2:7: risk HyperShiftNodePoolSkewBinaryDownload for updates from ^4[.](15[.](1?[0-9]|2[0-2])|16[.][0-3])[+].*$
      blocked-edges/4.16.7-SRIOVFailedToConfigureVF.yaml:2:7: risk SRIOVFailedToConfigureVF for updates from ^4[.](15[.]([1]?[0-9]|2[0-4])|16[.][0-6])[+].*$
    ");
}
