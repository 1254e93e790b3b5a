//! Errors of requests to the API server, with hints.

use std::error::Error;
use std::io;
use std::time::Duration;

use fairway_api::CLUSTER_VERSION_NAME;
use kube::config::KubeconfigError;
use kube::core::Status;
use tokio::time::error::Elapsed;

use crate::errors::{CannotTell, WithHint};
use crate::foreign_text::OneLine;

/// Resource name in permissions.
const RESOURCE: &str = "clusterversions.config.openshift.io";

/// Why a request about ClusterVersion failed.
pub(super) enum RequestFailure {
    /// No response within this time.
    TimedOut(Duration),
    /// Connection, decoding or API error.
    Failed(kube::Error),
}

impl RequestFailure {
    /// One-line cause, for use within another message.
    pub(super) fn summary(&self) -> String {
        match self {
            Self::TimedOut(timeout) => {
                format!("request to the API server timed out after {timeout:?}")
            }
            Self::Failed(kube::Error::Api(status)) => OneLine(&status.message).to_string(),
            Self::Failed(error) => OneLine(&fairway_text::root_cause(error)).to_string(),
        }
    }
}

/// Request about ClusterVersion.
pub(super) struct ClusterVersionRequest<'a> {
    pub(super) verb: &'static str,
    pub(super) address: &'a str,
}

/// Error for a missing or invalid cluster configuration.
pub(super) fn no_access(error: &(dyn Error + 'static)) -> anyhow::Error {
    anyhow::anyhow!("{}", without_secrets(error)).context(WithHint::new(
        "cannot load the cluster configuration",
        "set --kubeconfig or KUBECONFIG, and --context to one of its contexts; run `kubectl \
         config get-contexts` to list them",
    ))
}

/// Description of a kubeconfig error without content of the file: it has tokens and keys, and logs
/// keep error messages.
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

impl ClusterVersionRequest<'_> {
    /// Error with its cause and a hint.
    pub(super) fn explain(&self, failure: RequestFailure) -> anyhow::Error {
        match failure {
            RequestFailure::TimedOut(timeout) => self.timed_out(timeout),
            RequestFailure::Failed(kube::Error::Api(status)) => self.refused(&status),
            RequestFailure::Failed(kube::Error::Auth(error)) => {
                caused(&error, "cannot get credentials for the cluster", "log in again")
            }
            RequestFailure::Failed(error @ kube::Error::SerdeError(_)) => caused(
                &error,
                "cannot decode the ClusterVersion of this cluster",
                "run `kubectl get clusterversion version -o yaml` to inspect it",
            ),
            RequestFailure::Failed(error) => caused(
                &error,
                &format!("cannot reach the API server at {}", self.address),
                "check that the server is running and reachable: `kubectl cluster-info`",
            ),
        }
    }

    fn timed_out(&self, timeout: Duration) -> anyhow::Error {
        let message = format!("request to {} timed out after {timeout:?}", self.address);
        let hint = "check that the server is reachable, or increase --request-timeout";
        WithHint::new(message, hint).into()
    }

    fn refused(&self, status: &Status) -> anyhow::Error {
        let verb = self.verb;
        match status.code {
            401 => api_error(
                status,
                &format!("authentication failed (401) at the API server {}", self.address),
                "log in again: the credentials in the kubeconfig may have expired",
            ),
            403 => api_error(
                status,
                &format!("not allowed to {verb} {RESOURCE} (403)"),
                &format!(
                    "run `kubectl auth can-i {verb} {RESOURCE}` to check; ask an administrator for \
                     a role that allows it"
                ),
            ),
            404 if is_missing_object(status) => CannotTell::new(
                format!("this cluster has no ClusterVersion named {CLUSTER_VERSION_NAME:?}"),
                "check --context; the installation of a platform creates this object",
            )
            .into(),
            404 => CannotTell::new(
                "this cluster has no ClusterVersion API",
                "check --context; to install the API, run `fairway crds | kubectl apply -f -`",
            )
            .into(),
            422 => api_error(
                status,
                "the API server rejected the change",
                "correct the named field with `kubectl edit clusterversion version`",
            ),
            code => api_error(
                status,
                &format!("the API server at {} returned error {code}", self.address),
                "retry; if the error persists, check the log of the API server",
            ),
        }
    }
}

/// Whether the API is served and only the object is missing.
fn is_missing_object(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|details| details.name == CLUSTER_VERSION_NAME)
}

/// Error with the message of the API server.
fn api_error(status: &Status, message: &str, hint: &str) -> anyhow::Error {
    let (message, hint) = (message.to_owned(), hint.to_owned());
    anyhow::anyhow!("{}", OneLine(&status.message)).context(WithHint::new(message, hint))
}

/// Error with its root cause; the errors between are layers of the client.
fn caused(error: &(dyn Error + 'static), message: &str, hint: &str) -> anyhow::Error {
    let (message, hint) = (message.to_owned(), hint.to_owned());
    anyhow::anyhow!("{}", OneLine(&fairway_text::root_cause(error)))
        .context(WithHint::new(message, hint))
}

/// Whether an error is a timeout. Connections have the same timeout as requests and may fail first.
pub(super) fn is_timeout(error: &(dyn Error + 'static)) -> bool {
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
    fn invalid_kubeconfig_error_has_no_secrets() {
        let messages = |text: &str| {
            let error = Kubeconfig::from_yaml(text).unwrap_err();
            errors::chain(&no_access(&error))[1..].join(": ")
        };
        let messages = [
            "users:\n- name: alice\n  user:\n    token: [sha256~secret",
            "users: sha256~secret",
            "sha256~secret",
        ]
        .map(messages)
        .join("\n");
        assert!(!messages.contains("secret"), "{messages}");
        insta::assert_snapshot!(messages, @"
        invalid kubeconfig: error in line 4, column 12
        invalid kubeconfig: error in line 1, column 8
        invalid kubeconfig: error in line 1, column 1
        ");
    }
}
