//! Debian packages of the components, which are installed if they are missing.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::Progress;
use crate::command::{find, is_root, run};

/// Timeout of an installation, long enough for slow mirrors. The largest package, the Go compiler,
/// has 60 MB.
const INSTALL_TIMEOUT: Duration = Duration::from_mins(15);

/// A file that shows that a package is installed. Without dpkg, so that a component from another source
/// is accepted.
#[derive(Debug, Clone, Copy)]
enum Indicator {
    Command(&'static str),
    Path(&'static str),
}

/// A package, its indicator, and the services that it enables.
#[derive(Debug, Clone, Copy)]
struct Package {
    name: &'static str,
    indicator: Indicator,
    services: &'static [&'static str],
}

const fn command(name: &'static str, command: &'static str) -> Package {
    Package { name, indicator: Indicator::Command(command), services: &[] }
}

const fn service(
    name: &'static str,
    command: &'static str,
    services: &'static [&'static str],
) -> Package {
    Package { name, indicator: Indicator::Command(command), services }
}

const fn files(name: &'static str, path: &'static str) -> Package {
    Package { name, indicator: Indicator::Path(path), services: &[] }
}

/// The init process of namespaces, which reaps orphans.
const NAMESPACE: &[Package] = &[command("tini", "tini")];

const KUBE_BUILD: &[Package] =
    &[files("golang-go", GO), files("golang-github-modern-go-reflect2-dev", REFLECT2)];
/// Decodes YAML as Kubernetes' Go clients do.
const YAML_ORACLE: &[Package] =
    &[files("golang-go", GO), files("golang-k8s-sigs-yaml-dev", SIGS_YAML)];
const KUBECTL: &[Package] = &[command("kubernetes-client", "kubectl")];
const ETCD: &[Package] = &[service("etcd-server", "etcd", &["etcd.service"])];
/// Backup and restore of etcd.
const ETCD_CLIENT: &[Package] = &[command("etcd-client", "etcdctl")];
const NODE: &[Package] = &[
    service("containerd", "containerd", &["containerd.service"]),
    command("runc", "runc"),
    files("containernetworking-plugins", "/usr/lib/cni/loopback"),
];
const REGISTRY: &[Package] =
    &[service("docker-registry", "docker-registry", &["docker-registry.service"])];
const PROMETHEUS: &[Package] = &[service("prometheus", "prometheus", &["prometheus.service"])];
/// Other implementations of OpenPGP, which signatures are compared with.
const OPENPGP: &[Package] = &[
    command("gnupg", "gpg"),
    command("sq", "sq"),
    files("golang-go", GO),
    files("golang-golang-x-crypto-dev", "/usr/share/gocode/src/golang.org/x/crypto/openpgp"),
];
/// A wall clock for one process, for tests of leader election.
const FAKETIME: &[Package] = &[files("libfaketime", LIBFAKETIME)];
/// Shells whose completion is tested; every Debian has bash.
const SHELLS: &[Package] = &[command("fish", "fish"), command("zsh", "zsh")];
const LOAD: &[Package] = &[command("wrk", "wrk")];

/// Debian's Go compiler: a newer one earlier in `PATH` may refuse the old source.
pub(crate) const GO: &str = "/usr/bin/go";
/// Debian's sources of reflect2, which work with its Go compiler.
pub(crate) const REFLECT2: &str = "/usr/share/gocode/src/github.com/modern-go/reflect2";
/// Debian's sources of Kubernetes' YAML decoder.
const SIGS_YAML: &str = "/usr/share/gocode/src/sigs.k8s.io/yaml";
/// Debian's libfaketime.
const LIBFAKETIME: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
/// Debian's CNI plugins.
pub(crate) const CNI_PLUGINS: &str = "/usr/lib/cni";

/// The purpose of packages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Namespace,
    KubeBuild,
    YamlOracle,
    Kubectl,
    Etcd,
    EtcdClient,
    Node,
    Registry,
    Prometheus,
    OpenPgp,
    Shells,
    Faketime,
    Load,
}

