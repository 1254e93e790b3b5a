//! `docs/start/tour.md`: in a sandbox, which the page starts itself, with the example platform.

use anyhow::Result;

use super::{Site, logs, take};

/// Where the page has the sandbox write how it is reached.
const KUBECONFIG: &str = "sandbox/kubeconfig";

#[tokio::test(flavor = "multi_thread")]
async fn the_tour_says_what_the_program_says() -> Result<()> {
    let mut site = Site::new(KUBECONFIG, Vec::new())?;
    take("tour.md", &mut site).await?;
    logs::check(&site.directory().join("sandbox"))?;
    site.end()
}
