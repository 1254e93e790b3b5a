//! The one gate.

use fairway_api::cluster_version::Release;
use fairway_risk::gate::may_update;
use fairway_risk::{Ledger, Targets};

use crate::support::*;

#[test]
fn an_update_begins_once_every_risk_is_accepted() {
    let risks = ["A", "B", "C"].map(queried).to_vec();
    let ledger = Ledger::new(CURRENT, vec![candidate("4.7.4", risks)], vec![]);
    let world = World::knowing([("A", Ok(true)), ("B", failed()), ("C", Ok(false))]);
    let gate = |world: &World| may_update(&ledger.verdict(&release("4.7.4"), world.round()));
    insta::assert_snapshot!(gate(&world).unwrap_err(), @"The update to 4.7.4 has unaccepted risks. Applying to this cluster: A. Unknown whether they apply: B. To accept them and continue: fairway upgrade accept A,B");
    let world = world.accepting(&["A"]);
    insta::assert_snapshot!(gate(&world).unwrap_err(), @"The update to 4.7.4 has unaccepted risks. Unknown whether they apply: B. To accept them and continue: fairway upgrade accept B");
    assert_eq!(gate(&world.accepting(&["A", "B"])), Ok(()));
}

#[test]
fn a_release_that_is_not_offered_has_the_risks_of_the_cluster() {
    let concerns = vec![
        concern(risk("Minor", vec![always()]), Targets::MinorOrMajor),
        concern(risk("Range", vec![always()]), Targets::Range("4.7.x".parse().unwrap())),
    ];
    let ledger = Ledger::new(CURRENT, vec![], concerns);
    let against = |release: &Release| {
        let verdict = ledger.verdict(release, World::default().round());
        verdict.unaccepted().map(|exposure| exposure.name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(against(&release("4.6.50")), Vec::<String>::new());
    assert_eq!(against(&release("4.7.0-rc.1")), ["Minor", "Range"]);
    assert_eq!(against(&release("4.8.0")), ["Minor"]);
    assert_eq!(against(&release("no version")), ["Minor", "Range"]);
}
