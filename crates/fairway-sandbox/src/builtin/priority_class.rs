//! PriorityClasses.

use super::rules::{Generation, NOTHING_SPECIAL, Rules};
use super::value::default;

pub(super) const RULES: Rules = Rules {
    default: |class| default(class, "preemptionPolicy", "PreemptLowerPriority"),
    generation: Generation::Fixed,
    ..NOTHING_SPECIAL
};
