//! Payloads of real operators, and what stands in for those operators in a cluster without them.
//!
//! [`RealPayload`] is one of the releases in the directory that `FAIRWAY_PAYLOADS` names.
//! [`prepare`] gives a cluster what an installer gives it before the operator starts, and
//! [`Components`] reports for the components, whose programs do not run.

mod components;
mod operator;
mod payload;
mod presence;
mod site;

pub use components::Components;
pub use operator::OperatorProcess;
pub use payload::{RealPayload, default_filter};
pub use presence::{absent, lacking};
pub use site::{MissingKind, prepare};
