//! What the cluster tests stand on, and what they have to do without on it.
#![expect(clippy::print_stdout, reason = "tasks print to the terminal")]

use std::path::Path;

use anyhow::{Context, Result, bail};
use fairway_fixtures::environment;
use fairway_registry::base::Packing;
use fairway_testbed::kube::{Cluster, Options};
use fairway_testbed::registry::{self, Registry};
use fairway_testbed::{install_packages, is_root};

use crate::suite::{self, Suite};
use crate::test::{Selection, Tier, Variables, run_tests};
use crate::{cargo, detached, image};

/// What stands behind the cluster tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ground {
    /// A cluster with a node, made from Debian's packages, and a registry.
    Debian,
    /// A control plane of the binaries in `KUBEBUILDER_ASSETS`: no pod runs.
    Assets,
    /// Whatever `KUBECONFIG` names.
    Foreign,
}

/// Tests that need a node of the testbed and its registry have this in their name; so have the
/// themes of the behaviour suite whose pods have to run.
const NEED_A_NODE: [&str; 6] =
    ["in_a_pod", "jobs::", "logs::", "pods::", "container_environment::", "workloads::"];
/// Tests that start a control plane have this in their name.
const NEED_THEIR_OWN: &str = "of_its_own";
/// Tests that compare with Debian's Prometheus have this in their name.
const NEED_PROMETHEUS: &str = "prometheus";
/// The crate whose tests try the Debian cluster itself.
const TESTBED: &str = "fairway-testbed";

impl Ground {
    /// What this machine and its environment offer, or why there is nothing.
    pub(crate) fn find() -> Result<Result<Self, &'static str>> {
        match std::env::var(environment::CLUSTER).as_deref() {
            Ok("kubeconfig") => return Ok(Ok(Self::Foreign)),
            Err(_) | Ok("sandbox" | "kube") => {}
            Ok(other) => {
                bail!(
                    "{}={other}: expected `sandbox`, `kube` or `kubeconfig`",
                    environment::CLUSTER
                )
            }
        }
        if std::env::var_os("KUBEBUILDER_ASSETS").is_some() {
            return Ok(Ok(Self::Assets));
        }
        Ok(if !is_root() {
            Err("they require root: a node uses namespaces, mounts and cgroups")
        } else if !Path::new("/etc/debian_version").exists() {
            Err("they require Debian: the cluster is built from its packages")
        } else {
            Ok(Self::Debian)
        })
    }

    /// What cannot be tried here, for the summary.
    pub(crate) fn left_out(self) -> Option<&'static str> {
        match self {
            Self::Debian => None,
            Self::Assets => Some(
                "tests of pods, of Prometheus and of the testbed: KUBEBUILDER_ASSETS has no node",
            ),
            Self::Foreign => Some(
                "tests of pods, of own control planes, of the operator, of Prometheus and of the \
                testbed: KUBECONFIG names an existing cluster",
            ),
        }
    }

    fn selection(self, filter: Option<&str>, soak: bool) -> Selection<'_> {
        let (skip, exclude) = match self {
            Self::Debian => (vec![], None),
            Self::Assets => ([&NEED_A_NODE[..], &[NEED_PROMETHEUS]].concat(), Some(TESTBED)),
            Self::Foreign => {
                let skip = [&NEED_A_NODE[..], &[NEED_THEIR_OWN, NEED_PROMETHEUS]].concat();
                (skip, Some(TESTBED))
            }
        };
        Selection { filter, skip, exclude, soak }
    }

    /// Starts what the cluster tests need, runs them and the suites, and stops it again. Says how
    /// many cases of the API's behaviour passed.
    pub(crate) fn run(
        self,
        variables: Variables,
        filter: Option<&str>,
        soak: bool,
    ) -> Result<usize> {
        let selection = self.selection(filter, soak);
        match self {
            Self::Debian => on_debian(variables, &selection),
            Self::Assets => {
                let cluster = Cluster::start_with(Options::control_plane(), &detached::say)?;
                let variables = with(
                    variables,
                    &[
                        (environment::CLUSTER, "kube".into()),
                        (environment::KUBE, cluster.run_dir().into()),
                    ],
                );
                let outcome = run_all(&variables, &selection, &suite::ON_KUBERNETES);
                cluster.stop().context("cannot stop the cluster").and(outcome)
            }
            // Operators are watched by the audit log, which somebody's cluster does not show.
            Self::Foreign => {
                run_tests(Tier::Cluster, &variables, &selection, None)?;
                suite::BEHAVIOUR.run(&variables, &selection)
            }
        }
    }
}

