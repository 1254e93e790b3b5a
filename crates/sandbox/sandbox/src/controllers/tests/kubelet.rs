//! A kubelet that only writes pod status. The image determines the behaviour: `runs` is ready after
//! 1 s, `succeeds` and `fails` finish after 2 s, `hangs` is never ready.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use crate::api::{Api, StatusError};
use crate::controllers::pod;
use crate::controllers::runtime::{
    Component, Controller, ObjectKey, Requeue, WatchEvent, WatchScope,
};

const BEGIN: SignedDuration = SignedDuration::from_secs(1);
const END: SignedDuration = SignedDuration::from_secs(2);

pub(super) struct Kubelet {
    component: Component,
}

impl Kubelet {
    pub(super) fn new(api: &Api) -> Self {
        Self { component: Component::new(api, "system:node:test") }
    }

    fn report(&self, pod: &Pod, status: Value) -> Result<(), StatusError> {
        let status = serde_json::from_value(status).map_err(StatusError::internal)?;
        if pod.status.as_ref() != Some(&status) {
            self.component.client().update_status(&Pod { status: Some(status), ..pod.clone() })?;
        }
        Ok(())
    }
}

impl Controller for Kubelet {
    type Key = ObjectKey;

    const SCOPE: WatchScope = WatchScope::Kinds(&[("", "Pod")]);

    fn component(&self) -> &Component {
        &self.component
    }

    fn keys_for_event(&mut self, event: &WatchEvent) -> Result<Vec<ObjectKey>, StatusError> {
        Ok(vec![ObjectKey::of(&event.object)])
    }

    fn reconcile(&mut self, key: &ObjectKey, now: Timestamp) -> Result<Requeue, StatusError> {
        let client = self.component.client();
        let Some(pod) = client.get::<Pod>(&key.namespace, &key.name)? else {
            return Ok(Requeue::Never);
        };
        if pod::node(&pod).is_none() {
            return Ok(Requeue::Never);
        }
        if pod::is_terminating(&pod) {
            let resource = self.component.api().catalog().kind("", "Pod").cloned();
            let uid = pod.metadata.uid.clone().unwrap_or_default();
            self.component.remove(&resource.unwrap(), key, &uid)?;
            return Ok(Requeue::Never);
        }
        let image = pod.spec.as_ref().and_then(|spec| spec.containers[0].image.clone()).unwrap();
        let created = pod.metadata.creation_timestamp.clone().unwrap().0;
        let age = now.duration_since(created);
        if pod::is_finished(&pod) || image == "hangs" || age < BEGIN {
            return Ok(if age < BEGIN { after_a_second() } else { Requeue::Never });
        }
        let time = (created + BEGIN).to_string();
        let ready = json!({ "type": "Ready", "status": "True", "lastTransitionTime": time });
        match image.as_str() {
            "succeeds" | "fails" if age >= END => {
                let (phase, code) = if image == "fails" { ("Failed", 1) } else { ("Succeeded", 0) };
                self.report(&pod, ended(phase, code, &now.to_string()))?;
                Ok(Requeue::Never)
            }
            "succeeds" | "fails" => {
                self.report(&pod, json!({ "phase": "Running", "conditions": [ready] }))?;
                Ok(after_a_second())
            }
            _ => {
                self.report(&pod, json!({ "phase": "Running", "conditions": [ready] }))?;
                Ok(Requeue::Never)
            }
        }
    }
}

fn after_a_second() -> Requeue {
    Requeue::After(Duration::from_millis(500))
}

fn ended(phase: &str, code: i32, at: &str) -> Value {
    json!({ "phase": phase, "containerStatuses": [{
        "name": "c", "image": "", "imageID": "", "ready": false, "restartCount": 0,
        "state": { "terminated": { "exitCode": code, "finishedAt": at } },
    }] })
}
