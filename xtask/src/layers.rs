//! The layers of the workspace: crates are in `crates/<layer>/`, and each layer may use only the layers
//! in [`LAYERS`].

use std::collections::BTreeMap;

use anyhow::{Result, bail};

use crate::cargo::root;
use crate::metadata::{Dependency, DependencyTree, Metadata, Package};
use crate::purity;

/// A layer and the permitted dependencies of its crates.
struct Layer {
    name: &'static str,
    /// Permitted layers outside of tests.
    uses: &'static [&'static str],
    /// Additional crates for tests.
    tests_use: TestDependencies,
}

/// The permitted dependencies of tests.
enum TestDependencies {
    Anything,
    Only(&'static [&'static str]),
}

/// The layer whose crates do no I/O.
const CORE: &str = "core";

const LAYERS: [Layer; 8] = [
    Layer {
        name: CORE,
        uses: &[CORE],
        // Tests of core crates build in seconds: no sandbox, no testbed.
        tests_use: TestDependencies::Only(&["fairway-fixtures"]),
    },
    Layer { name: "io", uses: &["core", "io"], tests_use: TestDependencies::Anything },
    Layer { name: "sdk", uses: &["core", "io", "sdk"], tests_use: TestDependencies::Anything },
    Layer { name: "apps", uses: &["core", "io"], tests_use: TestDependencies::Anything },
    Layer {
        name: "sandbox",
        uses: &["core", "io", "sdk", "sandbox"],
        tests_use: TestDependencies::Anything,
    },
    Layer {
        name: "cli",
        uses: &["core", "io", "sdk", "apps", "sandbox", "cli"],
        tests_use: TestDependencies::Anything,
    },
    Layer {
        name: "dev",
        uses: &["core", "io", "sdk", "sandbox", "dev"],
        tests_use: TestDependencies::Anything,
    },
    Layer { name: "xtask", uses: &["core", "io", "dev"], tests_use: TestDependencies::Anything },
];

/// Crates that may use another crate, and the reason.
const EXCEPTIONS: [(&str, &str, &str); 1] =
    [("fairway-check-testing", "fairway-sandbox", "the cluster in which a check is tested")];

/// Crates that core crates must not use, directly or through others: clients and servers,
/// asynchronous runtimes, TLS, files, processes, random numbers.
const IMPURE: [&str; 50] = [
    "async-io",
    "async-std",
    "aws-lc-rs",
    "axum",
    "curl",
    "curl-sys",
    "dirs",
    "fastrand",
    "fs-err",
    "getrandom",
    "h2",
    "hickory-resolver",
    "home",
    "hyper",
    "hyper-rustls",
    "hyper-util",
    "inotify",
    "kube-client",
    "kube-runtime",
    "memmap2",
    "mio",
    "native-tls",
    "nix",
    "notify",
    "oci-client",
    "oci-distribution",
    "openssl",
    "polling",
    "quinn",
    "rand",
    "reqwest",
    "ring",
    "rustix",
    "rustls",
    "rustls-native-certs",
    "signal-hook",
    "smol",
    "socket2",
    "sysinfo",
    "tempfile",
    "tokio",
    "tokio-rustls",
    "tokio-util",
    "tonic",
    "tower",
    "tower-http",
    "tracing-subscriber",
    "ureq",
    "walkdir",
    "whoami",
];

/// Features that add a client to a crate of types.
const IMPURE_FEATURES: [(&str, &str); 3] =
    [("kube", "client"), ("kube", "runtime"), ("kube", "config")];

/// Checks the dependencies between crates of the workspace, everything that core crates depend on,
/// and the sources of core crates.
pub(crate) fn check() -> Result<()> {
    let metadata = Metadata::read()?;
    let core: Vec<&Package> =
        metadata.members().filter(|package| layer_name(package) == CORE).collect();
    let mut violations = violations(&metadata);
    let tree = DependencyTree::read(core.iter().map(|package| package.name.as_str()))?;
    violations.extend(impure_dependencies(&tree));
    violations.extend(purity::violations(root(), core.iter().map(|it| it.directory()))?);
    if violations.is_empty() {
        return Ok(());
    }
    bail!("violations of the layers in ARCHITECTURE.md:\n  {}", violations.join("\n  "))
}

/// Impure crates that core crates get through other crates, each with the path to it.
fn impure_dependencies(tree: &DependencyTree) -> Vec<String> {
    let mut violations = Vec::new();
    for path in tree.paths_to(&IMPURE) {
        // `forbidden` reports direct dependencies.
        if let [package, _, .., impure] = path.as_slice() {
            let path = path.join(" -> ");
            violations
                .push(format!("{package}: core crates must not do I/O: {impure} through {path}"));
        }
    }
    violations
}

/// Every forbidden dependency, as a message.
fn violations(metadata: &Metadata) -> Vec<String> {
    let layers: BTreeMap<&str, &str> =
        metadata.members().map(|package| (package.name.as_str(), layer_name(package))).collect();
    let mut violations = Vec::new();
    for package in metadata.members() {
        let name = layer_name(package);
        let Some(layer) = LAYERS.iter().find(|layer| layer.name == name) else {
            let directory = package.directory().display();
            violations.push(format!("{}: {directory} is not in a known layer", package.name));
            continue;
        };
        let is_exception = |it: &&Dependency| {
            EXCEPTIONS.iter().any(|(user, used, _)| *user == package.name && *used == it.name)
        };
        let dependencies = package.dependencies.iter().filter(|it| !is_exception(it));
        let forbidden = dependencies.filter_map(|it| forbidden(layer, it, &layers));
        violations.extend(forbidden.map(|why| format!("{}: {why}", package.name)));
    }
    violations
}

