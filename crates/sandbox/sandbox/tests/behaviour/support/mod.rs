//! Test harness of the cases.

mod case;
mod client;
mod crd;
mod events;
mod objects;
mod response;
mod webhook;

pub(crate) use case::Case;
pub(crate) use client::{ApiClient, PatchType, encoded};
pub(crate) use crd::{CRDS, widgets};
pub(crate) use events::WatchEvents;
pub(crate) use objects::{
    config_map, container, held_config_map, idle_deployment, is_deleting, once, pod,
    share_directory,
};
pub(crate) use response::{ApiResponse, Transcript};
pub(crate) use webhook::{CONFIGURATIONS, LABEL, Webhook, WebhookReaction};
