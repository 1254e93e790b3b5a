//! `fairway upgrade accept`: accepted risks of a cluster.

mod document;
mod outcome;
mod request;

use std::path::{Path, PathBuf};

use fairway_api::{ClusterVersion, ClusterVersionStatus};
use fairway_risk::AcceptanceTerms;
use jiff::Timestamp;

use super::acceptance::{AcceptanceChange, OtherRisks, StoredAcceptances, accepted_risks};
use super::change::{self, Change};
use super::{risks, similar};
use crate::args::upgrade::AcceptArgs;
use crate::cluster::block_on;
use crate::errors::{CannotTell, WrongUsage};
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::output::TypedReport;
use crate::printer::Printer;
use crate::schema::{self, Shape};
use crate::source::Source;
use crate::{input, output};
use document::AcceptedRisks;
use outcome::{AcceptOutcome, Accepted, Effect};
use request::AcceptRequest;

impl TypedReport for AcceptOutcome {
    const KIND: &'static str = "RiskAcceptance";
}

/// Schemas of the documents of changes and exports.
pub(super) fn shapes() -> [Shape; 2] {
    [schema::of::<AcceptOutcome>(), schema::of::<AcceptedRisks>()]
}

pub(super) fn run(args: &AcceptArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    if args.export {
        return export(args, printer);
    }
    change::check_preview(&args.source, !args.dry_run)?;
    check_input(args)?;
    let recorded = Source::recorded(&args.source)?;
    let now = match &recorded {
        Some(source) => block_on(recorded_time(source))?,
        None => fairway_clock::now(),
    };
    let mut request = match &args.import {
        Some(path) => import(path, args.replace, now, printer)?,
        None => AcceptRequest::of(args, now)?,
    };
    let change = block_on(async {
        let source = match recorded {
            Some(source) => source,
            None => Source::open(&args.source).await?,
        };
        if let Source::Live(cluster) = &source
            && !request.accept.is_empty()
        {
            request.set_user(cluster.user().await.as_deref());
        }
        change::apply_or_preview(&source, args.dry_run, |object| decide(object, &request, now))
            .await
    })?;
    let dry_run = args.dry_run && change.patch.is_some();
    let outcome = AcceptOutcome { dry_run, ..change.outcome };
    printer.warnings(&outcome.warnings);
    output::report(printer.stdout(), args.output.output, &outcome)?;
    Ok(outcome.exit_status())
}

/// Refuses to read standard input twice.
fn check_input(args: &AcceptArgs) -> Result<(), WrongUsage> {
    let files = &args.source.recorded.from_file;
    let reads = |path: &PathBuf| input::is_stdin(path);
    if args.import.as_ref().is_some_and(reads) && files.iter().any(reads) {
        return Err(WrongUsage(
            "--from-file and --import cannot both read standard input".to_owned(),
        ));
    }
    Ok(())
}

/// Observation time of a recorded cluster, at which its terms are evaluated.
async fn recorded_time(source: &Source) -> anyhow::Result<Timestamp> {
    let version = source.cluster_version().await?;
    Ok(source.observation_time_of(&version).await?.now())
}

/// Prints the accepted risks, for import into other clusters.
fn export(args: &AcceptArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let object = block_on(async { Source::open(&args.source).await?.cluster_version().await })?;
    AcceptedRisks::of(&object)?.write(printer.stdout(), args.output.output)?;
    Ok(ExitStatus::Success)
}

/// Request to accept the risks of an exported file.
fn import(
    path: &Path,
    replace: bool,
    now: Timestamp,
    printer: &Printer,
) -> anyhow::Result<AcceptRequest> {
    let (accept, expired) = AcceptedRisks::read(path)?.valid(now);
    printer.warnings(&expired);
    let others = if replace { OtherRisks::Remove } else { OtherRisks::Keep };
    Ok(AcceptRequest::imported(accept, others))
}

/// Decides how to change the accepted risks.
fn decide(
    cluster_version: &ClusterVersion,
    request: &AcceptRequest,
    now: Timestamp,
) -> anyhow::Result<Change<AcceptOutcome>> {
    let default = ClusterVersionStatus::default();
    let status = cluster_version.status.as_ref().unwrap_or(&default);
    let mut stored = StoredAcceptances::of(cluster_version, request.others)?;
    let removed = stored.retain(|name| request.keeps(name));
    let (mut accepted, mut unchanged) = (Vec::new(), Vec::new());
    for (name, terms) in &request.accept {
        let terms = terms_of(status, name, terms);
        match stored.accept(name, &terms)? {
            AcceptanceChange::Unchanged => unchanged.push(name.clone()),
            change => accepted.push(Accepted {
                name: name.clone(),
                terms,
                previously_accepted: change == AcceptanceChange::NewTerms,
            }),
        }
    }
    stored.check()?;
    let acceptance = stored.acceptance()?;

    let changed: Vec<&str> =
        accepted.iter().map(|risk| &risk.name).chain(&removed).map(String::as_str).collect();
    let patch = if changed.is_empty() { None } else { Some(stored.patch(cluster_version)?) };
    let outcome = AcceptOutcome {
        dry_run: false,
        effect: Effect::of(cluster_version, &acceptance, &changed, now),
        accept_risks: stored.names.iter().map(|risk| risk.name.clone()).collect(),
        warnings: warnings(cluster_version, status, request),
        accepted,
        removed,
        unchanged,
    };
    let names = stored.names;
    Ok(Change {
        patch,
        verify: Box::new(move |result| {
            if accepted_risks(result) == names { Ok(()) } else { Err(not_stored().into()) }
        }),
        outcome,
    })
}

fn not_stored() -> CannotTell {
    CannotTell::new(
        "this cluster does not store accepted risks: its ClusterVersion CRD is too old; \
         nothing changed",
        "install the current CRD with `fairway crds | kubectl apply -f -`",
    )
}

/// Terms with the digest of the current definition, so that a later change of the risk is noticed.
/// Imported terms keep their digest.
fn terms_of(status: &ClusterVersionStatus, name: &str, terms: &AcceptanceTerms) -> AcceptanceTerms {
    let now = || risks::definition(status, name).map(fairway_risk::definition_hash);
    let definition = terms.definition.clone().or_else(now);
    AcceptanceTerms { definition, ..terms.clone() }
}

/// Probable mistakes in the arguments.
fn warnings(
    cluster_version: &ClusterVersion,
    status: &ClusterVersionStatus,
    request: &AcceptRequest,
) -> Vec<String> {
    let listed = risks::all_names(status);
    let unlisted = request.accept.keys().filter(|name| !listed.contains(name.as_str()));
    let unlisted = unlisted.map(|name| {
        let meant = did_you_mean(name, listed.iter().copied());
        format!("no available update has a risk named {}{meant}", OneLine(name))
    });
    let before = || accepted_risks(cluster_version).iter().map(|risk| risk.name.as_str());
    let never = request.remove.iter().filter(|name| before().all(|accepted| accepted != **name));
    let never = never.map(|name| {
        let meant = did_you_mean(name, before());
        format!("{} is not an accepted risk{meant}", OneLine(name))
    });
    unlisted.chain(never).collect()
}

fn did_you_mean<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let meant = similar::most_similar(name, names);
    meant.map_or_else(String::new, |meant| format!("; did you mean {}?", OneLine(meant)))
}

#[cfg(test)]
mod tests;
