//! `cargo xtask test`: everything that has to hold before a change is done.
#![expect(clippy::print_stdout, reason = "a chore talks to the terminal")]

use std::ffi::OsString;
use std::fmt;
use std::num::NonZero;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fairway_fixtures::skip;
use fairway_testbed::install_packages;
use fairway_testbed::wait::Stopwatch;

use crate::cargo::{self, cargo};
use crate::ground::Ground;
use crate::suite::{self, Suite, TestList};
use crate::{detached, generated, layers, policy, prose};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Leave the cluster tests out: for the time between two keystrokes
    #[arg(long)]
    quick: bool,

    /// Only the cluster tests: when the rest has passed
    #[arg(long, conflicts_with = "quick")]
    cluster: bool,

    /// Only tests whose name contains this
    filter: Option<String>,
}

/// Where a test can run.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Tier {
    /// On every machine.
    Everywhere,
    /// Where there is a cluster; these tests are marked `#[ignore]`.
    Cluster,
}

/// Variables for the tests.
pub(crate) type Variables = Vec<(&'static str, OsString)>;

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let (skipped, flaky) = (TestList::skipped(), TestList::flaky());
    skipped.clear()?;
    flaky.clear()?;
    let mut steps = Steps::default();
    let mut cases = Cases::default();
    let outcome = run_steps(arguments, &mut steps, &mut cases);
    // Also after a step that failed: it is the summary that is read first.
    steps.report();
    let listed = skipped.print("SKIPPED").and(flaky.print("FLAKY"));
    println!("\n{cases}");
    outcome.and(listed)
}

fn run_steps(arguments: &Arguments, steps: &mut Steps, cases: &mut Cases) -> Result<()> {
    let filter = arguments.filter.as_deref();
    // Tests that need no cluster compare with kubectl, gpg and shells.
    if !arguments.quick && Ground::find()? == Ok(Ground::Debian) {
        steps.step("packages", || install_packages(&detached::say))?;
    }
    if !arguments.cluster {
        everywhere(filter, steps, cases)?;
    }
    if arguments.quick {
        steps.skip("cluster tests", "--quick was given");
    } else {
        match Ground::find()? {
            Ok(ground) => {
                steps.step(
                    "cluster tests, the operator and API behaviour on a real Kubernetes",
                    || {
                        cases.on_kubernetes = Some(ground.run(Vec::new(), filter, false)?);
                        Ok(())
                    },
                )?;
                if let Some(what) = ground.left_out() {
                    steps.skip("some cluster tests", what);
                }
            }
            // A run that is not watched must not pass with a part of the tests.
            Err(why) if skip::is_ci() => bail!("the cluster tests cannot run here: {why}"),
            Err(why) => steps.skip("cluster tests", why),
        }
    }
    if filter.is_none() {
        steps.step("generated files", || generated::check(&cargo::build_with_tests()?))?;
    }
    Ok(())
}

/// What runs on every machine.
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

/// Which tests of a tier are run, and how patiently.
#[derive(Default)]
pub(crate) struct Selection<'a> {
    /// Only those whose name contains this.
    pub(crate) filter: Option<&'a str>,
    /// Not those whose name contains one of these.
    pub(crate) skip: Vec<&'static str>,
    /// Not those of this package.
    pub(crate) exclude: Option<&'a str>,
    /// For as long as they take.
    pub(crate) soak: bool,
}

impl Selection<'_> {
    /// What nextest does where nothing is left: a filter may leave nothing.
    pub(crate) fn no_tests(&self) -> &'static str {
        if self.filter.is_some() { "--no-tests=pass" } else { "--no-tests=fail" }
    }

    /// How nextest is to take the tests of a real Kubernetes, which has only one ClusterVersion.
    pub(crate) fn profile_on_kubernetes(&self) -> &'static str {
        if self.soak { "soak" } else { "kubernetes" }
    }

    /// The arguments of the test programs.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &str> {
        let skipped = self.skip.iter().flat_map(|&name| ["--skip", name]);
        self.filter.into_iter().chain(skipped)
    }
}

/// Runs the tests of one tier except those of a suite that runs separately, and returns how many cases
/// of the API's behaviour passed.
pub(crate) fn run_tests(
    tier: Tier,
    variables: &Variables,
    selection: &Selection<'_>,
    except: Option<&Suite>,
) -> Result<usize> {
    let mut tests = if cargo::has_nextest() {
        let mut tests = cargo(["nextest", "run", "--workspace", "--no-fail-fast"]);
        tests.arg(selection.no_tests());
        // A control plane that starts keeps a processor busy.
        let at_once = if tier == Tier::Cluster { processors() + 1 } else { tests_that_wait() };
        tests.arg(format!("--test-threads={at_once}"));
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

/// How many tests at once keep the processors busy: the long ones mostly wait for servers, for
/// platforms and for time to pass.
pub(crate) fn tests_that_wait() -> usize {
    2 * processors()
}

/// How many cases of the behaviour suite passed, and where.
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

/// What was done, for the summary at the end.
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
