//! What a check whose Job has ended answers.

use fairway_findings::answer::{Ending, MAX_LOG, understand};
use fairway_findings::vet::NAMESPACE;
use fairway_findings::{CheckStatus, FORMAT};
use futures::AsyncReadExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::LogParams;
use kube::{Api, Client, ResourceExt as _};

use super::state::End;
use crate::engine::Outcome;

/// What it answers. `pod` is the one that has ended, where there is one.
pub(super) async fn outcome(client: &Client, check: &str, end: End, pod: Option<&Pod>) -> Outcome {
    match end {
        End::Exited { code, reason, message } => {
            let (log, command) = (log(client, pod).await, command(pod));
            let ending = Ending {
                log: log.as_deref().unwrap_or_default(),
                termination_message: &message,
                exit_code: code,
                reason: &reason,
                command: &command,
            };
            match &log {
                // Without its log, a check that ended well seems to have found nothing.
                Err(error) if code == 0 && !message.contains(FORMAT) => {
                    let why = format!("cannot read the log of its pod: {error}");
                    Outcome::unanswered(CheckStatus::CannotTell, why)
                }
                _ => understood(check, &ending),
            }
        }
        End::NoCommand(_) => Outcome::Skipped("its image does not contain the command".to_owned()),
        End::NotStarted(why) => Outcome::unanswered(CheckStatus::NotStarted, why),
        End::TimedOut(why) => Outcome::unanswered(CheckStatus::TimedOut, why),
        End::Killed(why) => Outcome::unanswered(CheckStatus::Failed, why),
    }
}

fn understood(check: &str, ending: &Ending<'_>) -> Outcome {
    let said = understand(check, ending);
    match said.status {
        CheckStatus::Passed | CheckStatus::Found => {
            Outcome::Answered { findings: said.findings, left_out: said.dropped.join("; ") }
        }
        CheckStatus::Skipped => Outcome::Skipped(said.message),
        status => Outcome::Unanswered { status, why: said.message, findings: said.findings },
    }
}

/// What the manifest says that the check runs.
fn command(pod: Option<&Pod>) -> Vec<String> {
    let spec = pod.and_then(|pod| pod.spec.as_ref());
    let Some(container) = spec.and_then(|spec| spec.containers.first()) else { return Vec::new() };
    container.command.iter().chain(&container.args).flatten().cloned().collect()
}

/// All that the check printed, and a byte of what is too much.
async fn log(client: &Client, pod: Option<&Pod>) -> kube::Result<Vec<u8>> {
    let Some(pod) = pod else { return Ok(Vec::new()) };
    let containers = pod.spec.as_ref().map(|spec| spec.containers.as_slice()).unwrap_or_default();
    let most = MAX_LOG as u64 + 1;
    let params = LogParams {
        container: containers.first().map(|container| container.name.clone()),
        limit_bytes: i64::try_from(most).ok(),
        ..LogParams::default()
    };
    let api: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let mut bytes = Vec::new();
    let stream = api.log_stream(&pod.name_any(), &params).await?;
    stream.take(most).read_to_end(&mut bytes).await.map_err(kube::Error::ReadEvents)?;
    Ok(bytes)
}
