//! What a built-in check is.

use fairway_findings::Finding;
use futures::FutureExt as _;
use futures::future::{self, BoxFuture};

use crate::cluster::{Cluster, Resource, Unseen};
use crate::target::Target;

/// One question that the release asks about a cluster.
///
/// A check collects what it has to know and leaves the decision to a pure function of that. It
/// answers with findings of which it knows the name, the message, what to do, and how bad they are:
/// who asks adds the rest.
pub trait BuiltIn: Send + Sync {
    /// What it is called, such as `removed-apis`.
    fn name(&self) -> &'static str;

    /// What it looks at: it is asked again when something of that changes.
    fn looks_at(&self) -> &[Resource];

    /// What it looks at besides, because of what the release does to the kinds of this cluster.
    fn looks_also_at<'a>(
        &'a self,
        _cluster: &'a Cluster,
        _target: &'a Target,
    ) -> BoxFuture<'a, Vec<Resource>> {
        future::ready(Vec::new()).boxed()
    }

    /// Looks, and answers.
    fn run<'a>(
        &'a self,
        cluster: &'a Cluster,
        target: &'a Target,
    ) -> BoxFuture<'a, Result<Answer, CannotTell>>;
}

/// What a check answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// What it has found.
    pub findings: Vec<Finding>,
    /// What it should have looked at and could not, a sentence each: it cannot tell all then, and is
    /// sure of what it has found.
    pub unknown: Vec<String>,
    /// What it never looks at, for people to read; empty otherwise.
    pub left_out: String,
}

impl From<Vec<Finding>> for Answer {
    fn from(findings: Vec<Finding>) -> Self {
        Self { findings, ..Self::default() }
    }
}

/// Why a check has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CannotTell {
    /// Something cannot be seen.
    #[error(transparent)]
    Unseen(#[from] Unseen),
    /// The versions are too far apart.
    #[error("{0}")]
    VersionSkew(String),
    /// The release does not say what it takes to know, or the cluster does not.
    #[error("{0}")]
    NotKnown(String),
    /// The question does not arise in this cluster: the check is skipped.
    #[error("{0}")]
    DoesNotApply(String),
}
