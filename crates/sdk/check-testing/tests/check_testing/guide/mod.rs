//! Tests of the guide for authors of checks.

mod storage;

use std::process::Command;

use fairway_findings::check_result::{self, ContainerTermination};
use fairway_findings::jobs::JobRequest;
use fairway_findings::{CheckStatus, environment, vet};
use serde_json::Value;

const GUIDE: &str = include_str!("../../../../../../docs/components/writing-a-check.md");
const SCRIPT: &str = include_str!("preflight.sh");
const JOB: &str = include_str!("preflight.yaml");
const ACCESS: &str = include_str!("access.yaml");

/// Files that the guide contains completely.
const SHOWN: [(&str, &str); 5] = [
    ("rust", include_str!("../../../../check/examples/storage.rs")),
    ("rust", include_str!("storage.rs")),
    ("yaml", JOB),
    ("yaml", ACCESS),
    ("sh", SCRIPT),
];

/// Code blocks of the guide, with their languages.
fn blocks() -> Vec<(&'static str, &'static str)> {
    let fenced = GUIDE.split("```").skip(1).step_by(2);
    let blocks = fenced.filter_map(|block| block.split_once('\n'));
    blocks.filter(|(language, _)| ["rust", "sh", "yaml"].contains(language)).collect()
}

#[test]
fn guide_contains_tested_files() {
    assert_eq!(blocks(), SHOWN);
}

fn objects(yaml: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(yaml).unwrap()
}

#[test]
fn guide_manifests_are_accepted() {
    let by_digest = format!("registry.example/storage-operator@sha256:{}", "0".repeat(64));
    let mut manifest = objects(JOB).remove(0);
    // The release build resolves images to digests.
    manifest["spec"]["template"]["spec"]["containers"][0]["image"] = by_digest.into();
    let mut request = JobRequest {
        name: "storage-preflight-x7k2q".to_owned(),
        check: "storage".to_owned(),
        manifest,
        access: Vec::new(),
    };
    let now = "2026-01-01T00:00:00Z".parse().unwrap();
    let run = vet::RunParameters::default();
    vet::plan(&request, &run, &vet::AccessPolicy::default(), now).unwrap();
    request.manifest["spec"]["template"]["spec"]["serviceAccountName"] = "storage-preflight".into();
    request.access = objects(ACCESS);
    let secrets = Some(["openshift-storage/array-credentials".to_owned()].into());
    let policy = vet::AccessPolicy { is_verified: true, secrets };
    vet::plan(&request, &run, &policy, now).unwrap();
}

#[test]
fn guide_script_prints_valid_result() {
    let understood = |source: &str| {
        let output = Command::new("sh")
            .args(["-c", SCRIPT])
            .env(environment::SOURCE_VERSION, source)
            .output()
            .unwrap();
        let exit_code = output.status.code().unwrap();
        check_result::interpret(
            "storage",
            &ContainerTermination {
                log: &output.stdout,
                exit_code,
                ..ContainerTermination::default()
            },
        )
    };
    assert_eq!(understood("5.0.0").status, CheckStatus::Passed);
    assert_eq!(understood("").status, CheckStatus::CannotTell);
    let found = understood("4.9.0");
    assert_eq!(found.status, CheckStatus::Found);
    insta::assert_snapshot!(found.findings[0].name, @"StorageCheckFailed");
    insta::assert_snapshot!(found.findings[0].message, @"Volumes of 4.9.0 are migrated by 5.0 alone: update to 5.0 before.");
}
