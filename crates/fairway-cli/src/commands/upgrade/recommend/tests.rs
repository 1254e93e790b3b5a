//! Texts about updates.
