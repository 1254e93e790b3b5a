//! What the service says about itself.

use jiff::Timestamp;
use serde::Serialize;

use crate::answers::Counts;
use crate::assemble::Quarantined;

/// How things are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    /// What is served, once there is something.
    pub graph: Option<GraphStatus>,
    /// Why newer data is not served.
    pub held: Option<String>,
    /// What is not served as it was meant to be; the rest is.
    pub quarantined: Vec<Quarantined>,
    /// Where the data comes from.
    pub sources: Vec<SourceStatus>,
}

/// What is served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GraphStatus {
    /// The same for all replicas that serve the same.
    pub digest: String,
    /// Since when it is served.
    pub since: Timestamp,
    /// When all sources were last seen to say the same as what is served.
    pub confirmed: Timestamp,
    /// What is in it.
    #[serde(flatten)]
    pub counts: Counts,
}

/// A source of data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceStatus {
    /// What people call it.
    pub name: String,
    /// When it could last be read.
    pub read: Option<Timestamp>,
    /// When it was last seen to change.
    pub changed: Option<Timestamp>,
    /// What is wrong since then.
    pub error: Option<String>,
}

impl Status {
    /// Why clients get nothing, or old data, in one line.
    pub fn trouble(&self) -> Option<String> {
        let errors = self
            .sources
            .iter()
            .filter_map(|source| Some(format!("{}: {}", source.name, source.error.as_ref()?)));
        let troubles: Vec<String> = errors.chain(self.held.clone()).collect();
        (!troubles.is_empty()).then(|| troubles.join("; "))
    }
}
