//! Execution of a run: starts the checks that the engine selects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use fairway_api::ClusterOperator;
use fairway_findings::{CheckKind, Document};
use fairway_release::Release;
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::check;
use crate::check::BuiltInCheck;
use crate::cluster::{Cluster, ClusterReadError, Resource};
use crate::engine::{CheckOutcome, CheckSchedule, Engine, PlannedCheck, RunIdentity};
use crate::jobs::JobRunner;
use crate::jobs::find::{self, ComponentCheck, JobCheck};
use crate::settings::Settings;
use crate::target::Target;
use crate::target::{self, SelectionSettings};
use crate::watches::ChangeWatcher;

/// A prepared run of a target release.
pub struct Runner {
    cluster: Cluster,
    target: Arc<Target>,
    check_timeout: Duration,
    built_in: BTreeMap<String, Arc<dyn BuiltInCheck>>,
    /// Resources that all checks read.
    kinds: BTreeSet<Resource>,
    operators: BTreeMap<String, Arc<JobCheck>>,
    job_checks: Option<Arc<JobRunner>>,
    engine: Engine,
    known: watch::Sender<Document>,
}

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The run ends after the first pass.
    Done,
    /// The run repeats checks on changes, until it is stopped.
    Stopped,
}

impl Runner {
    /// Determines the checks of the run. Without a Job runner, checks of components are omitted.
    pub async fn prepare(
        client: Client,
        settings: &Settings,
        selection: &SelectionSettings,
        content: Release,
        checks: Vec<Box<dyn BuiltInCheck>>,
        job_checks: Option<Arc<JobRunner>>,
    ) -> Result<Self, ClusterReadError> {
        let cluster = Cluster::new(client);
        let (source, version) = (settings.source.clone(), content.metadata.version.clone());
        let filter = target::filter(&cluster, selection, &source, &version).await?;
        let selected = filter.select(&content.manifests);
        let operators = match &job_checks {
            Some(_) => {
                let present = present(&cluster).await?;
                find::operators(&selected.preflight_checks, &selected.included, &present)
            }
            None => BTreeMap::new(),
        };
        let manifests = selected.included.into_iter().cloned().collect();
        let identity = RunIdentity {
            run: settings.run.clone(),
            source: source.clone(),
            target: version.clone(),
            image: settings.image.clone(),
        };
        let image = settings.image.clone();
        let target = Target { image, version, source, content: Arc::new(content), manifests };
        let built_in = checks.into_iter().map(|check| (check.name().to_owned(), Arc::from(check)));
        let built_in: BTreeMap<String, Arc<dyn BuiltInCheck>> = built_in.collect();
        let operators = rename_conflicts(operators, &built_in);
        let watched = watched(&cluster, &target, &built_in).await;
        let of_operators = operators.values().flat_map(ComponentCheck::watched);
        let kinds = watched.values().flatten().copied().chain(of_operators).collect();
        let (engine, operators) = plan(identity, settings.pace.clone(), watched, operators);
        let known = watch::Sender::new(engine.document(fairway_clock::now()));
        let (check_timeout, target) = (settings.check_timeout, Arc::new(target));
        Ok(Self {
            cluster,
            target,
            check_timeout,
            built_in,
            kinds,
            operators,
            job_checks,
            engine,
            known,
        })
    }

    /// Results, as they change.
    pub fn known(&self) -> watch::Receiver<Document> {
        self.known.subscribe()
    }

    /// Runs checks until the end of the run, and returns the results.
    pub async fn run(mut self, until: Until, stop: CancellationToken) -> Document {
        let mut watching = match until {
            Until::Done => ChangeWatcher::nothing(),
            Until::Stopped => ChangeWatcher::of(self.cluster.client(), self.kinds.clone()).await,
        };
        let mut tasks: JoinSet<(String, CheckOutcome)> = JoinSet::new();
        loop {
            for name in self.engine.begin(fairway_clock::now()) {
                tracing::info!(check = name, "check started");
                self.spawn(&mut tasks, name);
            }
            self.publish();
            if until == Until::Done && self.engine.first_pass_done() {
                break;
            }
            tokio::select! {
                Some(ended) = tasks.join_next() => if let Ok((name, outcome)) = ended {
                    tracing::info!(check = name, "check finished");
                    let (now, jitter) = (fairway_clock::now(), fairway_clock::random_unit());
                    self.engine.ended(&name, outcome, now, jitter);
                },
                kind = watching.change() => self.engine.changed(kind, fairway_clock::now()),
                () = fairway_clock::sleep_until(self.engine.wake().map(fairway_clock::instant_of)) => {}
                () = stop.cancelled() => break,
            }
        }
        self.document()
    }

