//! What a check answers.

use serde::{Deserialize, Serialize};

use crate::document::{ExecutionStatus, Finding};

/// What a check answers: one JSON object, on a line of its own. A [`crate::Document`] has the same
/// fields, so a check may also say more.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Answer {
    /// [`crate::FORMAT`].
    pub format: String,
    /// `completed`, or `failed` where it cannot tell.
    pub execution_status: ExecutionStatus,
    /// Why it cannot tell.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What it has found.
    pub risks: Vec<Finding>,
}