/// All purposes except those of benches.
const TEST_PURPOSES: [Purpose; 12] = [
    Purpose::Namespace,
    Purpose::KubeBuild,
    Purpose::YamlOracle,
    Purpose::Kubectl,
    Purpose::Etcd,
    Purpose::EtcdClient,
    Purpose::Node,
    Purpose::Registry,
    Purpose::Prometheus,
    Purpose::OpenPgp,
    Purpose::Shells,
    Purpose::Faketime,
];

impl Purpose {
    fn packages(self) -> &'static [Package] {
        match self {
            Self::Namespace => NAMESPACE,
            Self::KubeBuild => KUBE_BUILD,
            Self::YamlOracle => YAML_ORACLE,
            Self::Kubectl => KUBECTL,
            Self::Etcd => ETCD,
            Self::EtcdClient => ETCD_CLIENT,
            Self::Node => NODE,
            Self::Registry => REGISTRY,
            Self::Prometheus => PROMETHEUS,
            Self::OpenPgp => OPENPGP,
            Self::Shells => SHELLS,
            Self::Faketime => FAKETIME,
            Self::Load => LOAD,
        }
    }
}

/// Installs all packages of tests at once, so that no test with a timeout has to.
pub fn install_packages(progress: Progress<'_>) -> Result<()> {
    ensure(&TEST_PURPOSES, progress)
}

/// Installs the Go compiler and Kubernetes' YAML decoder.
pub fn install_yaml_oracle(progress: Progress<'_>) -> Result<()> {
    ensure(&[Purpose::YamlOracle], progress)
}

/// Installs the missing packages for some purposes.
pub(crate) fn ensure(purposes: &[Purpose], progress: Progress<'_>) -> Result<()> {
    let missing = missing(purposes, |indicator| match indicator {
        Indicator::Command(name) => find(name).is_some(),
        Indicator::Path(path) => Path::new(path).exists(),
    });
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|package| package.name).collect();
    if !is_root() {
        bail!(
            "missing packages; as root, run: apt-get install --no-install-recommends {}",
            names.join(" ")
        );
    }
    progress(&format!("installing {} (about a minute)", names.join(", ")));
    install(&names)?;
    disable_services(&missing);
    Ok(())
}

fn missing(purposes: &[Purpose], present: impl Fn(Indicator) -> bool) -> Vec<Package> {
    purposes
        .iter()
        .flat_map(|purpose| purpose.packages())
        .filter(|package| !present(package.indicator))
        .copied()
        .collect()
}

fn install(names: &[&str]) -> Result<()> {
    let install = || apt_get(&[&["install", "--yes", "--no-install-recommends"], names].concat());
    if install().is_ok() {
        return Ok(());
    }
    // The usual cause is a missing or outdated package index.
    apt_get(&["update"])
        .and_then(|()| install())
        .with_context(|| format!("cannot install {}; run apt-get manually", names.join(" ")))
}

/// Runs apt-get without starting the services of packages: in a mount namespace without systemd, and at
/// a runlevel in which init scripts start nothing.
fn apt_get(arguments: &[&str]) -> Result<()> {
    const HIDE_SYSTEMD: &str = "if [ -d /run/systemd/system ]; then \
         mount -t tmpfs none /run/systemd; fi; exec apt-get -o DPkg::Lock::Timeout=300 -qq \"$@\"";
    run(
        Command::new("unshare")
            .args(["--mount", "--", "sh", "-c", HIDE_SYSTEMD, "apt-get"])
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env("RUNLEVEL", "1"),
        INSTALL_TIMEOUT,
    )
    .map(drop)
}

/// Disables services that packages enable for the next boot.
fn disable_services(packages: &[Package]) {
    for service in packages.iter().flat_map(|package| package.services) {
        // An error is ignored: without systemd, nothing is enabled.
        run(Command::new("systemctl").args(["--quiet", "disable", service]), INSTALL_TIMEOUT).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_returns_packages_without_indicator() {
        let names: Vec<_> = missing(
            &[Purpose::Namespace, Purpose::Etcd, Purpose::Kubectl, Purpose::Registry],
            |indicator| matches!(indicator, Indicator::Command("tini" | "kubectl")),
        )
        .iter()
        .map(|package| package.name)
        .collect();
        assert_eq!(names, ["etcd-server", "docker-registry"]);
    }
}
