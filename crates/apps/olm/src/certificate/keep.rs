//! Keeping the certificate, and the configuration by which API servers know it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt as _};
use tokio::sync::watch;

use super::SECRET;
use super::generation::{CertificateError, Generation};
use super::plan::{Step, View, plan};
use super::stored::{Stored, served};
use crate::error_text::chain;
use crate::metrics::Metrics;
use crate::request::in_time;
use crate::settings::Settings;
use crate::sight::{Blind, CONFIGURATIONS, Only, SECRETS, Seen};
use crate::webhook::{self, CONFIGURATION};
use fairway_election::{Leadership, LostLease};

/// How long to wait after a write that failed.
const BREATHER: Duration = Duration::from_secs(5);

/// No sleep is longer: the clock may be set meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_hours(1);

/// Whoever keeps the certificate.
pub(crate) struct Keeper {
    pub(crate) client: Client,
    pub(crate) leadership: Leadership,
    pub(crate) settings: Settings,
    pub(crate) secret: Seen<Only<Secret>>,
    pub(crate) configuration: Seen<Only<ValidatingWebhookConfiguration>>,
    /// What is not seen of the Secret, and of the configuration.
    pub(crate) blind: [watch::Receiver<Blind>; 2],
    /// What keeps it from its work, for people.
    pub(crate) trouble: watch::Sender<Option<String>>,
    pub(crate) metrics: Arc<Metrics>,
    /// The next certificate whose authority API servers know, and since when.
    pub(crate) known: Option<(String, Timestamp)>,
}

/// Why something was not written.
#[derive(Debug, thiserror::Error)]
enum KeepError {
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error("request to the API server failed")]
    Kube(#[from] kube::Error),
    #[error(transparent)]
    Lost(#[from] LostLease),
}

/// Keeps the certificate for as long as it is the one that writes.
pub(crate) async fn keep(mut keeper: Keeper) {
    loop {
        let wake = match keeper.attend().await {
            Ok(wake) => {
                let unseen = keeper.unseen();
                keeper.tell(unseen);
                wake
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "cannot maintain webhook certificate");
                keeper.metrics.write_failed();
                keeper.tell(Some(chain(error)));
                Some(BREATHER)
            }
        };
        let wake = wake.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP);
        let [secret_blind, configuration_blind] = &mut keeper.blind;
        tokio::select! {
            changed = keeper.secret.changed() => if changed.is_err() { return },
            changed = keeper.configuration.changed() => if changed.is_err() { return },
            changed = secret_blind.changed() => if changed.is_err() { return },
            changed = configuration_blind.changed() => if changed.is_err() { return },
            () = fairway_clock::pause(wake) => {}
        }
    }
}

impl Keeper {
    fn tell(&self, trouble: Option<String>) {
        self.trouble.send_if_modified(|known| {
            let changed = *known != trouble;
            *known = trouble;
            changed
        });
    }

    /// What it does not see of its own objects.
    fn unseen(&mut self) -> Option<String> {
        let seen = self.blind.each_mut().map(|blind| blind.borrow_and_update().clone());
        let why = |kind| seen.iter().find_map(|blind| Some((kind, blind.why(kind)?)));
        let (kind, why) = why(SECRETS).or_else(|| why(CONFIGURATIONS))?;
        Some(format!("cannot watch {kind}: {why}"))
    }

    /// Does what is to be done now; when to look again, where that is known.
    async fn attend(&mut self) -> Result<Option<Duration>, KeepError> {
        let secret = self.secret.borrow_and_update().clone();
        let configuration = self.configuration.borrow_and_update().clone();
        let (Some(secret), Some(configuration)) = (secret, configuration) else {
            return Ok(None);
        };
        let stored = (*secret).as_ref().and_then(|secret| Stored::read(secret).ok());
        let names = webhook::names(&self.settings);
        let published = (*configuration).as_ref().map(webhook::bundle).unwrap_or_default();
        let next = stored.as_ref().and_then(|stored| stored.next.as_ref());
        let is_known = |it: &&Generation| published.contains(&it.authority.certificate);
        let known_since = self.known_since(next.filter(is_known), fairway_clock::now());
        let served = (*secret).as_ref().map_or_else(BTreeMap::new, served);
        let now = fairway_clock::now();
        let view = View {
            now,
            names: &names,
            known_since,
            served: &served,
            settings: self.settings.certificate,
        };
        let step = plan(stored.as_ref(), &view);
        let changed = self.changed(step, stored.as_ref(), &names, now)?;
        if let Some(changed) = &changed {
            tracing::info!(?step, "updating webhook certificate");
            self.write_secret(changed, (*secret).as_ref()).await?;
        }
        let Some(stored) = changed.or(stored) else { return Ok(None) };
        self.publish(&stored, (*configuration).as_ref()).await?;
        Ok(match step {
            Step::Wait(until) => Some(until_then(until, now)),
            // The news of what was written comes by the watch.
            _ => None,
        })
    }

