//! For people: pictures of the places, as compilers draw them.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use fairway_text::counted;

use crate::data::Severity;
use crate::files::Files;
use crate::lint::{Finding, Report};

/// Other files are counted, not listed, beyond this.
const MAX_FILES: usize = 3;

/// Whether to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// None.
    Plain,
    /// Those of terminals.
    Coloured,
}

/// All findings, each with a picture of its place, and a summary. `files` is what was checked.
pub fn text(report: &Report, files: &Files, style: Style) -> String {
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Coloured => Renderer::styled(),
    };
    let mut text = String::new();
    for finding in &report.findings {
        text.push_str(&renderer.render(&[picture(finding, files)]));
        text.push_str("\n\n");
    }
    text.push_str(&summary(report));
    text
}

fn picture<'a>(finding: &'a Finding, files: &'a Files) -> Group<'a> {
    let title = level(finding.severity).primary_title(finding.message.as_str()).id(finding.rule.id);
    let source = files.get(&finding.file).and_then(|bytes| std::str::from_utf8(bytes).ok());
    let mut group = match (source, &finding.region) {
        (Some(source), Some(region)) => {
            let place = AnnotationKind::Primary.span(region.span.clone());
            title.element(Snippet::source(source).path(finding.file.as_str()).annotation(place))
        }
        _ => title.element(Origin::path(finding.file.as_str())),
    };
    if !finding.also.is_empty() {
        group = group.element(Level::NOTE.message(also(&finding.also)));
    }
    if let Some(help) = &finding.help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    group
}

fn level(severity: Severity) -> Level<'static> {
    match severity {
        Severity::Note => Level::NOTE,
        Severity::Warning => Level::WARNING,
        Severity::Error | Severity::Open => Level::ERROR,
    }
}

fn also(files: &[String]) -> String {
    let listed = files.iter().take(MAX_FILES).cloned().collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(MAX_FILES) {
        0 => format!("also in {listed}"),
        others => format!("also in {listed} and {others} more"),
    }
}

fn summary(report: &Report) -> String {
    let errors = report.count(Severity::Error) + report.count(Severity::Open);
    let counts = [
        (errors, "error"),
        (report.count(Severity::Warning), "warning"),
        (report.count(Severity::Note), "note"),
    ];
    let counted: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| counted(*count, what))
        .collect();
    if counted.is_empty() {
        "no findings\n".to_owned()
    } else {
        format!("{}\n", counted.join(", "))
    }
}
