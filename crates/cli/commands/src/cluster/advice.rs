//! What to do when the cluster does not give the answer.

use std::error::Error;
use std::io;
use std::time::Duration;

use fairway_api::CLUSTER_VERSION_NAME;
use kube::config::KubeconfigError;
use kube::core::Status;
use tokio::time::error::Elapsed;

use crate::errors::{CannotTell, WithHint};
use crate::foreign_text::OneLine;

/// The resource as permissions name it.
const RESOURCE: &str = "clusterversions.config.openshift.io";

/// Why a request about ClusterVersion has no result.
pub(super) enum Failure {
    /// Nobody answered in that time.
    TooSlow(Duration),
    /// It could not be sent, was not understood, or the server said no.
    Refused(kube::Error),
}

impl Failure {
    /// What went wrong, where it is only said beside something else.
    pub(super) fn in_short(&self) -> String {
        match self {
            Self::TooSlow(timeout) => {
                format!("request to the API server timed out after {timeout:?}")
            }
            Self::Refused(kube::Error::Api(status)) => OneLine(&status.message).to_string(),
            Self::Refused(error) => OneLine(&fairway_text::root_cause(error)).to_string(),
        }
    }
}

/// A request about ClusterVersion.
pub(super) struct Request<'a> {
    pub(super) verb: &'static str,
    pub(super) address: &'a str,
}

/// No configuration names a cluster, or it cannot be used.
pub(super) fn no_access(error: &(dyn Error + 'static)) -> anyhow::Error {
    anyhow::anyhow!("{}", without_secrets(error)).context(WithHint {
        message: "cannot load the cluster configuration".to_owned(),
        hint: "set --kubeconfig or KUBECONFIG, and --context to one of its contexts; run `kubectl \
               config get-contexts` to list them"
            .to_owned(),
    })
}

/// What is wrong with a kubeconfig, but nothing that is in it: tokens and keys are, and logs keep
/// what they are told.
fn without_secrets(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref() {
        Some(KubeconfigError::Parse(error)) => match error.location() {
            Some(at) => {
                format!("invalid kubeconfig: error in line {}, column {}", at.line(), at.column())
            }
            None => "invalid kubeconfig".to_owned(),
        },
        Some(KubeconfigError::ReadConfig(error, path)) => {
            format!("cannot read {}: {error}", path.display())
        }
        Some(KubeconfigError::LoadContext(name)) => {
            format!("the kubeconfig has no context {name:?}")
        }
        _ => error.to_string(),
    }
}

impl Request<'_> {
    /// What went wrong, and what to do about it.
    pub(super) fn advise(&self, failure: Failure) -> anyhow::Error {
        match failure {
            Failure::TooSlow(timeout) => self.unanswered(timeout),
            Failure::Refused(kube::Error::Api(status)) => self.refused(&status),
            Failure::Refused(kube::Error::Auth(error)) => {
                caused(&error, "cannot get credentials for the cluster", "log in again")
            }
            Failure::Refused(error @ kube::Error::SerdeError(_)) => caused(
                &error,
                "cannot decode the ClusterVersion of this cluster",
                "run `kubectl get clusterversion version -o yaml` to inspect it",
            ),
            Failure::Refused(error) => caused(
                &error,
                &format!("cannot reach the API server at {}", self.address),
                "check that the server is running and reachable: `kubectl cluster-info`",
            ),
        }
    }

    fn unanswered(&self, timeout: Duration) -> anyhow::Error {
        let message = format!("request to {} timed out after {timeout:?}", self.address);
        let hint = "check that the server is reachable, or increase --request-timeout";
        WithHint { message, hint: hint.to_owned() }.into()
    }

    fn refused(&self, status: &Status) -> anyhow::Error {
        let verb = self.verb;
        match status.code {
            401 => said(
                status,
                &format!("authentication failed (401) at the API server {}", self.address),
                "log in again: the credentials in the kubeconfig may have expired",
            ),
            403 => said(
                status,
                &format!("not allowed to {verb} {RESOURCE} (403)"),
                &format!(
                    "run `kubectl auth can-i {verb} {RESOURCE}` to check; ask an administrator for \
                     a role that allows it"
                ),
            ),
            404 if is_about_the_object(status) => CannotTell {
                message: format!(
                    "this cluster has no ClusterVersion named {CLUSTER_VERSION_NAME:?}"
                ),
                hint: "check --context; the installation of a platform creates this object"
                    .to_owned(),
            }
            .into(),
            404 => CannotTell {
                message: "this cluster has no ClusterVersion API".to_owned(),
                hint:
                    "check --context; to install the API, run `fairway crds | kubectl apply -f -`"
                        .to_owned(),
            }
            .into(),
            422 => said(
                status,
                "the API server rejected the change",
                "correct the named field with `kubectl edit clusterversion version`",
            ),
            code => said(
                status,
                &format!("the API server at {} returned error {code}", self.address),
                "retry; if the error persists, check the log of the API server",
            ),
        }
    }
}

/// Whether the API is there, and only the object is not.
fn is_about_the_object(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|details| details.name == CLUSTER_VERSION_NAME)
}

/// An error with what the server says about it.
fn said(status: &Status, message: &str, hint: &str) -> anyhow::Error {
    let (message, hint) = (message.to_owned(), hint.to_owned());
    anyhow::anyhow!("{}", OneLine(&status.message)).context(WithHint { message, hint })
}

/// An error with its first cause; what lies between are layers of the client.
fn caused(error: &(dyn Error + 'static), message: &str, hint: &str) -> anyhow::Error {
    let (message, hint) = (message.to_owned(), hint.to_owned());
    anyhow::anyhow!("{}", OneLine(&fairway_text::root_cause(error)))
        .context(WithHint { message, hint })
}

/// Whether nobody answered in time: connections have as much of it as requests, and may be first to
/// notice.
pub(super) fn ran_out_of_time(error: &(dyn Error + 'static)) -> bool {
    let root = fairway_text::root(error);
    let timed_out = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut;
    root.is::<Elapsed>() || root.downcast_ref().is_some_and(timed_out)
}

#[cfg(test)]
mod tests {
    use kube::config::Kubeconfig;

    use super::*;
    use crate::errors;

    #[test]
    fn a_broken_kubeconfig_is_not_quoted() {
        let told = |text: &str| {
            let error = Kubeconfig::from_yaml(text).unwrap_err();
            errors::chain(&no_access(&error))[1..].join(": ")
        };
        let told = [
            "users:\n- name: alice\n  user:\n    token: [sha256~secret",
            "users: sha256~secret",
            "sha256~secret",
        ]
        .map(told)
        .join("\n");
        assert!(!told.contains("secret"), "{told}");
        insta::assert_snapshot!(told, @"
        invalid kubeconfig: error in line 4, column 12
        invalid kubeconfig: error in line 1, column 8
        invalid kubeconfig: error in line 1, column 1
        ");
    }
}
