//! What in a cluster stands against updates, as concerns for the ledger.
