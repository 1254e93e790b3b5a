//! [`TestRuntime`].

use std::path::{Path, PathBuf};

use fairway_registry::layout::{self, Layout};
use fairway_registry::unpack::{UnpackLimits, unpack};
use fairway_registry::{Image, ImageConfig, LayerBuilder};
use fairway_sandbox::init::{Confinement, ContainerSpec, Root};
use fairway_sandbox::node::runtime::{Container, Output, Runtime, StartError, prepare_overlay};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_fairway");

/// A container runtime, and a directory with an unpacked image.
pub(crate) struct TestRuntime {
    pub(crate) directory: TempDir,
    pub(crate) inner: Runtime,
}

impl TestRuntime {
    pub(crate) async fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let layout = directory.path().join("shell");
        layout::write(&layout, &shell_image(), "latest").unwrap();
        let image = Layout::open(layout).unwrap().find("shell").unwrap().unwrap();
        unpack(&image.layers, &directory.path().join("image"), &UnpackLimits::default()).unwrap();
        let probe = directory.path().join("probe");
        let inner = Runtime::probe(PROGRAM.into(), &probe).await.unwrap();
        Self { directory, inner }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn plan(&self, name: &str, script: &str) -> ContainerSpec {
        let root = if self.inner.mode().overlay {
            prepare_overlay(&self.path(name), &self.path("image")).unwrap()
        } else {
            Root::Directory(self.path("image"))
        };
        plan(self.inner.mode().confinement, root, script)
    }

    /// Runs a plan to its end. Returns the exit code and the output.
    pub(crate) async fn run(&self, plan: &ContainerSpec) -> Result<(i32, String), StartError> {
        let Container { output, end, orders, .. } = self.inner.start(plan).await?;
        let text = read(output.unwrap()).await;
        let code = end.wait().await;
        drop(orders);
        Ok((code, text))
    }
}

pub(crate) fn plan(confinement: Confinement, root: Root, script: &str) -> ContainerSpec {
    ContainerSpec {
        confinement,
        root,
        read_only_root: false,
        mounts: Vec::new(),
        hostname: "box".to_owned(),
        command: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        environment: vec![("PATH".to_owned(), "/bin".to_owned())],
        working_directory: PathBuf::from("/"),
        user: 0,
        group: 0,
        groups: Vec::new(),
        capabilities: Some(vec!["CHOWN".to_owned()]),
    }
}

pub(crate) async fn read(mut output: Output) -> String {
    let mut text = String::new();
    output.stdout.read_to_string(&mut text).await.unwrap();
    output.stderr.read_to_string(&mut text).await.unwrap();
    text
}

/// Waits until the next poll: the end of a process or a file has no event.
pub(crate) async fn poll_interval() {
    let pause = std::time::Duration::from_millis(20);
    let _ = tokio::time::timeout(pause, std::future::pending::<()>()).await;
}

/// An image with a shell and some binaries of this host.
pub(crate) fn shell_image() -> Image {
    let mut layer = LayerBuilder::new();
    for program in ["sh", "cat", "ls", "id", "sleep", "touch", "mount", "setsid", "hostname"] {
        layer = layer.host_program(format!("bin/{program}"), &host_binary(program)).unwrap();
    }
    layer = layer.directory("tmp", 0o1777).unwrap();
    Image::new(vec![layer.build().unwrap()], &ImageConfig::default())
}

fn host_binary(program: &str) -> PathBuf {
    let directories = ["/bin", "/usr/bin"].map(Path::new);
    let found = directories.iter().map(|directory| directory.join(program)).find(|p| p.exists());
    found.unwrap_or_else(|| panic!("no {program} on this host"))
}
