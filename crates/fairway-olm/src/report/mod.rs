//! Telling the platform: the ClusterOperator, written when it is to say something else.

mod compose;
mod view;

use std::sync::Arc;
use std::time::Duration;

use fairway_api::ClusterOperator;
use fairway_api::ClusterVersion;
use fairway_compat::olm::catalog::Catalogs;
use fairway_compat::olm::{Guard, Stream, Verdict};
use fairway_election::Leadership;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use crate::clock;
use crate::metrics::Metrics;
use crate::needs;
use crate::settings::Settings;
use crate::sight::{Only, Seen, WriterSight};
use compose::{Facts, compose};
use view::{FIRST_WORD, View};

/// Operators come and go in bunches: what follows closely is told at once.
const QUIET: Duration = Duration::from_millis(250);

/// Whoever waits for the news does not wait longer.
const LONGEST: Duration = Duration::from_secs(2);

/// How long to wait after a write that failed.
const BREATHER: Duration = Duration::from_secs(5);

/// Whoever tells the platform.
pub(crate) struct Reporter {
    pub(crate) client: Client,
    pub(crate) leadership: Leadership,
    pub(crate) settings: Settings,
    pub(crate) cluster_version: Seen<Only<ClusterVersion>>,
    pub(crate) sight: WriterSight,
    /// What catalogs say by now.
    pub(crate) catalogs: Seen<Catalogs>,
    /// Which APIs operators use.
    pub(crate) needs: Seen<needs::Known>,
    /// What keeps the webhook from its work.
    pub(crate) trouble: watch::Receiver<Option<String>>,
    pub(crate) metrics: Arc<Metrics>,
    /// Whether it has waited long enough for what it does not see.
    pub(crate) is_late: bool,
}

/// Tells the platform for as long as it is the one that writes.
pub(crate) async fn report(mut reporter: Reporter) {
    let patience = clock::pause(FIRST_WORD);
    tokio::pin!(patience);
    loop {
        let written = match reporter.attend().await {
            Ok(()) => true,
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "the ClusterOperator cannot be written; trying again");
                reporter.metrics.write_failed();
                false
            }
        };
        tokio::select! {
            heard = reporter.news() => if !heard { return },
            () = clock::pause(BREATHER), if !written => continue,
            () = patience.as_mut(), if !reporter.is_late => reporter.is_late = true,
        }
        reporter.settle().await;
    }
}

impl Reporter {
    /// Waits until something has changed; false if nothing will any more.
    async fn news(&mut self) -> bool {
        let changed = tokio::select! {
            changed = self.cluster_version.changed() => changed,
            changed = self.sight.operators.changed() => changed,
            changed = self.sight.cluster_operator.changed() => changed,
            changed = self.catalogs.changed() => changed,
            changed = self.needs.changed() => changed,
            changed = self.trouble.changed() => changed,
        };
        changed.is_ok()
    }

    /// Waits for as long as changes follow each other closely, though not for ever.
    async fn settle(&mut self) {
        let end = Instant::now() + LONGEST;
        while Instant::now() < end {
            let quiet = end.min(Instant::now() + QUIET);
            if !matches!(timeout_at(quiet, self.news()).await, Ok(true)) {
                return;
            }
        }
    }

    /// Writes what is to be said, unless it is said already. Without a ClusterVersion this is no
    /// platform of ours, and nothing is said.
    async fn attend(&mut self) -> Result<(), kube::Error> {
        let version = self.cluster_version.borrow_and_update().clone();
        let before = self.sight.cluster_operator.borrow_and_update().clone();
        let trouble = self.trouble.borrow_and_update().clone();
        let (Some(version), Some(before)) = (version, before) else { return Ok(()) };
        let Some(version) = &*version else { return Ok(()) };
        let Some(seen) = self.view().judge(version, self.settings.policy) else { return Ok(()) };
        if let Ok((guard, running)) = &seen {
            self.count(guard, *running);
        }
        let facts = Facts { seen: seen.as_ref(), trouble: trouble.as_deref() };
        let status = (*before).as_ref().and_then(|before| before.status.as_ref());
        let wanted = compose(status, &facts, &self.settings, clock::now());
        if status == Some(&wanted) {
            return Ok(());
        }
        let mut object = match (*before).clone() {
            Some(object) => object,
            None => self.begin().await?,
        };
        object.status = Some(wanted);
        self.write(&object).await
    }

    fn view(&mut self) -> View {
        View {
            operators: self.sight.operators.borrow_and_update().clone(),
            subscriptions: self.sight.subscriptions.borrow().clone(),
            catalogs: self.catalogs.borrow_and_update().clone(),
            needs: self.needs.borrow_and_update().clone(),
            is_late: self.is_late,
        }
    }

    fn count(&self, guard: &Guard, running: Stream) {
        for verdict in [Verdict::Upgradeable, Verdict::MayNotRun, Verdict::WillNotRun] {
            let of = |it: &&_| guard.verdict(it, running.next()) == verdict;
            let count = guard.operators().iter().filter(of).count();
            self.metrics.operators(verdict.as_str(), count);
        }
    }

    /// Makes the ClusterOperator.
    async fn begin(&self) -> Result<ClusterOperator, kube::Error> {
        let metadata = ObjectMeta {
            name: Some(self.settings.cluster_operator.clone()),
            ..ObjectMeta::default()
        };
        let object = ClusterOperator { metadata, ..ClusterOperator::default() };
        let api = Api::<ClusterOperator>::all(self.client.clone());
        let made = self.leadership.write(api.create(&PostParams::default(), &object)).await;
        // Whoever leads no more is about to end.
        made.unwrap_or(Ok(object))
    }

    async fn write(&self, object: &ClusterOperator) -> Result<(), kube::Error> {
        let api = Api::<ClusterOperator>::all(self.client.clone());
        let name = &self.settings.cluster_operator;
        let parameters = PostParams::default();
        let write = api.replace_status(name, &parameters, object);
        match self.leadership.write(write).await {
            // A newer state is on its way.
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => Ok(()),
            Ok(written) => {
                written?;
                self.metrics.wrote_status();
                Ok(())
            }
            Err(lost) => {
                tracing::info!(%lost, "nothing is written any more");
                Ok(())
            }
        }
    }
}
