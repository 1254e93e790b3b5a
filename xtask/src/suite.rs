//! Test binaries that run in the sandbox and on a real Kubernetes.
#![expect(clippy::print_stdout, reason = "tasks print to the terminal")]

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, ErrorKind, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use fairway_fixtures::skip;

use crate::cargo::{self, cargo};
use crate::test::{Selection, Variables, waiting_test_threads};

/// Test binaries by package and name. A name such as `example/operators` selects the tests of the
/// module `operators`.
pub(crate) struct Suite(&'static [(&'static str, &'static str)]);

/// Tests of API server behaviour. xtask counts the tests that pass ([`Tally`]).
pub(crate) const BEHAVIOUR: Suite = Suite(&[BEHAVIOUR_BINARY]);
const BEHAVIOUR_BINARY: (&str, &str) = ("fairway-sandbox", "behaviour");

/// The suite for a control plane. One run for all binaries, because most tests take turns for the only
/// ClusterVersion of a cluster, and the others run meanwhile.
pub(crate) const ON_KUBERNETES: Suite = Suite(&[
    ("fairway-operator", "operator"),
    ("fairway-operator", "apply"),
    ("fairway-operator", "chain"),
    ("fairway-example", "example/operators"),
    ("fairway-olm", "guard"),
    ("fairway", "payloads"),
    BEHAVIOUR_BINARY,
]);

/// The suite for a Kubernetes with a node and a registry: [`ON_KUBERNETES`] and the tests of a platform.
pub(crate) const ON_NODE: Suite = Suite(&[
    ("fairway-operator", "operator"),
    ("fairway-operator", "apply"),
    ("fairway-operator", "chain"),
    ("fairway-example", "example/operators"),
    ("fairway-olm", "guard"),
    ("fairway", "payloads"),
    ("fairway", "preflight"),
    ("fairway", "rollout"),
    ("fairway", TOUR),
    BEHAVIOUR_BINARY,
]);

/// The longest test that needs a cluster. It is in the suite because it takes turns for ClusterVersion.
const TOUR: &str = "cli/tour::kubernetes";

/// Updates with injected faults.
pub(crate) const CHAOS: Suite = Suite(&[("fairway", "chaos")]);

impl Suite {
    /// Runs the suite. Returns the number of passed behaviour tests.
    pub(crate) fn run(&self, variables: &Variables, selection: &Selection<'_>) -> Result<usize> {
        let Self(binaries) = self;
        let mut suite = if cargo::has_nextest() {
            // The workspace is built already. A single package would unify features differently and
            // rebuild its dependencies.
            let mut suite = cargo(["nextest", "run", "--workspace", "--no-fail-fast"]);
            suite.arg(format!("--filterset={}", self.filterset())).arg(selection.no_tests());
            suite.arg("--run-ignored=all");
            suite.arg(format!("--profile={}", selection.profile_on_kubernetes()));
            suite.arg(format!("--test-threads={}", waiting_test_threads()));
            suite
        } else {
            let mut suite = cargo(["test"]);
            let packages: BTreeSet<&str> = binaries.iter().map(|(package, _)| *package).collect();
            suite.args(packages.into_iter().flat_map(|package| ["--package", package]));
            // Without nextest, a module cannot be selected for one binary, so all of it runs. The tour
            // is `#[ignore]`d, and runs with the tests that need a cluster.
            let binaries = binaries.iter().map(|(_, name)| *name).filter(|name| *name != TOUR);
            suite.args(binaries.flat_map(|name| ["--test", binary_and_module(name).0]));
            suite
        };
        suite.arg("--").args(selection.arguments());
        suite.envs(variables.iter().map(|(name, value)| (name, value)));
        run_counting(&mut suite)
    }

    /// The nextest filterset of the suite, including tests that need a cluster.
    pub(crate) fn filterset(&self) -> String {
        let binaries = self.0.iter().map(|(package, name)| match binary_and_module(name) {
            (binary, None) => format!("binary_id({package}::{binary})"),
            (binary, Some(module)) => {
                format!("(binary_id({package}::{binary}) and test(/^{module}::/))")
            }
        });
        binaries.collect::<Vec<_>>().join(" or ")
    }
}

fn binary_and_module(name: &str) -> (&str, Option<&str>) {
    name.split_once('/').map_or((name, None), |(binary, module)| (binary, Some(module)))
}

/// A file with tests of one run of the test command.
pub(crate) struct TestList(PathBuf);

impl TestList {
    /// Skipped tests with their reasons.
    pub(crate) fn skipped() -> Self {
        Self(cargo::root().join("target/skipped-tests"))
    }

    /// Tests that passed only on a retry.
    pub(crate) fn flaky() -> Self {
        Self(cargo::root().join("target/flaky-tests"))
    }

    /// The path, for the tests.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Removes the tests of the previous run.
    pub(crate) fn clear(&self) -> Result<()> {
        match std::fs::remove_file(&self.0) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", self.0.display()))
            }
            _ => Ok(()),
        }
    }

    fn add(&self, tests: &BTreeSet<String>) -> Result<()> {
        let file = OpenOptions::new().create(true).append(true).open(&self.0);
        let cannot_write = || format!("cannot write {}", self.0.display());
        let mut file = file.with_context(cannot_write)?;
        tests.iter().try_for_each(|test| writeln!(file, "{test}")).with_context(cannot_write)
    }

    fn read(&self) -> Result<BTreeSet<String>> {
        match std::fs::read_to_string(&self.0) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(BTreeSet::new()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", self.0.display())),
        }
    }

    /// Prints one line for each test.
    pub(crate) fn print(&self, word: &str) -> Result<()> {
        for test in self.read()? {
            println!("{word:<8} {test}");
        }
        Ok(())
    }
}

