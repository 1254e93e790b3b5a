//! `fairway olm-guard`: reports and refuses unsupported OLM operators.

use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use fairway_compat::olm::{InvalidPolicy, MissingPolicy, OlmPolicy};
use fairway_election::{ElectionSettings, Identity, LeaseName};
use fairway_olm::{CertificateSettings, GuardError, Settings, StalenessTimeouts, WebhookAddress};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::operator::{config, connect, metrics_auth, state_file};
use crate::args::lease;
use crate::args::olm_guard::{Invalid, Missing, OlmGuardArgs};
use crate::errors::WithHint;
use crate::exit::ExitStatus;
use crate::printer::Printer;

/// Name of the Lease.
const LEASE: &str = "olm-guard";

/// File with the identity of a guard outside of a pod.
const IDENTITY: &str = "olm-guard-identity";

/// Shutdown grace period in a pod: API servers may still send requests during this time.
const SHUTDOWN_GRACE_PERIOD: Duration = Duration::from_secs(10);

pub(crate) fn run(args: &OlmGuardArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the OLM guard")?;
    runtime.block_on(guard(args, printer))
}

async fn guard(args: &OlmGuardArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    // Before anything starts, so that an early signal is not lost.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let identity = identity(args.election.pod_uid.as_deref(), &state_file(IDENTITY))?;
    let client = connect(without_retries(config(args.kubeconfig.as_deref()).await?))?;
    let stop = CancellationToken::new();
    let running = fairway_olm::run(client, settings(args, identity.name()), stop.clone());
    tokio::pin!(running);
    tokio::select! {
        ended = running.as_mut() => return finished(ended),
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    printer.note("shutting down; a second signal stops immediately");
    stop.cancel();
    tokio::select! {
        ended = running => finished(ended),
        _ = interrupt.recv() => Ok(ExitStatus::Success),
        _ = terminate.recv() => Ok(ExitStatus::Success),
    }
}

/// Disables the retries of the client: the guard retries itself, and a delayed error would leave a
/// stale result in its report.
fn without_retries(mut config: kube::Config) -> kube::Config {
    config.default_retry = false;
    config
}

/// Identity of this guard. Two guards with the same identity would both write.
fn identity(pod_uid: Option<&str>, file: &Path) -> anyhow::Result<Identity> {
    if let Some(uid) = pod_uid.filter(|uid| !uid.is_empty()) {
        return Ok(Identity::of_pod(uid));
    }
    Identity::of_machine(file).with_context(|| WithHint {
        message: format!("cannot store the identity of the OLM guard in {}", file.display()),
        hint: "set XDG_STATE_HOME to a writable directory; in a pod, set POD_UID to its UID"
            .to_owned(),
    })
}

fn settings(args: &OlmGuardArgs, identity: &str) -> Settings {
    Settings {
        cluster_operator: args.report.cluster_operator.clone(),
        namespace: args.namespace.clone(),
        policy: OlmPolicy {
            invalid: match args.report.invalid {
                Invalid::Allow => InvalidPolicy::Allow,
                Invalid::Block => InvalidPolicy::Block,
            },
            missing: match args.report.missing {
                Missing::Allow => MissingPolicy::Allow,
                Missing::Warn => MissingPolicy::Warn,
                Missing::Block => MissingPolicy::Block,
            },
        },
        release_version: args.report.release_version.clone().filter(|it| !it.is_empty()),
        listen: args.webhook.listen,
        probes: args.webhook.probe_listen.0,
        metrics_auth: metrics_auth(args.webhook.metrics_auth),
        reach: match &args.webhook.webhook_url {
            Some(url) => WebhookAddress::Url(url.clone()),
            None => WebhookAddress::Service(args.webhook.service.clone()),
        },
        certificate: CertificateSettings {
            lifetime: args.webhook.certificate_lifetime,
            ..CertificateSettings::default()
        },
        patience: StalenessTimeouts::default(),
        farewell: if is_in_pod(args) { SHUTDOWN_GRACE_PERIOD } else { Duration::ZERO },
        election: ElectionSettings {
            lease: LeaseName { namespace: args.namespace.clone(), name: LEASE.to_owned() },
            identity: identity.to_owned(),
            timing: args.election.lease.timing(),
        },
    }
}

fn is_in_pod(args: &OlmGuardArgs) -> bool {
    args.election.pod_uid.as_ref().is_some_and(|uid| !uid.is_empty())
}

fn finished(ended: Result<(), GuardError>) -> anyhow::Result<ExitStatus> {
    ended.map_err(advise)?;
    Ok(ExitStatus::Success)
}

/// Adds a hint to an error.
fn advise(error: GuardError) -> anyhow::Error {
    let hint = match &error {
        GuardError::Timing(_) => lease::ADVICE,
        GuardError::TaskEnded => "this is a bug in Fairway; see the log for details",
    };
    let message = match &error {
        GuardError::TaskEnded => "the OLM guard stopped unexpectedly",
        GuardError::Timing(_) => "cannot start the OLM guard",
    };
    let message = message.to_owned();
    anyhow::Error::from(error).context(WithHint { message, hint: hint.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_has_no_retries() {
        let config = without_retries(kube::Config::new("https://127.0.0.1:1".parse().unwrap()));
        assert!(!config.default_retry, "its tries would come on top of the guard's own");
    }

    #[test]
    fn guards_have_different_identities() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("state/identity");
        assert_eq!(identity(Some("uid"), &file).unwrap().name(), "uid");
        let first = identity(None, &file).unwrap();
        let beside = identity(Some(""), &file).unwrap();
        assert_ne!(first.name(), beside.name());
        let name = first.name().to_owned();
        drop(first);
        assert_eq!(identity(None, &file).unwrap().name(), name, "a guard that starts again");
    }
}
