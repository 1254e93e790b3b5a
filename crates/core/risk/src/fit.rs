//! What a status has room for. Over that, updates are withheld, never their risks.

use std::collections::BTreeSet;
use std::fmt;

use fairway_api::cluster_version::{ConditionalUpdate, Release};
use fairway_api::limits;
use serde::Serialize;

/// Bytes of the updates and risks of a status. With the history and the conditions, the object
/// stays below 1 MiB; etcd takes 1.5.
const MAX_BYTES: usize = 768 << 10;

/// An update that a status does not show.
#[derive(Clone, Debug, PartialEq)]
pub struct Withheld {
    /// The release it leads to.
    pub release: Release,
    /// Why.
    pub because: Because,
}

/// Why a status does not show an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Because {
    /// There are too many updates, and others are to later versions.
    TooManyUpdates,
    /// The update has that many risks.
    TooManyRisks(usize),
    /// The status has no more room.
    TooLarge,
}

impl fmt::Display for Withheld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "The status omits the update to {}: ", self.release.version)?;
        match self.because {
            Because::TooManyUpdates => {
                f.write_str("too many updates; the oldest ones are omitted.")
            }
            Because::TooManyRisks(count) => {
                write!(f, "it has {count} risks; the limit is {}.", limits::RISKS)
            }
            Because::TooLarge => f.write_str("the size limit of the status is reached."),
        }
    }
}

/// What is to be told about one update.
pub(crate) struct Told {
    pub(crate) release: Release,
    pub(crate) recommended: bool,
    /// None where no risk concerns the update.
    pub(crate) conditional: Option<ConditionalUpdate>,
}

impl Told {
    /// The names of the risks that concern the update.
    pub(crate) fn risk_names(&self) -> impl Iterator<Item = &str> {
        self.conditional.iter().flat_map(|update| &update.risk_names).map(String::as_str)
    }
}

/// The updates that a status has room for, in their order: the latest version comes first.
pub(crate) fn fit(
    told: Vec<Told>,
    risk_size: impl Fn(&str) -> usize,
) -> (Vec<Told>, Vec<Withheld>) {
    let mut room =
        Room { bytes: MAX_BYTES, updates: limits::CONDITIONAL_UPDATES, names: BTreeSet::new() };
    let mut kept = Vec::new();
    let mut withheld = Vec::new();
    for told in told {
        match room.take(&told, &risk_size) {
            Ok(()) => kept.push(told),
            Err(because) => withheld.push(Withheld { release: told.release, because }),
        }
    }
    (kept, withheld)
}

struct Room {
    bytes: usize,
    updates: usize,
    names: BTreeSet<String>,
}

impl Room {
    fn take(&mut self, told: &Told, risk_size: impl Fn(&str) -> usize) -> Result<(), Because> {
        let new: Vec<&str> = told.risk_names().filter(|name| !self.names.contains(*name)).collect();
        let count = told.conditional.as_ref().map_or(0, |update| update.risks.len());
        // Recommended or not, it takes the same room: what is shown does not depend on that.
        let bytes = size(&told.release)
            + size(&told.conditional)
            + new.iter().map(|name| risk_size(name)).sum::<usize>();
        if count > limits::RISKS {
            return Err(Because::TooManyRisks(count));
        }
        if told.conditional.is_some() && self.updates == 0 {
            return Err(Because::TooManyUpdates);
        }
        if bytes > self.bytes || self.names.len() + new.len() > limits::CONDITIONAL_UPDATE_RISKS {
            return Err(Because::TooLarge);
        }
        self.bytes -= bytes;
        self.updates -= usize::from(told.conditional.is_some());
        self.names.extend(new.into_iter().map(str::to_owned));
        Ok(())
    }
}

/// The bytes of something in JSON.
pub(crate) fn size(value: &impl Serialize) -> usize {
    serde_json::to_vec(value).map_or(usize::MAX / 4, |json| json.len())
}
