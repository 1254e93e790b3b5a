//! What the cases are written with.

mod answer;
mod caller;
mod case;
mod definition;
mod events;
mod normal;
mod pod;
mod transcript;

pub(crate) use answer::Answer;
pub(crate) use caller::{Caller, Patch, encoded};
pub(crate) use case::{Case, config_map};
pub(crate) use definition::{DEFINITIONS, widgets};
pub(crate) use events::Events;
pub(crate) use pod::{container, once, pod};
pub(crate) use transcript::Transcript;
