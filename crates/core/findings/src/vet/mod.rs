//! Verification of Job requests.
//!
//! [`plan`] builds new objects from an allowlist of fields. It refuses fields that would give the
//! check more than read access, and ignores all others.

mod access;
mod job;
mod objects;
mod policy;
mod rules;

use jiff::Timestamp;
use serde_json::Value;

use crate::jobs::{JobRequest, JobState};
use crate::labels::RunOwner;

pub use access::granted;
pub use objects::{CHECK_SECONDS, CONTAINER, JOB_SECONDS};
pub use policy::AccessPolicy;
pub use rules::{Scope, read_only, rules_read_only};

/// Annotation of preflight manifests.
pub const ANNOTATION: &str = "openshift.io/preflight-check";

/// Namespace of checks.
pub const NAMESPACE: &str = "openshift-cluster-version-preflight";

/// ServiceAccount of checks that have none of their own.
pub const ACCOUNT: &str = "preflight-check";

/// Parameters of a run that all of its Jobs share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunParameters {
    /// ID of the run.
    pub id: String,
    /// Owner of the run.
    pub by: RunOwner,
    /// Version of the cluster.
    pub source_version: String,
    /// Version of the target release.
    pub target_version: String,
    /// Image of the target release, by digest.
    pub target_image: String,
    /// Network of the Pods.
    pub network: Network,
    /// Pull secret in the namespace of checks, if the cluster has one.
    pub pull_secret: Option<String>,
    /// Tolerations of the Pods.
    pub tolerations: Vec<Value>,
    /// Node selector of the Pods; null for none.
    pub node_selector: Value,
}

/// Network of checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// Pod network of the cluster.
    #[default]
    Pod,
    /// Host network, for clusters whose Pod network does not reach the API server.
    Host,
}

/// Objects to create, in this order.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckObjects {
    /// ServiceAccount and permissions of the check.
    pub access: Vec<Value>,
    /// The Job.
    pub job: Value,
}

/// Why a Job is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobRefusal {
    /// The Job requests more than checks may use.
    #[error("{field}: {why}")]
    Job {
        /// Path of the field.
        field: String,
        /// Reason of the refusal.
        why: &'static str,
    },
    /// The permissions exceed read access.
    #[error("{object}: {field}: {why}")]
    Access {
        /// Kind and name of the manifest.
        object: String,
        /// Path of the field.
        field: String,
        /// Reason of the refusal.
        why: &'static str,
    },
    /// The release is not verified, so that its checks get no permissions of their own.
    #[error(
        "{object}: the release is not verified, so its checks get no ServiceAccounts, roles or \
         role bindings; use a release with a valid signature"
    )]
    Unverified {
        /// Kind and name of the manifest.
        object: String,
    },
    /// The check reads Secrets without the consent of an administrator.
    #[error("{}", policy::missing_consent(secrets, *is_enabled))]
    Secrets {
        /// Secrets without consent, each as `NAMESPACE/NAME`.
        secrets: Vec<String>,
        /// Whether Secrets are granted with consent.
        is_enabled: bool,
    },
}

impl JobRefusal {
    /// State of the refused Job.
    pub fn state(&self) -> JobState {
        match self {
            Self::Job { .. } => JobState::Refused,
            Self::Access { .. } | Self::Unverified { .. } | Self::Secrets { .. } => {
                JobState::AccessRefused
            }
        }
    }
}

/// Builds the objects of a request, or refuses it.
pub fn plan(
    request: &JobRequest,
    run: &RunParameters,
    policy: &AccessPolicy,
    now: Timestamp,
) -> Result<CheckObjects, JobRefusal> {
    let check = job::vet(request)?;
    let access = access::vet(&request.check, &request.access, check.account)?;
    policy.verify(&request.access, &access)?;
    Ok(CheckObjects {
        access: objects::access(request, &check, &access, run),
        job: objects::job(request, &check, &access, run, now),
    })
}

#[cfg(test)]
mod tests;
