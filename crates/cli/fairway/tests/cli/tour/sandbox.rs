//! `docs/start/tour.md`, which starts a sandbox with the example platform.

use anyhow::Result;

use super::{Session, check_page, logs};

/// The kubeconfig that the sandbox of the page writes.
const KUBECONFIG: &str = "sandbox/kubeconfig";

#[tokio::test(flavor = "multi_thread")]
async fn tour_page_has_the_current_output() -> Result<()> {
    let mut session = Session::new(KUBECONFIG, Vec::new())?;
    check_page("tour.md", &mut session).await?;
    logs::check(&session.directory().join("sandbox"))?;
    session.end()
}