/// Runs tests and prints their output. Returns the number of passed behaviour tests.
pub(crate) fn run_counting(command: &mut Command) -> Result<usize> {
    if std::io::stdout().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    command.env(skip::SKIPPED, TestList::skipped().path());
    let shown = cargo::shown(command);
    let (output, input) = std::io::pipe()?;
    let cannot_start = || format!("cannot start `{shown}`");
    let mut child = command
        .stdin(Stdio::null())
        .stdout(input.try_clone()?)
        .stderr(input)
        .spawn()
        .with_context(cannot_start)?;
    // Drop the writing end that the command holds: the pipe ends with its last writer.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut tally = Tally::default();
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{line}");
        tally.read(&line);
    }
    let status = child.wait()?;
    TestList::flaky().add(&tally.flaky)?;
    ensure!(status.success(), "`{shown}` failed ({status})");
    Ok(tally.passed)
}

/// Passed behaviour tests and flaky tests in the output of a test runner.
#[derive(Default)]
struct Tally {
    passed: usize,
    flaky: BTreeSet<String>,
    /// Whether the current lines are of the behaviour binary.
    in_behaviour: bool,
}

impl Tally {
    fn read(&mut self, line: &str) {
        self.flaky.extend(flaky(&without_colours(line)));
        let (package, binary) = BEHAVIOUR_BINARY;
        if line.contains("PASS") && line.contains(&format!("{package}::{binary}")) {
            self.passed += 1;
        }
        // Without nextest, cargo prints the binary before its tests, and the sum after them.
        if line.contains("Running ") {
            self.in_behaviour = line.contains(&format!("/{binary}-"));
        } else if self.in_behaviour && line.starts_with("test result:") {
            let before = line.split_once(" passed").map(|(before, _)| before);
            let count = before.and_then(|before| before.rsplit(' ').next()?.parse().ok());
            self.passed += count.unwrap_or(0);
        }
    }
}

