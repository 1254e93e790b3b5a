//! Stored preflight results survive a restart of the operator and reach ClusterVersion.

use anyhow::Result;
use fairway_api::cluster_version::ClusterVersionStatus;
use fairway_findings::{
    CheckReport, CheckStatus, Document, ExecutionStatus, FORMAT, Finding, record,
};
use fairway_testkit::{objects, wait};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, PostParams};
use serde_json::json;

use crate::faults::TestSetup;
use crate::support::{available, reason, recommended, update};

const NAMESPACE: &str = "openshift-cluster-version";

/// A stored result of a preflight from 5.1.0 to this version, with these findings.
fn found(version: &str, risks: &[&str]) -> Result<ConfigMap> {
    let image = objects::release(version).image;
    let finding = |name: &&str| Finding {
        name: (*name).to_owned(),
        message: format!("{name} is incompatible with {version}."),
        check: "network".to_owned(),
        ..Finding::default()
    };
    let status = if risks.is_empty() { CheckStatus::Passed } else { CheckStatus::Found };
    let document = Document {
        format: FORMAT.to_owned(),
        preflight_id: "0123456789abcdef0123456789abcdef".to_owned(),
        source_version: "5.1.0".to_owned(),
        target_version: version.to_owned(),
        target_image: image.clone(),
        execution_status: ExecutionStatus::Completed,
        checks: vec![CheckReport { name: "network".to_owned(), status, ..CheckReport::default() }],
        risks: risks.iter().map(finding).collect(),
        ..Document::default()
    };
    record_of(&image, &serde_json::to_string(&document)?)
}

fn record_of(image: &str, document: &str) -> Result<ConfigMap> {
    Ok(serde_json::from_value(json!({
        "metadata": {
            "name": record::name(image),
            "labels": {record::LABEL: "true"},
            "annotations": {record::TARGET_IMAGE: image},
        },
        "data": {record::COMPLETE: document},
    }))?)
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_findings_become_risks_that_can_be_accepted() -> Result<()> {
    let mut setup = TestSetup::new().await?;
    let records: Api<ConfigMap> = Api::namespaced(setup.operated.cluster.client(), NAMESPACE);
    let invalid = record_of(&objects::release("5.3.0").image, &"[".repeat(10_000))?;
    for record in [found("5.1.1", &["DualStack"])?, found("5.2.0", &[])?, invalid] {
        records.create(&PostParams::default(), &record).await?;
    }
    let operated = &mut setup.operated;
    operated.start();
    let is_known = |status: &ClusterVersionStatus| {
        let because = |version| recommended(status, version).map(|it| it.reason.as_str());
        because("5.1.1") == Some("DualStack")
            && because("5.2.0") == Some("NotOfferedByUpdateService")
            && available(status) == ["5.1.3"]
    };
    let status = operated.status("the stored findings", is_known).await?;
    let applies = &update(&status, "5.1.1").unwrap().risks[0].conditions[0];
    assert_eq!(applies.reason, "PreflightValidation");
    assert_eq!(applies.message, "Risk identified during preflight check for 5.1.1");
    assert_eq!(reason(&status, "PreflightRunning"), "NotRequested");
    assert_eq!(reason(&status, "PreflightCompleted"), "NotMonitored");
    operated.reports(r#"cluster_version_preflight_risks{severity="warning"}"#, 1.0).await?;

    let accepted = json!({"desiredUpdate": {
        "acceptRisks": [{"name": "DualStack"}, {"name": "NotOfferedByUpdateService"}],
    }});
    operated.patch_spec(accepted).await?;
    let is_accepted = |status: &ClusterVersionStatus| available(status) == ["5.1.3", "5.1.1"];
    operated.status("the acceptance to take effect", is_accepted).await?;

    let invalid = record::name(&objects::release("5.3.0").image).unwrap();
    wait::until("the removal of the invalid record", || async {
        Ok(records.get_opt(&invalid).await?.is_none().then_some(()))
    })
    .await?;
    operated.stop().await?;
    for version in ["5.1.1", "5.2.0"] {
        let name = record::name(&objects::release(version).image).unwrap();
        records.delete(&name, &DeleteParams::default()).await?;
    }
    Ok(())
}
