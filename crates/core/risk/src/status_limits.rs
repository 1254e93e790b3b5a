//! Size limits of the status. Updates that exceed them are omitted, never single risks.

use std::collections::BTreeSet;
use std::fmt;

use fairway_api::cluster_version::{ConditionalUpdate, Release};
use fairway_api::limits;
use serde::Serialize;

/// Bytes of updates and risks in a status. With history and conditions, the object stays below 1
/// MiB; etcd's limit is 1.5 MiB.
const MAX_STATUS_BYTES: usize = 768 << 10;

/// An update that the status omits.
#[derive(Clone, Debug, PartialEq)]
pub struct OmittedUpdate {
    /// Target release.
    pub release: Release,
    /// Reason of the omission.
    pub because: OmissionReason,
}

/// Reason why the status omits an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OmissionReason {
    /// There are too many updates to later versions.
    TooManyUpdates,
    /// The update has this number of risks.
    TooManyRisks(usize),
    /// The status has no more room.
    TooLarge,
}

impl fmt::Display for OmittedUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The status omits the update to {}: ", self.release.version)?;
        match self.because {
            OmissionReason::TooManyUpdates => {
                f.write_str("too many updates; the oldest ones are omitted.")
            }
            OmissionReason::TooManyRisks(count) => {
                write!(f, "it has {count} risks; the limit is {}.", limits::RISKS)
            }
            OmissionReason::TooLarge => f.write_str("the size limit of the status is reached."),
        }
    }
}

/// The status entries of one update.
pub(crate) struct EvaluatedUpdate {
    pub(crate) release: Release,
    pub(crate) recommended: bool,
    /// `None` if the update has no risks.
    pub(crate) conditional: Option<ConditionalUpdate>,
}

impl EvaluatedUpdate {
    /// Names of the risks of the update.
    pub(crate) fn risk_names(&self) -> impl Iterator<Item = &str> {
        self.conditional.iter().flat_map(|update| &update.risk_names).map(String::as_str)
    }
}

/// The updates that fit into a status, in the given order: latest version first.
pub(crate) fn limit(
    updates: Vec<EvaluatedUpdate>,
    risk_size: impl Fn(&str) -> usize,
) -> (Vec<EvaluatedUpdate>, Vec<OmittedUpdate>) {
    let mut space = RemainingSpace {
        bytes: MAX_STATUS_BYTES,
        updates: limits::CONDITIONAL_UPDATES,
        names: BTreeSet::new(),
    };
    let mut included = Vec::new();
    let mut withheld = Vec::new();
    for update in updates {
        match space.reserve(&update, &risk_size) {
            Ok(()) => included.push(update),
            Err(because) => withheld.push(OmittedUpdate { release: update.release, because }),
        }
    }
    (included, withheld)
}

struct RemainingSpace {
    bytes: usize,
    updates: usize,
    names: BTreeSet<String>,
}

impl RemainingSpace {
    fn reserve(
        &mut self,
        update: &EvaluatedUpdate,
        risk_size: impl Fn(&str) -> usize,
    ) -> Result<(), OmissionReason> {
        let new: Vec<&str> =
            update.risk_names().filter(|name| !self.names.contains(*name)).collect();
        let count = update.conditional.as_ref().map_or(0, |update| update.risks.len());
        // The size does not depend on the recommendation, so neither does the selection.
        let bytes = size(&update.release)
            + size(&update.conditional)
            + new.iter().map(|name| risk_size(name)).sum::<usize>();
        if count > limits::RISKS {
            return Err(OmissionReason::TooManyRisks(count));
        }
        if update.conditional.is_some() && self.updates == 0 {
            return Err(OmissionReason::TooManyUpdates);
        }
        if bytes > self.bytes || self.names.len() + new.len() > limits::CONDITIONAL_UPDATE_RISKS {
            return Err(OmissionReason::TooLarge);
        }
        self.bytes -= bytes;
        self.updates -= usize::from(update.conditional.is_some());
        self.names.extend(new.into_iter().map(str::to_owned));
        Ok(())
    }
}

/// Size of a value in JSON.
pub(crate) fn size(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX / 4, |json| json.len())
}
