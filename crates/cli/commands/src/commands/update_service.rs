//! `fairway update-service`: the update graph over HTTP.

use std::ffi::OsStr;
use std::fmt;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use fairway_graph::{Files, ReleaseImage};
use fairway_update_service::source::{Directory, ReleasesFile, Tarball};
use fairway_update_service::{
    PolledSource, RemovedBlockPolicy, Service, ServiceLimits, ServiceOptions, StartError, TlsFiles,
};

use super::registry;
use super::stop_signals::StopSignals;
use crate::args::update_service::UpdateServiceArgs;
use crate::errors::WithHint;
use crate::exit::ExitStatus;
use crate::printer::Printer;

pub(crate) fn run(args: &UpdateServiceArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the update service")?;
    runtime.block_on(serve(args, printer))
}

async fn serve(args: &UpdateServiceArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let mut signals = StopSignals::new()?;
    let service = Service::start(options(args)?).await.map_err(advise)?;
    write!(printer.text(), "{}", Greeting { args, service: &service })?;
    signals.recv().await;
    printer.note("stopping");
    // A second signal skips the grace period.
    tokio::select! {
        () = service.stop() => {}
        () = signals.recv() => {}
    }
    Ok(ExitStatus::Success)
}

fn options(args: &UpdateServiceArgs) -> anyhow::Result<ServiceOptions> {
    Ok(ServiceOptions {
        status_address: args.status_address,
        prefix: args.path_prefix.clone(),
        signatures: args.signatures.clone(),
        tls: tls(args),
        max_age: args.max_age,
        limits: ServiceLimits {
            connections: args.max_connections as usize,
            drain: args.drain,
            ..ServiceLimits::default()
        },
        removed_blocks: removed_blocks(args),
        state_directory: args.state_dir.clone(),
        ..ServiceOptions::new(args.address, graph_data(args)?, releases(args)?)
    })
}

/// Others publish an image; the files of `--graph-data` are on this host, and deleting one of them
/// is a decision of its administrator.
fn removed_blocks(args: &UpdateServiceArgs) -> RemovedBlockPolicy {
    match args.image.image {
        Some(_) => RemovedBlockPolicy::Hold { accepted: args.accept_removed_blocks.clone() },
        None => RemovedBlockPolicy::Accept,
    }
}

fn graph_data(args: &UpdateServiceArgs) -> anyhow::Result<PolledSource<Files>> {
    if let Some(image) = registry::graph_data(&args.image, &args.registries)? {
        let image = match &args.state_dir {
            Some(directory) => image.state_directory(directory),
            None => image,
        };
        return Ok(PolledSource::new(image, args.image_refresh));
    }
    let path = args.graph_data.as_deref().unwrap_or(Path::new("."));
    // By its name: the file may not exist yet.
    Ok(if is_tarball(path) {
        PolledSource::new(Tarball::new(path), args.refresh)
    } else {
        PolledSource::new(Directory::new(path), args.refresh)
    })
}

fn releases(args: &UpdateServiceArgs) -> anyhow::Result<PolledSource<Vec<ReleaseImage>>> {
    if let Some(repository) = registry::releases(&args.releases, &args.registries)? {
        return Ok(PolledSource::new(repository, args.image_refresh));
    }
    let path = args.releases.releases.as_deref().unwrap_or(Path::new("releases.json"));
    Ok(PolledSource::new(ReleasesFile::new(path), args.refresh))
}

fn is_tarball(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    [".tar", ".tar.gz", ".tgz"].iter().any(|ending| name.ends_with(ending))
}

fn tls(args: &UpdateServiceArgs) -> Option<TlsFiles> {
    let (certificate, key) = (args.tls_cert.clone()?, args.tls_key.clone()?);
    Some(TlsFiles { certificate, key, every: args.refresh })
}

/// Adds a hint to an error.
fn advise(error: StartError) -> anyhow::Error {
    let hint = match &error {
        StartError::Listen { .. } => "specify another address with --address or --status-address",
        StartError::Prefix { .. } => "specify a prefix such as /api/upgrades_info",
        StartError::Tls(_) => "check that --tls-cert and --tls-key are matching PEM files",
    };
    let message = "cannot start the update service".to_owned();
    anyhow::Error::from(error).context(WithHint::new(message, hint))
}

/// Message with the URLs of the service.
struct Greeting<'a> {
    args: &'a UpdateServiceArgs,
    service: &'a Service,
}

impl fmt::Display for Greeting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.args.tls_cert.is_some() { "https" } else { "http" };
        let root = format!("{scheme}://{}", self.service.address());
        writeln!(f, "Serving update graphs at {root}{}/graph.\n", self.args.path_prefix)?;
        writeln!(f, "  curl '{root}{}/graph?channel=CHANNEL&arch=amd64'", self.args.path_prefix)?;
        let probes = match self.args.status_address {
            Some(_) => format!("http://{}", self.service.status_address()),
            None => root,
        };
        writeln!(f, "  curl {probes}/readyz\n")?;
        let drain = self.args.drain.as_secs();
        writeln!(
            f,
            "Press Ctrl-C to stop; the grace period is {drain} s. Press it twice to stop \
             immediately."
        )
    }
}