/// The test of a line with which nextest reports that a retry passed: `TRY 2 PASS` during the run,
/// `FLAKY 2/2` in the summary.
fn flaky(line: &str) -> Option<String> {
    let (status, test) = line.trim_start().split_once(" [")?;
    let is_flaky = status.starts_with("FLAKY ")
        || (status.starts_with("TRY ") && status.ends_with(" PASS") && status != "TRY 1 PASS");
    let (_, test) = test.split_once(']').filter(|_| is_flaky)?;
    // During the run, the number of the test comes first.
    let test = test.trim();
    let numbered = test.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    Some(numbered.map_or(test, |(_, test)| test.trim()).to_owned())
}

/// A line without the escape sequences of colours.
fn without_colours(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let first = parts.next().unwrap_or_default();
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text));
    std::iter::once(first).chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::{Suite, Tally};

    #[test]
    fn filterset_of_module_excludes_other_tests_of_its_binary() {
        let suite = Suite(&[("fairway-example", "example/operators"), ("fairway-olm", "guard")]);
        assert_eq!(
            suite.filterset(),
            "(binary_id(fairway-example::example) and test(/^operators::/)) \
             or binary_id(fairway-olm::guard)"
        );
    }

    #[test]
    fn tally_collects_each_flaky_test_once() {
        let printed = "\
            \u{20} TRY 1 FAIL [   0.015s] (241/261) fairway-sandbox::behaviour watch::two\n\
            \u{20} TRY 2 PASS [   0.015s] (241/261) fairway-sandbox::behaviour watch::two\n\
            \u{20} \u{1b}[33;1mTRY 3 PASS\u{1b}[0m [   0.1s] \u{1b}[35;1mfairway-olm\u{1b}[0m a::b\n\
            \u{20}       PASS [   0.100s] (242/261) fairway-olm::guard access::three\n\
            \u{20}    Summary [   2.113s] 261 tests run: 261 passed (1 flaky), 9 skipped\n\
            \u{20}  FLAKY 2/2 [   0.015s] fairway-sandbox::behaviour watch::two\n\
            \u{20}  FLAKY 2/2 [   0.015s] (  9/261) fairway-sandbox::behaviour watch::nine";
        let mut tally = Tally::default();
        printed.lines().for_each(|line| tally.read(line));
        let flaky: Vec<&str> = tally.flaky.iter().map(String::as_str).collect();
        assert_eq!(
            flaky,
            [
                "fairway-olm a::b",
                "fairway-sandbox::behaviour watch::nine",
                "fairway-sandbox::behaviour watch::two",
            ]
        );
    }

    #[test]
    fn tally_counts_passed_tests_of_both_test_runners() {
        let nextest = "\
            \u{20}       PASS [   0.207s] (240/261) fairway-sandbox::behaviour watch::one\n\
            \u{20} TRY 1 FAIL [   0.015s] (241/261) fairway-sandbox::behaviour watch::two\n\
            \u{20} TRY 2 PASS [   0.015s] (241/261) fairway-sandbox::behaviour watch::two\n\
            \u{20}       PASS [   0.100s] (242/261) fairway-olm::guard access::three\n\
            \u{20}    Summary [   2.113s] 261 tests run: 261 passed (1 flaky), 9 skipped\n\
            \u{20}  FLAKY 2/2 [   0.015s] fairway-sandbox::behaviour watch::two";
        let in_colours = "\u{1b}[32;1m        PASS\u{1b}[0m [   0.207s] \u{1b}[35;1mfairway-sandbox::behaviour\u{1b}[0m one";
        let cargo = "     Running tests/behaviour/main.rs (target/debug/deps/behaviour-0a1b)\n\
            test result: ok. 142 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n     \
            Running tests/sandbox/main.rs (target/debug/deps/sandbox-0a1b)\n\
            test result: ok. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        for (printed, passed) in [(nextest, 2), (in_colours, 1), (cargo, 142), ("", 0)] {
            let mut tally = Tally::default();
            printed.lines().for_each(|line| tally.read(line));
            assert_eq!(tally.passed, passed, "{printed}");
        }
    }
}
