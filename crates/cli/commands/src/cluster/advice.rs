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
            Self::TooSlow(timeout) => format!("the API server did not answer within {timeout:?}"),
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
        message: "cannot tell how to reach a cluster".to_owned(),
        hint: "name a kubeconfig with --kubeconfig or KUBECONFIG, and with --context a context \
               that it has: `kubectl config get-contexts` lists them"
            .to_owned(),
    })
}

/// What is wrong with a kubeconfig, but nothing that is in it: tokens and keys are, and logs keep
/// what they are told.
fn without_secrets(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref() {
        Some(KubeconfigError::Parse(error)) => match error.location() {
            Some(at) => format!(
                "the kubeconfig is not one: line {}, column {} cannot be understood",
                at.line(),
                at.column()
            ),
            None => "the kubeconfig is not one: it cannot be understood".to_owned(),
        },
        Some(KubeconfigError::ReadConfig(error, path)) => {
            format!("cannot read {}: {error}", path.display())
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
                "the ClusterVersion of this cluster cannot be understood",
                "look at it with `kubectl get clusterversion version -o yaml`",
            ),
            Failure::Refused(error) => caused(
                &error,
                &format!("cannot reach the API server at {}", self.address),
                "check that it runs and that nothing stands in between; `kubectl cluster-info` \
                 asks the same server",
            ),
        }
    }

    fn unanswered(&self, timeout: Duration) -> anyhow::Error {
        let message = format!("{} did not answer within {timeout:?}", self.address);
        let hint = "check that it can be reached from here; --request-timeout waits longer";
        WithHint { message, hint: hint.to_owned() }.into()
    }

    fn refused(&self, status: &Status) -> anyhow::Error {
        let verb = self.verb;
        match status.code {
            401 => said(
                status,
                &format!("the API server at {} does not know you", self.address),
                "log in again: the credentials in the kubeconfig may have expired",
            ),
            403 => said(
                status,
                &format!("you may not {verb} {RESOURCE}"),
                &format!(
                    "`kubectl auth can-i {verb} {RESOURCE}` asks the same; an administrator can \
                     give you a role that allows it"
                ),
            ),
            404 if is_about_the_object(status) => CannotTell {
                message: format!(
                    "this cluster has no ClusterVersion named {CLUSTER_VERSION_NAME:?}"
                ),
                hint: "it is made when a platform is installed; does the context name the cluster \
                       that you mean?"
                    .to_owned(),
            }
            .into(),
            404 => CannotTell {
                message: "this cluster has no ClusterVersion: it does not know the update API"
                    .to_owned(),
                hint: "does the context name the cluster that you mean? If so, \
                       `fairway crds | kubectl apply -f -` installs the API"
                    .to_owned(),
            }
            .into(),
            422 => said(
                status,
                "the API server refuses the change",
                "correct what it names; `kubectl edit clusterversion version` shows all of it",
            ),
            code => said(
                status,
                &format!("the API server at {} answered with error {code}", self.address),
                "try again; if it stays, look at the log of the API server",
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
        the kubeconfig is not one: line 4, column 12 cannot be understood
        the kubeconfig is not one: line 1, column 8 cannot be understood
        the kubeconfig is not one: line 1, column 1 cannot be understood
        ");
    }
}
