//! The comparison as administrators read it: releases beside each other, a row for each finding.

use std::collections::BTreeSet;
use std::fmt;

use super::super::super::report::text::Age;
use super::super::super::request::outcome::Named;
use super::super::report::{Finding, Report};
use super::Comparison;
use crate::foreign_text::OneLine;
use crate::table::Table;

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Table(self.releases()))?;
        let findings = self.findings();
        if findings.len() > 1 {
            write!(f, "\n\n{}", Table(findings))?;
        }
        if self.wants_a_run() {
            f.write_str("\n\nAdd --run to run the missing preflights.")?;
        }
        Ok(())
    }
}

impl Comparison {
    /// A row for each release.
    fn releases(&self) -> Vec<Vec<String>> {
        let head = ["RELEASE", "CHECKED", "AGE", "RESULT"].map(str::to_owned).to_vec();
        let row = |report: &Report| {
            let run = report.run.as_ref();
            let age = run.and_then(|run| run.age_seconds);
            vec![
                name(report),
                run.map_or_else(|| "–".to_owned(), super::super::report::Run::progress),
                age.map_or_else(|| "–".to_owned(), |age| Age(age).to_string()),
                report.headline(),
            ]
        };
        std::iter::once(head).chain(self.targets.iter().map(row)).collect()
    }

    /// A row for each finding, a column for each release.
    fn findings(&self) -> Vec<Vec<String>> {
        let names: BTreeSet<&str> = self
            .targets
            .iter()
            .flat_map(|report| &report.findings)
            .map(|finding| finding.name.as_str())
            .collect();
        let head = std::iter::once("FINDING".to_owned()).chain(self.targets.iter().map(name));
        let row = |finding: &str| {
            let cell = |report: &Report| cell(report, finding);
            let cells = self.targets.iter().map(cell);
            std::iter::once(OneLine(finding).to_string()).chain(cells).collect()
        };
        std::iter::once(head.collect()).chain(names.into_iter().map(row)).collect()
    }
}

fn name(report: &Report) -> String {
    OneLine(report.target.as_ref().map_or("", Named::name)).to_string()
}

fn cell(report: &Report, name: &str) -> String {
    let found = report.findings.iter().find(|finding| finding.name == name);
    found.map_or_else(|| "–".to_owned(), standing)
}

fn standing(finding: &Finding) -> String {
    let severity = finding.severity.map_or_else(|| "found".to_owned(), |it| it.to_string());
    match finding {
        _ if finding.is_accepted() => format!("{severity}, accepted"),
        _ if finding.is_unsure() => format!("{severity}, inconclusive"),
        _ => severity,
    }
}
