//! Building Kubernetes from Debian's source package, once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use super::source;
use crate::Progress;
use crate::cache::Cache;
use crate::command::run;
use crate::packages::{self, GO, Purpose};

/// The version in Debian 12, the oldest that Fairway supports.
pub const VERSION: &str = "1.20.2";

/// Counts the changes of this recipe, so that what an older one built is not taken for its result.
pub(crate) const RECIPE: u32 = 2;

/// Each command, and what to expect on two cores. The first one compiles what all share.
const COMMANDS: [(&str, &str); 4] = [
    ("kube-apiserver", "about 2 minutes"),
    ("kube-controller-manager", "about a minute"),
    ("kube-scheduler", "about 10 seconds"),
    ("kubelet", "about a minute"),
];

/// Twenty times what the slowest step takes on two cores.
const COMPILATION: Duration = Duration::from_mins(50);

/// The directory of the built commands, which are built if they are not there yet.
pub fn ensure(cache: &Cache, progress: Progress<'_>) -> Result<PathBuf> {
    let finished = cache.kube();
    let commands = finished.join("bin");
    if commands.is_dir() {
        return Ok(commands);
    }
    let root = cache.root()?;
    let _lock = cache.lock_builds()?;
    if commands.is_dir() {
        return Ok(commands);
    }
    sweep_interrupted(root)?;
    let scratch = tempfile::Builder::new().prefix(SCRATCH).tempdir_in(root)?;
    build(scratch.path(), progress).context("cannot build Kubernetes")?;
    // The rename is what makes a build a finished one.
    fs::rename(scratch.path().join("result"), &finished)?;
    Ok(commands)
}

/// What the name of a directory begins with in which something is being built.
pub(crate) const SCRATCH: &str = "building-";

/// Removes what interrupted builds left; the caller holds the lock.
fn sweep_interrupted(root: &Path) -> Result<()> {
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let is_scratch = entry.file_name().to_string_lossy().starts_with(SCRATCH);
        if is_scratch && entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

fn build(scratch: &Path, progress: Progress<'_>) -> Result<()> {
    packages::ensure(&[Purpose::KubeBuild], progress)?;
    progress("downloading the source of Kubernetes (about 20 seconds)");
    let go = Go { scratch, source: scratch.join("gopath/src/k8s.io/kubernetes") };
    source::fetch(scratch, &go.source)?;
    source::replace_reflect2(&go.source)?;
    source::repair_zero_values(&go.source)?;
    progress("generating the OpenAPI definitions (about 10 seconds)");
    go.generate_openapi()?;
    for (command, duration) in COMMANDS {
        progress(&format!("building {command} ({duration} on two cores)"));
        go.build(&format!("./cmd/{command}"), &scratch.join("result/bin"))?;
    }
    Ok(())
}

/// Debian's Go compiler, kept inside the scratch directory and off the network.
struct Go<'a> {
    scratch: &'a Path,
    source: PathBuf,
}

impl Go<'_> {
    fn build(&self, package: &str, into: &Path) -> Result<()> {
        fs::create_dir_all(into)?;
        run(
            self.at_home(&mut Command::new(GO))
                .args(["build", "-ldflags", &linker_flags(), "-o"])
                .arg(into)
                .arg(package),
            COMPILATION,
        )?;
        Ok(())
    }

    /// Lets a command run in the source, with nothing of the user's own settings of Go.
    fn at_home<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        for name in ["GOFLAGS", "GOROOT", "GOOS", "GOARCH"] {
            command.env_remove(name);
        }
        command
            .current_dir(&self.source)
            .env("GOPATH", self.scratch.join("gopath"))
            .env("GOCACHE", self.scratch.join("gocache"))
            .env("GOTMPDIR", self.scratch)
            .env("GOENV", "off")
            .env("GOTOOLCHAIN", "local")
            .env("GOPROXY", "off")
            .env("GO111MODULE", "off")
            .env("CGO_ENABLED", "0")
    }

    /// Makes the one generated file that the source package leaves out.
    fn generate_openapi(&self) -> Result<()> {
        if self.source.join("pkg/generated/openapi/zz_generated.openapi.go").exists() {
            return Ok(());
        }
        let tools = self.scratch.join("tools");
        self.build("./vendor/k8s.io/kube-openapi/cmd/openapi-gen", &tools)?;
        run(
            self.at_home(&mut Command::new(tools.join("openapi-gen")))
                .args(["--logtostderr", "-i", &source::openapi_packages(&self.source)?])
                .args(["-p", "k8s.io/kubernetes/pkg/generated/openapi"])
                .args(["-O", "zz_generated.openapi", "-r", "/dev/null"])
                .args(["-h", "hack/boilerplate/boilerplate.generatego.txt"]),
            COMPILATION,
        )?;
        Ok(())
    }
}

/// Stamps the version, which the source package does not carry, and leaves out symbols.
fn linker_flags() -> String {
    let minor = VERSION.split('.').nth(1).unwrap_or_default();
    let stamps = ["component-base/version", "client-go/pkg/version"].map(|package| {
        let package = format!("k8s.io/kubernetes/vendor/k8s.io/{package}");
        format!(
            "-X {package}.gitVersion=v{VERSION} -X {package}.gitMajor=1 -X {package}.gitMinor={minor}"
        )
    });
    format!("-s -w {}", stamps.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_stamped_on_servers_and_clients() {
        let flags = linker_flags();
        assert!(flags.contains("k8s.io/component-base/version.gitVersion=v1.20.2"));
        assert!(flags.contains("k8s.io/client-go/pkg/version.gitMinor=20"));
    }

    #[test]
    fn only_interrupted_builds_are_swept() {
        let root = tempfile::tempdir().unwrap();
        for name in ["building-x", "kube-1.20.2"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        fs::write(root.path().join("building-notes"), "").unwrap();
        sweep_interrupted(root.path()).unwrap();
        assert!(root.path().join("building-notes").exists());
        assert!(!root.path().join("building-x").exists());
        assert!(root.path().join("kube-1.20.2").exists());
    }
}
