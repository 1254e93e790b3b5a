//! Errors with hints and exit codes.

use anyhow::Context;
use schemars::JsonSchema;
use serde::Serialize;

use crate::exit::ExitStatus;

/// An error or a context with a hint.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct WithHint {
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl WithHint {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// Adds a message and a hint to an error.
pub(crate) trait HintExt<T, E> {
    fn with_hint(self, message: impl Into<String>, hint: impl Into<String>) -> anyhow::Result<T>;
}

impl<T, E, R: Context<T, E>> HintExt<T, E> for R {
    fn with_hint(self, message: impl Into<String>, hint: impl Into<String>) -> anyhow::Result<T> {
        self.with_context(|| WithHint::new(message, hint))
    }
}

/// A query about something that does not exist, with a hint. Exit code 4.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct CannotTell {
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl CannotTell {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// A request that a risk or a check blocks, with a hint. Exit code 3.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refused {
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl Refused {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// A request that unaccepted risks block, with a hint.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Unaccepted {
    pub(crate) message: String,
    pub(crate) hint: String,
    pub(crate) risks: Vec<OpenRisk>,
    /// Exit code 3, or another one for new risks.
    pub(crate) status: ExitStatus,
}

/// Unaccepted risk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct OpenRisk {
    /// Name by which the risk is accepted.
    pub(crate) name: String,
    /// Whether the risk applies to the cluster.
    pub(crate) exposure: Exposure,
    /// Description of the risk.
    pub(crate) message: Option<String>,
    /// Page about the risk.
    pub(crate) url: Option<String>,
    /// State of the acceptance.
    pub(crate) acceptance: &'static str,
}

/// Whether an unaccepted risk applies to the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Exposure {
    /// The risk applies.
    Exposed,
    /// The operator could not evaluate the risk.
    Unknown,
}

/// Arguments that are valid alone and invalid together. Exit code 2.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct WrongUsage(pub(crate) String);

/// The outermost hint of an error.
pub(crate) fn hint(error: &anyhow::Error) -> Option<&str> {
    let with = error.downcast_ref::<WithHint>().map(|with| with.hint.as_str());
    let unanswered = || error.downcast_ref::<CannotTell>().map(|question| question.hint.as_str());
    let refused = || error.downcast_ref::<Refused>().map(|refused| refused.hint.as_str());
    let risks = || error.downcast_ref::<Unaccepted>().map(|risks| risks.hint.as_str());
    with.or_else(unanswered).or_else(refused).or_else(risks)
}

/// The unaccepted risks that caused an error.
pub(crate) fn open_risks(error: &anyhow::Error) -> &[OpenRisk] {
    error.downcast_ref::<Unaccepted>().map_or(&[], |unaccepted| &unaccepted.risks)
}

/// The exit status of an error.
pub(crate) fn status(error: &anyhow::Error) -> ExitStatus {
    match error {
        _ if let Some(risks) = error.downcast_ref::<Unaccepted>() => risks.status,
        _ if error.is::<CannotTell>() => ExitStatus::Unknown,
        _ if error.is::<Refused>() => ExitStatus::Refused,
        _ if error.is::<WrongUsage>() => ExitStatus::Usage,
        _ => ExitStatus::Error,
    }
}

/// The messages from the outermost error to its root cause.
pub(crate) fn chain(error: &anyhow::Error) -> Vec<String> {
    fairway_text::causes(error.as_ref())
}

/// Standard output is closed. Only the printer creates this error: a broken connection is the same error
/// of the operating system, and must be reported.
#[derive(Debug, thiserror::Error)]
#[error("standard output is closed")]
pub(crate) struct OutputClosed;

/// Whether the command ended because standard output is closed.
pub(crate) fn is_closed_output(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let within = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        within.and_then(|inner| inner.downcast_ref::<OutputClosed>()).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chain_omits_repeated_messages() {
        let error = anyhow::anyhow!("connection refused")
            .context("cannot connect: connection refused")
            .context("cannot read the cluster's version");
        assert_eq!(
            chain(&error),
            ["cannot read the cluster's version", "cannot connect: connection refused"]
        );
    }

    #[test]
    fn hint_below_other_contexts_is_found() {
        let failed: anyhow::Result<()> = Err(anyhow::anyhow!("refused"));
        let hinted = WithHint::new("cannot connect", "log in first");
        let error = failed.context(hinted).context("cannot update").unwrap_err();
        assert_eq!(hint(&error), Some("log in first"));
        assert_eq!(chain(&error), ["cannot update", "cannot connect", "refused"]);
    }

    #[test]
    fn broken_connection_is_not_closed_output() {
        let broken = || std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert!(!is_closed_output(&anyhow::Error::from(broken()).context("cannot connect")));
        let closed = std::io::Error::new(std::io::ErrorKind::BrokenPipe, OutputClosed);
        assert!(is_closed_output(&anyhow::Error::from(closed).context("cannot print")));
    }
}
