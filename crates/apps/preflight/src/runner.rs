//! A run from its beginning to its end: the engine decides, this does.

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

use crate::built_in;
use crate::check::BuiltIn;
use crate::cluster::{Cluster, Resource, Unseen};
use crate::engine::{Engine, Identity, Outcome, Pace, Planned};
use crate::jobs::Board;
use crate::jobs::find::{self, Operator, OperatorCheck};
use crate::selection::{self, SelectionSettings};
use crate::settings::Settings;
use crate::target::Target;
use crate::watching::Watching;

/// A release that looks at a cluster.
pub struct Runner {
    cluster: Cluster,
    target: Arc<Target>,
    patience: Duration,
    built_in: BTreeMap<String, Arc<dyn BuiltIn>>,
    /// All that they look at.
    kinds: BTreeSet<Resource>,
    operators: BTreeMap<String, Arc<OperatorCheck>>,
    board: Option<Arc<Board>>,
    engine: Engine,
    known: watch::Sender<Document>,
}

/// When a run is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// When every check has come to an end.
    Done,
    /// When somebody ends it: what changes is looked at again.
    Stopped,
}

impl Runner {
    /// Finds out what there is to check. Without a board, the checks of operators are left out.
    pub async fn prepare(
        client: Client,
        settings: &Settings,
        selection: &SelectionSettings,
        content: Release,
        checks: Vec<Box<dyn BuiltIn>>,
        board: Option<Arc<Board>>,
    ) -> Result<Self, Unseen> {
        let cluster = Cluster::new(client);
        let (source, version) = (settings.source.clone(), content.metadata.version.clone());
        let filter = selection::filter(&cluster, selection, &source, &version).await?;
        let selected = filter.select(&content.manifests);
        let operators = match &board {
            Some(_) => {
                let present = present(&cluster).await?;
                find::operators(&selected.preflight_checks, &selected.included, &present)
            }
            None => BTreeMap::new(),
        };
        let manifests = selected.included.into_iter().cloned().collect();
        let identity = Identity {
            run: settings.run.clone(),
            source: source.clone(),
            target: version.clone(),
            image: settings.image.clone(),
        };
        let image = settings.image.clone();
        let target = Target { image, version, source, content: Arc::new(content), manifests };
        let built_in = checks.into_iter().map(|check| (check.name().to_owned(), Arc::from(check)));
        let built_in: BTreeMap<String, Arc<dyn BuiltIn>> = built_in.collect();
        let operators = told_apart(operators, &built_in);
        let looks_at = looks_at(&cluster, &target, &built_in).await;
        let of_operators = operators.values().flat_map(Operator::looks_at);
        let kinds = looks_at.values().flatten().copied().chain(of_operators).collect();
        let (engine, operators) = plan(identity, settings.pace.clone(), looks_at, operators);
        let known = watch::Sender::new(engine.document(fairway_clock::now()));
        let (patience, target) = (settings.check_timeout, Arc::new(target));
        Ok(Self { cluster, target, patience, built_in, kinds, operators, board, engine, known })
    }

    /// What is known, as it becomes known.
    pub fn known(&self) -> watch::Receiver<Document> {
        self.known.subscribe()
    }

    /// Runs checks until there is nothing more to do, and says what is known then.
    pub async fn run(mut self, until: Until, stop: CancellationToken) -> Document {
        let mut watching = match until {
            Until::Done => Watching::nothing(),
            Until::Stopped => Watching::of(self.cluster.client(), self.kinds.clone()).await,
        };
        let mut tasks: JoinSet<(String, Outcome)> = JoinSet::new();
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

    /// All that is known, and what the checks of operators were granted for it.
    fn document(&self) -> Document {
        let mut document = self.engine.document(fairway_clock::now());
        for check in document.checks.iter_mut().filter(|check| check.status.has_run()) {
            let operator = self.operators.get(&check.name);
            check.granted =
                operator.map(|operator| operator.granted(&check.name)).unwrap_or_default();
        }
        document
    }

    fn spawn(&self, tasks: &mut JoinSet<(String, Outcome)>, name: String) {
        let patience = self.patience;
        if let Some(check) = self.built_in.get(&name).cloned() {
            let (cluster, target) = (self.cluster.clone(), Arc::clone(&self.target));
            tasks.spawn(
                async move { (name, built_in::run(check, cluster, target, patience).await) },
            );
        } else if let (Some(check), Some(board)) = (self.operators.get(&name), &self.board) {
            let (check, board) = (Arc::clone(check), Arc::clone(board));
            tasks.spawn(async move {
                let named = name.clone();
                let work = async move { board.run(&named, &check, patience).await };
                (name, built_in::whatever_happens(work).await)
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

/// An operator may be called like a built-in check, such as `etcd`: it is called an operator then.
fn told_apart(
    operators: BTreeMap<String, Operator>,
    built_in: &BTreeMap<String, Arc<dyn BuiltIn>>,
) -> BTreeMap<String, Operator> {
    let told = |name: String| {
        if built_in.contains_key(&name) { format!("{name}-operator") } else { name }
    };
    operators.into_iter().map(|(name, operator)| (told(name), operator)).collect()
}

/// What each built-in check looks at.
async fn looks_at(
    cluster: &Cluster,
    target: &Target,
    built_in: &BTreeMap<String, Arc<dyn BuiltIn>>,
) -> BTreeMap<String, Vec<Resource>> {
    let mut looks_at = BTreeMap::new();
    for (name, check) in built_in {
        let mut kinds = check.looks_at().to_vec();
        kinds.extend(check.looks_also_at(cluster, target).await);
        looks_at.insert(name.clone(), kinds);
    }
    looks_at
}

/// An engine that knows all checks, and the checks of operators that are to run.
fn plan(
    identity: Identity,
    pace: Pace,
    looks_at: BTreeMap<String, Vec<Resource>>,
    operators: BTreeMap<String, Operator>,
) -> (Engine, BTreeMap<String, Arc<OperatorCheck>>) {
    let now = fairway_clock::now();
    let own = looks_at.into_iter().map(|(name, looks_at)| Planned {
        name,
        kind: CheckKind::BuiltIn,
        looks_at,
    });
    let others = operators.iter().map(|(name, operator)| Planned {
        name: name.clone(),
        kind: CheckKind::Operator,
        looks_at: operator.looks_at().collect(),
    });
    let mut engine = Engine::new(identity, pace, own.chain(others).collect(), now);
    let mut jobs = BTreeMap::new();
    for (name, operator) in operators {
        match operator {
            Operator::Check(check) => drop(jobs.insert(name, Arc::from(check))),
            Operator::Settled(outcome) => engine.ended(&name, outcome, now, 0.0),
        }
    }
    (engine, jobs)
}

/// The operators that the cluster has.
async fn present(cluster: &Cluster) -> Result<BTreeSet<String>, Unseen> {
    match cluster.all::<ClusterOperator>().await {
        Ok(operators) => Ok(operators.iter().map(kube::ResourceExt::name_any).collect()),
        Err(Unseen::NotServed(_)) => Ok(BTreeSet::new()),
        Err(error) => Err(error),
    }
}
