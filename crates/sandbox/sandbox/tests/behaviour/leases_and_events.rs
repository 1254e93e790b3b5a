//! Leases and Events.

use anyhow::Result;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Case, Transcript};

fn lease(holder: &str) -> Value {
    json!({
        "metadata": { "name": "l" },
        "spec": { "holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.123456Z" },
    })
}

#[tokio::test]
async fn concurrent_lease_updates_have_one_winner() -> Result<()> {
    let case = Case::begin("records").await?;
    let before = case.create("leases", &lease("initial")).await?.object()?;
    let take = |holder: &str| {
        let mut taken = before.clone();
        taken["spec"]["holderIdentity"] = json!(holder);
        taken
    };
    let (one, two) = (take("one"), take("two"));
    let answers =
        futures::future::try_join(case.replace("leases/l", &one), case.replace("leases/l", &two))
            .await?;
    let mut codes = [answers.0.status, answers.1.status];
    codes.sort_unstable();
    assert_eq!(codes, [200, 409]);
    Ok(())
}

#[tokio::test]
async fn lease_times_have_microseconds() -> Result<()> {
    let case = Case::begin("records").await?;
    let created = case.create("leases", &lease("one")).await?.object()?;
    assert_eq!(created["spec"]["renewTime"], "2026-01-01T00:00:00.123456Z");
    let mut whole = lease("one");
    whole["metadata"]["name"] = json!("whole");
    whole["spec"]["renewTime"] = json!("2026-01-01T00:00:00Z");
    assert_snapshot!(case.create("leases", &whole).await?.outline(), @"400 BadRequest");
    Ok(())
}

#[tokio::test]
async fn invalid_leases_are_refused() -> Result<()> {
    let case = Case::begin("records").await?;
    let mut transcript = Transcript::default();
    for (field, value) in [("leaseDurationSeconds", 0), ("leaseTransitions", -1)] {
        let mut wanted = lease("one");
        wanted["spec"][field] = json!(value);
        transcript.add(field, &case.create("leases", &wanted).await?);
    }
    assert_snapshot!(transcript, @r#"
    leaseDurationSeconds: 422 Invalid: Lease.coordination.k8s.io "l" is invalid: …
      about {"group":"coordination.k8s.io","kind":"Lease","name":"l"}
      FieldValueInvalid spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0
    leaseTransitions: 422 Invalid: Lease.coordination.k8s.io "l" is invalid: …
      about {"group":"coordination.k8s.io","kind":"Lease","name":"l"}
      FieldValueInvalid spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0
    "#);
    Ok(())
}

#[tokio::test]
async fn event_must_be_in_namespace_of_its_object() -> Result<()> {
    let case = Case::begin("records").await?;
    let event = |name: &str, namespace: &str| {
        json!({
            "metadata": { "name": name }, "reason": "Tried", "message": "it was tried", "type": "Normal",
            "involvedObject": { "kind": "ConfigMap", "namespace": namespace, "name": "a" },
            "source": { "component": "suite" },
        })
    };
    let created = case.create("events", &event("own", case.ns())).await?.object()?;
    assert_eq!((&created["reason"], &created["type"]), (&json!("Tried"), &json!("Normal")));
    let mut transcript = Transcript::default();
    transcript.add("another namespace", &case.create("events", &event("other", "default")).await?);
    transcript.line("no namespace", case.create("events", &event("none", "")).await?.fields());
    assert_snapshot!(transcript, @r#"
    another namespace: 422 Invalid: Event "other" is invalid: …
      about {"kind":"Event","name":"other"}
      FieldValueInvalid involvedObject.namespace: Invalid value: "default": does not match event.namespace
    no namespace: 422 Invalid
      FieldValueInvalid involvedObject.namespace
    "#);
    Ok(())
}

#[tokio::test]
async fn both_event_groups_serve_the_same_events() -> Result<()> {
    let case = Case::begin("records").await?;
    let event = json!({
        "metadata": { "name": "e" }, "reason": "Tried", "message": "it was tried",
        "involvedObject": { "kind": "ConfigMap", "namespace": case.ns(), "name": "a" },
    });
    case.create("events", &event).await?.object()?;
    let path = "/apis/events.k8s.io/v1/namespaces/{ns}/events/e";
    let other = case.get(path).await?.object()?;
    assert_eq!(other["apiVersion"], "events.k8s.io/v1");
    assert_snapshot!(json!([other["reason"], other["note"], other["regarding"]["name"]]), @r#"["Tried","it was tried","a"]"#);
    Ok(())
}
