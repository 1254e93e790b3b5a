//! Limits that keep hostile input from exhausting the stack, memory or time.

/// The maximum nesting depth. Kubernetes objects nest less than 20 deep and CRD schemas less than
/// 60; the recursion of the composer, the encoder and `Drop` stays far from the end of the stack.
pub const MAX_DEPTH: usize = 100;

/// The maximum number of nodes in a document, including nodes repeated by aliases. The largest CRD
/// of a real platform has about 30,000.
pub const MAX_NODES: usize = 2_000_000;

/// The maximum number of nodes that aliases of one document repeat.
pub const MAX_ALIAS_NODES: usize = 100_000;

/// The maximum number of bytes of text that aliases of one document repeat.
pub const MAX_ALIAS_BYTES: usize = 16 << 20;

/// The maximum number of oddities reported for a document. The last one says how many more there are.
pub const MAX_ODDITIES: usize = 100;
