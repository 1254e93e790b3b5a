//! Risks that are shown and stand against nothing, and updates that nobody offers.

use fairway_api::cluster_version::Release;
use fairway_risk::{Claim, Concern, Ledger, Targets, sources};

use crate::support::*;

fn preflight(name: &str, claim: Claim) -> Concern {
    let images = [release("4.7.4").image].into_iter().collect();
    concern(risk(name, vec![always()]).claiming(claim), Targets::Images(images))
}

fn found(message: &str) -> Claim {
    Claim::new(true, "PreflightValidation", message)
}

fn look(concerns: Vec<Concern>) -> fairway_risk::Evaluated {
    let candidates = vec![candidate("4.7.4", vec![])];
    Ledger::new(CURRENT, candidates, concerns).evaluate(World::default().round())
}

#[test]
fn advice_is_shown_beside_a_recommendation() {
    let advice = Claim::new(true, "PreflightRunning", "5 of 7 operators").as_advice();
    let evaluated = look(vec![preflight("A", advice)]);
    assert_eq!(evaluated.available_updates, [release("4.7.4")]);
    assert_eq!(only(&evaluated).risk_names, ["A"]);
    let [risk] = &evaluated.conditional_update_risks[..] else { panic!("{evaluated:?}") };
    insta::assert_snapshot!(line(&risk.conditions[0]), @"Applies=True PreflightRunning: 5 of 7 operators");
    insta::assert_snapshot!(line(recommended(&evaluated)), @"Recommended=True NotExposedToRisks: The update is recommended: no risk blocks it. Informational risks: A.");
}

#[test]
fn one_name_that_counts_anywhere_counts() {
    let evaluated = look(vec![
        preflight("A", found("One says so.").as_advice()),
        preflight("A", found("Two.")),
    ]);
    assert_eq!(evaluated.available_updates, Vec::<Release>::new());
    insta::assert_snapshot!(line(recommended(&evaluated)), @"Recommended=False A: A goes wrong. https://example.com/A");
    let [risk] = &evaluated.conditional_update_risks[..] else { panic!("{evaluated:?}") };
    insta::assert_snapshot!(line(&risk.conditions[0]), @r"
    Applies=True PreflightValidation: Two.
    One says so.
    ");
}

#[test]
fn what_stands_in_for_advice_is_advice() {
    let evaluated = look(vec![preflight("no name", found("It is so.").as_advice())]);
    assert_eq!(evaluated.available_updates, [release("4.7.4")]);
}

#[test]
fn what_is_not_offered_may_be_accepted_but_is_never_recommended() {
    let ledger = Ledger::new(CURRENT, vec![sources::not_offered(release("4.8.0"))], vec![]);
    let world = World::default().accepting(&["NotOfferedByUpdateService"]);
    for world in [World::default(), world] {
        let evaluated = ledger.evaluate(world.round());
        assert_eq!(evaluated.available_updates, Vec::<Release>::new());
        let verdict = ledger.verdict(&release("4.8.0"), world.round());
        assert!(!verdict.is_offered() && !verdict.is_recommended());
        let may_begin = fairway_risk::gate::may_update(&verdict).is_ok();
        assert_eq!(may_begin, world.acceptance == accepting(&["NotOfferedByUpdateService"]));
    }
    let refused = ledger.evaluate(World::default().round());
    insta::assert_snapshot!(line(recommended(&refused)), @"Recommended=False NotOfferedByUpdateService: The update service has no update from the running version to 4.8.0, so the update is untested. https://fairway.dev/docs/risks#updates-that-are-not-offered");
}
