//! The releases of a repository or of a layout: what their images say about themselves.
//!
//! Content has the name of its digest and never changes, so nothing is read twice: whoever keeps
//! the [`Known`] of one scan for the next pays one question for each tag, and reads new images
//! alone. One broken, missing or forbidden image costs that release, and stands in the [`Report`].
//!
//! * [`Source`] is where images are, and `manifest` what is known of one.
//! * `layer` finds the metadata in a layer while it arrives.
//! * [`scan`] reads what is new, and `assemble` decides which releases all of that makes.

mod assemble;
mod layer;
mod manifest;
mod report;
mod scan;
mod source;

use fairway_release::ReleaseMetadata;
use serde::{Deserialize, Serialize};

pub(crate) use report::printable;
pub use report::{Problem, Reason, Report};
pub use scan::{Known, Progress, Scan, ScanError, Settings, scan, scan_with};
pub use source::Source;
pub(crate) use source::{Kind, Tag};

/// A release image, and what it says about itself. A list of them as JSON is a list of releases
/// such as the update graph is built from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Release {
    /// The image, by digest.
    pub image: String,
    /// Its architecture; `multi` if it is a list for several.
    pub arch: String,
    /// What it says about itself.
    pub release_metadata: ReleaseMetadata,
}