fn on_debian(variables: Variables, selection: &Selection<'_>) -> Result<usize> {
    with_a_node(|ground| {
        let registry = ground.registry.address();
        println!("building an image of the binary under test and pushing it to {registry}");
        let built = image::image_of(&cargo::build_with_tests()?, Packing::Plain)?;
        let image = image::push_image(&built, &format!("{registry}/fairway:test"))?;
        let variables = with(variables, &ground.variables());
        let variables = with(variables, &[(environment::IMAGE, image.into())]);
        // Tests that need ClusterVersion and no pods run beside those that need pods.
        let cluster = Cluster::start_with(Options::control_plane(), &detached::say)?;
        let control_plane = (environment::CONTROL_PLANE, cluster.run_dir().into());
        let variables = with(variables, &[control_plane]);
        let outcome = run_all(&variables, selection, &suite::ON_NODE).and_then(|cases| {
            if selection.soak {
                suite::CHAOS.run(&variables, selection)?;
            }
            Ok(cases)
        });
        cluster.stop().context("cannot stop the control plane").and(outcome)
    })
}

/// A Kubernetes whose pods run, and a registry that they pull from.
pub(crate) struct Node {
    cluster: Cluster,
    registry: Registry,
}

impl Node {
    /// By which tests find both.
    pub(crate) fn variables(&self) -> Variables {
        vec![
            (environment::CLUSTER, "kube".into()),
            (environment::KUBE, self.cluster.run_dir().into()),
            (environment::REGISTRY, self.registry.address().to_string().into()),
        ]
    }
}

/// Starts a Kubernetes from Debian's packages and a registry, and stops them after the work.
pub(crate) fn with_a_node<T>(work: impl FnOnce(&Node) -> Result<T>) -> Result<T> {
    // Before anything has a time limit.
    install_packages(&detached::say)?;
    let cluster = Cluster::start_with(Options::with_node(), &detached::say)?;
    let registry = Registry::start_with(registry::Options::default(), &detached::say)?;
    let node = Node { cluster, registry };
    let outcome = work(&node);
    let stopped = node.registry.stop().and(node.cluster.stop());
    stopped.context("cannot stop the services").and(outcome)
}

/// Tests that take long on a real Kubernetes, where old kubelets remove pods late. The tour installs
/// a platform there, updates it, runs a preflight and rolls back.
const LONG_ON_KUBERNETES: [&str; 9] = [
    "faults::",
    "killed",
    "moving::",
    "retargets::",
    "every_release_says_what_concerns_it",
    "a_question_leaves_an_update",
    "way_back::",
    "a_platform_goes_from_release_to_release",
    "a_release_says_what_it_finds_until_nobody_asks_any_more",
];

/// What breaks on purpose breaks in the sandbox within the test command, and here within a soak, and
/// so it is with what asks several releases: it takes as long as everything else together.
fn without_breakage<'a>(selection: &Selection<'a>) -> Selection<'a> {
    let &Selection { filter, exclude, soak, ref skip } = selection;
    let breakage: &[&'static str] = if soak { &[] } else { &LONG_ON_KUBERNETES };
    Selection { filter, exclude, soak, skip: [skip.as_slice(), breakage].concat() }
}

/// Tests that run only in the sandbox have this in their name: they make the API server fail, or
/// have a variant for real clusters.
const ONLY_IN_THE_SANDBOX: &str = "in_the_sandbox";

/// Runs the tests that need a cluster and those of a suite.
fn run_all(variables: &Variables, selection: &Selection<'_>, suite: &Suite) -> Result<usize> {
    run_tests(Tier::Cluster, variables, selection, Some(suite))?;
    let mut selection = without_breakage(selection);
    selection.skip.push(ONLY_IN_THE_SANDBOX);
    suite.run(variables, &selection)
}

fn with(mut variables: Variables, more: &[(&'static str, std::ffi::OsString)]) -> Variables {
    variables.extend_from_slice(more);
    variables
}
