//! How those who look put what they have found into words.

use crate::document::{Finding, Severity};

impl Finding {
    /// The update, or the platform after it, will fail.
    pub fn critical(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::found(Severity::Critical, name.into(), message.into())
    }

    /// Something will not work as before.
    pub fn warning(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::found(Severity::Warning, name.into(), message.into())
    }

    /// Good to know; it stands against no update.
    pub fn info(name: impl Into<String>, message: impl Into<String>) -> Self {
        Self::found(Severity::Info, name.into(), message.into())
    }

    fn found(severity: Severity, name: String, message: String) -> Self {
        Self { name, message, severity, ..Self::default() }
    }

    /// What to do about it.
    #[must_use]
    pub fn remediation(self, remediation: impl Into<String>) -> Self {
        Self { remediation: remediation.into(), ..self }
    }

    /// Where people read about it.
    #[must_use]
    pub fn url(self, url: impl Into<String>) -> Self {
        Self { url: url.into(), ..self }
    }
}
