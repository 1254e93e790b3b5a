//! What a check is.

use fairway_findings::Finding;

use crate::{CannotTell, Context};

/// One question that a component asks about a cluster, before the cluster gets the component's
/// release.
///
/// A good check collects what it has to know and leaves the decision to a pure function of that. It
/// is asked again and again, so it remembers nothing and changes nothing.
pub trait Check: Send + Sync + 'static {
    /// What it is called: the name of the component, such as `cloud-credential`.
    fn name(&self) -> &str;

    /// Looks, and answers with what it has found, or why it cannot tell.
    fn run(
        &self,
        context: &Context,
    ) -> impl Future<Output = Result<Vec<Finding>, CannotTell>> + Send;
}
