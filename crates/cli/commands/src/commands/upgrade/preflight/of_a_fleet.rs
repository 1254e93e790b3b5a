//! What is known about preflights, and asking for them, where a cluster is one of many.

use fairway_api::reason::preflight_running;
use fairway_api::{ClusterVersion, Conditions as _};
use fairway_insight::fleet::{Preflight, PreflightResult};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::request::outcome::Named;
use super::super::request::wish::Target;
use super::ask::{self, Patience};
use super::outcome::{Action, Outcome, RequestState};
pub(in crate::commands) use super::records::Records;
use super::report::{Look, Report};
use super::request::Wish;
use crate::args::fleet::FleetPreflightArgs;
use crate::cluster::Cluster;
use crate::exit::ExitStatus;
use crate::foreign_text::OneLine;
use crate::printer::Printer;

/// What is known about preflights of releases whose version is known.
pub(in crate::commands) fn known(
    cluster_version: &ClusterVersion,
    records: &Records,
    now: Timestamp,
) -> Vec<Preflight> {
    let look = Look { cluster_version, records, now };
    let kept = records.all().map(|document| Named {
        version: Some(document.target_version.clone()),
        image: Some(document.target_image.clone()),
    });
    let targets = look.usual_target().into_iter().chain(kept);
    targets.filter_map(|target| in_short(&look.report(Some(target)))).collect()
}

fn in_short(report: &Report) -> Option<Preflight> {
    let counts = matches!(
        report.result,
        PreflightResult::Findings | PreflightResult::Incomplete | PreflightResult::Stale
    );
    let open = report.open().filter(|_| counts);
    Some(Preflight {
        version: report.target.as_ref()?.version.clone()?,
        result: report.result,
        findings: open.map(|finding| finding.name.clone()).collect(),
        age_seconds: report.run.as_ref().and_then(|run| run.age_seconds),
    })
}

/// Why something of it is not at hand, of a cluster whose operator knows preflights.
pub(in crate::commands) fn unread(
    cluster_version: &ClusterVersion,
    records: &Records,
) -> Option<String> {
    let status = cluster_version.status.as_ref()?;
    let knows = status.conditions.find(preflight_running::TYPE).is_some();
    records.missing.clone().filter(|_| knows)
}

/// Result of a preflight request to one cluster of a fleet.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct Asked {
    #[serde(flatten)]
    outcome: Outcome,
    #[serde(skip)]
    status: ExitStatus,
}

/// Asks a cluster for a preflight of the release of that version; none where it is at that version.
pub(in crate::commands) async fn ask(
    cluster: &Cluster,
    args: &FleetPreflightArgs,
    printer: &Printer,
) -> anyhow::Result<Option<Asked>> {
    let status = cluster.cluster_version().await?.status;
    if status.is_some_and(|status| status.desired.version == args.to) {
        return Ok(None);
    }
    let target = Target::Version(args.to.clone());
    let wish = Wish { target, force: false, for_a_while: false };
    let patience = Patience { answer: args.timeout, result: args.wait, no_wait: args.no_wait };
    let outcome = ask::ask(cluster, &wish, patience, printer).await?;
    let status = patience.exit_status(&outcome);
    Ok(Some(Asked { outcome, status }))
}

impl Asked {
    /// How a command ends that has asked this cluster alone.
    pub(in crate::commands) fn exit_status(&self) -> ExitStatus {
        self.status
    }

    /// What became of the request, in a word or two.
    pub(in crate::commands) fn request(&self) -> &'static str {
        match (self.outcome.request_state, self.outcome.action) {
            (RequestState::Superseded, _) => "superseded",
            (RequestState::Withdrawn, _) => "withdrawn",
            (RequestState::Active, Action::Requested) => "requested",
            (RequestState::Active, Action::RequestedAgain) => "repeated",
            (RequestState::Active, Action::AlreadyRequested) => "already requested",
        }
    }

    /// What was found, in one line.
    pub(in crate::commands) fn result(&self) -> String {
        let Some(report) = &self.outcome.report else { return "no result (--no-wait)".to_owned() };
        let open: Vec<&str> = report.open().map(|finding| finding.name.as_str()).collect();
        let names = OneLine(&open.join(", ")).to_string();
        let names = if names.is_empty() { names } else { format!(": {names}") };
        let late = if self.outcome.timed_out { ", timed out" } else { "" };
        format!("{}{names}{late}", report.headline())
    }
}

/// What may come of asking, for tests.
#[cfg(test)]
pub(in crate::commands) mod fixtures {
    use fairway_findings::{Document, Severity};

    use super::super::super::fixtures::{cluster_version, condition, hold, now};
    use super::super::fixtures::{document, kept, with_findings};
    use super::super::follow::Ended;
    use super::*;

    /// Nothing was found.
    pub(in crate::commands) fn clean() -> Asked {
        asked(&[document("5.2.0")], Ended::There)
    }

    /// Something was.
    pub(in crate::commands) fn found() -> Asked {
        let findings = [("DualStack", Severity::Critical), ("OldDriver", Severity::Warning)];
        asked(&[with_findings("5.2.0", &findings)], Ended::There)
    }

    /// It was waited for in vain.
    pub(in crate::commands) fn late() -> Asked {
        asked(&[], Ended::TooLate)
    }

    fn asked(documents: &[Document], ended: Ended) -> Asked {
        let mut object = cluster_version();
        hold(&mut object, condition("PreflightRunning", false, "NotRequested", ""));
        let target = Target::Version("5.2.0".to_owned());
        let wish = Wish { target, force: false, for_a_while: false };
        let outcome = Outcome::of(super::super::request::Plan::of(&object, &wish).unwrap());
        let records = Records::of(&documents.iter().map(kept).collect::<Vec<_>>());
        let look = Look { cluster_version: &object, records: &records, now: now() };
        let named = Named { version: Some("5.2.0".to_owned()), image: None };
        let outcome = outcome.followed(look.report(Some(named)), ended);
        let status = outcome.exit_status_of_all();
        Asked { outcome, status }
    }
}
