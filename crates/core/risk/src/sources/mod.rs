//! What in a cluster stands against updates, as concerns for the ledger.
//!
//! Each function looks at what one part of the cluster says. None of it is trusted: texts are cut
//! to a length that can be shown, and what cannot be read is a concern itself.

mod admin_gates;
mod alerts;
mod cluster_operators;
mod deletions;
mod names;
mod not_offered;
mod overrides;
mod risk_report;
mod updating;

pub use admin_gates::{ConfigData, Gate, admin_gates, unconfirmed};
pub use alerts::alerts;
pub use cluster_operators::{cluster_operators, unlisted_cluster_operators};
pub use deletions::deletions;
pub use names::{UPDATING, source_of};
pub use not_offered::not_offered;
pub use overrides::overrides;
pub use updating::updating;

use fairway_api::ConditionStatus;
use fairway_api::reason::applies;

use crate::definition::DOCS;
use crate::risk::{Claim, Concern, Risk, Source, Targets};
use crate::text;

/// Bytes of a text of the cluster that becomes a risk's message; as long as people still read.
const MAX_TEXT: usize = 4 << 10;

/// Something that stands against later minor and major versions.
fn against_minor(name: impl Into<String>, message: &str, section: &str, source: Source) -> Concern {
    let risk = Risk::always(name, text::excerpt(message, MAX_TEXT), docs(section));
    Concern { risk, source, targets: Targets::MinorOrMajor }
}

/// Something that might, if it could be looked at.
fn cannot_tell(mut concern: Concern, why: &str) -> Concern {
    let why = text::excerpt(why, MAX_TEXT);
    let claim = Claim::new(ConditionStatus::Unknown, applies::EVALUATION_FAILED, why);
    concern.risk.claim = Some(claim);
    concern
}

/// Where the documentation of risks has a section about it.
fn docs(section: &str) -> String {
    format!("{DOCS}#{section}")
}
