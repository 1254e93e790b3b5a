//! What is told about updates.
