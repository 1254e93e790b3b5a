//! The one gate: an update begins only if every risk that applies, or may apply, was accepted.

use std::fmt;

use fairway_api::ConditionStatus;

use crate::verdict::Verdict;

/// Why an update may not begin.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refusal {
    /// The version it leads to.
    pub version: String,
    /// The risks that apply and were not accepted, by name.
    pub applying: Vec<String>,
    /// The risks of which it is not known whether they apply, and that were not accepted.
    pub unknown: Vec<String>,
}

/// Whether an update may begin: the reason of the refusal is `UnacceptedRisks`.
pub fn may_update(verdict: &Verdict) -> Result<(), Refusal> {
    let names = |applies: bool| {
        let against = verdict.unaccepted();
        let of_status =
            against.filter(|exposure| (exposure.status == ConditionStatus::True) == applies);
        of_status.map(|exposure| exposure.name.clone()).collect::<Vec<_>>()
    };
    let (applying, unknown) = (names(true), names(false));
    if applying.is_empty() && unknown.is_empty() {
        return Ok(());
    }
    Err(Refusal { version: verdict.release.version.clone(), applying, unknown })
}

impl Refusal {
    /// The command with which an administrator accepts all of it.
    pub fn command(&self) -> String {
        let names: Vec<&str> =
            self.applying.iter().chain(&self.unknown).map(String::as_str).collect();
        format!("fairway upgrade accept {}", names.join(","))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, applying, unknown } = self;
        write!(f, "The update to {version} has unaccepted risks.")?;
        if !applying.is_empty() {
            write!(f, " Applying to this cluster: {}.", applying.join(", "))?;
        }
        if !unknown.is_empty() {
            write!(f, " Unknown whether they apply: {}.", unknown.join(", "))?;
        }
        write!(f, " To accept them and continue: {}", self.command())
    }
}
