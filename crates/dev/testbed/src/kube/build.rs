//! The build of Kubernetes from Debian's source package.

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

/// The number of this recipe, so that a build of an older one is not reused.
pub(crate) const RECIPE: u32 = 2;

/// Each command and the duration of its build on two cores. The first one includes shared packages.
const COMMANDS: [(&str, &str); 4] = [
    ("kube-apiserver", "about 2 minutes"),
    ("kube-controller-manager", "about a minute"),
    ("kube-scheduler", "about 10 seconds"),
    ("kubelet", "about a minute"),
];

/// Twenty times the slowest step on two cores.
const COMPILE_TIMEOUT: Duration = Duration::from_mins(50);

/// Returns the directory of the binaries, and builds them if they are missing.
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
    remove_interrupted(root)?;
    let scratch = tempfile::Builder::new().prefix(SCRATCH).tempdir_in(root)?;
    build(scratch.path(), progress).context("cannot build Kubernetes")?;
    // The rename publishes the build atomically.
    fs::rename(scratch.path().join("result"), &finished)?;
    Ok(commands)
}

/// Prefix of a build directory.
pub(crate) const SCRATCH: &str = "building-";

/// Removes the directories of interrupted builds. The caller holds the lock.
fn remove_interrupted(root: &Path) -> Result<()> {
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
    source::patch_zero_values(&go.source)?;
    progress("generating the OpenAPI definitions (about 10 seconds)");
    go.generate_openapi()?;
    for (command, duration) in COMMANDS {
        progress(&format!("building {command} ({duration} on two cores)"));
        go.build(&format!("./cmd/{command}"), &scratch.join("result/bin"))?;
    }
    Ok(())
}

/// Debian's Go compiler, which writes only to the scratch directory and has no network.
struct Go<'a> {
    scratch: &'a Path,
    source: PathBuf,
}

impl Go<'_> {
    fn build(&self, package: &str, into: &Path) -> Result<()> {
        fs::create_dir_all(into)?;
        run(
            self.configure(&mut Command::new(GO))
                .args(["build", "-ldflags", &linker_flags(), "-o"])
                .arg(into)
                .arg(package),
            COMPILE_TIMEOUT,
        )?;
        Ok(())
    }

    /// Configures a command for the source directory, without Go settings of the user.
    fn configure<'c>(&self, command: &'c mut Command) -> &'c mut Command {
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

    /// Generates the one file that the source package lacks.
    fn generate_openapi(&self) -> Result<()> {
        if self.source.join("pkg/generated/openapi/zz_generated.openapi.go").exists() {
            return Ok(());
        }
        let tools = self.scratch.join("tools");
        self.build("./vendor/k8s.io/kube-openapi/cmd/openapi-gen", &tools)?;
        run(
            self.configure(&mut Command::new(tools.join("openapi-gen")))
                .args(["--logtostderr", "-i", &source::openapi_packages(&self.source)?])
                .args(["-p", "k8s.io/kubernetes/pkg/generated/openapi"])
                .args(["-O", "zz_generated.openapi", "-r", "/dev/null"])
                .args(["-h", "hack/boilerplate/boilerplate.generatego.txt"]),
            COMPILE_TIMEOUT,
        )?;
        Ok(())
    }
}

/// Sets the version, which the source package lacks, and strips symbols.
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
    fn linker_flags_set_versions_of_servers_and_clients() {
        let flags = linker_flags();
        assert!(flags.contains("k8s.io/component-base/version.gitVersion=v1.20.2"));
        assert!(flags.contains("k8s.io/client-go/pkg/version.gitMinor=20"));
    }

    #[test]
    fn remove_interrupted_keeps_finished_builds() {
        let root = tempfile::tempdir().unwrap();
        for name in ["building-x", "kube-1.20.2"] {
            fs::create_dir(root.path().join(name)).unwrap();
        }
        fs::write(root.path().join("building-notes"), "").unwrap();
        remove_interrupted(root.path()).unwrap();
        assert!(root.path().join("building-notes").exists());
        assert!(!root.path().join("building-x").exists());
        assert!(root.path().join("kube-1.20.2").exists());
    }
}
