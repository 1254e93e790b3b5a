use fairway_api::cluster_version::{MatchingRule, MatchingRuleType, PromQl, Update};
use fairway_api::reason::release_accepted;
use fairway_risk::{
    Acceptance, AffectedUpdates, CandidateUpdate, EvaluationInput, Ledger, PreviousEvaluation,
    QueryOutcomes, QueryPolicy, ReportedRisk, Risk, RiskAssessment, RiskSource,
};
use fairway_testkit::objects::{beginning, release};

use fairway_api::OperatorCondition;

use super::*;

/// Risks of updates of a cluster at 5.0.3, which had 5.0.2 before, with the findings of a preflight of
/// 5.2.0.
fn ledger(looked_at: bool) -> Ledger {
    let risk = |name: &str| {
        let url = format!("https://example.com/{name}");
        Risk::always(name, format!("{name} may break the cluster."), url)
    };
    let edge = |version: &str, risks: &[&str]| CandidateUpdate {
        release: release(version),
        risks: risks.iter().map(|name| risk(name).into()).collect(),
    };
    let found = |name: &str, claim: RiskAssessment| ReportedRisk {
        risk: risk(name).with_assessment(claim),
        source: RiskSource::Preflight,
        targets: AffectedUpdates::Images([release("5.2.0").image].into_iter().collect()),
    };
    let validated = RiskAssessment::new(true, "PreflightValidation", "It was found.");
    let not_upgradeable = ReportedRisk {
        risk: risk("ClusterOperatorUpgradeable-dns"),
        source: RiskSource::Upgradeable("dns".to_owned()),
        targets: AffectedUpdates::MinorOrMajor,
    };
    let query = |query: &str| MatchingRule {
        type_: MatchingRuleType::PromQl,
        promql: Some(PromQl { promql: query.to_owned(), ..PromQl::default() }),
        ..MatchingRule::default()
    };
    let evaluated = Risk { matching_rules: vec![query("exposed")], ..risk("SlowDisk") };
    let candidates = vec![
        CandidateUpdate { release: release("5.0.6"), risks: vec![evaluated.into()] },
        edge("5.0.4", &[]),
        edge("5.0.5", &["DiskLoss"]),
        edge("5.1.0", &["DiskLoss", "NetworkLoss"]),
        edge("5.2.0", &[]),
    ];
    let found = [found("OldKernel", validated.clone()), found("SlowBoot", validated.as_advisory())];
    let found = found.into_iter().filter(|_| looked_at);
    let concerns = [not_upgradeable].into_iter().chain(found).collect();
    Ledger::new("5.0.3", candidates, concerns)
}

struct Scenario<'a> {
    to: &'a str,
    accepts: &'a [&'a str],
    forced: bool,
    withdrawn: bool,
    offered: bool,
    looked_at: Option<PreflightOutcome>,
    unverified: Option<&'a str>,
    unaccepted: UnacceptedRiskPolicy,
    completed: Option<&'a str>,
}

/// An update to an offered version.
fn to(version: &str) -> Scenario<'_> {
    Scenario {
        to: version,
        accepts: &[],
        forced: false,
        withdrawn: false,
        offered: true,
        looked_at: None,
        unverified: None,
        unaccepted: UnacceptedRiskPolicy::Gate,
        completed: None,
    }
}

fn decided(scenario: &Scenario) -> Result<Option<String>, Decision> {
    let release = release(scenario.to);
    let accepted = serde_json::json!({
        "acceptRisks": scenario.accepts.iter().map(|name| serde_json::json!({"name": name})).collect::<Vec<_>>(),
    });
    let update: Update = serde_json::from_value(accepted).unwrap();
    let verdict = ledger(scenario.looked_at.is_some()).verdict(
        &release,
        EvaluationInput {
            outcomes: &QueryOutcomes::new(),
            policy: &QueryPolicy::default(),
            acceptance: &Acceptance::read(Some(&update), None),
            previous: &PreviousEvaluation::default(),
            now: beginning().0,
        },
    );
    let request = UpdateRequest {
        image: release.image.clone(),
        version: Some(release.version.clone()),
        forced: scenario.forced,
        withdrawn: scenario.withdrawn,
    };
    let previous = UpdateHistory { version: Some("5.0.2".to_owned()), ..UpdateHistory::default() };
    let proposed = ProposedUpdate {
        request: &request,
        from: Version::new(5, 0, 3),
        completed: scenario.completed.map(|version| Version::parse(version).unwrap()),
        offered_from: Some(Version::new(5, 0, 3)),
        release,
        to: &Version::parse(scenario.to).unwrap(),
        previous: Some(&previous),
        verdict,
        advice: ["DiskLoss", "NetworkLoss", "SlowDisk"].map(str::to_owned).into(),
        offered: scenario.offered,
        preflight: scenario.looked_at.as_ref(),
        on_update: OnUpdate::Report,
        is_answered: true,
        has_channel: true,
        unverified: scenario.unverified,
        unaccepted: scenario.unaccepted,
        now: beginning().0,
    };
    proposed.verify_version()?;
    proposed.check(&proposed.failed_preconditions(), proposed.unaccepted_risks().as_ref())
}

