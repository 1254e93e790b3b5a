//! APIs that operators use, and a target does not serve any more.
//!
//! Permissions name groups and resources, but no versions; everything else that an operator says
//! about itself, and what it was seen to ask for, names both. So there are three answers, and the
//! best of them promises no more than that everything which the operator names is there.

mod lost;
mod needs;
mod outlook;
mod prospect;
mod requests;

pub use lost::{Lost, kubernetes_of};
pub use needs::{Needs, Use};
pub use outlook::{Loss, Outlook};
pub use prospect::Prospect;
pub(super) use prospect::first_loss_after;
pub use requests::Requests;
