//! The operator's parts with real sockets.

mod updates;
