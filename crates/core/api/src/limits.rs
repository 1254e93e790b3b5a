//! How much of everything the API takes. The generated schema has these numbers, and whoever
//! composes a status keeps to them: a server refuses the whole of what exceeds one of them.

/// Risks that one update can accept.
pub const ACCEPTED_RISKS: usize = 1000;

/// Characters of a risk's name, where it is accepted or referred to.
pub const RISK_NAME: usize = 256;

/// Characters of a version. No release was ever called by a name half as long.
pub const VERSION: usize = 256;

/// Places to look for signatures.
pub const SIGNATURE_STORES: usize = 32;

/// Conditional updates in a status.
pub const CONDITIONAL_UPDATES: usize = 500;

/// Names of risks at one conditional update.
pub const RISK_NAMES: usize = 500;

/// Risks spelled out at one conditional update.
pub const RISKS: usize = 200;

/// Risks of all updates together.
pub const CONDITIONAL_UPDATE_RISKS: usize = 500;

/// Conditions of one risk.
pub const RISK_CONDITIONS: usize = 8;

/// Characters of a condition's type.
pub const CONDITION_TYPE: usize = 316;

/// Characters of a condition's reason.
pub const REASON: usize = 1024;

/// Characters of a condition's message.
pub const MESSAGE: usize = 32_768;

/// Characters of the name of a capability set or of a capability. Rules search in lists of them,
/// and API servers refuse rules over texts and lists without a limit.
pub const CAPABILITY: usize = 64;

/// Capabilities in a list: several times as many as any platform has.
pub const CAPABILITIES: usize = 400;

/// Characters of a URL that a rule looks at: longer ones do not work in practice.
pub const URL: usize = 2048;
