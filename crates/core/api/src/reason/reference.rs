//! Generation of the reference page from the tables of reasons.

use std::fmt::Write;

use super::{ALL, ConditionReasons, kind};

const INTRO: &str = "# Conditions and reasons

Fairway reports its state in conditions. The `reason` of a condition is a fixed word for scripts, \
alerts and dashboards; its message may change between releases. This page lists all conditions \
with their reasons, the meaning of each reason, and its remediation.
";

/// Renders all conditions and reasons as Markdown.
pub fn reference_page() -> String {
    let mut page = INTRO.to_owned();
    let mut current = None;
    for entry in ALL {
        if current != Some(entry.kind) {
            current = Some(entry.kind);
            line(&mut page, format_args!("\n## {}\n\n{}", entry.kind, location(entry.kind)));
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

/// Location of the conditions of a kind.
fn location(kind: &str) -> &'static str {
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
    // Writing to a `String` cannot fail.
    let _ = writeln!(page, "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_contains_all_conditions_and_reasons() {
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
    fn all_kinds_have_a_location() {
        for entry in ALL {
            assert!(!location(entry.kind).is_empty(), "{}", entry.kind);
        }
    }

    #[test]
    fn table_rows_have_three_cells() {
        for row in reference_page().lines().filter(|line| line.starts_with('|')) {
            assert_eq!(row.replace("\\|", "").matches('|').count(), 4, "{row}");
        }
    }

    #[test]
    fn pipes_are_escaped() {
        assert_eq!(cell("a | b"), "a \\| b");
    }

    #[test]
    fn page_has_no_extra_blank_lines() {
        let page = reference_page();
        assert!(page.ends_with('\n') && !page.ends_with("\n\n"));
        assert!(!page.contains("\n\n\n"));
    }
}
