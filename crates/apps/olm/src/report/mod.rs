//! Telling the platform: the ClusterOperator, written when it is to say something else.

mod compose;
mod herald;
mod rival;
mod view;

use std::sync::Arc;
use std::time::Duration;

use fairway_api::ClusterOperator;
use fairway_api::ClusterVersion;
use fairway_api::cluster_operator::ClusterOperatorStatus;
use fairway_compat::olm::{Guard, Stream, Verdict};
use fairway_election::Leadership;
use jiff::Timestamp;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::catalogs::Shown;
use crate::metrics::Metrics;
use crate::needs;
use crate::observed::Observed;
use crate::request::in_time;
use crate::settings::Settings;
use crate::sight::{Blind, CLUSTER_OPERATORS, Only, Seen, WriterSight};
use compose::{Facts, compose};
use herald::Herald;
use rival::{Rivalry, rival_of};
use view::View;

/// As whom the guard writes.
const MANAGER: &str = "fairway-olm-guard";

/// Operators come and go in bunches: what follows closely is told at once.
const QUIET: Duration = Duration::from_millis(250);

/// Whoever waits for the news does not wait longer.
const LONGEST: Duration = Duration::from_secs(2);

/// How long to wait after a write that failed.
const BREATHER: Duration = Duration::from_secs(5);

/// What the one knows that tells the platform.
pub(crate) struct Sources {
    pub(crate) cluster_version: Seen<Only<ClusterVersion>>,
    /// Whether the version of the cluster is not seen any more.
    pub(crate) blind: watch::Receiver<Blind>,
    pub(crate) sight: WriterSight,
    /// What catalogs say by now.
    pub(crate) catalogs: Seen<Shown>,
    /// Which APIs operators use.
    pub(crate) needs: Seen<needs::Known>,
    /// What the cluster tells about APIs.
    pub(crate) observed: Seen<Observed>,
    /// What keeps the webhook from its work.
    pub(crate) trouble: watch::Receiver<Option<String>>,
}

/// Whoever tells the platform.
pub(crate) struct Reporter {
    client: Client,
    leadership: Leadership,
    settings: Settings,
    sources: Sources,
    metrics: Arc<Metrics>,
    herald: Herald,
    /// Whether it has waited long enough for what it does not see.
    is_late: bool,
    /// What it said last, without times.
    said: Option<ClusterOperatorStatus>,
    rivalry: Rivalry,
}

/// What is to be said.
struct Word {
    status: ClusterOperatorStatus,
    /// The same whenever it is said.
    timeless: ClusterOperatorStatus,
}

/// What became of a write.
#[derive(PartialEq, Eq)]
enum Outcome {
    Written,
    /// Somebody else was faster, or leads by now.
    Outrun,
}

/// Tells the platform for as long as it is the one that writes.
pub(crate) async fn report(mut reporter: Reporter) {
    let patience = fairway_clock::pause(reporter.settings.patience.first_word);
    tokio::pin!(patience);
    loop {
        let next = match reporter.attend().await {
            Ok(next) => next,
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "cannot write ClusterOperator; retrying");
                reporter.metrics.write_failed();
                Some(Instant::now() + BREATHER)
            }
        };
        tokio::select! {
            heard = reporter.sources.news() => if !heard { return },
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => continue,
            () = patience.as_mut(), if !reporter.is_late => reporter.is_late = true,
        }
        reporter.sources.settle().await;
    }
}

