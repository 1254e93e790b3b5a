//! Errors on their way to a person: the chain of causes, and what to do next.

use std::fmt;

/// A context that also says what to do about the error. Attach it with
/// [`anyhow::Context::context`].
#[derive(Debug)]
pub(crate) struct WithHint {
    pub(crate) message: String,
    pub(crate) hint: String,
}

impl fmt::Display for WithHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What to do about the error, as far as somebody on the way up knew.
pub(crate) fn hints(error: &anyhow::Error) -> Vec<&str> {
    error.downcast_ref::<WithHint>().map(|with| with.hint.as_str()).into_iter().collect()
}

/// The messages from the outermost error to its first cause. Some libraries print their source
/// within their own message: what was just said is not said again.
pub(crate) fn chain(error: &anyhow::Error) -> Vec<String> {
    let mut messages: Vec<String> = Vec::new();
    for cause in error.chain() {
        let message = cause.to_string();
        if !messages.last().is_some_and(|before| before.contains(&message)) {
            messages.push(message);
        }
    }
    messages
}

/// Whether the reader of our output went away, as `head` does when it has enough.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn what_was_just_said_is_not_said_again() {
        let error = anyhow::anyhow!("connection refused")
            .context("cannot connect: connection refused")
            .context("cannot read the cluster's version");
        assert_eq!(
            chain(&error),
            ["cannot read the cluster's version", "cannot connect: connection refused"]
        );
    }

    #[test]
    fn hints_are_found_below_other_contexts() {
        let failed: anyhow::Result<()> = Err(anyhow::anyhow!("refused"));
        let hinted = WithHint { message: "cannot connect".into(), hint: "log in first".into() };
        let error = failed.context(hinted).context("cannot update").unwrap_err();
        assert_eq!(hints(&error), ["log in first"]);
        assert_eq!(chain(&error), ["cannot update", "cannot connect", "refused"]);
    }

    #[test]
    fn a_broken_pipe_is_recognised_anywhere_in_the_chain() {
        let broken = std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        assert!(is_broken_pipe(&anyhow::Error::from(broken).context("cannot print")));
        assert!(!is_broken_pipe(&anyhow::anyhow!("broken pipe")));
    }
}
