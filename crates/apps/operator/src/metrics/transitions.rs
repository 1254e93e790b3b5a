//! How often the conditions of components have changed.

use std::collections::BTreeMap;

use fairway_api::ConditionStatus;

use super::Operators;
use super::family::{Family, Samples};

/// The changes since this operator leads.
#[derive(Default)]
pub(super) struct Transitions {
    /// By component and condition: the status it has, and how often it changed.
    known: BTreeMap<(String, String), (ConditionStatus, u32)>,
}

impl Transitions {
    /// Takes in how components are now. What is gone is forgotten.
    pub(super) fn observe(&mut self, operators: &Operators) {
        let mut before = std::mem::take(&mut self.known);
        for (name, operator) in operators.iter() {
            for condition in operator.status.iter().flat_map(|status| &status.conditions) {
                let key = (name.clone(), condition.type_.clone());
                let count = match before.remove(&key) {
                    None => 0,
                    Some((status, count)) if status == condition.status => count,
                    Some((_, count)) => count.saturating_add(1),
                };
                self.known.entry(key).or_insert((condition.status.clone(), count));
            }
        }
    }

    pub(super) fn family(&self) -> Family {
        let mut samples = Samples::default();
        for ((name, condition), (_, count)) in &self.known {
            samples.add([("name", name), ("condition", condition)], f64::from(*count));
        }
        Family::new(
            "cluster_operator_condition_transitions",
            "Transitions of ClusterOperator conditions since this operator became leader",
            samples,
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fairway_api::{ClusterOperator, Conditions as _, OperatorCondition};
    use fairway_testkit::objects;

    use super::*;

    fn dns(degraded: bool) -> Operators {
        let mut status = objects::working_at("5.1.0");
        let condition = OperatorCondition::new("Degraded", degraded);
        status.conditions.set(condition, objects::beginning().0);
        let dns = ClusterOperator { status: Some(status), ..objects::cluster_operator("dns") };
        Arc::new([("dns".to_owned(), Arc::new(dns))].into())
    }

    #[test]
    fn changes_are_counted_and_what_is_gone_is_forgotten() {
        let mut transitions = Transitions::default();
        for degraded in [false, true, true, false] {
            transitions.observe(&dns(degraded));
        }
        insta::assert_snapshot!(transitions.family(), @r#"
        cluster_operator_condition_transitions{name="dns",condition="Available"} 0
        cluster_operator_condition_transitions{name="dns",condition="Degraded"} 2
        cluster_operator_condition_transitions{name="dns",condition="Progressing"} 0
        "#);
        transitions.observe(&Operators::default());
        assert_eq!(transitions.family().to_string(), "");
    }
}
