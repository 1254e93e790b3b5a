//! The stage at work.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;

use super::inputs::{Hands, Inputs, Place, View};
use super::{Preflight, condition};
use crate::settings::PreflightSettings;

/// Asks other releases about this cluster whenever somebody wants to know, until nobody looks any
/// more.
pub async fn run(
    mut inputs: Inputs,
    place: Place,
    settings: PreflightSettings,
    hands: Hands,
    out: watch::Sender<Option<Arc<Preflight>>>,
) {
    let _ = (place, settings, hands);
    loop {
        if let Some(view) = inputs.look() {
            publish(preflight(&view), &out);
        }
        tokio::select! {
            open = inputs.changed() => if !open { return },
            () = out.closed() => return,
        }
    }
}

fn preflight(view: &View) -> Preflight {
    Preflight {
        generation: view.generation,
        conditions: condition::idle(),
        concerns: Vec::new(),
        not_offered: Vec::new(),
        outcomes: BTreeMap::new(),
        is_clear: true,
    }
}

/// Publishes what is new.
fn publish(preflight: Preflight, out: &watch::Sender<Option<Arc<Preflight>>>) {
    out.send_if_modified(|published| {
        if published.as_deref() == Some(&preflight) {
            return false;
        }
        *published = Some(Arc::new(preflight));
        true
    });
}
