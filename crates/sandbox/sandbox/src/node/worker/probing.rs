//! Asking containers how they are, and acting on what they answer.

use std::sync::Arc;

use tokio::task::AbortHandle;
use tokio::time::{Instant, interval_at};

use super::{Happened, Worker};
use crate::node::probes::{Question, Target, ask, pace};

impl Worker {
    /// Begins to ask; readiness and liveness only once the container has started.
    pub(super) fn begin_probes(&mut self, index: usize) {
        let slot = &self.slots[index];
        let questions = Question::ALL.into_iter().filter(|question| {
            (*question == Question::Startup) != slot.started
                && question.probe(&slot.container).is_some()
        });
        let probes: Vec<AbortHandle> =
            questions.map(|question| self.probe(index, question)).collect();
        if let Some(handle) = self.handles.get_mut(&index) {
            handle.probes.iter().for_each(AbortHandle::abort);
            handle.probes = probes;
        }
    }

    fn probe(&self, index: usize, question: Question) -> AbortHandle {
        let container = self.slots[index].container.clone();
        let (context, outbox) = (Arc::clone(&self.context), self.outbox.clone());
        let handle = self.handles.get(&index);
        let running = handle.map(|handle| (handle.plan.clone(), handle.process));
        let asking = async move {
            let Some((plan, process)) = running else { return };
            let Some(probe) = question.probe(&container) else { return };
            let (first, period) = pace(probe);
            let mut beat = interval_at(Instant::now() + first, period);
            loop {
                beat.tick().await;
                let (runtime, container) = (&context.runtime, &container);
                let target = Target { runtime, plan: &plan, process, container };
                let answer = ask(probe, &target).await;
                let happened = Happened::Answered { slot: index, question, answer };
                if outbox.send(happened).await.is_err() {
                    return;
                }
            }
        };
        tokio::spawn(asking).abort_handle()
    }

    pub(super) async fn note_answer(
        &mut self,
        index: usize,
        question: Question,
        answer: Result<(), String>,
    ) {
        let container = self.slots[index].container.clone();
        let Some(probe) = question.probe(&container) else { return };
        let Some(handle) = self.handles.get_mut(&index) else { return };
        let tally = &mut handle.tallies[question as usize];
        let believed = tally.count(probe, answer.is_ok());
        if let Err(why) = &answer {
            let message = format!("{} probe failed: {why}", question.as_str());
            self.events.warning(&container.name, "Unhealthy", &message);
        }
        match (question, believed) {
            (Question::Readiness, Some(ready)) => self.slots[index].ready = ready,
            (Question::Startup, Some(true)) => {
                self.slots[index].started = true;
                self.begin_probes(index);
            }
            (Question::Startup | Question::Liveness, Some(false)) => {
                let failed = question.as_str().to_lowercase();
                let name = &container.name;
                let message = format!("Container {name} failed {failed} probe, will be restarted");
                self.events.normal(name, "Killing", &message);
                let now = self.now();
                self.stop(index, now).await;
            }
            _ => {}
        }
    }
}
