//! Container logs.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Case, Transcript, once, share_directory};

#[tokio::test]
async fn log_contains_both_streams_after_exit() -> Result<()> {
    let case = Case::begin("logs").await?;
    // The streams are read concurrently: without the pause, the incomplete line may precede the
    // error.
    let log = case.printed("echo out; echo err >&2; sleep 1; printf unfinished").await?;
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["err", "out", "unfinished"]);
    let answer = case.get("pods/printing/log").await?;
    assert_eq!(answer.header("content-type"), "text/plain");
    Ok(())
}

#[tokio::test]
async fn log_options_select_lines() -> Result<()> {
    let case = Case::begin("logs").await?;
    case.printed("echo one; echo two; echo three").await?;
    let mut transcript = Transcript::default();
    for query in [
        "tailLines=1",
        "tailLines=2",
        "tailLines=0",
        "tailLines=99",
        "limitBytes=5",
        "sinceSeconds=3600",
        "sinceTime=2001-01-01T00:00:00Z",
    ] {
        transcript
            .line(query, format!("{:?}", case.log(&format!("pods/printing/log?{query}")).await?));
    }
    assert_snapshot!(transcript, @r#"
    tailLines=1: "three\n"
    tailLines=2: "two\nthree\n"
    tailLines=0: ""
    tailLines=99: "one\ntwo\nthree\n"
    limitBytes=5: "one\nt"
    sinceSeconds=3600: "one\ntwo\nthree\n"
    sinceTime=2001-01-01T00:00:00Z: "one\ntwo\nthree\n"
    "#);
    let stamped = case.log("pods/printing/log?timestamps=true").await?;
    for (line, word) in stamped.lines().zip(["one", "two", "three"]) {
        let (time, rest) = line.split_once(' ').unwrap_or_default();
        assert!(time.parse::<jiff::Timestamp>().is_ok() && rest == word, "{line}");
    }
    Ok(())
}

#[tokio::test]
async fn invalid_log_options_are_refused() -> Result<()> {
    let case = Case::begin("logs").await?;
    case.printed("echo one").await?;
    let mut transcript = Transcript::default();
    for query in [
        "tailLines=-1",
        "limitBytes=0",
        "sinceSeconds=0",
        "sinceSeconds=1&sinceTime=2001-01-01T00:00:00Z",
    ] {
        transcript.line(query, case.get(&format!("pods/printing/log?{query}")).await?.fields());
    }
    transcript.add("previous", &case.get("pods/printing/log?previous=true").await?);
    assert_snapshot!(transcript, @r#"
    tailLines=-1: 422 Invalid
      FieldValueInvalid tailLines
    limitBytes=0: 422 Invalid
      FieldValueInvalid limitBytes
    sinceSeconds=0: 422 Invalid
      FieldValueInvalid sinceSeconds
    sinceSeconds=1&sinceTime=2001-01-01T00:00:00Z: 422 Invalid
      FieldValueForbidden []
    previous: 400 BadRequest: previous terminated container "main" in pod "printing" not found
    "#);
    Ok(())
}

#[tokio::test]
async fn previous_log_is_kept_after_restart() -> Result<()> {
    let case = Case::begin("logs").await?;
    let script =
        "if test -e /shared/x; then echo second; sleep 60; fi; > /shared/x; echo first; exit 1";
    let mut spec = once(&case.shell().await?, script);
    spec["restartPolicy"] = json!("OnFailure");
    share_directory(&mut spec);
    case.start("p", &spec).await?;
    let again = |pod: &Value| {
        let container = &pod["status"]["containerStatuses"][0];
        container["restartCount"] == 1 && container["state"]["running"].is_object()
    };
    case.until("pods/p", "to run again", again).await?;
    assert_eq!(case.log("pods/p/log?previous=true").await?, "first\n");
    fairway_testkit::wait::until("the second line", || async {
        Ok((case.log("pods/p/log").await? == "second\n").then_some(()))
    })
    .await
}

#[tokio::test]
async fn follow_streams_log_until_exit() -> Result<()> {
    let case = Case::begin("logs").await?;
    let script = "for word in one two three; do echo $word; sleep 0.3; done";
    case.start("p", &once(&case.shell().await?, script)).await?;
    case.until("pods/p", "to begin", |pod| pod["status"]["phase"] != "Pending").await?;
    assert_eq!(case.log("pods/p/log?follow=true").await?, "one\ntwo\nthree\n");
    Ok(())
}

#[tokio::test]
async fn log_before_container_start_is_refused() -> Result<()> {
    let case = Case::begin("logs").await?;
    let mut spec = once("image", "exit 0");
    spec["nodeSelector"] = json!({ "no": "such-node" });
    case.start("p", &spec).await?;
    let mut transcript = Transcript::default();
    let answer = case.get("pods/p/log").await?;
    transcript.line("unscheduled", format!("{} {:?}", answer.status, answer.text()));
    transcript.add("missing", &case.get("pods/none/log").await?);
    assert_snapshot!(transcript, @r#"
    unscheduled: 204 ""
    missing: 404 NotFound: pods "none" not found
      about {"kind":"pods","name":"none"}
    "#);
    Ok(())
}
