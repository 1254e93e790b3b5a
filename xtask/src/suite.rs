//! Tests that run on every cluster: the same cases in the sandbox and on a real Kubernetes.
#![expect(clippy::print_stdout, reason = "a chore talks to the terminal")]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::cargo::{self, cargo};
use crate::test::{Selection, Variables};

/// Test programs of a package.
pub(crate) struct Suite {
    package: &'static str,
    programs: &'static [&'static str],
}

/// What the API does, whatever is behind it. It is kept apart, because its cases are counted.
pub(crate) const BEHAVIOUR: Suite =
    Suite { package: "fairway-sandbox", programs: &[BEHAVIOUR_PROGRAM] };
/// The program of that suite.
pub(crate) const BEHAVIOUR_PROGRAM: &str = "behaviour";

/// The operator at work. In the sandbox, it is one of the tests that run everywhere.
pub(crate) const OPERATOR: Suite =
    Suite { package: "fairway-operator", programs: &["operator", "apply", "chain"] };

/// The operators of the example platform. In the sandbox, likewise.
pub(crate) const EXAMPLE: Suite = Suite { package: "fairway-example", programs: &["operators"] };

/// The guard of the operators that OLM has installed. In the sandbox, likewise.
pub(crate) const OLM: Suite = Suite { package: "fairway-olm", programs: &["guard"] };

/// A platform that is installed from a registry, asks releases about itself, and is updated.
pub(crate) const ROLLOUT: Suite = Suite { package: "fairway", programs: &["preflight", "rollout"] };

/// Platforms on their way from release to release, from a registry. In the sandbox, likewise.
pub(crate) const PLATFORM: Suite =
    Suite { package: "fairway", programs: &["chaos", "preflight", "rollout"] };

impl Suite {
    /// Runs the suite, and says how many cases passed.
    pub(crate) fn run(&self, variables: &Variables, selection: &Selection<'_>) -> Result<usize> {
        let mut suite = if cargo::has_nextest() {
            // Of the whole workspace, whose tests are built already: a package alone is built with
            // fewer features of what it depends on, and so again.
            let mut suite = cargo(["nextest", "run", "--workspace", "--no-fail-fast"]);
            suite.arg(format!("--filterset={}", self.filterset())).arg(selection.no_tests());
            suite.args(selection.soak.then_some("--profile=soak"));
            suite
        } else {
            let mut suite = cargo(["test", "--package", self.package]);
            suite.args(self.programs.iter().flat_map(|program| ["--test", program]));
            suite
        };
        suite.arg("--").args(selection.arguments());
        suite.envs(variables.iter().map(|(name, value)| (name, value)));
        run_counting(&mut suite)
    }

    fn filterset(&self) -> String {
        let programs =
            self.programs.iter().map(|program| format!("binary_id({}::{program})", self.package));
        programs.collect::<Vec<_>>().join(" or ")
    }
}

/// Runs tests to their end, shows what they print, and adds up how many passed.
fn run_counting(command: &mut Command) -> Result<usize> {
    let shown = cargo::shown(command);
    let (output, input) = std::io::pipe()?;
    let cannot_start = || format!("cannot start `{shown}`");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(input.try_clone()?)
        .stderr(input)
        .spawn()
        .with_context(cannot_start)?;
    // The command holds the writing end, too, and the pipe ends only with the last holder.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut cases = 0;
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{line}");
        cases += passed(&line).unwrap_or(0);
    }
    let status = child.wait()?;
    ensure!(status.success(), "`{shown}` failed ({status})");
    Ok(cases)
}

/// How many tests passed, if this is the line that says so.
fn passed(line: &str) -> Option<usize> {
    let is_summary = line.contains("tests run:") || line.starts_with("test result:");
    let (before, _) = line.split_once(" passed").filter(|_| is_summary)?;
    before.rsplit(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::passed;

    #[test]
    fn both_test_runners_say_how_many_passed() {
        let nextest =
            "     Summary [   2.113s] 142 tests run: 141 passed (3 slow), 1 failed, 9 skipped";
        let cargo = "test result: ok. 142 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        for (line, count) in
            [(nextest, Some(141)), (cargo, Some(142)), ("4 passed by the house", None), ("", None)]
        {
            assert_eq!(passed(line), count, "{line}");
        }
    }
}
