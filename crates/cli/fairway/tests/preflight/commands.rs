//! The commands of `docs/admin/preflight.md`, run as they stand there.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use fairway_testkit::{TestPlatform, text};
use tokio::task::block_in_place;

/// A look at a preflight that runs, with checks that have no answer.
pub(crate) const LOOKS: [&str; 3] =
    ["### Looking closer", "### The image is not pulled", "### Some checks have no answer"];

/// What ends a preflight without this program, with risks that are accepted.
pub(crate) const END: &str = "### Ending it by hand";

/// Runs every command below a heading of the page, which has to succeed; what they say.
pub(crate) fn run(
    platform: &TestPlatform,
    heading: &str,
    variables: &[(&str, &str)],
) -> Result<String> {
    let page = page()?;
    let blocks = page.get(heading).with_context(|| format!("no commands below {heading:?}"))?;
    let mut said = String::new();
    for block in blocks {
        let mut shell = Command::new("bash");
        // What fails in a pipe fails as a whole.
        shell.args(["-e", "-u", "-o", "pipefail", "-c", block]).stdin(Stdio::null());
        shell.env("KUBECONFIG", platform.cluster.kubeconfig());
        shell.env("KUBECACHEDIR", platform.cluster.kubeconfig().with_file_name("kubectl-cache"));
        shell.envs(variables.iter().copied());
        let output = block_in_place(|| shell.output()).context("cannot start a shell")?;
        ensure!(
            output.status.success(),
            "{block}\nended with {}: {}",
            output.status,
            text(&output)
        );
        said += &text(&output);
    }
    Ok(said)
}

/// The blocks of commands on the page, by the heading that they are below.
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
fn every_command_of_the_page_is_run_by_some_test() -> Result<()> {
    let page = page()?;
    let mut run: Vec<&str> = LOOKS.into_iter().chain([END]).collect();
    run.sort_unstable();
    assert_eq!(page.keys().collect::<Vec<_>>(), run);
    Ok(())
}
