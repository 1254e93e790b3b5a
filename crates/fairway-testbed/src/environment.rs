//! The variables by which the test command tells the tests it runs what to use.

/// Which cluster tests run against: `sandbox` (the default), a cluster in their own process;
/// `kube`, a Kubernetes of the testbed; or `kubeconfig`, whatever `KUBECONFIG` names.
pub const CLUSTER: &str = "FAIRWAY_TEST_CLUSTER";

/// The run directory of the Kubernetes that tests share.
pub const KUBE: &str = "FAIRWAY_TEST_KUBE";

/// The address of the registry that tests share, as it stands in the name of an image.
pub const REGISTRY: &str = "FAIRWAY_TEST_REGISTRY";

/// An image of the `fairway` under test in that registry, by digest.
pub const IMAGE: &str = "FAIRWAY_TEST_IMAGE";

/// The `fairway` under test; if unset, the one that was built beside the tests.
pub const PROGRAM: &str = "FAIRWAY_TEST_PROGRAM";

/// A directory with vectors of other projects; tests that need them are left out where it is
/// unset.
pub const CONFORMANCE: &str = "FAIRWAY_CONFORMANCE";

/// A directory with the releases and the graph-data of a whole platform; tests that need them are
/// left out where it is unset.
pub const DATA: &str = "FAIRWAY_DATA";

/// A directory with releases of the size of a platform's, each in a directory of the name of its
/// version; what needs them is left out where it is unset.
pub const BENCH_PAYLOAD: &str = "FAIRWAY_BENCH_PAYLOAD";

/// How often a test does what may go wrong only sometimes: once or twice if unset, often in a
/// soak.
pub const SOAK_ROUNDS: &str = "FAIRWAY_SOAK_ROUNDS";

/// The seed of the moments at which things break in a test: another one each time if unset.
pub const CHAOS_SEED: &str = "FAIRWAY_CHAOS_SEED";

/// A directory with the payloads and operator manifests of real releases; tests that need them are
/// left out where it is unset.
pub const PAYLOADS: &str = "FAIRWAY_PAYLOADS";