fn accepted(scenario: &Scenario) -> String {
    decided(scenario).unwrap().unwrap_or_default()
}

fn refused(scenario: &Scenario) -> String {
    let refused = decided(scenario).unwrap_err();
    assert_eq!(refused.condition().type_, release_accepted::TYPE);
    let OperatorCondition { status, reason, message, .. } = refused.condition().clone();
    format!("{status:?} {}\n{}", reason.unwrap(), message.unwrap())
}

#[test]
fn check_without_risks_accepts() {
    assert_eq!(accepted(&to("5.0.4")), "");
    assert_eq!(accepted(&to("5.0.2")), "", "a rollback to the previous release");
}

#[test]
fn check_with_unaccepted_risks_refuses() {
    insta::assert_snapshot!(refused(&to("5.1.0")), @"
    False UnacceptedRisks
    The update to 5.1.0 has unaccepted risks. Applying to this cluster: ClusterOperatorUpgradeable-dns, DiskLoss, NetworkLoss. To accept them and continue: fairway upgrade accept ClusterOperatorUpgradeable-dns,DiskLoss,NetworkLoss
    ");
    let scenario = Scenario { accepts: &["DiskLoss", "NetworkLoss"], ..to("5.1.0") };
    insta::assert_snapshot!(refused(&scenario), @"
    False UnacceptedRisks
    The update to 5.1.0 has unaccepted risks. Applying to this cluster: ClusterOperatorUpgradeable-dns. To accept them and continue: fairway upgrade accept ClusterOperatorUpgradeable-dns
    ");
    let all = ["DiskLoss", "NetworkLoss", "ClusterOperatorUpgradeable-dns"];
    insta::assert_snapshot!(accepted(&Scenario { accepts: &all, ..to("5.1.0") }), @"
    Updating from 5.0.3 to 5.1.0 is supported, but not recommended for this cluster.

    Reason: MultipleReasons

    ClusterOperatorUpgradeable-dns may break the cluster. https://example.com/ClusterOperatorUpgradeable-dns

    DiskLoss may break the cluster. https://example.com/DiskLoss

    NetworkLoss may break the cluster. https://example.com/NetworkLoss

    Accepted by name: ClusterOperatorUpgradeable-dns, DiskLoss, NetworkLoss.
    ");
}

#[test]
fn check_of_patch_ignores_risks_of_minor_updates() {
    insta::assert_snapshot!(accepted(&Scenario { accepts: &["DiskLoss"], ..to("5.0.5") }), @"
    Updating from 5.0.3 to 5.0.5 is supported, but not recommended for this cluster.

    Reason: DiskLoss

    DiskLoss may break the cluster. https://example.com/DiskLoss

    Accepted by name: DiskLoss.
    ");
}

#[test]
fn check_with_recorded_risks_requires_only_upgradeable() {
    let scenario = Scenario { unaccepted: UnacceptedRiskPolicy::Record, ..to("5.1.0") };
    insta::assert_snapshot!(refused(&scenario), @"
    False UnacceptedRisks
    The update to 5.1.0 has unaccepted risks. Applying to this cluster: ClusterOperatorUpgradeable-dns. To accept them and continue: fairway upgrade accept ClusterOperatorUpgradeable-dns
    ");
    let scenario = Scenario { accepts: &["ClusterOperatorUpgradeable-dns"], ..scenario };
    insta::assert_snapshot!(accepted(&scenario), @"
    Updating from 5.0.3 to 5.1.0 is supported, but not recommended for this cluster.

    Reason: MultipleReasons

    ClusterOperatorUpgradeable-dns may break the cluster. https://example.com/ClusterOperatorUpgradeable-dns

    DiskLoss may break the cluster. https://example.com/DiskLoss

    NetworkLoss may break the cluster. https://example.com/NetworkLoss

    Accepted by name: ClusterOperatorUpgradeable-dns. Not accepted by name: DiskLoss, NetworkLoss.
    ");
}

#[test]
fn check_of_unknown_update_records_it() {
    insta::assert_snapshot!(accepted(&Scenario { offered: false, ..to("5.0.7") }), @"
    The update service does not offer the update from 5.0.3 to 5.0.7.

    Reason: UnknownUpdate
    ");
}

#[test]
fn check_before_evaluation_is_pending() {
    for unaccepted in [UnacceptedRiskPolicy::Gate, UnacceptedRiskPolicy::Record] {
        let refused = decided(&Scenario { unaccepted, ..to("5.0.6") }).unwrap_err();
        assert_eq!(refused, decision::waiting(), "{unaccepted:?}");
    }
    let text = accepted(&Scenario { accepts: &["SlowDisk"], ..to("5.0.6") });
    assert!(text.contains("Reason: EvaluationFailed"), "{text}");
    assert!(decided(&Scenario { forced: true, ..to("5.0.6") }).is_ok());
}

#[test]
fn check_of_withdrawal_ignores_risks_but_not_preconditions() {
    // These updates have risks.
    for version in ["5.0.5", "5.0.6"] {
        assert!(decided(&to(version)).is_err());
        assert!(decided(&Scenario { withdrawn: true, ..to(version) }).is_ok());
    }
    let refused = refused(&Scenario { withdrawn: true, ..to("5.0.1") });
    assert!(refused.starts_with("False PreconditionChecks"), "{refused}");
}

#[test]
fn check_forced_waives_preconditions() {
    let all = ["ClusterOperatorUpgradeable-dns"];
    let skip = Scenario { accepts: &all, ..to("5.2.0") };
    insta::assert_snapshot!(refused(&skip), @r#"
    False PreconditionChecks
    Preconditions failed for payload loaded version="5.2.0" image="registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e": Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotChecked": 5.2.0 skips a minor version after 5.0.3, which needs a complete preflight of the last 24 hours without unaccepted risks; run `fairway upgrade --mode=preflight --to=5.2.0`, or update to a release in between
    "#);
    insta::assert_snapshot!(refused(&to("5.2.0")), @r#"
    False PreconditionChecks
    Preconditions failed for payload loaded version="5.2.0" image="registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e":
    * Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotChecked": 5.2.0 skips a minor version after 5.0.3, which needs a complete preflight of the last 24 hours without unaccepted risks; run `fairway upgrade --mode=preflight --to=5.2.0`, or update to a release in between
    * The update to 5.2.0 has unaccepted risks. Applying to this cluster: ClusterOperatorUpgradeable-dns. To accept them and continue: fairway upgrade accept ClusterOperatorUpgradeable-dns
    "#);
    insta::assert_snapshot!(refused(&Scenario { unaccepted: UnacceptedRiskPolicy::Record, ..to("5.0.1") }), @r#"
    False PreconditionChecks
    Preconditions failed for payload loaded version="5.0.1" image="registry.example/release@sha256:e48643ad58cc89d0b4e29e15c80fcdb4c348bb6f771c7cddaa244773ce2f5f6b": Precondition "ClusterVersionRollback" failed because of "LowDesiredVersion": 5.0.1 is older than 5.0.3; a rollback is supported only to the previous release, 5.0.2
    "#);
    let forced =
        Scenario { forced: true, unverified: Some("no trusted key signed it"), ..to("5.2.0") };
    insta::assert_snapshot!(accepted(&forced), @r#"
    Updating from 5.0.3 to 5.2.0 is supported, but not recommended for this cluster.

    Reason: ExposedToRisks

    ClusterOperatorUpgradeable-dns may break the cluster. https://example.com/ClusterOperatorUpgradeable-dns

    Not accepted by name: ClusterOperatorUpgradeable-dns.

    The signature of release 5.2.0 is not verified, but the update is forced: no trusted key signed it
    Forced through: Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotChecked": 5.2.0 skips a minor version after 5.0.3, which needs a complete preflight of the last 24 hours without unaccepted risks; run `fairway upgrade --mode=preflight --to=5.2.0`, or update to a release in between
    Forced through: unaccepted risks: ClusterOperatorUpgradeable-dns
    "#);
    let forced = accepted(&Scenario { forced: true, ..to("5.0.6") });
    assert!(forced.ends_with("Forced through: unaccepted risks: SlowDisk"), "{forced}");
}

#[test]
fn verify_version_of_other_version_refuses() {
    let (requested, has) =
        (release("5.0.4"), Release { version: "5.0.9".to_owned(), ..release("5.0.4") });
    let request = UpdateRequest {
        image: requested.image,
        version: Some(requested.version),
        forced: true,
        withdrawn: false,
    };
    let refused = ProposedUpdate {
        request: &request,
        from: Version::new(5, 0, 3),
        completed: None,
        offered_from: None,
        verdict: UpdateVerdict { release: has.clone(), exposures: Vec::new() },
        release: has,
        to: &Version::new(5, 0, 9),
        previous: None,
        advice: BTreeSet::new(),
        offered: true,
        preflight: None,
        on_update: OnUpdate::Off,
        is_answered: true,
        has_channel: true,
        unverified: None,
        unaccepted: UnacceptedRiskPolicy::Gate,
        now: beginning().0,
    }
    .verify_version();
    insta::assert_snapshot!(refused.unwrap_err().condition().message.clone().unwrap(), @r#"Verifying payload failed version="5.0.4" image="registry.example/release@sha256:0d541329135f3656a703dfa78619673e5dddfbdf95e71e518260a709ce6174c6" failure=release image version 5.0.9 does not match the expected version 5.0.4"#);
}

#[test]
fn check_of_skip_level_update_requires_recent_preflight() {
    let findings = vec!["OldKernel".to_owned()];
    let found = PreflightOutcome { complete: true, findings, ..PreflightOutcome::default() };
    let running = PreflightOutcome { complete: false, ..found.clone() };
    let scenario = |looked_at: &PreflightOutcome, accepts: &'static [&'static str]| Scenario {
        accepts,
        looked_at: Some(looked_at.clone()),
        ..to("5.2.0")
    };
    insta::assert_snapshot!(refused(&scenario(&found, &["ClusterOperatorUpgradeable-dns"])), @r#"
    False PreconditionChecks
    Preconditions failed for payload loaded version="5.2.0" image="registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e":
    * Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotChecked": 5.2.0 skips a minor version after 5.0.3, which needs a complete preflight of the last 24 hours without unaccepted risks; run `fairway upgrade --mode=preflight --to=5.2.0`, or update to a release in between
    * The update to 5.2.0 has unaccepted risks. Applying to this cluster: OldKernel. To accept them and continue: fairway upgrade accept OldKernel
    "#);
    let accepts = &["OldKernel", "ClusterOperatorUpgradeable-dns"];
    assert!(refused(&scenario(&running, accepts)).contains("SkipLevelNotChecked"));
    let hours = SignedDuration::from_hours;
    for (age, is_refused) in [
        (hours(0), false),
        (hours(24), false),
        (hours(25), true),
        (hours(24 * 90), true),
        // The clock was set back after the preflight.
        (SignedDuration::from_secs(-1), true),
        (hours(-24 * 90), true),
    ] {
        let left = Some(beginning().0 - age);
        let decided = decided(&scenario(&PreflightOutcome { left, ..found.clone() }, accepts));
        assert_eq!(decided.is_err(), is_refused, "{age}");
    }
    insta::assert_snapshot!(accepted(&scenario(&found, accepts)), @r"
    Updating from 5.0.3 to 5.2.0 is supported, but not recommended for this cluster.

    Reason: MultipleReasons

    ClusterOperatorUpgradeable-dns may break the cluster. https://example.com/ClusterOperatorUpgradeable-dns

    OldKernel may break the cluster. https://example.com/OldKernel

    Accepted by name: ClusterOperatorUpgradeable-dns, OldKernel.

    The preflight of 5.2.0 reports:
    * SlowBoot: SlowBoot may break the cluster. https://example.com/SlowBoot (It was found.)
    ");
}

#[test]
fn check_of_next_minor_during_update_requires_edge_from_completed_release() {
    let checked = PreflightOutcome { complete: true, ..PreflightOutcome::default() };
    let accepts = &["ClusterOperatorUpgradeable-dns", "DiskLoss", "NetworkLoss"];
    // 4.22.0 is complete, 5.0.3 is not.
    let too_far = refused(&Scenario { accepts, completed: Some("4.22.0"), ..to("5.1.0") });
    assert!(too_far.contains("MajorVersionUpdate"), "{too_far}");
    assert!(decided(&Scenario { accepts, completed: Some("5.0.2"), ..to("5.1.0") }).is_ok());
    // The update service offers updates from 5.0.3, not from 5.0.2.
    let accepts = &["ClusterOperatorUpgradeable-dns", "OldKernel"];
    let skip = |completed| Scenario {
        accepts,
        completed,
        looked_at: Some(checked.clone()),
        ..to("5.2.0")
    };
    assert!(decided(&skip(None)).is_ok());
    insta::assert_snapshot!(refused(&skip(Some("5.0.2"))), @r#"
    False PreconditionChecks
    Preconditions failed for payload loaded version="5.2.0" image="registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e": Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotOffered": 5.2.0 skips a minor version after 5.0.2 (the newest completed release), and the update service does not offer this update; wait until the update to 5.0.3 completes
    "#);
}
