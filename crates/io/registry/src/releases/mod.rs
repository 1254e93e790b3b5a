//! Lists the releases of a repository or a layout from the metadata in their images.
//!
//! Content never changes under its digest. With the [`ScanCache`] of the last scan, a scan resolves
//! each tag and reads only new images. A broken, missing or forbidden image omits only that release
//! and is listed in the [`ScanReport`].
//!
//! * `manifest` reads one image, `layer` finds its metadata.
//! * [`scan()`] reads new images, `assemble` derives the releases.

mod assemble;
mod layer;
mod manifest;
mod report;
mod scan;

pub use fairway_graph::ReleaseImage;

pub use crate::source::Source;
pub(crate) use report::printable;
pub use report::{ProblemReason, ScanProblem, ScanReport};
pub use scan::{ScanCache, ScanError, ScanProgress, ScanResult, ScanSettings, scan, scan_with};
