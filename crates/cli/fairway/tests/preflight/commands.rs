//! The commands of `docs/admin/preflight.md`, unchanged.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use fairway_testkit::{TestPlatform, text};
use tokio::task::block_in_place;

/// Headings with commands for a running preflight that has checks without a result.
pub(crate) const INSPECTION: [&str; 3] =
    ["### Looking closer", "### The image is not pulled", "### Some checks have no answer"];

/// The heading with the commands that end a preflight without `fairway` and keep accepted risks.
pub(crate) const END: &str = "### Ending it by hand";

/// Runs every command below a heading of the page. Each has to succeed. Returns their output.
pub(crate) fn run(
    platform: &TestPlatform,
    heading: &str,
    variables: &[(&str, &str)],
) -> Result<String> {
    let page = page()?;
    let blocks = page.get(heading).with_context(|| format!("no commands below {heading:?}"))?;
    let mut printed = String::new();
    for block in blocks {
        let mut shell = Command::new("bash");
        // A failure within a pipe fails the block.
        shell.args(["-e", "-u", "-o", "pipefail", "-c", block]).stdin(Stdio::null());
        shell.env("KUBECONFIG", platform.cluster.kubeconfig());
        shell.env("KUBECACHEDIR", platform.cluster.kubeconfig().with_file_name("kubectl-cache"));
        shell.envs(variables.iter().copied());
        let output = block_in_place(|| shell.output()).context("cannot start a shell")?;
        ensure!(output.status.success(), "{block}\n{}: {}", output.status, text(&output));
        printed += &text(&output);
    }
    Ok(printed)
}

/// The blocks of commands on the page, by heading.
fn page() -> Result<BTreeMap<String, Vec<String>>> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/admin/preflight.md");
    let (mut found, mut heading, mut block) = (BTreeMap::<_, Vec<_>>::new(), String::new(), None);
    for line in fs::read_to_string(page)?.lines() {
        match &mut block {
            None if line == "```sh" => block = Some(String::new()),
            None if line.starts_with('#') => line.clone_into(&mut heading),
            None => {}
            Some(commands) if line == "```" => {
                found.entry(heading.clone()).or_default().push(std::mem::take(commands));
                block = None;
            }
            Some(commands) => commands.extend([line, "\n"]),
        }
    }
    Ok(found)
}

#[test]
fn every_heading_with_commands_is_tested() -> Result<()> {
    let page = page()?;
    let mut tested: Vec<&str> = INSPECTION.into_iter().chain([END]).collect();
    tested.sort_unstable();
    assert_eq!(page.keys().collect::<Vec<_>>(), tested);
    Ok(())
}
