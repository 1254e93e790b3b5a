//! What will not run on a target release.
