use fairway_risk::{Acceptance, Candidate, Ledger, Outcomes, Previous, QueryPolicy, Risk, Round};
use fairway_testkit::objects::{beginning, release};
use fairway_testkit::story;

use super::*;

/// What the ledger of the story says: every risk concerns the cluster.
fn verdict() -> Verdict {
    let risk = |text: &str| {
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
            line.unwrap().to_owned()
        };
        Risk::always(field("name"), field("message"), field("url"))
    };
    let risks = story::BLOCKS.iter().map(|(_, text)| risk(text).into()).collect();
    let candidates = vec![Candidate { release: release("4.7.4"), risks }];
    Ledger::new("4.6.23", candidates, Vec::new()).verdict(
        &release("4.7.4"),
        Round {
            outcomes: &Outcomes::new(),
            policy: &QueryPolicy::default(),
            acceptance: &Acceptance::default(),
            previous: &Previous::default(),
            now: beginning().0,
        },
    )
}

fn told(verdict: &Verdict, offered: bool, has_channel: bool) -> String {
    told_with(verdict, (offered, true), has_channel)
}

fn told_with(verdict: &Verdict, (offered, is_answered): (bool, bool), has_channel: bool) -> String {
    let overridden = Overridden {
        from: "4.6.23",
        to: "4.7.4",
        verdict,
        offered,
        is_answered,
        has_channel,
        on_update: OnUpdate::Off,
        forced: &[],
        unaccepted: None,
        unverified: None,
    };
    text(&overridden).unwrap_or_default()
}

#[test]
fn the_history_of_the_story_tells_every_risk() {
    insta::assert_snapshot!(told(&verdict(), true, true), @"
    Updating from 4.6.23 to 4.7.4 is supported, but not recommended for this cluster.

    Reason: MultipleReasons

    On clusters with a Proxy configured, the authentication operator may keep many oauth-server connections open, resulting in high memory consumption by the authentication operator and router pods. https://bugzilla.redhat.com/show_bug.cgi?id=1941840#c33

    Clusters on vSphere Virtual Hardware Version 14 and later may experience cross-node networking issues. https://access.redhat.com/solutions/5896081

    vSphere clusters leveraging the vSphere cloud provider may lose node names which can have serious impacts on the stability of the control plane and workloads. https://bugzilla.redhat.com/show_bug.cgi?id=1942207#c3

    Not accepted by name: AuthOAuthProxyLeakedConnections, VSphereHW14CrossNodeNetworkingError, VSphereNodeNameChanges.
    ");
}

#[test]
fn what_nobody_said_is_told_too() {
    let nothing = Verdict { release: release("4.7.4"), exposures: Vec::new() };
    assert_eq!(told(&nothing, true, true), "");
    let unanswered = told_with(&nothing, (false, false), true);
    let told = [told(&nothing, false, true), told(&nothing, false, false), unanswered];
    insta::assert_snapshot!(told.join("\n\n"), @"
    The update service does not offer the update from 4.6.23 to 4.7.4.

    Reason: UnknownUpdate

    The update from 4.6.23 to 4.7.4 is not looked up: no channel is set.

    Reason: NoChannel

    It is unknown whether the update service offers the update from 4.6.23 to 4.7.4, and which risks it has.

    Reason: UnknownUpdate
    ");
}

#[test]
fn a_text_of_any_length_can_be_stored() {
    let mut verdict = verdict();
    let many = verdict.exposures.iter().cycle().take(1000).cloned().collect();
    verdict.exposures = many;
    assert!(told(&verdict, true, true).len() <= limits::MESSAGE + "…".len());
}
