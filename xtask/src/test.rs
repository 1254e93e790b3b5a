//! `cargo xtask test`: all checks and tests.
#![expect(clippy::print_stdout, reason = "tasks print to the terminal")]

use std::ffi::OsString;
use std::fmt;
use std::num::NonZero;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fairway_fixtures::skip;
use fairway_testbed::install_packages;
use fairway_testbed::wait::Stopwatch;

use crate::cargo::{self, cargo};
use crate::services::print_progress;
use crate::suite::{self, Suite, TestList};
use crate::test_cluster::TestCluster;
use crate::{generated, layers, policy, prose};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Skip the cluster tests
    #[arg(long)]
    quick: bool,

    /// Run only the cluster tests
    #[arg(long, conflicts_with = "quick")]
    cluster: bool,

    /// Run only tests whose name contains this text
    filter: Option<String>,
}

/// The requirement of a test.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Tier {
    /// None.
    Everywhere,
    /// A cluster. These tests are marked `#[ignore]`.
    Cluster,
}

/// Environment variables of tests.
pub(crate) type Variables = Vec<(&'static str, OsString)>;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let (skipped, flaky) = (TestList::skipped(), TestList::flaky());
    skipped.clear()?;
    flaky.clear()?;
    let mut steps = Steps::default();
    let mut cases = Cases::default();
    let outcome = run_steps(arguments, &mut steps, &mut cases);
    // Also after a failed step: the summary is read first.
    steps.report();
    let listed = skipped.print("SKIPPED").and(flaky.print("FLAKY"));
    println!("\n{cases}");
    outcome.and(listed)
}

fn run_steps(arguments: &Arguments, steps: &mut Steps, cases: &mut Cases) -> Result<()> {
    let filter = arguments.filter.as_deref();
    // Tests that need no cluster compare with kubectl, gpg and shells.
    if !arguments.quick && TestCluster::find()? == Ok(TestCluster::Debian) {
        steps.step("packages", || install_packages(&print_progress))?;
    }
    if !arguments.cluster {
        everywhere(filter, steps, cases)?;
    }
    if arguments.quick {
        steps.skip("cluster tests", "--quick was given");
    } else {
        match TestCluster::find()? {
            Ok(cluster) => {
                steps.step(
                    "cluster tests, the operator and API behaviour on a real Kubernetes",
                    || {
                        cases.on_kubernetes = Some(cluster.run(Vec::new(), filter, false)?);
                        Ok(())
                    },
                )?;
                if let Some(what) = cluster.skipped_tests() {
                    steps.skip("some cluster tests", what);
                }
            }
            // In CI, a run must not pass without the cluster tests.
            Err(why) if skip::is_ci() => bail!("the cluster tests cannot run here: {why}"),
            Err(why) => steps.skip("cluster tests", why),
        }
    }
    if filter.is_none() {
        steps.step("generated files", || generated::check(&cargo::build_with_tests()?))?;
    }
    Ok(())
}

/// The steps that need no cluster.
fn everywhere(filter: Option<&str>, steps: &mut Steps, cases: &mut Cases) -> Result<()> {
    if filter.is_none() {
        steps.step("layers, licences and sources", || {
            layers::check()?;
            policy::check()
        })?;
        steps.step("prose", prose::check)?;
        steps.step("format", || cargo::run(&mut cargo(["fmt", "--all", "--check"])))?;
        steps.step("lints", || {
            let clippy = ["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"];
            cargo::run(&mut cargo(clippy))
        })?;
    }
    steps.step("tests that run everywhere", || {
        let selection = Selection { filter, ..Selection::default() };
        cases.in_the_sandbox = Some(run_tests(Tier::Everywhere, &Vec::new(), &selection, None)?);
        Ok(())
    })?;
    if filter.is_none() {
        steps.step("examples in the documentation", || {
            cargo::run(&mut cargo(["test", "--quiet", "--workspace", "--doc"]))
        })?;
    }
    Ok(())
}

