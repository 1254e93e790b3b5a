//! What a preflight changes in a status, and what it leaves alone.

use std::collections::BTreeMap;

use super::cluster::Cluster;
use super::*;
use crate::stage::preflight::Preflight;

fn preflight() -> Preflight {
    let saying =
        |type_: &str| OperatorCondition::new(type_, true).reason("Checking").message("So.");
    Preflight {
        generation: 1,
        conditions: ["PreflightRunning", "PreflightCompleted", "PreflightFailed"].map(saying),
        concerns: Vec::new(),
        not_offered: vec![objects::release("5.2.0")],
        outcomes: BTreeMap::new(),
        is_clear: false,
    }
}

#[test]
fn a_preflight_is_shown_and_touches_nothing_of_the_release_that_runs() {
    for mut cluster in [Cluster::installed(), Cluster::updating()] {
        cluster.look(90);
        let before = cluster.object.status.clone().unwrap();
        let (own, risks, preflight) = (own(), recommending(&[]), preflight());
        let facts = Facts {
            own: &own,
            updates: None,
            preflight: Some(&preflight),
            risks: Some(&risks),
            target: Some(&cluster.target),
            rollout: cluster.rollout.as_ref(),
        };
        let mut after = compose(&cluster.object, facts, at(120));
        for condition in &preflight.conditions {
            let shown = after.conditions.find(&condition.type_).unwrap();
            assert_eq!((&shown.reason, &shown.message), (&condition.reason, &condition.message));
            after.conditions.discard(&condition.type_);
        }
        assert_eq!(after, before);
    }
}