    /// Results, with the permissions of component checks.
    fn document(&self) -> Document {
        let mut document = self.engine.document(fairway_clock::now());
        for check in document.checks.iter_mut().filter(|check| check.status.has_run()) {
            let operator = self.operators.get(&check.name);
            check.granted =
                operator.map(|operator| operator.granted(&check.name)).unwrap_or_default();
        }
        document
    }

    fn spawn(&self, tasks: &mut JoinSet<(String, CheckOutcome)>, name: String) {
        let check_timeout = self.check_timeout;
        if let Some(check) = self.built_in.get(&name).cloned() {
            let (cluster, target) = (self.cluster.clone(), Arc::clone(&self.target));
            tasks.spawn(
                async move { (name, check::run(check, cluster, target, check_timeout).await) },
            );
        } else if let (Some(check), Some(job_checks)) =
            (self.operators.get(&name), &self.job_checks)
        {
            let (check, job_checks) = (Arc::clone(check), Arc::clone(job_checks));
            tasks.spawn(async move {
                let named = name.clone();
                let work = async move { job_checks.run(&named, &check, check_timeout).await };
                (name, check::run_task(work).await)
            });
        }
    }

    fn publish(&self) {
        self.known.send_if_modified(|known| {
            let mut new = self.document();
            let updated = std::mem::replace(&mut new.updated, known.updated);
            let is_news = *known != new;
            if is_news {
                new.updated = updated;
                *known = new;
            }
            is_news
        });
    }
}

/// Renames a component with the name of a built-in check, such as `etcd`, to `etcd-operator`.
fn rename_conflicts(
    operators: BTreeMap<String, ComponentCheck>,
    built_in: &BTreeMap<String, Arc<dyn BuiltInCheck>>,
) -> BTreeMap<String, ComponentCheck> {
    let rendered = |name: String| {
        if built_in.contains_key(&name) { format!("{name}-operator") } else { name }
    };
    operators.into_iter().map(|(name, operator)| (rendered(name), operator)).collect()
}

/// Resources of each built-in check.
async fn watched(
    cluster: &Cluster,
    target: &Target,
    built_in: &BTreeMap<String, Arc<dyn BuiltInCheck>>,
) -> BTreeMap<String, Vec<Resource>> {
    let mut watched = BTreeMap::new();
    for (name, check) in built_in {
        let mut kinds = check.watched().to_vec();
        kinds.extend(check.watched_at_run_time(cluster, target).await);
        watched.insert(name.clone(), kinds);
    }
    watched
}

/// Creates the engine with all checks, and returns the component checks to run.
fn plan(
    identity: RunIdentity,
    pace: CheckSchedule,
    watched: BTreeMap<String, Vec<Resource>>,
    operators: BTreeMap<String, ComponentCheck>,
) -> (Engine, BTreeMap<String, Arc<JobCheck>>) {
    let now = fairway_clock::now();
    let own = watched.into_iter().map(|(name, watched)| PlannedCheck {
        name,
        kind: CheckKind::BuiltIn,
        watched,
    });
    let others = operators.iter().map(|(name, operator)| PlannedCheck {
        name: name.clone(),
        kind: CheckKind::Operator,
        watched: operator.watched().collect(),
    });
    let mut engine = Engine::new(identity, pace, own.chain(others).collect(), now);
    let mut jobs = BTreeMap::new();
    for (name, operator) in operators {
        match operator {
            ComponentCheck::Check(check) => drop(jobs.insert(name, Arc::from(check))),
            ComponentCheck::Settled(outcome) => engine.ended(&name, outcome, now, 0.0),
        }
    }
    (engine, jobs)
}

/// ClusterOperators of the cluster.
async fn present(cluster: &Cluster) -> Result<BTreeSet<String>, ClusterReadError> {
    match cluster.all::<ClusterOperator>().await {
        Ok(operators) => Ok(operators.iter().map(kube::ResourceExt::name_any).collect()),
        Err(ClusterReadError::NotServed(_)) => Ok(BTreeSet::new()),
        Err(error) => Err(error),
    }
}
