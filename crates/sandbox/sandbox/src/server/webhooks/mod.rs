//! Asking webhooks, over the network.

mod address;
mod client;
mod trust;

use std::sync::{Arc, Mutex, PoisonError};

use futures::future::join_all;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhook;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::exchange::random_id;
use crate::api::{Api, Call, Change, Refusal, Reply, Reviewer};
use crate::store::{Key, Resource};
use crate::webhook::{self, Asked, Verdict};

/// What became of a request, and what its client should know.
pub(super) struct Answered {
    pub(super) reply: Result<Reply, Refusal>,
    pub(super) warnings: Vec<String>,
}

/// Does what is asked for, where all webhooks agree that have a say.
pub(super) async fn answer(api: &Api, call: &Arc<Call>, stopping: &CancellationToken) -> Answered {
    let webhooks = webhook::candidates(api.store(), call);
    if webhooks.is_empty() {
        return Answered { reply: api.answer(call), warnings: Vec::new() };
    }
    let panel = Panel {
        api: api.clone(),
        webhooks,
        warnings: Mutex::default(),
        runtime: Handle::current(),
        stopping: stopping.clone(),
    };
    let call = Arc::clone(call);
    // The API does not wait for anybody, but here it has to: on a thread that may.
    let answered = tokio::task::spawn_blocking(move || {
        let reply = panel.api.answer_reviewed(&call, &panel);
        let warnings = panel.warnings.into_inner().unwrap_or_else(PoisonError::into_inner);
        Answered { reply, warnings }
    });
    answered.await.unwrap_or_else(|error| Answered {
        reply: Err(Refusal::internal(error)),
        warnings: Vec::new(),
    })
}

/// The webhooks of a cluster.
struct Panel {
    api: Api,
    webhooks: Vec<ValidatingWebhook>,
    warnings: Mutex<Vec<String>>,
    runtime: Handle,
    stopping: CancellationToken,
}

impl Reviewer for Panel {
    fn review(&self, change: &Change<'_>) -> Result<(), Refusal> {
        let catalog = self.api.catalog();
        let namespace = change.call.namespace.as_deref();
        let namespace = namespace.and_then(|name| {
            self.api.store().get(&Key::new(&Resource::new("", "namespaces"), None, name).ok()?)
        });
        let asked = self
            .webhooks
            .iter()
            .filter_map(|webhook| webhook::asked(webhook, change, namespace.as_deref(), &catalog));
        let answers = join_all(asked.map(|asked| self.ask(asked, change)));
        self.runtime.block_on(async {
            tokio::select! {
                answers = answers => answers.into_iter().collect(),
                // What nobody has agreed to is not done.
                () = self.stopping.cancelled() => Err(Refusal::internal("the server is shutting down")),
            }
        })
    }
}

impl Panel {
    async fn ask(&self, asked: Asked<'_>, change: &Change<'_>) -> Result<(), Refusal> {
        match self.verdict(&asked, change).await {
            Ok(Verdict { said, warnings }) => {
                self.warnings.lock().unwrap_or_else(PoisonError::into_inner).extend(warnings);
                said
            }
            Err(problem) => webhook::failure(asked.webhook, &problem),
        }
    }

    async fn verdict(&self, asked: &Asked<'_>, change: &Change<'_>) -> Result<Verdict, String> {
        let uid = random_id();
        let review = webhook::review(asked, change, &uid)?;
        let body = client::post(asked.webhook, &review, self.api.store()).await?;
        webhook::read(&asked.webhook.name, &uid, &body)
            .map_err(|problem| format!("received invalid webhook response: {problem}"))
    }
}