    /// Since when the authority of a certificate is known, which was just seen to be published.
    fn known_since(&mut self, next: Option<&Generation>, now: Timestamp) -> Option<Timestamp> {
        let fingerprint = next.map(Generation::fingerprint);
        if self.known.as_ref().map(|(known, _)| known) != fingerprint.as_ref() {
            self.known = fingerprint.map(|fingerprint| (fingerprint, now));
        }
        self.known.as_ref().map(|(_, since)| *since)
    }

    /// What the Secret is to have.
    fn changed(
        &self,
        step: Step,
        stored: Option<&Stored>,
        names: &[String],
        now: Timestamp,
    ) -> Result<Option<Stored>, KeepError> {
        let make = || Generation::make(names, now, self.settings.certificate.lifetime);
        let Some(mut stored) = stored.cloned().filter(|_| step != Step::Make) else {
            return Ok((step == Step::Make).then(make).transpose()?.map(Stored::new));
        };
        match step {
            Step::Make | Step::Wait(_) => return Ok(None),
            Step::Prepare => stored.next = Some(make()?),
            Step::Promote => {
                if let Some(next) = stored.next.take() {
                    let before = std::mem::replace(&mut stored.current, next);
                    stored.previous = Some(before.authority);
                }
            }
            Step::Forget => stored.previous = None,
        }
        Ok(Some(stored))
    }

    async fn write_secret(
        &self,
        stored: &Stored,
        before: Option<&Secret>,
    ) -> Result<(), KeepError> {
        let api = Api::<Secret>::namespaced(self.client.clone(), &self.settings.namespace);
        let secret = stored.secret(&self.settings.namespace, before);
        let parameters = PostParams::default();
        self.leadership
            .write(async {
                match before {
                    None => in_time(api.create(&parameters, &secret)).await.map(drop),
                    Some(_) => in_time(api.replace(SECRET, &parameters, &secret)).await.map(drop),
                }
            })
            .await?
            .or_else(outrun)
    }

    /// Tells API servers where the webhook is and whom to trust, unless they know.
    async fn publish(
        &self,
        stored: &Stored,
        before: Option<&ValidatingWebhookConfiguration>,
    ) -> Result<(), KeepError> {
        let mut wanted = webhook::configuration(&self.settings, &stored.bundle());
        if let Some(before) = before {
            webhook::stay_where_certified(&mut wanted, before, &stored.current.names);
        }
        if before.is_some_and(|before| before.webhooks == wanted.webhooks) {
            return Ok(());
        }
        let api = Api::<ValidatingWebhookConfiguration>::all(self.client.clone());
        let parameters = PostParams::default();
        let write = async {
            match before {
                None => in_time(api.create(&parameters, &wanted)).await.map(drop),
                Some(before) => {
                    wanted.metadata.resource_version = before.resource_version();
                    wanted.metadata.labels.clone_from(&before.metadata.labels);
                    wanted.metadata.annotations.clone_from(&before.metadata.annotations);
                    in_time(api.replace(CONFIGURATION, &parameters, &wanted)).await.map(drop)
                }
            }
        };
        self.leadership.write(write).await?.or_else(outrun)
    }
}

/// A newer state than the one that was seen is on its way, and will be looked at.
fn outrun(error: kube::Error) -> Result<(), KeepError> {
    match error {
        kube::Error::Api(status) if status.code == 409 => Ok(()),
        error => Err(error.into()),
    }
}

fn until_then(then: Timestamp, now: Timestamp) -> Duration {
    then.duration_since(now).try_into().unwrap_or_default()
}
