//! Waiting for a preflight, and telling how far it is.

use std::time::Duration;

use fairway_api::cluster_version::Update;
use fairway_api::reason::preflight_running;
use fairway_api::{ClusterVersion, Conditions as _};
use tokio::time::{interval, timeout};

use super::super::request::outcome::Named;
use super::phase::Phase;
use super::records::Records;
use super::report::{Look, Report};
use super::request::is_asked;
use crate::cluster::Cluster;
use crate::foreign_text::OneLine;
use crate::printer::Printer;

/// How often it is looked. People wait for it.
const LOOK: Duration = Duration::from_millis(500);

/// How often in a row a look may fail: an API server that restarts is back in half a minute.
const FAILURES: usize = 60;

/// How often details are looked for once the summary is there: they are written at a slower pace.
const LOOKS_FOR_DETAILS: usize = 30;

/// How long an operator may take to see a change of the spec, for those who only want to know: it is
/// a matter of a second.
const SEEN: Duration = Duration::from_secs(20);

/// The ClusterVersion, once the operator has seen the preflight that it asks for; as it is, where that
/// takes too long. Every change of the spec, such as an accepted risk, has to be seen first.
pub(super) async fn seen(cluster: &Cluster, printer: &Printer) -> anyhow::Result<ClusterVersion> {
    let object = cluster.cluster_version().await?;
    match &object.spec.desired_update {
        Some(update) if Phase::of(&object) == Phase::Pending => {
            let wait = Wait { cluster, printer, update, until: Until::Seen, patience: SEEN };
            wait.until_over().await?;
            cluster.cluster_version().await
        }
        _ => Ok(object),
    }
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// That the operator has seen the request.
    Seen,
    /// That all checks have ended once.
    Done,
}

/// How waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// With what was waited for.
    There,
    /// It took too long.
    TooLate,
    /// Somebody has asked for something else.
    Replaced,
}

/// A preflight to wait for.
pub(super) struct Wait<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) printer: &'a Printer,
    pub(super) update: &'a Update,
    pub(super) until: Until,
    pub(super) patience: Duration,
}

impl Wait<'_> {
    /// Waits, and tells how far it is whenever that changes.
    pub(super) async fn follow(&self) -> anyhow::Result<(Report, Ended)> {
        let ended = self.until_over().await?;
        let object = self.cluster.cluster_version().await?;
        Ok((self.report(&object).await, ended))
    }

    async fn until_over(&self) -> anyhow::Result<Ended> {
        timeout(self.patience, self.watch()).await.unwrap_or(Ok(Ended::TooLate))
    }

    async fn watch(&self) -> anyhow::Result<Ended> {
        let (mut looks, mut failures, mut without_details) = (interval(LOOK), 0, 0);
        let mut told = String::new();
        loop {
            looks.tick().await;
            let object = match self.cluster.cluster_version().await {
                Ok(object) => object,
                Err(error) if failures >= FAILURES => return Err(error),
                Err(_) => {
                    failures += 1;
                    continue;
                }
            };
            failures = 0;
            let asked = object.spec.desired_update.as_ref();
            if !asked.is_some_and(|asked| is_asked(asked, self.update)) {
                return Ok(Ended::Replaced);
            }
            let phase = Phase::of(&object);
            let news = progress(&object, phase);
            if news != told {
                self.printer.note(&news);
                told = news;
            }
            if !self.is_over(phase) {
                continue;
            }
            without_details += 1;
            let is_enough = self.until == Until::Seen || without_details >= LOOKS_FOR_DETAILS;
            if is_enough || self.report(&object).await.has_details() {
                return Ok(Ended::There);
            }
        }
    }

    fn is_over(&self, phase: Phase) -> bool {
        match self.until {
            Until::Seen => phase != Phase::Pending,
            Until::Done => !phase.is_under_way(),
        }
    }

    async fn report(&self, object: &ClusterVersion) -> Report {
        let records = Records::read(self.cluster).await;
        let look = Look { cluster_version: object, records: &records, now: fairway_clock::now() };
        look.report(Some(Named::asked(self.update)))
    }
}

/// How far it is, in one line.
fn progress(object: &ClusterVersion, phase: Phase) -> String {
    if phase == Phase::Pending {
        return "Waiting for the operator…".to_owned();
    }
    let status = object.status.as_ref();
    let running = status.and_then(|status| status.conditions.find(preflight_running::TYPE));
    let said = running.and_then(|running| running.message.as_deref().or(running.reason.as_deref()));
    OneLine(said.unwrap_or("The preflight is running")).to_string()
}
