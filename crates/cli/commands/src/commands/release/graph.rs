//! `fairway release info --graph`: the task graph of a release.

use std::io::Write as _;

use fairway_release::inclusion::{DEFAULT_PROFILE, ManifestFilter};
use fairway_release::task_graph::RolloutMode;
use fairway_release::{Manifest, Release, TaskGraph};

use crate::args::release::TaskGraphFormat;
use crate::foreign_text::OneLine;
use crate::printer::{Output as _, Printer};

/// Prints the graph of an update to a release.
pub(super) fn print(
    release: &Release,
    format: TaskGraphFormat,
    printer: &Printer,
) -> anyhow::Result<()> {
    let filter =
        ManifestFilter { profile: Some(DEFAULT_PROFILE.to_owned()), ..ManifestFilter::default() };
    let included: Vec<&Manifest> = filter.select(&release.manifests).included;
    let graph = TaskGraph::new(included.iter().copied(), RolloutMode::Updating);
    let title = format!(
        "release {}: {} manifests in {} steps",
        release.metadata.version,
        included.len(),
        graph.steps().len()
    );
    match format {
        TaskGraphFormat::Text => {
            let mut out = printer.stdout().into_text();
            writeln!(out, "{title}")?;
            for line in graph.text().lines() {
                writeln!(out, "{}", OneLine(line))?;
            }
        }
        TaskGraphFormat::Dot => write!(printer.stdout(), "{}", graph.dot())?,
        TaskGraphFormat::Svg => write!(printer.stdout(), "{}", graph.svg(&title))?,
    }
    Ok(())
}
