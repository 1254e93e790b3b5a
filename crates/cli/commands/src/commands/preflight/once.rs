//! `fairway preflight --once`: runs the checks of a release without an operator.

use std::sync::Arc;

use anyhow::Context;
use fairway_api::cluster_version::UpdateState;
use fairway_api::{ClusterVersion, Version};
use fairway_findings::labels::{self, RunOwner};
use fairway_findings::{Document, vet};
use fairway_preflight::jobs::{DirectJobCreator, JobRunner};
use fairway_preflight::runner::{Runner, Until};
use fairway_preflight::settings::Settings;
use fairway_preflight::{checks, new_run};
use fairway_release::{Manifest, Release};
use kube::Client;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::report::Report;
use crate::args::operator::CheckNetwork;
use crate::args::preflight::PreflightArgs;
use crate::cluster::Cluster;
use crate::commands::release::input::{self, PinnedImage};
use crate::errors::{CannotTell, HintExt as _, WrongUsage};
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;

pub(super) fn run(args: &PreflightArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let name = super::image(args)?;
    printer.note(format_args!("reading {name}"));
    let found = input::read(name, &args.access)?;
    let image = found.image.as_ref().map_or_else(|| name.to_owned(), PinnedImage::to_string);
    let content = found.load_as(&image)?;
    if args.jobs && found.image.is_none() {
        let why = "--jobs needs a release image: clusters cannot pull from a directory";
        return Err(WrongUsage(why.to_owned()).into());
    }
    drop(found);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let document = runtime.block_on(run_checks(args, printer, image, content))?;
    let report = Report(&document);
    output::report(printer.stdout(), args.output.output, &report)?;
    Ok(report.status())
}

async fn run_checks(
    args: &PreflightArgs,
    printer: &Printer,
    image: String,
    content: Release,
) -> anyhow::Result<Document> {
    let stop = super::stop_with_signals()?;
    let cluster = Cluster::connect(&args.cluster).await?;
    let source = source(args, &cluster).await?;
    let settings = super::settings(args, new_run(), image, source)?;
    let client = cluster.client().clone();
    let creator = args.jobs.then(|| job_creator(&client, args, &settings, &content));
    let job_runner = creator.clone().map(|creator| {
        let (client, run) = (client.clone(), &settings.run);
        Arc::new(JobRunner::new(client, run, creator))
    });
    if job_runner.is_none() && content.manifests.iter().any(Manifest::is_preflight_check) {
        printer.note("skipping the checks of operators; to run them, use --jobs");
    }
    let (checks, selection) = (checks::all(&settings.images), super::target(args));
    let runner = Runner::prepare(client, &settings, &selection, content, checks, job_runner).await;
    let runner = runner.with_hint(
        "cannot read the cluster",
        "grant permission to read the cluster, such as ClusterRole cluster-reader",
    )?;
    let progress = tokio::spawn(print_progress(runner.known(), printer.clone()));
    let document = wait_for_result(runner, stop).await;
    progress.abort();
    if let Some(creator) = creator {
        delete_run(&creator, &settings.run).await?;
    }
    document
}

/// Creates the Jobs of operators, instead of an operator.
fn job_creator(
    client: &Client,
    args: &PreflightArgs,
    settings: &Settings,
    content: &Release,
) -> Arc<DirectJobCreator> {
    let run = vet::RunParameters {
        id: settings.run.clone(),
        by: RunOwner::Command,
        source_version: settings.source.to_string(),
        target_version: content.metadata.version.to_string(),
        target_image: settings.image.clone(),
        network: match args.preflight_check_network {
            CheckNetwork::Pod => vet::Network::Pod,
            CheckNetwork::Host => vet::Network::Host,
        },
        ..vet::RunParameters::default()
    };
    // The API server limits the permissions to those of the user, who has chosen the release.
    let secrets = Some(args.allow_secrets.iter().cloned().collect());
    let policy = vet::AccessPolicy { is_verified: true, secrets };
    Arc::new(DirectJobCreator::new(client.clone(), run, policy))
}

async fn delete_run(creator: &DirectJobCreator, run: &str) -> anyhow::Result<()> {
    let selector = labels::selector(run);
    creator.clear().await.with_hint(
        "cannot delete the Jobs and RBAC objects of the checks",
        format!(
            "remove them with `kubectl delete --all-namespaces -l {selector} \
             jobs,serviceaccounts,roles,rolebindings,clusterroles,clusterrolebindings`"
        ),
    )
}

async fn wait_for_result(runner: Runner, stop: CancellationToken) -> anyhow::Result<Document> {
    let document = runner.run(Until::Done, stop.clone()).await;
    if document.completed.is_none() && stop.is_cancelled() {
        return Err(CannotTell::new(
            "interrupted before all checks completed",
            "repeat the command; all objects of the checks are removed",
        )
        .into());
    }
    Ok(document)
}

/// The version of the cluster: `--source-version`, or the last completed version.
async fn source(args: &PreflightArgs, cluster: &Cluster) -> anyhow::Result<Version> {
    if let Some(version) = &args.source_version {
        return Ok(version.clone());
    }
    let known = cluster.cluster_version().await?;
    let hint = || {
        CannotTell::new(
            "ClusterVersion does not contain the version of the cluster",
            "specify the version with --source-version",
        )
    };
    let version = current(&known).with_context(hint)?;
    Version::parse(version).with_context(hint)
}

fn current(known: &ClusterVersion) -> Option<&str> {
    let status = known.status.as_ref()?;
    let last = status.history.iter().find(|entry| entry.state == UpdateState::Completed);
    let version = last.and_then(|entry| entry.version.as_deref());
    Some(version.unwrap_or(&status.desired.version)).filter(|version| !version.is_empty())
}

/// Prints the results of checks while they run.
async fn print_progress(mut known: watch::Receiver<Document>, printer: Printer) {
    let mut told = Vec::new();
    while known.changed().await.is_ok() {
        let document = known.borrow_and_update().clone();
        for check in document.checks.iter().filter(|check| check.status.is_final()) {
            if !told.contains(&check.name) {
                told.push(check.name.clone());
                let (done, all) = (told.len(), document.checks.len());
                printer.note(format_args!(
                    "{done} of {all} checks: {} {}",
                    check.name,
                    super::report::word(check.status)
                ));
            }
        }
    }
}
