//! The conditions `PreflightRunning`, `PreflightCompleted` and `PreflightFailed`: what people are
//! told. They are always there: a client that wants to ask for a preflight finds out by them whether
//! anybody would understand it.

use fairway_api::OperatorCondition;
use fairway_api::reason::{preflight_completed, preflight_failed, preflight_running};

/// Nobody asks for anything.
pub(super) fn idle() -> [OperatorCondition; 3] {
    [
        OperatorCondition::new(preflight_running::TYPE, false)
            .reason(preflight_running::NOT_REQUESTED)
            .message("No preflight is asked for."),
        OperatorCondition::new(preflight_completed::TYPE, false)
            .reason(preflight_completed::NOT_REQUESTED)
            .message("No preflight is asked for."),
        OperatorCondition::new(preflight_failed::TYPE, false)
            .reason(preflight_failed::NOT_REQUESTED)
            .message("No preflight is asked for."),
    ]
}