/// The selected tests of a tier.
#[derive(Default)]
pub(crate) struct Selection<'a> {
    /// Only tests whose name contains this text.
    pub(crate) filter: Option<&'a str>,
    /// No tests whose name contains one of these.
    pub(crate) skip: Vec<&'static str>,
    /// No tests of this package.
    pub(crate) exclude: Option<&'a str>,
    /// Without timeouts.
    pub(crate) soak: bool,
}

impl Selection<'_> {
    /// The option of nextest for an empty selection, which only a filter may have.
    pub(crate) fn no_tests(&self) -> &'static str {
        if self.filter.is_some() { "--no-tests=pass" } else { "--no-tests=fail" }
    }

    /// The nextest profile for a real Kubernetes, where tests take turns for ClusterVersion.
    pub(crate) fn profile_on_kubernetes(&self) -> &'static str {
        if self.soak { "soak" } else { "kubernetes" }
    }

    /// The arguments of the test binaries.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &str> {
        let skipped = self.skip.iter().flat_map(|&name| ["--skip", name]);
        self.filter.into_iter().chain(skipped)
    }
}

/// Runs the tests of a tier, except those of a suite that runs separately. Returns the number of passed
/// behaviour tests.
pub(crate) fn run_tests(
    tier: Tier,
    variables: &Variables,
    selection: &Selection<'_>,
    except: Option<&Suite>,
) -> Result<usize> {
    let mut tests = if cargo::has_nextest() {
        let mut tests = cargo(["nextest", "run", "--workspace", "--no-fail-fast"]);
        tests.arg(selection.no_tests());
        // A starting control plane keeps a core busy.
        let threads = if tier == Tier::Cluster { processors() + 1 } else { waiting_test_threads() };
        tests.arg(format!("--test-threads={threads}"));
        match tier {
            Tier::Everywhere => tests.args(selection.soak.then_some("--profile=soak")),
            Tier::Cluster => tests.arg(format!("--profile={}", selection.profile_on_kubernetes())),
        };
        tests.args(except.map(|suite| format!("--filterset=not ({})", suite.filterset())));
        tests
    } else {
        cargo(["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests"])
    };
    tests.args(selection.exclude.map(|package| format!("--exclude={package}"))).arg("--");
    tests.args((tier == Tier::Cluster).then_some("--ignored")).args(selection.arguments());
    tests.envs(variables.iter().map(|(name, value)| (name, value)));
    suite::run_counting(&mut tests)
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// The number of concurrent tests that keeps all cores busy: long tests mostly wait.
pub(crate) fn waiting_test_threads() -> usize {
    2 * processors()
}

/// Numbers of passed behaviour tests.
#[derive(Default)]
struct Cases {
    in_the_sandbox: Option<usize>,
    on_kubernetes: Option<usize>,
}

impl fmt::Display for Cases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passed = |cases: Option<usize>| match cases {
            Some(cases) => format!("{cases} cases passed"),
            None => "not tried".to_owned(),
        };
        let (here, there) = (passed(self.in_the_sandbox), passed(self.on_kubernetes));
        write!(f, "API behaviour: {here} in the sandbox, {there} on a real Kubernetes")
    }
}

/// Results of the steps, for the summary.
#[derive(Default)]
struct Steps {
    done: Vec<(&'static str, Duration)>,
    failed: Option<(&'static str, Duration)>,
    skipped: Vec<(&'static str, &'static str)>,
}

impl Steps {
    fn step(&mut self, name: &'static str, work: impl FnOnce() -> Result<()>) -> Result<()> {
        println!("\n==> {name}");
        let watch = Stopwatch::start();
        let outcome = work().with_context(|| format!("{name}: failed"));
        match &outcome {
            Ok(()) => self.done.push((name, watch.elapsed())),
            Err(_) => self.failed = Some((name, watch.elapsed())),
        }
        outcome
    }

    fn skip(&mut self, name: &'static str, why: &'static str) {
        self.skipped.push((name, why));
    }

    fn report(&self) {
        println!();
        for (name, took) in &self.done {
            println!("ok       {name} ({} s)", took.as_secs());
        }
        if let Some((name, took)) = &self.failed {
            println!("FAILED   {name} ({} s)", took.as_secs());
        }
        for (name, why) in &self.skipped {
            println!("SKIPPED  {name}: {why}");
        }
    }
}
