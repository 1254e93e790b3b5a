//! Limits of the API. The generated schema contains them, and the operator observes them: a server
//! rejects a status that exceeds one.

/// Accepted risks of an update.
pub const ACCEPTED_RISKS: usize = 1000;

/// Characters of a risk name.
pub const RISK_NAME: usize = 256;

/// Characters of a version; real ones have less than half.
pub const VERSION: usize = 256;

/// Signature stores.
pub const SIGNATURE_STORES: usize = 32;

/// Conditional updates in a status.
pub const CONDITIONAL_UPDATES: usize = 500;

/// Names of risks of a conditional update.
pub const RISK_NAMES: usize = 500;

/// Risks of a conditional update.
pub const RISKS: usize = 200;

/// Risks of all updates.
pub const CONDITIONAL_UPDATE_RISKS: usize = 500;

/// Conditions of a risk.
pub const RISK_CONDITIONS: usize = 8;

/// Characters of a condition type.
pub const CONDITION_TYPE: usize = 316;

/// Characters of a condition reason.
pub const REASON: usize = 1024;

/// Characters of a condition message.
pub const MESSAGE: usize = 32_768;

/// Characters of a capability or capability set. CEL rules search lists of them, and API servers
/// reject rules over unbounded strings and lists.
pub const CAPABILITY: usize = 64;

/// Capabilities in a list: several times as many as any platform has.
pub const CAPABILITIES: usize = 400;

/// Characters of a URL in CEL rules; longer URLs do not work in practice.
pub const URL: usize = 2048;
