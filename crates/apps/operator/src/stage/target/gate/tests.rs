use fairway_api::cluster_version::{MatchingRule, MatchingRuleType, PromQl, Update};
use fairway_api::reason::release_accepted;
use fairway_risk::{
    Acceptance, Candidate, Claim, Concern, Ledger, Outcomes, Previous, QueryPolicy, Risk, Round,
    Source, Targets,
};
use fairway_testkit::objects::{beginning, release};

use super::*;

/// What stands against updates of a cluster at 5.0.3, which had 5.0.2 before; with what a preflight
/// of 5.2.0 found, if there was one.
fn ledger(looked_at: bool) -> Ledger {
    let risk = |name: &str| {
        let url = format!("https://example.com/{name}");
        Risk::always(name, format!("{name} may break the cluster."), url)
    };
    let edge = |version: &str, risks: &[&str]| Candidate {
        release: release(version),
        risks: risks.iter().map(|name| risk(name).into()).collect(),
    };
    let found = |name: &str, claim: Claim| Concern {
        risk: risk(name).claiming(claim),
        source: Source::Preflight,
        targets: Targets::Images([release("5.2.0").image].into_iter().collect()),
    };
    let validated = Claim::new(true, "PreflightValidation", "It was found.");
    let not_upgradeable = Concern {
        risk: risk("ClusterOperatorUpgradeable-dns"),
        source: Source::Upgradeable("dns".to_owned()),
        targets: Targets::MinorOrMajor,
    };
    let query = |query: &str| MatchingRule {
        type_: MatchingRuleType::PromQl,
        promql: Some(PromQl { promql: query.to_owned(), ..PromQl::default() }),
        ..MatchingRule::default()
    };
    let asked = Risk { matching_rules: vec![query("exposed")], ..risk("SlowDisk") };
    let candidates = vec![
        Candidate { release: release("5.0.6"), risks: vec![asked.into()] },
        edge("5.0.4", &[]),
        edge("5.0.5", &["DiskLoss"]),
        edge("5.1.0", &["DiskLoss", "NetworkLoss"]),
        edge("5.2.0", &[]),
    ];
    let found = [found("OldKernel", validated.clone()), found("SlowBoot", validated.as_advice())];
    let found = found.into_iter().filter(|_| looked_at);
    let concerns = [not_upgradeable].into_iter().chain(found).collect();
    Ledger::new("5.0.3", candidates, concerns)
}

struct Asked<'a> {
    to: &'a str,
    accepts: &'a [&'a str],
    forced: bool,
    withdrawn: bool,
    offered: bool,
    looked_at: Option<Outcome>,
    unverified: Option<&'a str>,
    unaccepted: UnacceptedRisks,
}

/// An update to a version that is offered.
fn to(version: &str) -> Asked<'_> {
    Asked {
        to: version,
        accepts: &[],
        forced: false,
        withdrawn: false,
        offered: true,
        looked_at: None,
        unverified: None,
        unaccepted: UnacceptedRisks::Gate,
    }
}

fn decided(asked: &Asked) -> Result<Option<String>, Box<OperatorCondition>> {
    let release = release(asked.to);
    let accepted = serde_json::json!({
        "acceptRisks": asked.accepts.iter().map(|name| serde_json::json!({"name": name})).collect::<Vec<_>>(),
    });
    let update: Update = serde_json::from_value(accepted).unwrap();
    let verdict = ledger(asked.looked_at.is_some()).verdict(
        &release,
        Round {
            outcomes: &Outcomes::new(),
            policy: &QueryPolicy::default(),
            acceptance: &Acceptance::read(Some(&update), None),
            previous: &Previous::default(),
            now: beginning().0,
        },
    );
    let request = Request {
        image: release.image.clone(),
        version: Some(release.version.clone()),
        forced: asked.forced,
        withdrawn: asked.withdrawn,
    };
    let previous = UpdateHistory { version: Some("5.0.2".to_owned()), ..UpdateHistory::default() };
    decide(&Case {
        request: &request,
        from: &Version::new(5, 0, 3),
        release: &release,
        to: &Version::parse(asked.to).unwrap(),
        previous: Some(&previous),
        verdict: &verdict,
        advice: &["DiskLoss", "NetworkLoss", "SlowDisk"].map(str::to_owned).into(),
        offered: asked.offered,
        looked_at: asked.looked_at.as_ref(),
        on_update: OnUpdate::Report,
        is_answered: true,
        has_channel: true,
        unverified: asked.unverified,
        unaccepted: asked.unaccepted,
        now: beginning().0,
    })
}

fn accepted(asked: &Asked) -> String {
    decided(asked).unwrap().unwrap_or_default()
}

fn refused(asked: &Asked) -> String {
    let refused = decided(asked).unwrap_err();
    assert_eq!(refused.type_, release_accepted::TYPE);
    let OperatorCondition { status, reason, message, .. } = *refused;
    format!("{status:?} {}\n{}", reason.unwrap(), message.unwrap())
}

#[test]
fn what_nothing_stands_against_begins() {
    assert_eq!(accepted(&to("5.0.4")), "");
    assert_eq!(accepted(&to("5.0.2")), "", "back to what the cluster had before");
}

