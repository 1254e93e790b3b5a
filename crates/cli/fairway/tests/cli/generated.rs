//! Manual pages and the reference.

use crate::{fairway, transcript};

#[test]
fn manual_pages() {
    let dir = tempfile::tempdir().unwrap();
    let printed = transcript(fairway().arg("man").arg(dir.path()));
    assert!(printed.starts_with("exit code: 0\n"), "{printed}");
    let mut pages: Vec<String> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|page| page.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    insta::assert_snapshot!(pages.join("\n"), @"
    fairway-completion.1
    fairway-crds.1
    fairway-fleet-preflight.1
    fairway-fleet-report.1
    fairway-fleet.1
    fairway-graph-build.1
    fairway-graph-channels.1
    fairway-graph-diff.1
    fairway-graph-latest.1
    fairway-graph-lint.1
    fairway-graph-path.1
    fairway-graph-show.1
    fairway-graph-why.1
    fairway-graph.1
    fairway-install.1
    fairway-man.1
    fairway-olm-check.1
    fairway-olm-guard.1
    fairway-olm-list.1
    fairway-olm.1
    fairway-operator.1
    fairway-preflight.1
    fairway-release-diff.1
    fairway-release-extract.1
    fairway-release-info.1
    fairway-release-lint.1
    fairway-release-new.1
    fairway-release-sign.1
    fairway-release-verify.1
    fairway-release.1
    fairway-sandbox.1
    fairway-update-service.1
    fairway-upgrade-accept.1
    fairway-upgrade-channel.1
    fairway-upgrade-compare.1
    fairway-upgrade-explain.1
    fairway-upgrade-plan.1
    fairway-upgrade-recommend.1
    fairway-upgrade-rollback.1
    fairway-upgrade-status.1
    fairway-upgrade.1
    fairway.1
    ");
    let root = std::fs::read_to_string(dir.path().join("fairway.1")).unwrap();
    assert!(root.contains(".TH fairway 1"), "{root}");
    let channel = std::fs::read_to_string(dir.path().join("fairway-upgrade-channel.1")).unwrap();
    insta::assert_snapshot!(channel);
}
