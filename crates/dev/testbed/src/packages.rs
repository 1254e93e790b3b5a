//! The Debian packages that hold the components, installed when they are missing.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::Progress;
use crate::command::{find, is_root, run};

/// Long enough for the slowest mirror; the Go compiler is the largest package, at 60 MB.
const INSTALLATION: Duration = Duration::from_mins(15);

/// How to tell that a package is there without asking dpkg, so that a component from elsewhere
/// serves as well.
#[derive(Debug, Clone, Copy)]
enum Sign {
    Command(&'static str),
    Path(&'static str),
}

/// A package, a sign of its presence and the services it enables.
#[derive(Debug, Clone, Copy)]
struct Package {
    name: &'static str,
    sign: Sign,
    services: &'static [&'static str],
}

const fn command(name: &'static str, command: &'static str) -> Package {
    Package { name, sign: Sign::Command(command), services: &[] }
}

const fn service(
    name: &'static str,
    command: &'static str,
    services: &'static [&'static str],
) -> Package {
    Package { name, sign: Sign::Command(command), services }
}

const fn files(name: &'static str, path: &'static str) -> Package {
    Package { name, sign: Sign::Path(path), services: &[] }
}

/// Reaps what components leave to the first process of their cell.
const CELL: &[Package] = &[command("tini", "tini")];

const KUBE_BUILD: &[Package] =
    &[files("golang-go", GO), files("golang-github-modern-go-reflect2-dev", REFLECT2)];
/// Decodes YAML as Kubernetes' Go clients do.
const YAML_ORACLE: &[Package] =
    &[files("golang-go", GO), files("golang-k8s-sigs-yaml-dev", SIGS_YAML)];
const KUBECTL: &[Package] = &[command("kubernetes-client", "kubectl")];
const ETCD: &[Package] = &[service("etcd-server", "etcd", &["etcd.service"])];
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
/// Shells whose completion is tested; every Debian has bash.
const SHELLS: &[Package] = &[command("fish", "fish"), command("zsh", "zsh")];
const LOAD: &[Package] = &[command("wrk", "wrk")];

/// Debian's Go compiler: a newer one that stands before it in `PATH` may refuse so old a source.
pub(crate) const GO: &str = "/usr/bin/go";
/// Where Debian keeps the sources of the reflect2 that works with its Go.
pub(crate) const REFLECT2: &str = "/usr/share/gocode/src/github.com/modern-go/reflect2";
/// Where Debian keeps the sources of Kubernetes' YAML decoder.
const SIGS_YAML: &str = "/usr/share/gocode/src/sigs.k8s.io/yaml";
/// Where Debian keeps the network plugins.
pub(crate) const CNI_PLUGINS: &str = "/usr/lib/cni";

/// What the packages are wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Cell,
    KubeBuild,
    YamlOracle,
    Kubectl,
    Etcd,
    Node,
    Registry,
    Prometheus,
    OpenPgp,
    Shells,
    Load,
}

/// All but what only benches need.
const EVERY_PURPOSE: [Purpose; 10] = [
    Purpose::Cell,
    Purpose::KubeBuild,
    Purpose::YamlOracle,
    Purpose::Kubectl,
    Purpose::Etcd,
    Purpose::Node,
    Purpose::Registry,
    Purpose::Prometheus,
    Purpose::OpenPgp,
    Purpose::Shells,
];

impl Purpose {
    fn packages(self) -> &'static [Package] {
        match self {
            Self::Cell => CELL,
            Self::KubeBuild => KUBE_BUILD,
            Self::YamlOracle => YAML_ORACLE,
            Self::Kubectl => KUBECTL,
            Self::Etcd => ETCD,
            Self::Node => NODE,
            Self::Registry => REGISTRY,
            Self::Prometheus => PROMETHEUS,
            Self::OpenPgp => OPENPGP,
            Self::Shells => SHELLS,
            Self::Load => LOAD,
        }
    }
}

/// Installs whatever package any component of a test may need, so that none is installed later, where time
/// is short.
pub fn install_packages(progress: Progress<'_>) -> Result<()> {
    ensure(&EVERY_PURPOSE, progress)
}

/// Installs the Go compiler and Kubernetes' YAML decoder.
pub fn install_yaml_oracle(progress: Progress<'_>) -> Result<()> {
    ensure(&[Purpose::YamlOracle], progress)
}

/// Makes sure that the packages for some purposes are installed.
pub(crate) fn ensure(purposes: &[Purpose], progress: Progress<'_>) -> Result<()> {
    let missing = missing(purposes, |sign| match sign {
        Sign::Command(name) => find(name).is_some(),
        Sign::Path(path) => Path::new(path).exists(),
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

fn missing(purposes: &[Purpose], present: impl Fn(Sign) -> bool) -> Vec<Package> {
    purposes
        .iter()
        .flat_map(|purpose| purpose.packages())
        .filter(|package| !present(package.sign))
        .copied()
        .collect()
}

fn install(names: &[&str]) -> Result<()> {
    let install = || apt_get(&[&["install", "--yes", "--no-install-recommends"], names].concat());
    if install().is_ok() {
        return Ok(());
    }
    // The usual cause is an index that is missing or older than the mirror.
    apt_get(&["update"])
        .and_then(|()| install())
        .with_context(|| format!("cannot install {}; run apt-get manually", names.join(" ")))
}

/// Runs apt-get so that no service of an installed package is started: in a mount namespace in
/// which no systemd appears to run, and at a runlevel in which init scripts start nothing.
fn apt_get(arguments: &[&str]) -> Result<()> {
    const HIDE_SYSTEMD: &str = "if [ -d /run/systemd/system ]; then \
         mount -t tmpfs none /run/systemd; fi; exec apt-get -o DPkg::Lock::Timeout=300 -qq \"$@\"";
    run(
        Command::new("unshare")
            .args(["--mount", "--", "sh", "-c", HIDE_SYSTEMD, "apt-get"])
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .env("RUNLEVEL", "1"),
        INSTALLATION,
    )
    .map(drop)
}

/// Packages enable their services for the next boot; the testbed starts its own instead.
fn disable_services(packages: &[Package]) {
    for service in packages.iter().flat_map(|package| package.services) {
        // Without systemd there is nothing to disable.
        run(Command::new("systemctl").args(["--quiet", "disable", service]), INSTALLATION).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_missing_is_named() {
        let names: Vec<_> =
            missing(&[Purpose::Cell, Purpose::Etcd, Purpose::Kubectl, Purpose::Registry], |sign| {
                matches!(sign, Sign::Command("tini" | "kubectl"))
            })
            .iter()
            .map(|package| package.name)
            .collect();
        assert_eq!(names, ["etcd-server", "docker-registry"]);
    }
}
