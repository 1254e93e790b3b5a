//! The stage at work.

use std::sync::Arc;

use fairway_cincinnati::answer;
use fairway_cincinnati::fetch::{self, Failure, Fetched};
use fairway_cincinnati::question::Current;
use fairway_cincinnati::question::Question;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::HeaderValue;
use reqwest::Client;
use tokio::sync::watch;
use tokio::time::Instant;

use super::inherited::Inherited;
use super::inputs::{Inputs, Task};
use super::memory::{self, Memory, News};
use super::timing::Timing;
use super::{Settings, Updates};
use crate::metrics;
use crate::text;

/// Asks the update service and publishes what it offers, until nobody looks any more.
pub async fn run(
    mut inputs: Inputs,
    settings: Settings,
    metrics: metrics::Updates,
    out: watch::Sender<Option<Arc<Updates>>>,
) {
    let mut stage = Stage::new(settings, metrics, Arc::clone(&inputs.current), &out);
    loop {
        if let Some(task) = inputs.task(&stage.settings.services) {
            stage.heed(task);
        }
        let due = stage.due();
        tokio::select! {
            open = inputs.changed() => if !open { return },
            outcome = answered(&mut stage.asking) => stage.learn(outcome),
            () = fairway_clock::sleep_until(due) => stage.ask(),
            () = out.closed() => return,
        }
    }
}

/// A question that is on its way.
struct Asking {
    begun: Instant,
    outcome: BoxFuture<'static, Result<News, Failure>>,
}

/// The stage's state.
struct Stage<'a> {
    settings: Settings,
    metrics: metrics::Updates,
    current: Arc<Current>,
    out: &'a watch::Sender<Option<Arc<Updates>>>,
    task: Option<Task>,
    client: Option<Client>,
    asking: Option<Asking>,
    memory: Memory,
    timing: Timing,
}

impl<'a> Stage<'a> {
    fn new(
        settings: Settings,
        metrics: metrics::Updates,
        current: Arc<Current>,
        out: &'a watch::Sender<Option<Arc<Updates>>>,
    ) -> Self {
        let timing = Timing::new(settings.pace.clone());
        let (task, client, asking, memory) = (None, None, None, Memory::default());
        Self { settings, metrics, current, out, task, client, asking, memory, timing }
    }

    /// Takes in what there is to do. Answers to another question mean nothing: until there is a
    /// new one, what is published stays that of the generation before. What stands in the status
    /// is inherited at first sight.
    fn heed(&mut self, task: Task) {
        let before = self.task.as_ref();
        let same_question = before.is_some_and(|before| before.question == task.question);
        let same_route = before.is_some_and(|before| before.route == task.route);
        if before.is_none() {
            let now = (Instant::now(), fairway_clock::now());
            let inherited = Inherited::of(&task.cluster_version, &self.current, now);
            self.memory = Memory::inheriting(inherited);
        } else if !same_question {
            self.memory = Memory::default();
        }
        if !same_question {
            self.metrics.asked_anew(fairway_clock::now());
        }
        if !same_route {
            self.client = None;
        }
        if !same_question || !same_route {
            self.asking = None;
            self.timing.changed(Instant::now());
        }
        self.task = Some(task);
        self.publish();
    }

    /// When to ask; never while there is nothing to ask, or somebody is already being asked.
    fn due(&self) -> Option<Instant> {
        let can_ask = self.asking.is_none() && self.question().is_some();
        can_ask.then(|| self.timing.due(Instant::now()))
    }

    fn question(&self) -> Option<&Question> {
        self.task.as_ref()?.question.as_ref().ok()
    }

    /// Sends the question.
    fn ask(&mut self) {
        let Some(Task { question: Ok(question), route, .. }) = &self.task else { return };
        let begun = Instant::now();
        self.timing.begun(begun);
        let client = match &self.client {
            Some(client) => Ok(client.clone()),
            None => fetch::client(route, &self.settings.patience),
        };
        self.client = client.as_ref().ok().cloned();
        let known = Known {
            tag: self.memory.tag().cloned(),
            digest: self.memory.digest().map(str::to_owned),
        };
        let question = question.clone();
        let outcome = async move { news(&client?, question, known).await }.boxed();
        self.asking = Some(Asking { begun, outcome });
    }

    /// Takes in the answer.
    fn learn(&mut self, outcome: Result<News, Failure>) {
        let Some(Asking { begun, .. }) = self.asking.take() else { return };
        let (now, time) = (Instant::now(), fairway_clock::now());
        let took = now - begun;
        match &outcome {
            Ok(News::Answer { .. }) => self.metrics.answered(took, time),
            Ok(News::Unchanged) => self.metrics.unchanged(took, time),
            Err(failure) => self.metrics.failed(&failure.reason(), took),
        }
        self.timing.ended(now, outcome.is_ok(), fairway_clock::random_unit());
        log(&outcome);
        self.memory.learn(outcome, (now, time));
        self.publish();
    }

    /// Publishes what there is to say. Where only the time of the answer differs, nobody is told.
    fn publish(&self) {
        let Some(task) = &self.task else { return };
        let updates = match &task.question {
            Ok(question) => self.memory.updates(question, task.generation()),
            Err(refusal) => Some(memory::refused(refusal, task.generation())),
        };
        let Some(updates) = updates else { return };
        self.out.send_if_modified(|published| {
            let same = published.as_ref().is_some_and(|before| before.says_the_same(&updates));
            *published = Some(Arc::new(updates));
            !same
        });
    }
}

/// What is known of the answer before.
struct Known {
    tag: Option<HeaderValue>,
    digest: Option<String>,
}

/// Asks, and finds out whether the answer is a new one.
async fn news(client: &Client, question: Question, known: Known) -> Result<News, Failure> {
    let Fetched::Body { bytes, tag } = fetch::fetch(client, &question, known.tag).await? else {
        return Ok(News::Unchanged);
    };
    // Large graphs take a while to be understood, and meanwhile others have to be served.
    let read = tokio::task::spawn_blocking(move || {
        if known.digest.is_some_and(|digest| digest == answer::digest(&bytes)) {
            return Ok(None);
        }
        answer::read(&question, &bytes).map(Some)
    });
    match read.await {
        Ok(Ok(None)) => Ok(News::Unchanged),
        Ok(Ok(Some(answer))) => Ok(News::Answer { answer, tag }),
        Ok(Err(error)) => Err(Failure::unreadable(error)),
        Err(error) => Err(Failure::Invalid { why: text::cause(&error) }),
    }
}

async fn answered(asking: &mut Option<Asking>) -> Result<News, Failure> {
    match asking {
        Some(asking) => (&mut asking.outcome).await,
        None => std::future::pending().await,
    }
}

fn log(outcome: &Result<News, Failure>) {
    match outcome {
        Ok(News::Unchanged) => tracing::debug!("update graph unchanged"),
        Ok(News::Answer { answer, .. }) => {
            let (releases, problems) = (answer.graph.nodes().len(), answer.problem_count);
            let updates = answer.candidates.as_ref().map_or(0, |candidates| candidates.len());
            tracing::info!(releases, updates, problems, "update graph retrieved");
            for problem in &answer.problems {
                tracing::warn!(error = problem, "invalid data in update graph ignored");
            }
        }
        Err(failure) => {
            let reason = failure.reason().code;
            tracing::warn!(reason, error = %failure, "cannot retrieve update graph; retrying");
        }
    }
}
