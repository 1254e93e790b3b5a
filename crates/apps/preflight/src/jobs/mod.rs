//! The checks of the release's operators: Jobs.
//!
//! [`find`] says which there are, `board` asks for them and watches them, `state` tells what has
//! become of one, and `collect` what it answers. Whoever may create them is somebody else.

mod board;
mod collect;
pub mod find;
mod follow;
mod hands;
mod own_hands;
mod state;

pub use board::Board;
pub use hands::{Hands, Operator};
pub use own_hands::{HandsError, OwnHands};
