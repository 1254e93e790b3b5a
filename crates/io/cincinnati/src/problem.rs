//! What can be wrong with the updates of a cluster, and what came of it.

/// Something in an answer that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains it")]
pub enum Problem {
    #[error("ignoring {version}: invalid image {text:?}")]
    Image { version: String, text: String },
    #[error("ignoring {version}: unknown architecture {text:?}")]
    Architecture { version: String, text: String },
    #[error("ignoring {}: they have the same {what}", releases.join(" and "))]
    Ambiguous { what: String, releases: Vec<String> },
    #[error("ignoring {version}: its risks are listed under another version")]
    LostRisks { version: String },
    #[error("ignoring the URL of {version}: not an http or https URL: {text:?}")]
    Url { version: String, text: String },
    #[error("ignoring the channels of {version}: too large ({size} bytes)")]
    Channels { version: String, size: usize },
    #[error("ignoring {version}: its {count} risks do not fit into a status")]
    TooManyRisks { version: String, count: usize },
    #[error("ignoring {more} updates to versions before {kept}: too many updates")]
    TooMany { more: usize, kept: String },
}