#[test]
fn risks_that_nobody_accepted_refuse_an_update() {
    insta::assert_snapshot!(refused(&to("5.1.0")), @"
    False UnacceptedRisks
    The update to 5.1.0 has unaccepted risks. Applying to this cluster: ClusterOperatorUpgradeable-dns, DiskLoss, NetworkLoss. To accept them and continue: fairway upgrade accept ClusterOperatorUpgradeable-dns,DiskLoss,NetworkLoss
    ");
    let asked = Asked { accepts: &["DiskLoss", "NetworkLoss"], ..to("5.1.0") };
    insta::assert_snapshot!(refused(&asked), @"
    False UnacceptedRisks
    The update to 5.1.0 has unaccepted risks. Applying to this cluster: ClusterOperatorUpgradeable-dns. To accept them and continue: fairway upgrade accept ClusterOperatorUpgradeable-dns
    ");
    let all = ["DiskLoss", "NetworkLoss", "ClusterOperatorUpgradeable-dns"];
    insta::assert_snapshot!(accepted(&Asked { accepts: &all, ..to("5.1.0") }), @"
    Updating from 5.0.3 to 5.1.0 is supported, but not recommended for this cluster.

    Reason: MultipleReasons

    ClusterOperatorUpgradeable-dns may break the cluster. https://example.com/ClusterOperatorUpgradeable-dns

    DiskLoss may break the cluster. https://example.com/DiskLoss

    NetworkLoss may break the cluster. https://example.com/NetworkLoss

    Accepted by name: ClusterOperatorUpgradeable-dns, DiskLoss, NetworkLoss.
    ");
}

#[test]
fn what_stands_against_minor_versions_does_not_stand_against_a_patch() {
    insta::assert_snapshot!(accepted(&Asked { accepts: &["DiskLoss"], ..to("5.0.5") }), @"
    Updating from 5.0.3 to 5.0.5 is supported, but not recommended for this cluster.

    Reason: DiskLoss

    DiskLoss may break the cluster. https://example.com/DiskLoss

    Accepted by name: DiskLoss.
    ");
}

#[test]
fn where_advice_is_only_recorded_the_update_begins_if_the_cluster_is_ready() {
    let asked = Asked { unaccepted: UnacceptedRisks::Record, ..to("5.1.0") };
    insta::assert_snapshot!(refused(&asked), @"
    False UnacceptedRisks
    The update to 5.1.0 has unaccepted risks. Applying to this cluster: ClusterOperatorUpgradeable-dns. To accept them and continue: fairway upgrade accept ClusterOperatorUpgradeable-dns
    ");
    let asked = Asked { accepts: &["ClusterOperatorUpgradeable-dns"], ..asked };
    insta::assert_snapshot!(accepted(&asked), @"
    Updating from 5.0.3 to 5.1.0 is supported, but not recommended for this cluster.

    Reason: MultipleReasons

    ClusterOperatorUpgradeable-dns may break the cluster. https://example.com/ClusterOperatorUpgradeable-dns

    DiskLoss may break the cluster. https://example.com/DiskLoss

    NetworkLoss may break the cluster. https://example.com/NetworkLoss

    Accepted by name: ClusterOperatorUpgradeable-dns. Not accepted by name: DiskLoss, NetworkLoss.
    ");
}

#[test]
fn what_nobody_offers_begins_and_is_recorded() {
    insta::assert_snapshot!(accepted(&Asked { offered: false, ..to("5.0.7") }), @"
    The update service does not offer the update from 5.0.3 to 5.0.7.

    Reason: UnknownUpdate
    ");
}

#[test]
fn nothing_is_decided_before_it_is_known_what_applies() {
    for unaccepted in [UnacceptedRisks::Gate, UnacceptedRisks::Record] {
        let refused = decided(&Asked { unaccepted, ..to("5.0.6") }).unwrap_err();
        assert_eq!(*refused, condition::waiting(), "{unaccepted:?}");
    }
    let told = accepted(&Asked { accepts: &["SlowDisk"], ..to("5.0.6") });
    assert!(told.contains("Reason: EvaluationFailed"), "{told}");
    assert!(decided(&Asked { forced: true, ..to("5.0.6") }).is_ok());
}

#[test]
fn the_way_back_from_a_withdrawn_update_has_guards_and_needs_no_risk_accepted() {
    // Risks that an update to it would have.
    for version in ["5.0.5", "5.0.6"] {
        assert!(decided(&to(version)).is_err());
        assert!(decided(&Asked { withdrawn: true, ..to(version) }).is_ok());
    }
    let refused = refused(&Asked { withdrawn: true, ..to("5.0.1") });
    assert!(refused.starts_with("False PreconditionChecks"), "{refused}");
}

#[test]
fn only_force_opens_the_guards() {
    let all = ["ClusterOperatorUpgradeable-dns"];
    let skip = Asked { accepts: &all, ..to("5.2.0") };
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
    insta::assert_snapshot!(refused(&Asked { unaccepted: UnacceptedRisks::Record, ..to("5.0.1") }), @r#"
    False PreconditionChecks
    Preconditions failed for payload loaded version="5.0.1" image="registry.example/release@sha256:e48643ad58cc89d0b4e29e15c80fcdb4c348bb6f771c7cddaa244773ce2f5f6b": Precondition "ClusterVersionRollback" failed because of "LowDesiredVersion": 5.0.1 is older than 5.0.3; a rollback is supported only to the previous release, 5.0.2
    "#);
    let forced = Asked { forced: true, unverified: Some("nobody signed it"), ..to("5.2.0") };
    insta::assert_snapshot!(accepted(&forced), @r#"
    Updating from 5.0.3 to 5.2.0 is supported, but not recommended for this cluster.

    Reason: ExposedToRisks

    ClusterOperatorUpgradeable-dns may break the cluster. https://example.com/ClusterOperatorUpgradeable-dns

    Not accepted by name: ClusterOperatorUpgradeable-dns.

    The signature of release 5.2.0 is not verified, but the update is forced: nobody signed it
    Forced through: Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotChecked": 5.2.0 skips a minor version after 5.0.3, which needs a complete preflight of the last 24 hours without unaccepted risks; run `fairway upgrade --mode=preflight --to=5.2.0`, or update to a release in between
    Forced through: unaccepted risks: ClusterOperatorUpgradeable-dns
    "#);
    let forced = accepted(&Asked { forced: true, ..to("5.0.6") });
    assert!(forced.ends_with("Forced through: unaccepted risks: SlowDisk"), "{forced}");
}

#[test]
fn the_image_has_to_have_the_version_that_was_asked_for() {
    let (asked, has) =
        (release("5.0.4"), Release { version: "5.0.9".to_owned(), ..release("5.0.4") });
    let request = Request {
        image: asked.image,
        version: Some(asked.version),
        forced: true,
        withdrawn: false,
    };
    let verdict = Verdict { release: has.clone(), exposures: Vec::new() };
    let refused = decide(&Case {
        request: &request,
        from: &Version::new(5, 0, 3),
        release: &has,
        to: &Version::new(5, 0, 9),
        previous: None,
        verdict: &verdict,
        advice: &BTreeSet::new(),
        offered: true,
        looked_at: None,
        on_update: OnUpdate::Off,
        is_answered: true,
        has_channel: true,
        unverified: None,
        unaccepted: UnacceptedRisks::Gate,
        now: beginning().0,
    });
    insta::assert_snapshot!(refused.unwrap_err().message.unwrap(), @r#"Verifying payload failed version="5.0.4" image="registry.example/release@sha256:0d541329135f3656a703dfa78619673e5dddfbdf95e71e518260a709ce6174c6" failure=release image version 5.0.9 does not match the expected version 5.0.4"#);
}

#[test]
fn a_minor_version_is_skipped_after_a_preflight_that_left_nothing_open() {
    let findings = vec!["OldKernel".to_owned()];
    let found = Outcome { complete: true, findings, ..Outcome::default() };
    let running = Outcome { complete: false, ..found.clone() };
    let asked = |looked_at: &Outcome, accepts: &'static [&'static str]| Asked {
        accepts,
        looked_at: Some(looked_at.clone()),
        ..to("5.2.0")
    };
    insta::assert_snapshot!(refused(&asked(&found, &["ClusterOperatorUpgradeable-dns"])), @r#"
    False PreconditionChecks
    Preconditions failed for payload loaded version="5.2.0" image="registry.example/release@sha256:8ecd4901ea069209005fa5d998421b30df046f771a2a930189f6c1adad5cea2e":
    * Precondition "ClusterVersionGiantHop" failed because of "SkipLevelNotChecked": 5.2.0 skips a minor version after 5.0.3, which needs a complete preflight of the last 24 hours without unaccepted risks; run `fairway upgrade --mode=preflight --to=5.2.0`, or update to a release in between
    * The update to 5.2.0 has unaccepted risks. Applying to this cluster: OldKernel. To accept them and continue: fairway upgrade accept OldKernel
    "#);
    let accepts = &["OldKernel", "ClusterOperatorUpgradeable-dns"];
    assert!(refused(&asked(&running, accepts)).contains("SkipLevelNotChecked"));
    for (hours, is_too_old) in [(0, false), (24, false), (25, true), (24 * 90, true)] {
        let left = Some(beginning().0 - SignedDuration::from_hours(hours));
        let decided = decided(&asked(&Outcome { left, ..found.clone() }, accepts));
        assert_eq!(decided.is_err(), is_too_old, "{hours}");
    }
    insta::assert_snapshot!(accepted(&asked(&found, accepts)), @r"
    Updating from 5.0.3 to 5.2.0 is supported, but not recommended for this cluster.

    Reason: MultipleReasons

    ClusterOperatorUpgradeable-dns may break the cluster. https://example.com/ClusterOperatorUpgradeable-dns

    OldKernel may break the cluster. https://example.com/OldKernel

    Accepted by name: ClusterOperatorUpgradeable-dns, OldKernel.

    The preflight of 5.2.0 reports:
    * SlowBoot: SlowBoot may break the cluster. https://example.com/SlowBoot (It was found.)
    ");
}
