//! Nobody reads what is printed.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use fairway_testkit::TestCluster;

use super::Ended;
use super::commands::{QUESTIONS, REQUESTS, every};
use crate::fairway;
use crate::upgrade::risky;

/// Runs a command whose standard output nobody reads.
fn unread(command: &mut Command) -> Ended {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    Ended { code: output.status.code().unwrap_or(-1), stdout: String::new(), stderr }
}

fn unread_about(kubeconfig: &Path, arguments: &[&str]) -> Ended {
    let mut command = fairway();
    command.env("KUBECONFIG", kubeconfig).args(arguments).arg("--quiet");
    tokio::task::block_in_place(|| unread(&mut command))
}

#[test]
fn help_ends_in_silence() {
    for (command, _) in every() {
        let ended = unread(fairway().args(&command).arg("--help"));
        assert_eq!((ended.code, &*ended.stderr), (0, ""), "{command:?}");
    }
}

#[test]
fn what_needs_no_cluster_ends_in_silence() {
    let commands: [&[&str]; 4] =
        [&["crds"], &["crds", "-o", "json"], &["completion", "bash"], &["completion", "elvish"]];
    for arguments in commands {
        let ended = unread(fairway().args(arguments));
        assert_eq!((ended.code, &*ended.stderr), (0, ""), "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_about_a_cluster_ends_in_silence() -> Result<()> {
    let cluster = TestCluster::in_turn().await?;
    risky(&cluster).await?;
    for arguments in QUESTIONS {
        for format in ["text", "json", "yaml"] {
            let output = format!("--output={format}");
            let read = Ended::about(cluster.kubeconfig(), &[*arguments, &["--quiet"]].concat());
            // What cannot be told is an error, and errors are told.
            if read.stdout.is_empty() {
                continue;
            }
            let ended = unread_about(cluster.kubeconfig(), &[*arguments, &[&output]].concat());
            assert_eq!((ended.code, &*ended.stderr), (0, ""), "{arguments:?} {output}");
        }
    }
    // What was asked for is done, whether or not somebody reads of it.
    for arguments in REQUESTS.iter().filter(|arguments| arguments.contains(&"accept")) {
        let ended = unread_about(cluster.kubeconfig(), arguments);
        assert_eq!((ended.code, &*ended.stderr), (0, ""), "{arguments:?}");
    }
    let read = Ended::about(cluster.kubeconfig(), &["upgrade", "-o", "json"]);
    assert!(read.stdout.contains(r#""acceptance": "accepted""#), "{}", read.stdout);
    Ok(())
}
