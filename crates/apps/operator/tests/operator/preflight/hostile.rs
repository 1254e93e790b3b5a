//! Runs that write what they should not.

use std::fs;
use std::os::unix::fs::symlink;

use anyhow::Result;
use fairway_findings::{Document, ExecutionStatus, Finding};

use super::stage::{Run, Stage};

#[tokio::test]
async fn whatever_a_run_writes_the_operator_says_what_is_wrong_with_it() -> Result<()> {
    let stage = Stage::begin().await?;
    let image = stage.release("5.1.0")?;
    stage.ask(&image).await?;
    let run = stage.until_run(&image, "5.1.0").await?;
    let result = run.directory.join("result.json");
    let bytes = |bytes: &[u8]| fs::write(&result, bytes);
    let other = |change: fn(&mut Document)| {
        let mut document = run.document(ExecutionStatus::Completed);
        change(&mut document);
        run.write(&document)
    };

    bytes(b"{\"format\": \"preflight-v1-json\", \"risks\": [")?;
    stage.until_told("cannot parse the results", true).await?;
    other(|document| document.format = "preflight-v9-json".to_owned())?;
    stage.until_told("preflight-v9-json", true).await?;
    other(|document| document.preflight_id = "0".repeat(32))?;
    stage.until_told("belong to the run", true).await?;
    bytes("[".repeat(100_000).as_bytes())?;
    stage.until_told("cannot parse the results", true).await?;
    other(|document| document.target_version = "5.7.0".to_owned())?;
    stage.until_told("belong to the version \"5.7.0\"", true).await?;
    bytes(b"{\"format\": \"\xff\"}")?;
    stage.until_told("cannot parse the results", true).await?;
    bytes(&vec![b' '; (1 << 20) + 1])?;
    stage.until_told("larger than 1024 KiB", true).await?;
    other(|document| document.target_image = "r.example/a@sha256:0".to_owned())?;
    stage.until_told("belong to the image", true).await?;
    fs::remove_file(&result)?;
    symlink("/etc/passwd", &result)?;
    stage.until_told("it is a symbolic link", true).await?;
    ten_thousand_findings(&run)?;
    let said = stage.until_reason("PreflightCompleted", "RisksFound").await?;
    assert!(said.concerns.len() <= 200, "{}", said.concerns.len());
    stage.until_told("some results are dropped", true).await?;

    run.write(&run.document(ExecutionStatus::Completed))?;
    stage.until_told("result", false).await?;
    Ok(())
}

fn ten_thousand_findings(run: &Run) -> Result<()> {
    let mut document = run.document(ExecutionStatus::Completed);
    let finding = |number| Finding { name: format!("Risk{number}"), ..Finding::default() };
    document.risks = (0..10_000).map(finding).collect();
    run.write(&document)
}
