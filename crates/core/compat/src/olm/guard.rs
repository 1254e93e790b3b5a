//! All operators of a cluster, and what is published about them.

use serde_json::Value;

use super::{Hindrance, Operator, Policy, Stream, Upgradeable, Verdict, report};

/// All operators of a cluster.
#[derive(Clone, Debug)]
pub struct Guard {
    operators: Vec<Operator>,
    running: Stream,
    policy: Policy,
}

/// What is published about them. Condition and report belong together: where there are risks in a
/// report, the condition is not looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// The condition, about the next minor version.
    pub upgradeable: Upgradeable,
    /// `status.extension`: the risk report, about every version; nothing where nobody has looked.
    pub extension: Option<Value>,
}

impl Guard {
    /// All operators of a cluster, without copies, in any order.
    pub fn new(
        operators: impl IntoIterator<Item = Operator>,
        running: Stream,
        policy: Policy,
    ) -> Self {
        let mut operators: Vec<Operator> = operators.into_iter().collect();
        operators.sort_by(|one, other| {
            (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name))
        });
        Self { operators, running, policy }
    }

    /// The operators, in the order of their names.
    pub fn operators(&self) -> &[Operator] {
        &self.operators
    }

    /// Whether an operator runs on a target.
    pub fn verdict(&self, operator: &Operator, target: Stream) -> Verdict {
        self.policy.verdict(&operator.declared, self.running, target)
    }

    /// What is published.
    pub fn published(&self) -> Published {
        let Self { operators, running, policy } = self;
        Published {
            upgradeable: Upgradeable::of(operators, *running, *policy),
            extension: Some(report::report(operators, *running, *policy)),
        }
    }
}

impl From<&Hindrance> for Published {
    fn from(hindrance: &Hindrance) -> Self {
        Self { upgradeable: hindrance.into(), extension: None }
    }
}
