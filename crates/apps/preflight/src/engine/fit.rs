//! How much one check may say, so that none takes the room of the others.

use std::cmp::Reverse;

use fairway_findings::{Finding, Severity, camel_case};

/// Bytes of all findings of a check, as JSON: those of 64 operators fit into one document.
const FINDINGS: usize = 12 << 10;

/// Bytes of what is said about a check.
const MESSAGE: usize = 1 << 10;

/// As many findings as there is room for, the worst first, and one that stands for the rest.
pub(super) fn findings(check: &str, mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| Reverse(finding.severity));
    let mut used = 0;
    let fits = |finding: &&Finding| {
        used += serde_json::to_vec(finding).map_or(FINDINGS, |json| json.len());
        used <= FINDINGS
    };
    let count = findings.iter().take_while(fits).count();
    let rest = findings.split_off(count);
    findings.extend(stand_in(check, &rest));
    findings
}

fn stand_in(check: &str, rest: &[Finding]) -> Option<Finding> {
    let worst = rest.iter().map(|finding| finding.severity).max()?;
    let count = rest.len();
    Some(Finding {
        name: format!("{}FindingsDropped", camel_case(check)),
        message: format!(
            "{count} more findings of check {check} are omitted because they exceed the size limit"
        ),
        severity: worst.max(Severity::Warning),
        remediation: "Report this to the maintainer of the component".to_owned(),
        ..Finding::default()
    })
}

/// The beginning of a text, if it is too long.
pub(super) fn message(text: &str) -> String {
    fairway_text::excerpt(text, MESSAGE).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(name: &str, bytes: usize, severity: Severity) -> Finding {
        let (name, message) = (name.to_owned(), "x".repeat(bytes));
        Finding { name, message, severity, ..Finding::default() }
    }

    #[test]
    fn what_is_worst_is_kept_and_the_rest_is_counted() {
        let few = vec![finding("A", 10, Severity::Info), finding("B", 10, Severity::Critical)];
        let names = |findings: &[Finding]| -> Vec<String> {
            findings.iter().map(|finding| finding.name.clone()).collect()
        };
        assert_eq!(names(&findings("network", few)), ["B", "A"]);
        let mut many: Vec<_> = (0..100).map(|_| finding("Small", 1000, Severity::Info)).collect();
        many.push(finding("Worst", 1000, Severity::Critical));
        let kept = findings("network", many);
        assert_eq!((kept[0].name.as_str(), kept.len()), ("Worst", 11 + 1));
        let last = kept.last().unwrap();
        assert_eq!(
            (last.name.as_str(), last.severity),
            ("NetworkFindingsDropped", Severity::Warning)
        );
        insta::assert_snapshot!(last.message, @"90 more findings of check network are omitted because they exceed the size limit");
    }

    #[test]
    fn one_that_is_longer_than_all_may_be_is_counted_and_never_forgotten() {
        let kept = findings("a", vec![finding("Endless", 1 << 20, Severity::Critical)]);
        assert_eq!(
            (kept[0].name.as_str(), kept[0].severity),
            ("AFindingsDropped", Severity::Critical)
        );
        assert_eq!(message(&"ü".repeat(1000)).chars().count(), 513);
    }
}
