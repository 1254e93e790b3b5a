//! The cluster of the cluster tests, and the tests that it cannot run.
#![expect(clippy::print_stdout, reason = "tasks print to the terminal")]

use std::path::Path;

use anyhow::{Context, Result, bail};
use fairway_fixtures::environment;
use fairway_registry::base::LayerCompression;
use fairway_testbed::kube::{Cluster, Options};
use fairway_testbed::registry::{self, Registry};
use fairway_testbed::{install_packages, is_root};

use crate::services::print_progress;
use crate::suite::{self, Suite};
use crate::test::{Selection, Tier, Variables, run_tests};
use crate::{cargo, image};

/// The cluster of the cluster tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TestCluster {
    /// A cluster with a node from Debian's packages, and a registry.
    Debian,
    /// A control plane with the binaries of `KUBEBUILDER_ASSETS`, without a node.
    Assets,
    /// The existing cluster of `KUBECONFIG`.
    Existing,
}

/// Parts of the names of tests that need a node of the testbed and its registry, and of the modules of
/// the behaviour suite whose pods have to run.
const NEEDS_NODE: [&str; 6] =
    ["in_a_pod", "jobs::", "logs::", "pods::", "container_environment::", "workloads::"];
/// Part of the names of tests that start a control plane.
const NEEDS_CONTROL_PLANE: &str = "of_its_own";
/// Part of the names of tests that compare with Debian's Prometheus.
const NEEDS_PROMETHEUS: &str = "prometheus";
/// The crate with the tests of the Debian cluster itself.
const TESTBED: &str = "fairway-testbed";

impl TestCluster {
    /// The cluster that this host and its environment permit, or the reason that there is none.
    pub(crate) fn find() -> Result<Result<Self, &'static str>> {
        match std::env::var(environment::CLUSTER).as_deref() {
            Ok("kubeconfig") => return Ok(Ok(Self::Existing)),
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

    /// The tests that cannot run, for the summary.
    pub(crate) fn skipped_tests(self) -> Option<&'static str> {
        match self {
            Self::Debian => None,
            Self::Assets => Some(
                "tests of pods, of Prometheus and of the testbed: KUBEBUILDER_ASSETS has no node",
            ),
            Self::Existing => Some(
                "tests of pods, of own control planes, of the operator, of Prometheus and of the \
                testbed: KUBECONFIG names an existing cluster",
            ),
        }
    }

    fn selection(self, filter: Option<&str>, soak: bool) -> Selection<'_> {
        let (skip, exclude) = match self {
            Self::Debian => (vec![], None),
            Self::Assets => ([&NEEDS_NODE[..], &[NEEDS_PROMETHEUS]].concat(), Some(TESTBED)),
            Self::Existing => {
                let skip = [&NEEDS_NODE[..], &[NEEDS_CONTROL_PLANE, NEEDS_PROMETHEUS]].concat();
                (skip, Some(TESTBED))
            }
        };
        Selection { filter, skip, exclude, soak }
    }

    /// Starts the services of the cluster tests, runs the tests and the suites, and stops the services.
    /// Returns the number of passed behaviour tests.
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
                let cluster = Cluster::start_with(Options::control_plane(), &print_progress)?;
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
            // Tests of the operator need the audit log, which an existing cluster does not expose.
            Self::Existing => {
                run_tests(Tier::Cluster, &variables, &selection, None)?;
                suite::BEHAVIOUR.run(&variables, &selection)
            }
        }
    }
}

fn on_debian(variables: Variables, selection: &Selection<'_>) -> Result<usize> {
    with_node(|node| {
        let registry = node.registry.address();
        println!("building an image of the binary under test and pushing it to {registry}");
        let built = image::build_image(&cargo::build_with_tests()?, LayerCompression::Plain)?;
        let image = image::push_image(&built, &format!("{registry}/fairway:test"))?;
        let variables = with(variables, &node.variables());
        let variables = with(variables, &[(environment::IMAGE, image.into())]);
        // Tests that need ClusterVersion and no pods run beside those that need pods.
        let cluster = Cluster::start_with(Options::control_plane(), &print_progress)?;
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

/// A Kubernetes with a node, and the registry of its pods.
pub(crate) struct NodeCluster {
    cluster: Cluster,
    registry: Registry,
}

impl NodeCluster {
    /// The variables by which tests find both.
    pub(crate) fn variables(&self) -> Variables {
        vec![
            (environment::CLUSTER, "kube".into()),
            (environment::KUBE, self.cluster.run_dir().into()),
            (environment::REGISTRY, self.registry.address().to_string().into()),
        ]
    }
}

/// Starts a Kubernetes from Debian's packages and a registry, and stops them after the work.
pub(crate) fn with_node<T>(work: impl FnOnce(&NodeCluster) -> Result<T>) -> Result<T> {
    // First, because an installation has no timeout.
    install_packages(&print_progress)?;
    let cluster = Cluster::start_with(Options::with_node(), &print_progress)?;
    let registry = Registry::start_with(registry::Options::default(), &print_progress)?;
    let node = NodeCluster { cluster, registry };
    let outcome = work(&node);
    let stopped = node.registry.stop().and(node.cluster.stop());
    stopped.context("cannot stop the services").and(outcome)
}

/// Parts of the names of tests that take long on a real Kubernetes, where old kubelets remove pods late.
/// Outside of a soak, they run only in the sandbox. The tour covers installation, update, preflight and
/// rollback on Kubernetes.
const LONG_ON_KUBERNETES: [&str; 9] = [
    "faults::",
    "killed",
    "node_change::",
    "repeated_requests::",
    "preflights_of_several_releases",
    "preflight_during_update",
    "rollback_after_update_returns",
    "updates_complete_past_unavailable",
    "preflight_reports_findings_until",
];

/// Skips [`LONG_ON_KUBERNETES`] outside of a soak: they take as long as all other tests together.
fn without_long_tests<'a>(selection: &Selection<'a>) -> Selection<'a> {
    let &Selection { filter, exclude, soak, ref skip } = selection;
    let long: &[&'static str] = if soak { &[] } else { &LONG_ON_KUBERNETES };
    Selection { filter, exclude, soak, skip: [skip.as_slice(), long].concat() }
}

/// Part of the names of tests that run only in the sandbox: they inject faults, or have a variant for
/// real clusters.
const ONLY_IN_THE_SANDBOX: &str = "in_the_sandbox";

/// Runs the tests that need a cluster and those of a suite.
fn run_all(variables: &Variables, selection: &Selection<'_>, suite: &Suite) -> Result<usize> {
    run_tests(Tier::Cluster, variables, selection, Some(suite))?;
    let mut selection = without_long_tests(selection);
    selection.skip.push(ONLY_IN_THE_SANDBOX);
    suite.run(variables, &selection)
}

fn with(mut variables: Variables, more: &[(&'static str, std::ffi::OsString)]) -> Variables {
    variables.extend_from_slice(more);
    variables
}