impl Sources {
    /// Waits until something has changed; false if nothing will any more.
    async fn news(&mut self) -> bool {
        let changed = tokio::select! {
            changed = self.cluster_version.changed() => changed,
            changed = self.blind.changed() => changed,
            changed = self.sight.operators.changed() => changed,
            changed = self.sight.cluster_operator.changed() => changed,
            changed = self.sight.blind.changed() => changed,
            changed = self.catalogs.changed() => changed,
            changed = self.needs.changed() => changed,
            changed = self.observed.changed() => changed,
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

    fn view(&mut self, is_late: bool) -> View {
        View {
            version: self.cluster_version.borrow_and_update().clone(),
            version_blind: self.blind.borrow_and_update().clone(),
            operators: self.sight.operators.borrow_and_update().clone(),
            subscriptions: self.sight.subscriptions.borrow().clone(),
            blind: self.sight.blind.borrow_and_update().clone(),
            catalogs: self.catalogs.borrow_and_update().clone(),
            needs: self.needs.borrow_and_update().clone(),
            observed: self.observed.borrow_and_update().clone(),
            is_late,
        }
    }
}

impl Reporter {
    pub(crate) fn new(
        client: Client,
        leadership: Leadership,
        settings: Settings,
        sources: Sources,
        metrics: Arc<Metrics>,
    ) -> Self {
        let herald = Herald::new(client.clone(), &settings.cluster_operator, leadership.clone());
        Self {
            client,
            leadership,
            settings,
            sources,
            metrics,
            herald,
            is_late: false,
            said: None,
            rivalry: Rivalry::default(),
        }
    }

    /// Writes what is to be said, unless it is said already; when to look again though nothing has
    /// changed.
    async fn attend(&mut self) -> Result<Option<Instant>, kube::Error> {
        if self.rivalry.made_peace(Instant::now()) {
            self.metrics.contended(&self.settings.cluster_operator, None);
        }
        let before = self.before().await?;
        let word = before.as_deref().and_then(|before| self.word(before.as_ref()));
        match (before.as_deref(), word) {
            (Some(before), Some(word)) => self.say(word, before.as_ref()).await,
            _ => Ok(self.rivalry.peace()),
        }
    }

    /// The ClusterOperator as it is, as far as that is known. Whoever cannot watch it asks for it:
    /// nothing may stand there for ever because nobody sees it.
    async fn before(&mut self) -> Result<Option<Arc<Only<ClusterOperator>>>, kube::Error> {
        let seen = self.sources.sight.cluster_operator.borrow_and_update().clone();
        if !self.is_blind() {
            return Ok(seen);
        }
        let api = Api::<ClusterOperator>::all(self.client.clone());
        let found = in_time(api.get_opt(&self.settings.cluster_operator)).await?;
        Ok(Some(Arc::new(found)))
    }

    fn is_blind(&self) -> bool {
        self.sources.sight.blind.borrow().why(CLUSTER_OPERATORS).is_some()
    }

    /// What is to be said; `None` if nothing is, or nothing else than what is said already. Without
    /// a ClusterVersion this is no platform of ours, and nothing is said.
    fn word(&mut self, before: Option<&ClusterOperator>) -> Option<Word> {
        let trouble = self.sources.trouble.borrow_and_update().clone();
        let view = self.sources.view(self.is_late);
        if view.version.is_none() && before.is_none() {
            // Nobody knows whether this is a platform of ours: nothing is begun.
            return None;
        }
        let unseen = view.unseen();
        let seen = view.judge(self.settings.policy)?;
        if let Ok((guard, running)) = &seen {
            self.count(guard, *running);
        }
        let facts = Facts { seen: seen.as_ref(), trouble: trouble.as_deref(), unseen };
        let status = before.and_then(|before| before.status.as_ref());
        let wanted = compose(status, &facts, &self.settings, fairway_clock::now());
        let timeless = || compose(None, &facts, &self.settings, Timestamp::UNIX_EPOCH);
        (status != Some(&wanted)).then(|| Word { timeless: timeless(), status: wanted })
    }

    /// Says it; what it says for the first time at once, and what it has to say again, because
    /// somebody else has changed it, with pauses.
    async fn say(
        &mut self,
        word: Word,
        before: Option<&ClusterOperator>,
    ) -> Result<Option<Instant>, kube::Error> {
        let is_repair = self.said.as_ref() == Some(&word.timeless);
        let now = Instant::now();
        let next_repair = self.rivalry.next_repair(now);
        if is_repair && next_repair > now {
            return Ok(Some(next_repair));
        }
        let mut object = match before {
            Some(object) => object.clone(),
            None => match self.begin().await? {
                Some(object) => object,
                None => return Ok(self.after_being_outrun(now)),
            },
        };
        object.status = Some(word.status);
        if self.write(&object).await? == Outcome::Outrun {
            return Ok(self.after_being_outrun(now));
        }
        self.said = Some(word.timeless);
        if is_repair {
            let rival = before.and_then(|before| rival_of(before, MANAGER));
            self.has_repaired(rival.as_deref()).await;
        }
        Ok(self.rivalry.peace())
    }

    /// When to look again: a newer state is on its way, but not to who is blind.
    fn after_being_outrun(&self, now: Instant) -> Option<Instant> {
        if self.is_blind() { Some(now + BREATHER) } else { self.rivalry.peace() }
    }

    async fn has_repaired(&mut self, rival: Option<&str>) {
        let Some(repairs) = self.rivalry.repaired(Instant::now()) else { return };
        tracing::warn!(rival, repairs, "another client repeatedly changes the ClusterOperator");
        self.metrics.contended(&self.settings.cluster_operator, Some(repairs));
        self.herald.tell_of(rival).await;
    }

    fn count(&self, guard: &Guard, running: Stream) {
        for verdict in [Verdict::Upgradeable, Verdict::MayNotRun, Verdict::WillNotRun] {
            let of = |it: &&_| guard.verdict(it, running.next()) == verdict;
            let count = guard.operators().iter().filter(of).count();
            self.metrics.operators(verdict.as_str(), count);
        }
    }

    /// Makes the ClusterOperator; `None` if somebody else was faster.
    async fn begin(&self) -> Result<Option<ClusterOperator>, kube::Error> {
        let metadata = ObjectMeta {
            name: Some(self.settings.cluster_operator.clone()),
            ..ObjectMeta::default()
        };
        let object = ClusterOperator { metadata, ..ClusterOperator::default() };
        let api = Api::<ClusterOperator>::all(self.client.clone());
        let parameters = parameters();
        match self.leadership.write(in_time(api.create(&parameters, &object))).await {
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => Ok(None),
            Ok(made) => made.map(Some),
            // Whoever leads no more is about to end.
            Err(_) => Ok(None),
        }
    }

    async fn write(&self, object: &ClusterOperator) -> Result<Outcome, kube::Error> {
        let api = Api::<ClusterOperator>::all(self.client.clone());
        let parameters = parameters();
        let write = api.replace_status(&self.settings.cluster_operator, &parameters, object);
        match self.leadership.write(in_time(write)).await {
            // A newer state is on its way.
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => Ok(Outcome::Outrun),
            Ok(written) => {
                written?;
                self.metrics.wrote_status();
                Ok(Outcome::Written)
            }
            Err(lost) => {
                tracing::info!(%lost, "leadership lost, writes stopped");
                Ok(Outcome::Outrun)
            }
        }
    }
}

fn parameters() -> PostParams {
    PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() }
}
