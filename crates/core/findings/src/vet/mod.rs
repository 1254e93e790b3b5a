//! Whether a Job that was asked for may run here, and as what.
//!
//! Nothing is passed on because nobody objected: [`plan`] makes new objects, and takes over what it
//! knows to be harmless. What a manifest asks for beyond that is refused if it would give the check
//! more than reading, and left out if it would not.

mod access;
mod fields;
mod granted;
mod job;
mod making;
mod rules;

use jiff::Timestamp;
use serde_json::Value;

use crate::jobs::{JobRequest, JobState};
use crate::labels::By;

pub use granted::granted;
pub use making::{CHECK_SECONDS, CONTAINER, JOB_SECONDS};
pub use rules::{Scope, read_only, rules_read_only};

/// The annotation that makes a manifest part of a preflight.
pub const ANNOTATION: &str = "openshift.io/preflight-check";

/// Where checks run.
pub const NAMESPACE: &str = "openshift-cluster-version-preflight";

/// The account of checks that bring none of their own.
pub const ACCOUNT: &str = "preflight-check";

/// What a run gives to all of its Jobs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Its identity.
    pub id: String,
    /// Who has begun it.
    pub by: By,
    /// The version of the cluster.
    pub source_version: String,
    /// The version of the target.
    pub target_version: String,
    /// The image of the target, by digest.
    pub target_image: String,
    /// Which network checks get.
    pub network: Network,
    /// The Secret beside them with which nodes pull their images, where nodes cannot by themselves.
    pub pull_secret: Option<String>,
    /// Which taints they tolerate, as in a Pod.
    pub tolerations: Vec<Value>,
    /// Which nodes they may run on, as in a Pod; all if it is null.
    pub node_selector: Value,
}

/// Which network checks get.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// That of the cluster.
    #[default]
    Pod,
    /// That of the node, where no other reaches the API server.
    Host,
}

/// What is to be created, in this order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The account of the check, and what it may read.
    pub access: Vec<Value>,
    /// The Job.
    pub job: Value,
}

/// Why a Job does not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It asks for more of the node than a check may have.
    #[error("{field}: {why}")]
    Job {
        /// The field of its manifest.
        field: String,
        /// What is wrong with that.
        why: &'static str,
    },
    /// It asks for permissions beyond reading.
    #[error("{object}: {field}: {why}")]
    Access {
        /// Kind and name of the manifest.
        object: String,
        /// The field of it.
        field: String,
        /// What is wrong with that.
        why: &'static str,
    },
}

impl Refusal {
    /// The word for it.
    pub fn state(&self) -> JobState {
        match self {
            Self::Job { .. } => JobState::Refused,
            Self::Access { .. } => JobState::AccessRefused,
        }
    }
}

/// What is to be created for a request, or why nothing is.
pub fn plan(request: &JobRequest, run: &Run, now: Timestamp) -> Result<Plan, Refusal> {
    let check = job::vet(request)?;
    let access = access::vet(&request.check, &request.access, check.account)?;
    Ok(Plan {
        access: making::access(request, &check, &access, run),
        job: making::job(request, &check, &access, run, now),
    })
}

#[cfg(test)]
mod tests;
