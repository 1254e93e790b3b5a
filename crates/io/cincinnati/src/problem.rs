//! What can be wrong with the updates of a cluster, and what came of it.

/// Something in an answer that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains it")]
pub enum Problem {
    #[error("{version} is left out, because this is not an image: {text:?}")]
    Image { version: String, text: String },
    #[error("{version} is left out, because no release has this architecture: {text:?}")]
    Architecture { version: String, text: String },
    #[error("{} are left out: they claim the same {what}", releases.join(" and "))]
    Ambiguous { what: String, releases: Vec<String> },
    #[error("{version} is left out: the update to it has risks, but under another name")]
    LostRisks { version: String },
    #[error(
        "the address of {version} is left out, because it is not an http or https URL: {text:?}"
    )]
    Url { version: String, text: String },
    #[error("the channels of {version} are left out: they have {size} bytes")]
    Channels { version: String, size: usize },
    #[error("{version} is left out: no status has room for the {count} risks of the update to it")]
    TooManyRisks { version: String, count: usize },
    #[error("{more} updates to versions before {kept} are left out: there are too many")]
    TooMany { more: usize, kept: String },
}
