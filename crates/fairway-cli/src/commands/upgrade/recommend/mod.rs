//! `fairway upgrade recommend`: which updates there are, and what speaks against them.

mod text;

use fairway_insight::recommend::{Question, Verdict};
use fairway_insight::{Moment, Recommendation};

use super::gather::{Outlook, live, recorded::Recording};
use super::notes;
use super::status::warn;
use crate::args::insight::RecommendArgs;
use crate::cluster::{Cluster, block_on};
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::{clock, output};
use text::Shown;

pub(super) fn run(args: &RecommendArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let (outlook, moment) = if let Some(path) = &args.recorded.from_file {
        Recording::at(path).outlook()?
    } else {
        let ask = async { live::outlook(&Cluster::connect(&args.cluster).await?).await };
        (block_on(Box::pin(ask))?, Moment::Live(clock::now()))
    };
    let Outlook { version, components, alerts } = outlook;
    let accept = args.accept.iter().map(|name| name.trim().to_owned()).collect();
    let question = Question { version: args.version.clone(), accept };
    let report = Recommendation::of(&version, &alerts, &question, moment.now());
    warn(&alerts, printer);
    let mut notes = notes::of(&components, &version);
    if let Some(version) = &question.version {
        notes.retain(|note| note.is_about(&version.to_string()));
    }
    let shown = Shown { report: &report, notes, in_full: args.show_outdated_releases };
    output::report(printer.stdout(), args.output.output, "UpgradeRecommend", &shown)?;
    Ok(match report.verdict() {
        Verdict::Yes => ExitStatus::Yes,
        Verdict::No => ExitStatus::No,
        Verdict::CannotTell => ExitStatus::CannotTell,
    })
}

#[cfg(test)]
mod tests;