/// The reason why a dependency is forbidden.
fn forbidden(layer: &Layer, it: &Dependency, layers: &BTreeMap<&str, &str>) -> Option<String> {
    let is_dev = it.kind.as_deref() == Some("dev");
    if let Some(used) = layers.get(it.name.as_str()) {
        let is_allowed = layer.uses.contains(used)
            || is_dev
                && match layer.tests_use {
                    TestDependencies::Anything => true,
                    TestDependencies::Only(names) => names.contains(&it.name.as_str()),
                };
        let what = if is_dev { "tests in" } else { "crates in" };
        return (!is_allowed)
            .then(|| format!("{what} {} must not use {} ({used})", layer.name, it.name));
    }
    if layer.name != CORE || is_dev {
        return None;
    }
    if IMPURE.contains(&it.name.as_str()) {
        return Some(format!("core crates must not do I/O: {} is not allowed", it.name));
    }
    let is_enabled = |(name, feature): &&(&str, &str)| {
        it.name == *name && it.features.iter().any(|enabled| enabled == feature)
    };
    let (name, feature) = IMPURE_FEATURES.iter().find(is_enabled)?;
    Some(format!("core crates must not do I/O: feature {feature} of {name} is not allowed"))
}

/// The layer of a package: the directory below `crates`.
fn layer_name(package: &Package) -> &str {
    let mut parts = package.directory().iter().filter_map(|part| part.to_str());
    match parts.next() {
        Some("crates") => parts.next().unwrap_or_default(),
        first => first.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(directory: &str, name: &str, dependencies: Vec<Dependency>) -> Package {
        Package {
            id: name.to_owned(),
            name: name.to_owned(),
            manifest_path: root().join(directory).join("Cargo.toml"),
            dependencies,
            ..Package::default()
        }
    }

    fn dependency(name: &str, kind: Option<&str>, features: &[&str]) -> Dependency {
        Dependency {
            name: name.to_owned(),
            kind: kind.map(str::to_owned),
            features: features.iter().map(|feature| (*feature).to_owned()).collect(),
        }
    }

    #[test]
    fn check_of_this_workspace_passes() {
        check().unwrap();
    }

    #[test]
    fn impure_dependency_of_dependency_is_found_with_its_path() {
        let tree = DependencyTree::parse(
            "0fairway-graph v0.1.0 (/x/crates/core/graph)\n\
             1fairway-promql v0.1.0 (/x/crates/core/promql)\n\
             2parser v1.0.0\n\
             3reqwest v0.13.5\n\
             4tokio v1.54.0\n\
             1tokio v1.54.0 (*)\n\
             1cache v2.0.0\n\
             2cache-io v2.0.0\n\
             3rand v0.9.0\n\
             \n\
             0fairway-promql v0.1.0 (/x/crates/core/promql) (*)\n\
             \n\
             0fairway-risk v0.1.0 (/x/crates/core/risk)\n\
             1cache v2.0.0 (*)\n\
             1serde v1.0.0\n",
        );
        assert_eq!(
            impure_dependencies(&tree.unwrap()),
            [
                "fairway-graph: core crates must not do I/O: rand through fairway-graph -> cache -> cache-io -> rand",
                "fairway-promql: core crates must not do I/O: reqwest through fairway-promql -> parser -> reqwest",
                "fairway-risk: core crates must not do I/O: rand through fairway-risk -> cache -> cache-io -> rand",
            ]
        );
    }

    #[test]
    fn dependency_tree_of_this_workspace_has_transitive_dependencies() {
        let tree = DependencyTree::read(["fairway-risk"]).unwrap();
        let path = tree.paths_to(&["promql-parser"]);
        assert_eq!(path, [["fairway-risk", "fairway-promql", "promql-parser"]]);
        // Other members enable `client` of kube; core crates do not.
        assert_eq!(tree.paths_to(&["kube-client"]), [[""; 0]; 0]);
    }

    #[test]
    fn dependency_tree_of_unknown_line_is_an_error() {
        assert!(DependencyTree::parse("fairway-risk\n").is_err());
    }

    #[test]
    fn violations_of_forbidden_dependencies_are_found() {
        let forbidden = vec![
            dependency("tokio", None, &[]),
            dependency("kube", None, &["derive", "client"]),
            dependency("fairway-http", None, &[]),
            dependency("fairway-testkit", Some("dev"), &[]),
        ];
        let permitted = vec![
            dependency("kube", None, &["derive"]),
            dependency("tokio", Some("dev"), &[]),
            dependency("fairway-fixtures", Some("dev"), &[]),
        ];
        let packages = vec![
            package("crates/core/bad", "bad", forbidden),
            package("crates/core/good", "good", permitted),
            package("crates/io/http", "fairway-http", vec![dependency("tokio", None, &[])]),
            package("crates/dev/testkit", "fairway-testkit", vec![]),
            package("crates/dev/fixtures", "fairway-fixtures", vec![dependency("bad", None, &[])]),
            package("crates/lost", "lost", vec![]),
        ];
        let workspace_members = packages.iter().map(|package| package.id.clone()).collect();
        let found = violations(&Metadata { packages, workspace_members });
        assert_eq!(
            found,
            [
                "bad: core crates must not do I/O: tokio is not allowed",
                "bad: core crates must not do I/O: feature client of kube is not allowed",
                "bad: crates in core must not use fairway-http (io)",
                "bad: tests in core must not use fairway-testkit (dev)",
                "lost: crates/lost is not in a known layer",
            ]
        );
    }
}
