//! `--require-preflight`: an update is asked for only after a preflight that found nothing against
//! it.

use std::time::Duration;

use fairway_api::ClusterVersion;
use fairway_api::cluster_version::Update;
use jiff::Timestamp;

use super::super::report::text::Age;
use super::super::request::outcome::Named;
use super::records::Records;
use super::report::text::Choice;
use super::report::{Look, Report, Verdict};
use crate::cluster::Cluster;
use crate::errors::{CannotTell, Refused};
use crate::foreign_text::OneLine;

/// A preflight that has to be there.
pub(in super::super) struct Requirement {
    records: Records,
    max_age: Duration,
}

impl Requirement {
    /// Looks at what the cluster keeps.
    pub(in super::super) async fn read(cluster: &Cluster, max_age: Duration) -> Self {
        Self { records: Records::read(cluster).await, max_age }
    }

    /// Refuses an update unless a complete preflight of that very image, from the version that
    /// runs, is young enough and found nothing that is not accepted.
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
            let message = format!("{name} is not asked for, because its preflight {why}");
            let hint = format!("run it with `fairway upgrade --mode=preflight {} --wait`", Choice(&target));
            Err(CannotTell { message, hint }.into())
        };
        let Some(run) = &report.run else {
            let why = self.records.missing.as_deref();
            return cannot_tell(match why {
                Some(why) => format!("cannot be looked up: {}", OneLine(why)),
                None => "has left no results".to_owned(),
            });
        };
        match (report.result, run.age_seconds) {
            (Verdict::Findings, _) => return Err(refused(&target, &report).into()),
            (Verdict::NothingFound | Verdict::FindingsAccepted, Some(age)) => {
                let most = i64::try_from(self.max_age.as_secs()).unwrap_or(i64::MAX);
                if age <= most {
                    return Ok(());
                }
                cannot_tell(format!("is {} old, and at most {} are allowed", Age(age), Age(most)))
            }
            (Verdict::NothingFound | Verdict::FindingsAccepted, None) => {
                cannot_tell("does not say how old it is".to_owned())
            }
            _ => cannot_tell(format!("does not tell: {}", report.headline())),
        }
    }
}

fn refused(target: &Named, report: &Report) -> Refused {
    let names: Vec<&str> = report.open().map(|finding| finding.name.as_str()).collect();
    let name = OneLine(target.name()).to_string();
    Refused {
        message: format!(
            "{name} is not asked for, because its preflight found {}",
            OneLine(&names.join(", "))
        ),
        hint: "`fairway upgrade --status-preflight` tells more; remove the causes, or take a risk \
               with `fairway upgrade accept NAME`"
            .to_owned(),
    }
}
