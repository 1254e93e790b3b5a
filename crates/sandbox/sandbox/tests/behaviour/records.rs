//! Leases and events: who is in charge, and what happened.

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
async fn of_several_who_take_a_lease_one_gets_it() -> Result<()> {
    let case = Case::begin("records").await?;
    let before = case.create("leases", &lease("nobody")).await?.object()?;
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
async fn times_of_a_lease_are_exact() -> Result<()> {
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
async fn leases_that_make_no_sense_are_refused() -> Result<()> {
    let case = Case::begin("records").await?;
    let mut said = Transcript::default();
    for (field, value) in [("leaseDurationSeconds", 0), ("leaseTransitions", -1)] {
        let mut wanted = lease("one");
        wanted["spec"][field] = json!(value);
        said.add(field, &case.create("leases", &wanted).await?);
    }
    assert_snapshot!(said, @r#"
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
async fn an_event_is_about_an_object_of_its_namespace() -> Result<()> {
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
    let mut said = Transcript::default();
    said.add("another namespace", &case.create("events", &event("other", "default")).await?);
    said.line("no namespace", case.create("events", &event("none", "")).await?.fields());
    assert_snapshot!(said, @r#"
    another namespace: 422 Invalid: Event "other" is invalid: …
      about {"kind":"Event","name":"other"}
      FieldValueInvalid involvedObject.namespace: Invalid value: "default": does not match event.namespace
    no namespace: 422 Invalid
      FieldValueInvalid involvedObject.namespace
    "#);
    Ok(())
}

#[tokio::test]
async fn both_groups_show_the_same_events() -> Result<()> {
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
