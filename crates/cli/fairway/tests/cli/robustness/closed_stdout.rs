//! Commands with a closed standard output.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use fairway_testkit::TestCluster;

use super::CommandResult;
use super::commands::{READ_COMMANDS, WRITE_COMMANDS, every};
use crate::fairway;
use crate::upgrade::create_cluster_version;

/// Runs a command with a closed standard output.
fn run_closed(command: &mut Command) -> CommandResult {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    CommandResult { code: output.status.code().unwrap_or(-1), stdout: String::new(), stderr }
}

fn run_closed_against(kubeconfig: &Path, arguments: &[&str]) -> CommandResult {
    let mut command = fairway();
    command.env("KUBECONFIG", kubeconfig).args(arguments).arg("--quiet");
    tokio::task::block_in_place(|| run_closed(&mut command))
}

#[test]
fn help_with_closed_stdout_succeeds() {
    for (command, _) in every() {
        let ended = run_closed(fairway().args(&command).arg("--help"));
        assert_eq!((ended.code, &*ended.stderr), (0, ""), "{command:?}");
    }
}

#[test]
fn local_commands_with_closed_stdout_succeed() {
    let commands: [&[&str]; 4] =
        [&["crds"], &["crds", "-o", "json"], &["completion", "bash"], &["completion", "elvish"]];
    for arguments in commands {
        let ended = run_closed(fairway().args(arguments));
        assert_eq!((ended.code, &*ended.stderr), (0, ""), "{arguments:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_commands_with_closed_stdout_succeed() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    for arguments in READ_COMMANDS {
        for format in ["text", "json", "yaml"] {
            let output = format!("--output={format}");
            let read = CommandResult::run_against(
                cluster.kubeconfig(),
                &[*arguments, &["--quiet"]].concat(),
            );
            // An error is printed to standard error.
            if read.stdout.is_empty() {
                continue;
            }
            let ended =
                run_closed_against(cluster.kubeconfig(), &[*arguments, &[&output]].concat());
            assert_eq!((ended.code, &*ended.stderr), (0, ""), "{arguments:?} {output}");
        }
    }
    // The change is made although the output cannot be written.
    for arguments in WRITE_COMMANDS.iter().filter(|arguments| arguments.contains(&"accept")) {
        let ended = run_closed_against(cluster.kubeconfig(), arguments);
        assert_eq!((ended.code, &*ended.stderr), (0, ""), "{arguments:?}");
    }
    let read = CommandResult::run_against(cluster.kubeconfig(), &["upgrade", "-o", "json"]);
    assert!(read.stdout.contains(r#""acceptance": "accepted""#), "{}", read.stdout);
    Ok(())
}
