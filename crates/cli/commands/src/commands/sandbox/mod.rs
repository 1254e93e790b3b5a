//! `fairway sandbox`: a Kubernetes API and nodes in this process.

mod greeting;
mod platform;
mod shell_image;
mod tour;
mod update_api;

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use fairway_sandbox::sandbox::{Sandbox, SandboxOptions, StartError};
use tempfile::TempDir;
use tokio::task::spawn_blocking;
use tokio::time::Instant;

use crate::args::SandboxArgs;
use crate::commands::stop_signals::StopSignals;
use crate::errors::{HintExt as _, WithHint};
use crate::exit::ExitStatus;
use crate::printer::Printer;
use greeting::Greeting;
use platform::RunningPlatform;

pub(crate) fn run(args: &SandboxArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the sandbox")?;
    runtime.block_on(serve(args, printer))
}

async fn serve(args: &SandboxArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let begun = Instant::now();
    let place = SandboxDirectory::new(args.dir.as_deref())?;
    let mut signals = StopSignals::new()?;
    let layouts = place.path().join("layouts");
    let options = options(args, place.path(), &layouts)?;
    // Concurrently: a pod that needs the image waits for it.
    let shell = spawn_blocking(move || shell_image::write(&layouts));
    let sandbox = Sandbox::start(options).await.map_err(advise)?;
    let release = args.release();
    let platform = if let Some(release) = release {
        Some(start_platform(&sandbox, release, printer).await?)
    } else {
        update_api::install(&sandbox)?;
        None
    };
    shell.await??;
    let work = async {
        if let Some(platform) = platform.as_ref().filter(|_| args.tour) {
            return platform.guide(&sandbox, printer).lead().await;
        }
        let (took, kept) = (begun.elapsed(), place.is_kept());
        write!(printer.text(), "{}", Greeting { sandbox: &sandbox, took, release, kept })?;
        if let Some(platform) = &platform {
            platform.follow(printer).await;
        }
        std::future::pending().await
    };
    let outcome = tokio::select! {
        () = signals.recv() => Ok(()),
        outcome = work => outcome,
    };
    printer.note("stopping");
    if let Some(platform) = platform {
        platform.stop().await;
    }
    sandbox.stop().await;
    outcome.map(|()| ExitStatus::Success)
}

async fn start_platform(
    sandbox: &Sandbox,
    release: &str,
    printer: &Printer,
) -> anyhow::Result<RunningPlatform> {
    printer.note("creating the releases of the example platform");
    let (directory, registry) = (sandbox.directory().to_owned(), sandbox.registry());
    let prepared = spawn_blocking(move || platform::prepare(&directory, registry)).await??;
    prepared.start(sandbox, release).await
}

fn options(args: &SandboxArgs, directory: &Path, layouts: &Path) -> anyhow::Result<SandboxOptions> {
    let program = std::env::current_exe().context("cannot find the fairway binary")?;
    let names = (1..=args.nodes).map(|number| format!("node-{number}")).collect();
    let own = [layouts.to_owned(), platform::images(directory)];
    let images = own.into_iter().chain(args.images.iter().cloned()).collect();
    let options = SandboxOptions::new(directory).nodes(names, program, images);
    Ok(SandboxOptions { port: args.port, ..options })
}

/// The directory of a sandbox.
enum SandboxDirectory {
    /// The directory of `--dir`.
    Kept(PathBuf),
    /// A temporary directory.
    Temporary(TempDir),
}

impl SandboxDirectory {
    fn new(directory: Option<&Path>) -> anyhow::Result<Self> {
        let Some(directory) = directory else {
            let made = tempfile::Builder::new().prefix("fairway-sandbox-").tempdir();
            return made.map(Self::Temporary).with_hint(
                "cannot create a temporary directory",
                "specify a directory with --dir",
            );
        };
        crate::output::directory(directory)?;
        let absolute = std::path::absolute(directory)?;
        Ok(Self::Kept(absolute))
    }

    fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(directory) => directory.path(),
        }
    }

    fn is_kept(&self) -> bool {
        matches!(self, Self::Kept(_))
    }
}

/// Adds a hint to an error.
fn advise(error: StartError) -> anyhow::Error {
    let hint = match &error {
        StartError::Directory { .. } => "specify another directory with --dir",
        StartError::Listen { .. } => "omit --port to use a free port",
        _ => return error.into(),
    };
    let message = "cannot start the sandbox".to_owned();
    anyhow::Error::from(error).context(WithHint::new(message, hint))
}
