//! `--require-preflight`: an update is asked for only after a preflight that found nothing against
//! it.

use std::time::Duration;

use fairway_api::ClusterVersion;
use fairway_api::cluster_version::Update;
use jiff::Timestamp;

use super::super::report::text::Age;
use super::super::request::outcome::Named;
use super::follow;
use super::records::Records;
use super::report::text::Choice;
use super::report::{Finding, Look, Report, Verdict};
use crate::cluster::Cluster;
use crate::errors::{CannotTell, Unaccepted};
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::printer::Printer;

/// A preflight that has to be there.
pub(in super::super) struct Requirement {
    records: Records,
    max_age: Duration,
}

impl Requirement {
    /// Looks at what the cluster keeps, once the operator has seen what is asked for.
    pub(in super::super) async fn read(
        cluster: &Cluster,
        printer: &Printer,
        max_age: Duration,
    ) -> anyhow::Result<Self> {
        follow::seen(cluster, printer).await?;
        Ok(Self { records: Records::read(cluster).await, max_age })
    }

    /// Refuses an update unless a complete preflight of that very image, from the version that
    /// runs, has no answer that is too old or overtaken, and found nothing that is not accepted.
    pub(in super::super) fn check(
        &self,
        cluster_version: &ClusterVersion,
        update: &Update,
        now: Timestamp,
    ) -> anyhow::Result<()> {
        if !update.names_a_release() {
            return Ok(());
        }
        let report = Look { cluster_version, records: &self.records, now }
            .report(Some(Named::asked(update)));
        let target = Named::asked(update);
        let name = OneLine(target.name());
        let cannot_tell = |why: String| {
            let message = format!("cannot request {name}: its preflight {why}");
            let hint = format!("run `fairway upgrade --mode=preflight {} --wait`", Choice(&target));
            Err(CannotTell { message, hint }.into())
        };
        let Some(run) = &report.run else {
            let why = self.records.missing.as_deref();
            return cannot_tell(match why {
                Some(why) => format!("results cannot be read: {}", OneLine(why)),
                None => "has no results".to_owned(),
            });
        };
        match (report.result, run.age_seconds) {
            (Verdict::Findings, _) => Err(refused(&target, &report).into()),
            (Verdict::NoFindings | Verdict::FindingsAccepted, Some(age)) => {
                let most = i64::try_from(self.max_age.as_secs()).unwrap_or(i64::MAX);
                if age <= most {
                    return Ok(());
                }
                let (age, most) = (Age(age), Age(most));
                cannot_tell(format!(
                    "has results that are {age} old, more than the maximum of {most}"
                ))
            }
            (Verdict::NoFindings | Verdict::FindingsAccepted, None) => {
                cannot_tell("has results of unknown age".to_owned())
            }
            _ => cannot_tell(format!("is inconclusive: {}", report.headline())),
        }
    }
}

fn refused(target: &Named, report: &Report) -> Unaccepted {
    let names: Vec<&str> = report.open().map(|finding| finding.name.as_str()).collect();
    let name = OneLine(target.name()).to_string();
    Unaccepted {
        message: format!(
            "cannot request {name}: its preflight has unaccepted findings: {}",
            OneLine(&names.join(", "))
        ),
        hint: "run `fairway upgrade --status-preflight` for details; resolve the findings, or \
               accept a risk with `fairway upgrade accept NAME`"
            .to_owned(),
        risks: report.open().map(Finding::refused).collect(),
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

    /// What is said to an update to 5.2.0 with those results.
    fn said(documents: &[Document], accepted: &[&str], max_age: Duration) -> String {
        let mut object = cluster_version();
        hold(&mut object, condition("PreflightRunning", false, "NotRequested", ""));
        if !accepted.is_empty() {
            accept(&mut object, accepted, None);
        }
        let records = Records::of(&documents.iter().map(kept).collect::<Vec<_>>());
        let image = Some(objects::release("5.2.0").image);
        let update = Update { image, ..objects::update_to("5.2.0") };
        match (Requirement { records, max_age }).check(&object, &update, now()) {
            Ok(()) => "yes".to_owned(),
            Err(error) => {
                let hint = errors::hint(&error).unwrap_or_default();
                format!("{}: {error}\nhint: {hint}", errors::status(&error).code())
            }
        }
    }

    #[test]
    fn only_a_preflight_that_is_whole_young_and_clean_lets_an_update_through() {
        let day = Duration::from_hours(24);
        let found = with_findings("5.2.0", &[("DualStack", Severity::Critical)]);
        assert_eq!(said(&[document("5.2.0")], &[], day), "yes");
        assert_eq!(said(std::slice::from_ref(&found), &["DualStack"], day), "yes");
        let mut elsewhere = document("5.2.0");
        elsewhere.source_version = "5.0.0".to_owned();
        let mut partial = document("5.2.0");
        partial.checks[0].status = fairway_findings::CheckStatus::Failed;
        let mut ageless = document("5.2.0");
        ageless.checks[0].ended = None;
        let mut overtaken = document("5.2.0");
        overtaken.checks[0].stale = true;
        overtaken.updated = Some(now());
        let mut aged = document("5.2.0");
        aged.checks[1].ended = Some("2025-12-30T02:00:00Z".parse().unwrap());
        aged.updated = Some(now());
        let refused = [
            said(&[found], &[], day),
            said(&[document("5.3.0")], &[], day),
            said(&[document("5.2.0")], &[], Duration::from_mins(20)),
            said(&[elsewhere], &[], day),
            said(&[partial], &[], day),
            said(&[ageless], &[], day),
            said(&[overtaken], &[], day),
            said(&[aged], &[], day),
        ];
        insta::assert_snapshot!(refused.join("\n"), @"
        3: cannot request 5.2.0: its preflight has unaccepted findings: DualStack
        hint: run `fairway upgrade --status-preflight` for details; resolve the findings, or accept a risk with `fairway upgrade accept NAME`
        4: cannot request 5.2.0: its preflight has no results
        hint: run `fairway upgrade --mode=preflight --to=5.2.0 --wait`
        4: cannot request 5.2.0: its preflight has results that are 30m old, more than the maximum of 20m
        hint: run `fairway upgrade --mode=preflight --to=5.2.0 --wait`
        4: cannot request 5.2.0: its preflight is inconclusive: outdated, the cluster had another version
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
