//! Narrow terminals, terminals without colours, and terminals without Unicode.

use anyhow::Result;
use fairway_testkit::TestCluster;

use super::commands::{READ_COMMANDS, every};
use super::{CommandResult, redacted};
use crate::fairway;
use crate::upgrade::create_cluster_version;

const NARROW: usize = 40;

/// Whether a line fits, or must not be wrapped: a word, or a command to copy.
fn fits(line: &str) -> bool {
    let text = line.trim();
    let is_command = ["$ ", "fairway ", "kubectl ", "oc "].iter().any(|it| text.starts_with(it));
    line.chars().count() <= NARROW || !text.contains(' ') || is_command
}

#[test]
fn help_on_a_narrow_terminal_is_wrapped() {
    for (command, _) in every() {
        let mut help = fairway();
        let ended = CommandResult::run(
            help.args(&command).arg("--help").env("COLUMNS", NARROW.to_string()),
        );
        let wide: Vec<&str> = ended.stdout.lines().filter(|line| !fits(line)).collect();
        assert!(wide.is_empty(), "{command:?}: {wide:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_on_a_narrow_terminal_are_wrapped() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    let mut shown = Vec::new();
    for arguments in READ_COMMANDS {
        let mut command = fairway();
        command.args(*arguments).env("KUBECONFIG", cluster.kubeconfig());
        command.env("COLUMNS", NARROW.to_string());
        let ended = tokio::task::block_in_place(|| CommandResult::run(&mut command));
        for line in ended.stdout.lines().chain(ended.stderr.lines()) {
            assert!(fits(line), "{arguments:?}: {line}");
        }
        shown.push(format!("$ fairway {}\n{}{}", arguments.join(" "), ended.stderr, ended.stdout));
    }
    insta::assert_snapshot!(redacted(&shown.join("\n")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn json_and_yaml_output_does_not_depend_on_terminal() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    for format in ["json", "yaml"] {
        let mut command = fairway();
        command.args(["upgrade", "recommend", "-o", format]);
        command.env("KUBECONFIG", cluster.kubeconfig());
        let without_time = |text: String| {
            let lines = text.lines().filter(|line| !line.contains("observationTime"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let (wide, narrow) = tokio::task::block_in_place(|| {
            let wide = CommandResult::run(&mut command);
            (wide, CommandResult::run(command.env("COLUMNS", "40").env("LC_ALL", "C")))
        });
        assert_eq!(without_time(narrow.stdout), without_time(wide.stdout), "{format}");
    }
    Ok(())
}

#[test]
fn colours_only_on_terminals_or_on_request() {
    let mistake = |arguments: &[&str], variable: (&str, &str)| {
        let mut command = fairway();
        command.env_remove("KUBECONFIG").env("HOME", "/nonexistent").env(variable.0, variable.1);
        let ended = CommandResult::run(command.args(["upgrade"]).args(arguments));
        assert_eq!(ended.code, 1, "{}", ended.stderr);
        ended.stderr
    };
    let is_coloured = |text: String| text.contains('\u{1b}');
    assert!(!is_coloured(mistake(&[], ("TERM", "xterm"))));
    assert!(!is_coloured(mistake(&[], ("NO_COLOR", "1"))));
    assert!(!is_coloured(mistake(&["--color=never"], ("CLICOLOR_FORCE", "1"))));
    assert!(!is_coloured(mistake(&[], ("TERM", "dumb"))));
    assert!(is_coloured(mistake(&["--color=always"], ("TERM", "xterm"))));
}

#[test]
fn help_is_ascii() {
    for (command, _) in every() {
        let ended = CommandResult::run(fairway().args(&command).arg("--help").env("LC_ALL", "C"));
        let beyond = ended.stdout.lines().find(|line| !line.is_ascii());
        assert_eq!(beyond, None, "{command:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_without_unicode_are_ascii() -> Result<()> {
    let cluster = TestCluster::exclusive().await?;
    create_cluster_version(&cluster).await?;
    for arguments in [READ_COMMANDS, &[&["upgrade", "--to=5.1.1", "--timeout=1s"]]].concat() {
        let mut command = fairway();
        command.args(arguments).env("KUBECONFIG", cluster.kubeconfig()).env("LC_ALL", "C");
        let ended = tokio::task::block_in_place(|| CommandResult::run(&mut command));
        let beyond = ended.stdout.lines().chain(ended.stderr.lines()).find(|it| !it.is_ascii());
        assert_eq!(beyond, None, "{arguments:?}");
    }
    Ok(())
}
