//! Maintenance of the certificate Secret and the webhook configuration, by the leader.

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
use super::plan::{RotationState, RotationStep, plan};
use super::stored::{StoredCertificates, served};
use crate::metrics::Metrics;
use crate::request::chain;
use crate::request::in_time;
use crate::settings::Settings;
use crate::watches::{CONFIGURATIONS, SECRETS, Singleton, StaleWatches, WatchReceiver};
use crate::webhook::{self, CONFIGURATION};
use fairway_election::{Leadership, LostLease};

/// Delay after a failed write.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Maximum sleep: the system clock may be changed meanwhile.
const MAX_SLEEP: Duration = Duration::from_hours(1);

/// Maintains the certificate.
pub(crate) struct CertificateMaintainer {
    pub(crate) client: Client,
    pub(crate) leadership: Leadership,
    pub(crate) settings: Settings,
    pub(crate) secret: WatchReceiver<Singleton<Secret>>,
    pub(crate) configuration: WatchReceiver<Singleton<ValidatingWebhookConfiguration>>,
    /// Stale watches of the Secret and of the configuration.
    pub(crate) stale: [watch::Receiver<StaleWatches>; 2],
    /// The current problem, for the condition `Degraded`.
    pub(crate) problem: watch::Sender<Option<String>>,
    pub(crate) metrics: Arc<Metrics>,
    /// Fingerprint of the next certificate whose CA is published, and since when.
    pub(crate) known: Option<(String, Timestamp)>,
}

/// Errors of the maintenance.
#[derive(Debug, thiserror::Error)]
enum MaintainError {
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error("request to the API server failed")]
    Kube(#[from] kube::Error),
    #[error(transparent)]
    Lost(#[from] LostLease),
}

/// Maintains the certificate while this replica is the leader.
pub(crate) async fn maintain(mut maintainer: CertificateMaintainer) {
    loop {
        let wake = match maintainer.reconcile().await {
            Ok(wake) => {
                let stale_watch = maintainer.stale_watch();
                maintainer.report(stale_watch);
                wake
            }
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "cannot maintain webhook certificate");
                maintainer.metrics.write_failed();
                maintainer.report(Some(chain(error)));
                Some(RETRY_DELAY)
            }
        };
        let wake = wake.unwrap_or(MAX_SLEEP).min(MAX_SLEEP);
        let [secret_stale, configuration_stale] = &mut maintainer.stale;
        tokio::select! {
            changed = maintainer.secret.changed() => if changed.is_err() { return },
            changed = maintainer.configuration.changed() => if changed.is_err() { return },
            changed = secret_stale.changed() => if changed.is_err() { return },
            changed = configuration_stale.changed() => if changed.is_err() { return },
            () = fairway_clock::pause(wake) => {}
        }
    }
}

impl CertificateMaintainer {
    fn report(&self, problem: Option<String>) {
        self.problem.send_if_modified(|known| {
            let changed = *known != problem;
            *known = problem;
            changed
        });
    }

    /// The error of a stale watch of its objects.
    fn stale_watch(&mut self) -> Option<String> {
        let seen = self.stale.each_mut().map(|stale| stale.borrow_and_update().clone());
        let why = |kind| seen.iter().find_map(|stale| Some((kind, stale.why(kind)?)));
        let (kind, why) = why(SECRETS).or_else(|| why(CONFIGURATIONS))?;
        Some(format!("cannot watch {kind}: {why}"))
    }

    /// Performs the next step; returns the delay until the following one, if it is known.
    async fn reconcile(&mut self) -> Result<Option<Duration>, MaintainError> {
        let secret = self.secret.borrow_and_update().clone();
        let configuration = self.configuration.borrow_and_update().clone();
        let (Some(secret), Some(configuration)) = (secret, configuration) else {
            return Ok(None);
        };
        let stored = (*secret).as_ref().and_then(|secret| StoredCertificates::read(secret).ok());
        let names = webhook::names(&self.settings);
        let published = (*configuration).as_ref().map(webhook::bundle).unwrap_or_default();
        let next = stored.as_ref().and_then(|stored| stored.next.as_ref());
        let is_known = |it: &&Generation| published.contains(&it.ca.certificate);
        let known_since = self.known_since(next.filter(is_known), fairway_clock::now());
        let served = (*secret).as_ref().map_or_else(BTreeMap::new, served);
        let now = fairway_clock::now();
        let view = RotationState {
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
            RotationStep::Wait(until) => Some(duration_until(until, now)),
            // The watch reports the write.
            _ => None,
        })
    }

    /// Since when the CA of the next certificate is published.
    fn known_since(&mut self, next: Option<&Generation>, now: Timestamp) -> Option<Timestamp> {
        let fingerprint = next.map(Generation::fingerprint);
        if self.known.as_ref().map(|(known, _)| known) != fingerprint.as_ref() {
            self.known = fingerprint.map(|fingerprint| (fingerprint, now));
        }
        self.known.as_ref().map(|(_, since)| *since)
    }

    /// The new content of the Secret, if a step changes it.
    fn changed(
        &self,
        step: RotationStep,
        stored: Option<&StoredCertificates>,
        names: &[String],
        now: Timestamp,
    ) -> Result<Option<StoredCertificates>, MaintainError> {
        let make = || Generation::make(names, now, self.settings.certificate.lifetime);
        let Some(mut stored) = stored.cloned().filter(|_| step != RotationStep::Make) else {
            return Ok((step == RotationStep::Make)
                .then(make)
                .transpose()?
                .map(StoredCertificates::new));
        };
        match step {
            RotationStep::Make | RotationStep::Wait(_) => return Ok(None),
            RotationStep::Prepare => stored.next = Some(make()?),
            RotationStep::Promote => {
                if let Some(next) = stored.next.take() {
                    let before = std::mem::replace(&mut stored.current, next);
                    stored.previous = Some(before.ca);
                }
            }
            RotationStep::Forget => stored.previous = None,
        }
        Ok(Some(stored))
    }

    async fn write_secret(
        &self,
        stored: &StoredCertificates,
        before: Option<&Secret>,
    ) -> Result<(), MaintainError> {
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
            .or_else(ignore_conflict)
    }

    /// Publishes address and CA bundle of the webhook, unless they are current.
    async fn publish(
        &self,
        stored: &StoredCertificates,
        before: Option<&ValidatingWebhookConfiguration>,
    ) -> Result<(), MaintainError> {
        let mut wanted = webhook::configuration(&self.settings, &stored.bundle());
        if let Some(before) = before {
            webhook::keep_certified_address(&mut wanted, before, &stored.current.names);
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
        self.leadership.write(write).await?.or_else(ignore_conflict)
    }
}

/// Ignores a conflict: the watch reports the newer state, and the next step uses it.
fn ignore_conflict(error: kube::Error) -> Result<(), MaintainError> {
    match error {
        kube::Error::Api(status) if status.code == 409 => Ok(()),
        error => Err(error.into()),
    }
}

fn duration_until(then: Timestamp, now: Timestamp) -> Duration {
    then.duration_since(now).try_into().unwrap_or_default()
}
