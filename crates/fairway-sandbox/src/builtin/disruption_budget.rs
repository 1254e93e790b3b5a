//! PodDisruptionBudgets.

use super::rules::{Generation, NOTHING_SPECIAL, Rules};

pub(super) const RULES: Rules = Rules { generation: Generation::Of(&["spec"]), ..NOTHING_SPECIAL };
