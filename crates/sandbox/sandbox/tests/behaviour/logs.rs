//! What containers printed.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Case, Transcript, once, share};

#[tokio::test]
async fn a_log_has_both_outputs_and_outlives_the_container() -> Result<()> {
    let case = Case::begin("logs").await?;
    // Both outputs are read at the same time: without the pause, the line without an end may come
    // before the error.
    let log = case.printed("echo out; echo err >&2; sleep 1; printf unfinished").await?;
    let mut lines: Vec<&str> = log.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["err", "out", "unfinished"]);
    let answer = case.get("pods/printing/log").await?;
    assert_eq!(answer.header("content-type"), "text/plain");
    Ok(())
}

#[tokio::test]
async fn parts_of_a_log_can_be_had() -> Result<()> {
    let case = Case::begin("logs").await?;
    case.printed("echo one; echo two; echo three").await?;
    let mut said = Transcript::default();
    for query in [
        "tailLines=1",
        "tailLines=2",
        "tailLines=0",
        "tailLines=99",
        "limitBytes=5",
        "sinceSeconds=3600",
        "sinceTime=2001-01-01T00:00:00Z",
    ] {
        said.line(query, format!("{:?}", case.log(&format!("pods/printing/log?{query}")).await?));
    }
    assert_snapshot!(said, @r#"
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
async fn parameters_of_a_log_that_make_no_sense_are_refused() -> Result<()> {
    let case = Case::begin("logs").await?;
    case.printed("echo one").await?;
    let mut said = Transcript::default();
    for query in [
        "tailLines=-1",
        "limitBytes=0",
        "sinceSeconds=0",
        "sinceSeconds=1&sinceTime=2001-01-01T00:00:00Z",
    ] {
        said.line(query, case.get(&format!("pods/printing/log?{query}")).await?.fields());
    }
    said.add("previous", &case.get("pods/printing/log?previous=true").await?);
    assert_snapshot!(said, @r#"
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
async fn the_log_of_the_previous_container_is_kept() -> Result<()> {
    let case = Case::begin("logs").await?;
    let script =
        "if test -e /shared/x; then echo second; sleep 60; fi; > /shared/x; echo first; exit 1";
    let mut spec = once(&case.shell().await?, script);
    spec["restartPolicy"] = json!("OnFailure");
    share(&mut spec);
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
async fn a_log_is_followed_to_its_end() -> Result<()> {
    let case = Case::begin("logs").await?;
    let script = "for word in one two three; do echo $word; sleep 0.3; done";
    case.start("p", &once(&case.shell().await?, script)).await?;
    case.until("pods/p", "to begin", |pod| pod["status"]["phase"] != "Pending").await?;
    assert_eq!(case.log("pods/p/log?follow=true").await?, "one\ntwo\nthree\n");
    Ok(())
}

#[tokio::test]
async fn there_is_no_log_before_there_is_a_container() -> Result<()> {
    let case = Case::begin("logs").await?;
    let mut spec = once("image", "exit 0");
    spec["nodeSelector"] = json!({ "no": "such-node" });
    case.start("p", &spec).await?;
    let mut said = Transcript::default();
    let answer = case.get("pods/p/log").await?;
    said.line("unscheduled", format!("{} {:?}", answer.status, answer.text()));
    said.add("missing", &case.get("pods/none/log").await?);
    assert_snapshot!(said, @r#"
    unscheduled: 204 ""
    missing: 404 NotFound: pods "none" not found
      about {"kind":"pods","name":"none"}
    "#);
    Ok(())
}
