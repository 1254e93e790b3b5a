//! Texts about an update.
