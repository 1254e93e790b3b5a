//! Interface of checks.

use fairway_findings::Finding;

use crate::{CannotTell, Context};

/// A check of a component, which runs before a cluster is updated to the component's release.
///
/// A good check collects its inputs and leaves the decision to a pure function. Fairway repeats it,
/// so it has no state and changes nothing.
pub trait Check: Send + Sync + 'static {
    /// Name of the component, such as `cloud-credential`.
    fn name(&self) -> &str;

    /// Runs the check. Returns its findings, or why it has no result.
    fn run(
        &self,
        context: &Context,
    ) -> impl Future<Output = Result<Vec<Finding>, CannotTell>> + Send;
}
