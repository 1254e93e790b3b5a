//! `fairway preflight`: the checks of this release.

mod copy_manifests;
mod once;
mod report;

use anyhow::Context;
use fairway_api::Version;
use fairway_findings::FORMAT;
use fairway_preflight::checks;
use fairway_preflight::engine::CheckSchedule;
use fairway_preflight::monitor::{MonitorError, MonitorPaths, monitor};
use fairway_preflight::settings::{ImageDepth, ImageSettings, Settings};
use fairway_preflight::target::SelectionSettings;
use tokio_util::sync::CancellationToken;

use crate::args::preflight::{PreflightArgs, PreflightCommand, PreflightImages};
use crate::commands::stop_signals::StopSignals;
use crate::commands::{operator, registry};
use crate::errors::{WithHint, WrongUsage};
use crate::exit::ExitStatus;
use crate::printer::Printer;
pub(super) use report::Report;

pub(crate) fn run(args: &PreflightArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    if let Some(PreflightCommand::CopyManifests(args)) = &args.command {
        return copy_manifests::run(args);
    }
    check_format(&args.started.format)?;
    if args.once {
        return once::run(args, printer);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the preflight")?;
    runtime.block_on(run_checks(args))
}

/// Checks the result format: a newer operator may request one that this release does not support.
fn check_format(format: &str) -> Result<(), WrongUsage> {
    if format == FORMAT {
        return Ok(());
    }
    Err(WrongUsage(format!("this release supports the result format {FORMAT}, not {format:?}")))
}

async fn run_checks(args: &PreflightArgs) -> anyhow::Result<ExitStatus> {
    let stop = stop_with_signals()?;
    let started = &args.started;
    let (Some(run), Some(results), Some(source)) =
        (&started.run, &started.results, &args.source_version)
    else {
        let missing = "--run, --results and --source-version are required without --once";
        return Err(WrongUsage(missing.to_owned()).into());
    };
    let settings = settings(args, run.clone(), image(args)?.to_owned(), source.clone())?;
    let places = MonitorPaths { payload: started.payload.clone(), results: results.clone() };
    let client = operator::client(args.cluster.kubeconfig.as_deref()).await?;
    let mut checks = checks::all(&settings.images);
    checks.retain(|check| !started.skip_checks.iter().any(|name| name == check.name()));
    let ended = monitor(client, &settings, &target(args), checks, &places, stop).await;
    ended.map_err(advise)?;
    Ok(ExitStatus::Success)
}

/// Token that SIGINT and SIGTERM cancel.
fn stop_with_signals() -> anyhow::Result<CancellationToken> {
    let mut signals = StopSignals::new()?;
    let stop = CancellationToken::new();
    let told = stop.clone();
    tokio::spawn(async move {
        signals.recv().await;
        told.cancel();
    });
    Ok(stop)
}

fn image(args: &PreflightArgs) -> Result<&str, WrongUsage> {
    let missing = || WrongUsage("--release-image is required".to_owned());
    args.release_image.as_deref().ok_or_else(missing)
}

fn settings(
    args: &PreflightArgs,
    run: String,
    image: String,
    source: Version,
) -> anyhow::Result<Settings> {
    let images = ImageSettings {
        depth: match args.preflight_images {
            PreflightImages::Head => ImageDepth::Head,
            PreflightImages::Pull => ImageDepth::Pull,
        },
        layouts: args.content.layouts(),
        options: registry::options(&args.access)?,
    };
    let (check_timeout, pace) = (args.check_timeout, CheckSchedule::default());
    Ok(Settings { run, image, source, check_timeout, pace, images })
}

fn target(args: &PreflightArgs) -> SelectionSettings {
    SelectionSettings { profile: args.content.profile(), exclude: args.content.exclude() }
}

/// Adds a hint to an error.
fn advise(error: MonitorError) -> anyhow::Error {
    let hint = match &error {
        MonitorError::UnreadableDirectory(_) | MonitorError::Payload(_) => {
            "run the command in the release image, specify the directory of a payload with \
             --payload, or use --once"
        }
        MonitorError::Unseen(_) => {
            "grant permission to read the cluster, such as ClusterRole \
             cluster-reader"
        }
        MonitorError::Results { .. } => "specify a writable directory with --results",
    };
    let message = "preflight failed".to_owned();
    anyhow::Error::from(error).context(WithHint::new(message, hint))
}
