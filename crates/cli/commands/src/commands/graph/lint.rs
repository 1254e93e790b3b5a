//! `fairway graph lint`: findings about graph-data.

use std::io::Write;

use fairway_graph::data::Severity;
use fairway_graph::lint::{LintReport, lint, print};

use super::input;
use crate::args::graph::{Denied, LintArgs, LintFormat};
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

impl TypedReport for print::Document<'_> {
    const KIND: &'static str = "GraphDataLint";
}

pub(crate) fn run(args: &LintArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let files = input::files(&args.dir)?;
    let declared = input::declared(&args.releases, &args.registries, printer)?;
    let mut report = lint(&files, declared.as_ref());
    if let Some(base) = &args.base {
        let before = lint(&input::files(base)?, declared.as_ref());
        let all = report.findings.len();
        report = report.new_since(&before);
        let known = all - report.findings.len();
        printer
            .note(format_args!("omitted findings that are already in {}: {known}", base.display()));
    }
    report.findings.retain(|finding| !args.allow.iter().any(|rule| rule == finding.rule.id));
    let mut stdout = printer.stdout();
    match args.output {
        // The stream of standard output strips colours if they are disabled.
        LintFormat::Text => {
            let text = print::text(&report, &files, print::Style::Coloured) + &by_rule(&report);
            stdout.write_all(text.as_bytes())?;
        }
        LintFormat::Json => output::document(stdout, &print::json(&report))?,
        LintFormat::Sarif => writeln!(stdout, "{}", print::sarif(&report)?)?,
    }
    Ok(status(&report, args.deny))
}

/// Number of findings of each rule.
fn by_rule(report: &LintReport) -> String {
    let counts = report.counts();
    let width = counts.values().max().map_or(0, |most| most.to_string().len());
    let line = |(rule, count): (&&str, &usize)| format!("  {count:width$} {rule}\n");
    counts.iter().map(line).collect()
}

fn status(report: &LintReport, denied: Option<Denied>) -> ExitStatus {
    let tolerated = match denied {
        None => Some(Severity::Warning),
        Some(Denied::Warnings) => Some(Severity::Note),
        Some(Denied::Notes) => None,
    };
    if report.worst() > tolerated { ExitStatus::Refused } else { ExitStatus::Success }
}
