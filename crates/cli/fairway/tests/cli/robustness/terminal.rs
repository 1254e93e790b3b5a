//! Terminals that are narrow, have no colours, or do not know all characters.

use anyhow::Result;
use fairway_testkit::TestCluster;

use super::commands::{QUESTIONS, every};
use super::{Ended, settled};
use crate::fairway;
use crate::upgrade::risky;

const NARROW: usize = 40;

/// Whether a line fits, or cannot be broken: a word, or a command that is there to be copied.
fn fits(line: &str) -> bool {
    let text = line.trim();
    let is_command = ["$ ", "fairway ", "kubectl ", "oc "].iter().any(|it| text.starts_with(it));
    line.chars().count() <= NARROW || !text.contains(' ') || is_command
}

#[test]
fn help_fits_on_a_narrow_terminal() {
    for (command, _) in every() {
        let mut help = fairway();
        let ended = Ended::of(help.args(&command).arg("--help").env("COLUMNS", NARROW.to_string()));
        let wide: Vec<&str> = ended.stdout.lines().filter(|line| !fits(line)).collect();
        assert!(wide.is_empty(), "{command:?}: {wide:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_fit_on_a_narrow_terminal() -> Result<()> {
    let cluster = TestCluster::in_turn().await?;
    risky(&cluster).await?;
    let mut shown = Vec::new();
    for arguments in QUESTIONS {
        let mut command = fairway();
        command.args(*arguments).env("KUBECONFIG", cluster.kubeconfig());
        command.env("COLUMNS", NARROW.to_string());
        let ended = tokio::task::block_in_place(|| Ended::of(&mut command));
        for line in ended.stdout.lines().chain(ended.stderr.lines()) {
            assert!(fits(line), "{arguments:?}: {line}");
        }
        shown.push(format!("$ fairway {}\n{}{}", arguments.join(" "), ended.stderr, ended.stdout));
    }
    insta::assert_snapshot!(settled(&shown.join("\n")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_are_the_same_on_every_terminal() -> Result<()> {
    let cluster = TestCluster::in_turn().await?;
    risky(&cluster).await?;
    for format in ["json", "yaml"] {
        let mut command = fairway();
        command.args(["upgrade", "recommend", "-o", format]);
        command.env("KUBECONFIG", cluster.kubeconfig());
        let without_time = |text: String| {
            let lines = text.lines().filter(|line| !line.contains("observationTime"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let (wide, narrow) = tokio::task::block_in_place(|| {
            let wide = Ended::of(&mut command);
            (wide, Ended::of(command.env("COLUMNS", "40").env("LC_ALL", "C")))
        });
        assert_eq!(without_time(narrow.stdout), without_time(wide.stdout), "{format}");
    }
    Ok(())
}

#[test]
fn colours_only_where_they_are_wanted() {
    let mistake = |arguments: &[&str], variable: (&str, &str)| {
        let mut command = fairway();
        command.env_remove("KUBECONFIG").env("HOME", "/nonexistent").env(variable.0, variable.1);
        let ended = Ended::of(command.args(["upgrade"]).args(arguments));
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
fn help_needs_no_characters_beyond_ascii() {
    for (command, _) in every() {
        let ended = Ended::of(fairway().args(&command).arg("--help").env("LC_ALL", "C"));
        let beyond = ended.stdout.lines().find(|line| !line.is_ascii());
        assert_eq!(beyond, None, "{command:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_need_no_characters_beyond_ascii() -> Result<()> {
    let cluster = TestCluster::in_turn().await?;
    risky(&cluster).await?;
    for arguments in [QUESTIONS, &[&["upgrade", "--to=5.1.1", "--timeout=1s"]]].concat() {
        let mut command = fairway();
        command.args(arguments).env("KUBECONFIG", cluster.kubeconfig()).env("LC_ALL", "C");
        let ended = tokio::task::block_in_place(|| Ended::of(&mut command));
        let beyond = ended.stdout.lines().chain(ended.stderr.lines()).find(|it| !it.is_ascii());
        assert_eq!(beyond, None, "{arguments:?}");
    }
    Ok(())
}
