//! `--require-preflight`: requires a preflight without unaccepted findings before an update.

use std::time::Duration;

use fairway_api::ClusterVersion;
use fairway_api::cluster_version::Update;
use fairway_insight::fleet::PreflightResult;
use jiff::Timestamp;

use super::super::release::{ReleaseArguments, ReleaseReference};
use super::super::report::text::Age;
use super::follow;
use super::records::PreflightRecords;
use super::report::{PreflightFinding, PreflightReport, PreflightState};
use crate::cluster::Cluster;
use crate::errors::{CannotTell, Unaccepted};
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::printer::Printer;

/// Required preflight of an update.
pub(in super::super) struct PreflightRequirement {
    records: PreflightRecords,
    max_age: Duration,
}

impl PreflightRequirement {
    /// Reads the stored results after the operator has observed the spec.
    pub(in super::super) async fn read(
        cluster: &Cluster,
        printer: &Printer,
        max_age: Duration,
    ) -> anyhow::Result<Self> {
        follow::observed(cluster, printer).await?;
        Ok(Self { records: PreflightRecords::read(cluster).await, max_age })
    }

    /// Refuses an update without a complete preflight of the same image from the current version, or
    /// with results that are too old, stale, or have unaccepted findings.
    pub(in super::super) fn check(
        &self,
        cluster_version: &ClusterVersion,
        update: &Update,
        now: Timestamp,
    ) -> anyhow::Result<()> {
        if !update.names_a_release() {
            return Ok(());
        }
        let report = PreflightState { cluster_version, records: &self.records, now }
            .report(Some(ReleaseReference::requested(update)));
        let target = ReleaseReference::requested(update);
        let name = OneLine(target.name());
        let inconclusive = |why: String| {
            let message = format!("cannot request {name}: its preflight {why}");
            let hint = format!(
                "run `fairway upgrade --mode=preflight {} --wait`",
                ReleaseArguments(&target)
            );
            Err(CannotTell::new(message, hint).into())
        };
        let Some(run) = &report.run else {
            let why = self.records.missing.as_deref();
            return inconclusive(match why {
                Some(why) => format!("results cannot be read: {}", OneLine(why)),
                None => "has no results".to_owned(),
            });
        };
        match (report.result, run.age_seconds) {
            (PreflightResult::Findings, _) => Err(refused(&target, &report).into()),
            (PreflightResult::NoFindings | PreflightResult::FindingsAccepted, Some(age)) => {
                let max_age = i64::try_from(self.max_age.as_secs()).unwrap_or(i64::MAX);
                if age <= max_age {
                    return Ok(());
                }
                let (age, max_age) = (Age(age), Age(max_age));
                inconclusive(format!(
                    "has results that are {age} old, more than the maximum of {max_age}"
                ))
            }
            (PreflightResult::NoFindings | PreflightResult::FindingsAccepted, None) => {
                inconclusive("has results of unknown age".to_owned())
            }
            _ => inconclusive(format!("is inconclusive: {}", report.headline())),
        }
    }
}

fn refused(target: &ReleaseReference, report: &PreflightReport) -> Unaccepted {
    let names: Vec<&str> = report.unaccepted().map(|finding| finding.name.as_str()).collect();
    let name = OneLine(target.name()).to_string();
    Unaccepted {
        message: format!(
            "cannot request {name}: its preflight has unaccepted findings: {}",
            OneLine(&names.join(", "))
        ),
        hint: "run `fairway upgrade --status-preflight` for details; resolve the findings, or \
               accept a risk with `fairway upgrade accept NAME`"
            .to_owned(),
        risks: report.unaccepted().map(PreflightFinding::refusal).collect(),
        status: ExitStatus::Refused,
    }
}

#[cfg(test)]
mod tests {
    use fairway_findings::{Document, Severity};
    use fairway_testkit::objects;

    use super::super::fixtures::{document, kept, with_findings};
    use super::*;
    use crate::commands::upgrade::fixtures::{accept, cluster_version, condition, hold, now};
    use crate::errors;

    /// Response to an update to 5.2.0 with these results.
    fn output(documents: &[Document], accepted: &[&str], max_age: Duration) -> String {
        let mut object = cluster_version();
        hold(&mut object, condition("PreflightRunning", false, "NotRequested", ""));
        if !accepted.is_empty() {
            accept(&mut object, accepted, None);
        }
        let records = PreflightRecords::of(&documents.iter().map(kept).collect::<Vec<_>>());
        let image = Some(objects::release("5.2.0").image);
        let update = Update { image, ..objects::update_to("5.2.0") };
        match (PreflightRequirement { records, max_age }).check(&object, &update, now()) {
            Ok(()) => "yes".to_owned(),
            Err(error) => {
                let hint = errors::hint(&error).unwrap_or_default();
                format!("{}: {error}\nhint: {hint}", errors::status(&error).code())
            }
        }
    }

    #[test]
    fn require_preflight_accepts_only_complete_recent_clean_results() {
        let day = Duration::from_hours(24);
        let found = with_findings("5.2.0", &[("DualStack", Severity::Critical)]);
        assert_eq!(output(&[document("5.2.0")], &[], day), "yes");
        assert_eq!(output(std::slice::from_ref(&found), &["DualStack"], day), "yes");
        let mut outdated = document("5.2.0");
        outdated.source_version = "5.0.0".to_owned();
        let mut partial = document("5.2.0");
        partial.checks[0].status = fairway_findings::CheckStatus::Failed;
        let mut ageless = document("5.2.0");
        ageless.checks[0].ended = None;
        let mut stale = document("5.2.0");
        stale.checks[0].stale = true;
        stale.updated = Some(now());
        let mut aged = document("5.2.0");
        aged.checks[1].ended = Some("2025-12-30T02:00:00Z".parse().unwrap());
        aged.updated = Some(now());
        let refused = [
            output(&[found], &[], day),
            output(&[document("5.3.0")], &[], day),
            output(&[document("5.2.0")], &[], Duration::from_mins(20)),
            output(&[outdated], &[], day),
            output(&[partial], &[], day),
            output(&[ageless], &[], day),
            output(&[stale], &[], day),
            output(&[aged], &[], day),
        ];
        insta::assert_snapshot!(refused.join("\n"), @"
        3: cannot request 5.2.0: its preflight has unaccepted findings: DualStack
        hint: run `fairway upgrade --status-preflight` for details; resolve the findings, or accept a risk with `fairway upgrade accept NAME`
        4: cannot request 5.2.0: its preflight has no results
        hint: run `fairway upgrade --mode=preflight --to=5.2.0 --wait`
        4: cannot request 5.2.0: its preflight has results that are 30m old, more than the maximum of 20m
        hint: run `fairway upgrade --mode=preflight --to=5.2.0 --wait`
        4: cannot request 5.2.0: its preflight is inconclusive: outdated, the cluster version has changed since
        hint: run `fairway upgrade --mode=preflight --to=5.2.0 --wait`
        4: cannot request 5.2.0: its preflight is inconclusive: incomplete, some checks have no result
        hint: run `fairway upgrade --mode=preflight --to=5.2.0 --wait`
        4: cannot request 5.2.0: its preflight has results of unknown age
        hint: run `fairway upgrade --mode=preflight --to=5.2.0 --wait`
        4: cannot request 5.2.0: its preflight is inconclusive: stale, the cluster has changed since some checks ran
        hint: run `fairway upgrade --mode=preflight --to=5.2.0 --wait`
        4: cannot request 5.2.0: its preflight has results that are 2d0h old, more than the maximum of 1d0h
        hint: run `fairway upgrade --mode=preflight --to=5.2.0 --wait`
        ");
    }
}
