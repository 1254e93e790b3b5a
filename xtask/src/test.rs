//! `cargo xtask test`: everything that has to hold before a change is done.
#![expect(clippy::print_stdout, reason = "a chore talks to the terminal")]

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fairway_testbed::kube::{Cluster, Options};
use fairway_testbed::registry::{self, Registry};
use fairway_testbed::wait::Stopwatch;

use crate::cargo::{self, cargo};
use crate::{detached, generated, image};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Leave the cluster tests out: for the time between two keystrokes
    #[arg(long)]
    quick: bool,

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
    let filter = arguments.filter.as_deref();
    let mut steps = Steps::default();
    if filter.is_none() {
        steps.step("format", || cargo::run(&mut cargo(["fmt", "--all", "--check"])))?;
        steps.step("lints", || {
            let clippy = ["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"];
            cargo::run(&mut cargo(clippy))
        })?;
    }
    steps.step("tests that run everywhere", || run_tests(Tier::Everywhere, &Vec::new(), filter))?;
    if filter.is_none() {
        steps.step("examples in the documentation", || {
            cargo::run(&mut cargo(["test", "--quiet", "--workspace", "--doc"]))
        })?;
    }
    if arguments.quick {
        steps.skip("cluster tests", "--quick was given");
    } else if let Some(why) = no_cluster_here() {
        // Who runs unattended must not take a part for the whole.
        if std::env::var_os("CI").is_some() {
            bail!("the cluster tests cannot run here: {why}");
        }
        steps.skip("cluster tests", why);
    } else {
        steps.step("cluster tests", || run_cluster_tests(Vec::new(), filter))?;
    }
    if filter.is_none() {
        steps.step("generated files", generated::check)?;
    }
    if std::env::var_os("FAIRWAY_CONFORMANCE").is_none() {
        steps.skip("vectors of other projects", "FAIRWAY_CONFORMANCE names no directory");
    }
    steps.report();
    Ok(())
}

/// Runs the tests of one tier.
pub(crate) fn run_tests(tier: Tier, variables: &Variables, filter: Option<&str>) -> Result<()> {
    let cluster = tier == Tier::Cluster;
    let mut tests = if cargo::has_nextest() {
        let mut tests = cargo(["nextest", "run", "--workspace", "--no-fail-fast"]);
        // A filter may leave nothing of a tier.
        tests.arg(if filter.is_some() { "--no-tests=pass" } else { "--no-tests=fail" });
        tests.args(cluster.then_some("--run-ignored=ignored-only")).args(filter);
        tests
    } else {
        let mut tests =
            cargo(["test", "--workspace", "--no-fail-fast", "--lib", "--bins", "--tests"]);
        tests.arg("--").args(cluster.then_some("--ignored")).args(filter);
        tests
    };
    tests.envs(variables.iter().map(|(name, value)| (name, value)));
    cargo::run(&mut tests)
}

/// Starts what the cluster tests need, runs them, and stops it again.
pub(crate) fn run_cluster_tests(mut variables: Variables, filter: Option<&str>) -> Result<()> {
    let cluster = Cluster::start_with(Options::with_node(), &detached::say)?;
    let registry = Registry::start(registry::Options::default())?;
    println!("making an image of the program under test and pushing it to {}", registry.address());
    let built = image::image_of(&cargo::build_fairway(false)?)?;
    let image = image::push_image(&built, &format!("{}/fairway:test", registry.address()))?;
    variables.extend([
        ("FAIRWAY_TEST_CLUSTER", "kube".into()),
        ("FAIRWAY_TEST_KUBE", cluster.run_dir().into()),
        ("FAIRWAY_TEST_REGISTRY", registry.address().to_string().into()),
        ("FAIRWAY_TEST_IMAGE", image.into()),
    ]);
    let outcome = run_tests(Tier::Cluster, &variables, filter);
    registry.stop().context("cannot stop the registry")?;
    cluster.stop().context("cannot stop the cluster")?;
    outcome
}

/// Why a real cluster cannot be started here, if it cannot.
fn no_cluster_here() -> Option<&'static str> {
    if !fairway_testbed::is_root() {
        Some("they need root: a node is made of namespaces, mounts and cgroups")
    } else if !Path::new("/etc/debian_version").exists() {
        Some("they need Debian, from whose packages the cluster is made")
    } else {
        None
    }
}

/// What was done, for the summary at the end.
#[derive(Default)]
struct Steps {
    done: Vec<(&'static str, Duration)>,
    skipped: Vec<(&'static str, &'static str)>,
}

impl Steps {
    fn step(&mut self, name: &'static str, work: impl FnOnce() -> Result<()>) -> Result<()> {
        println!("\n==> {name}");
        let watch = Stopwatch::start();
        work().with_context(|| format!("{name}: failed"))?;
        self.done.push((name, watch.elapsed()));
        Ok(())
    }

    fn skip(&mut self, name: &'static str, why: &'static str) {
        self.skipped.push((name, why));
    }

    fn report(&self) {
        println!();
        for (name, took) in &self.done {
            println!("ok       {name} ({} s)", took.as_secs());
        }
        for (name, why) in &self.skipped {
            println!("SKIPPED  {name}: {why}");
        }
    }
}
