//! The reference page, made from the table so that the two cannot differ.

use std::fmt::Write;

use super::{ALL, ConditionReasons, kind};

const INTRO: &str = "# Conditions and reasons

Fairway reports its state in conditions. The `reason` of a condition is a fixed word for scripts, \
alerts and dashboards; its message may change between releases. This page lists all conditions \
with their reasons, the meaning of each reason, and its remediation.
";

/// Renders the whole table as a page of Markdown.
pub fn reference_page() -> String {
    let mut page = INTRO.to_owned();
    let mut current = None;
    for entry in ALL {
        if current != Some(entry.kind) {
            current = Some(entry.kind);
            line(&mut page, format_args!("\n## {}\n\n{}", entry.kind, whereabouts(entry.kind)));
        }
        section(&mut page, entry);
    }
    page
}

fn section(page: &mut String, entry: &ConditionReasons) {
    let ConditionReasons { kind, condition, meaning, reasons } = entry;
    let verb = if *kind == kind::PRECONDITION { "Passes" } else { "`True`" };
    line(page, format_args!("\n### {condition}\n\n{verb} when {meaning}.\n"));
    if reasons.is_empty() {
        line(page, format_args!("This condition has no reasons."));
        return;
    }
    line(page, format_args!("| reason | meaning | remediation |\n| --- | --- | --- |"));
    for reason in *reasons {
        let remedy = reason.remedy.unwrap_or("none");
        line(
            page,
            format_args!("| `{}` | {} | {} |", reason.code, cell(reason.meaning), cell(remedy)),
        );
    }
}

/// Where the conditions of a kind are found.
fn whereabouts(kind: &str) -> &'static str {
    match kind {
        kind::CLUSTER_VERSION => {
            "In `status.conditions` of ClusterVersion `version`: \
             `kubectl get clusterversion version -o yaml`."
        }
        kind::UPDATE => {
            "In `status.conditionalUpdates[].conditions` of ClusterVersion `version`; \
             `fairway upgrade recommend` shows them."
        }
        kind::RISK => {
            "In `status.conditionalUpdateRisks[].conditions` of ClusterVersion `version`; \
             `fairway upgrade recommend` shows them."
        }
        kind::PRECONDITION => {
            "Preconditions of an update. The message of `ReleaseAccepted` quotes their names and \
            reasons; `status.history[].acceptedRisks` lists the overridden ones."
        }
        kind::CLUSTER_OPERATOR => {
            "In `status.conditions` of the ClusterOperator that the OLM guard writes: \
             `kubectl get clusteroperators`."
        }
        _ => "",
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn line(page: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(page, "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_condition_and_every_reason() {
        let page = reference_page();
        for entry in ALL {
            assert!(page.contains(&format!("\n## {}\n", entry.kind)), "{}", entry.kind);
            assert!(page.contains(&format!("\n### {}\n", entry.condition)), "{}", entry.condition);
            for reason in entry.reasons {
                assert!(page.contains(&format!("| `{reason}` | ")), "{reason}");
            }
        }
    }

    #[test]
    fn every_kind_says_where_it_is_found() {
        for entry in ALL {
            assert!(!whereabouts(entry.kind).is_empty(), "{}", entry.kind);
        }
    }

    #[test]
    fn every_row_has_three_cells() {
        for row in reference_page().lines().filter(|line| line.starts_with('|')) {
            assert_eq!(row.replace("\\|", "").matches('|').count(), 4, "{row}");
        }
    }

    #[test]
    fn a_pipe_does_not_end_a_cell() {
        assert_eq!(cell("a | b"), "a \\| b");
    }

    #[test]
    fn the_page_ends_with_one_line_break_and_has_no_double_blank_lines() {
        let page = reference_page();
        assert!(page.ends_with('\n') && !page.ends_with("\n\n"));
        assert!(!page.contains("\n\n\n"));
    }
}
