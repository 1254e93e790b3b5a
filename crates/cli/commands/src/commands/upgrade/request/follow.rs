//! Waiting for what the operator makes of a request, and telling how far it is.

use std::time::Duration;

use fairway_api::cluster_version::Update;
use tokio::time::{interval, timeout};

use super::answer::RequestStatus;
use crate::cluster::Cluster;
use crate::printer::Printer;

/// How often it is looked. People wait for it.
const LOOK: Duration = Duration::from_millis(500);

/// How often in a row a look may fail, once it has worked: while a control plane updates, its API
/// servers restart, and that takes minutes where there is only one.
const FAILURES: usize = 600;

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// That the operator says yes or no.
    Answered,
    /// That the update is complete, or the operator says no.
    Complete,
}

impl Until {
    fn is_over(self, answer: &RequestStatus) -> bool {
        match self {
            Self::Answered => answer.is_one(),
            Self::Complete => answer.is_the_last(),
        }
    }
}

/// A request whose fate is waited for.
pub(super) struct Wait<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) printer: &'a Printer,
    pub(super) update: &'a Update,
    pub(super) until: Until,
    pub(super) patience: Duration,
}

impl Wait<'_> {
    /// What the operator said last, and whether that is what was waited for.
    pub(super) async fn follow(&self) -> anyhow::Result<(RequestStatus, bool)> {
        let mut latest = RequestStatus::none();
        match timeout(self.patience, self.watch(&mut latest)).await {
            Ok(Err(error)) => Err(error),
            Ok(Ok(())) => Ok((latest, true)),
            Err(_) => Ok((latest, false)),
        }
    }

    async fn watch(&self, latest: &mut RequestStatus) -> anyhow::Result<()> {
        let (mut looks, mut failures) = (interval(LOOK), None);
        let mut told = String::new();
        while !self.until.is_over(latest) {
            looks.tick().await;
            match self.cluster.cluster_version().await {
                Ok(object) => {
                    failures = Some(0);
                    *latest = RequestStatus::of(&object, self.update);
                }
                Err(error) => {
                    failures = failures.map(|failures| failures + 1);
                    if failures.is_none_or(|failures| failures > FAILURES) {
                        return Err(error);
                    }
                }
            }
            let news = latest.progress();
            if self.until == Until::Complete && news != told {
                self.printer.note(&news);
                told = news;
            }
        }
        Ok(())
    }
}
