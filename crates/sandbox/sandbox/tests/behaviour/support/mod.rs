//! What the cases are written with.

mod answer;
mod caller;
mod case;
mod definition;
mod events;
mod normal;
mod objects;
mod pod;
mod transcript;
mod webhook;

pub(crate) use answer::Answer;
pub(crate) use caller::{Caller, Patch, encoded};
pub(crate) use case::Case;
pub(crate) use definition::{DEFINITIONS, widgets};
pub(crate) use events::Events;
pub(crate) use objects::{config_map, held_config_map, idle_deployment, is_going};
pub(crate) use pod::{container, once, pod, share};
pub(crate) use transcript::Transcript;
pub(crate) use webhook::{CONFIGURATIONS, LABEL, Reaction, Webhook};
