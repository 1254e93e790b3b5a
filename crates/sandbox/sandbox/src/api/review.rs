//! Who has a say in a change before it is stored, beside the API itself.

use serde_json::Value;

use super::{Call, Refusal};

/// What is to become of an object. It is valid, and nothing is stored yet.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The request.
    pub call: &'a Call,
    /// What it comes to.
    pub operation: Operation,
    /// The name of the object, as far as the request or the object says it.
    pub name: &'a str,
    /// How it would be; `None` if it goes.
    pub object: Option<&'a Value>,
    /// How it is; `None` if it is new.
    pub old: Option<&'a Value>,
    /// Whether it is only a rehearsal.
    pub dry_run: bool,
}

/// What a request comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// An object begins.
    Create,
    /// It changes.
    Update,
    /// It is to go.
    Delete,
}

impl Operation {
    /// The word in the rules of webhooks.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// Whoever has a say. No lock is held while it thinks, and what it has agreed to is stored only if
/// nothing else has changed meanwhile.
pub trait Reviewer {
    /// Agrees, or says why not.
    fn review(&self, change: &Change<'_>) -> Result<(), Refusal>;
}

/// Nobody has a say.
pub struct Nobody;

impl Reviewer for Nobody {
    fn review(&self, _: &Change<'_>) -> Result<(), Refusal> {
        Ok(())
    }
}
