//! Events: what a node tells people about a pod.

use k8s_openapi::api::core::v1::{ObjectReference, Pod};

use crate::api::Client;
use crate::recorder::{Recorder, Severity, about};

/// Tells about one pod.
pub(crate) struct Events {
    recorder: Recorder,
    about: ObjectReference,
}

impl Events {
    pub(crate) fn new(client: &Client, node: &str, pod: &Pod) -> Self {
        Self { recorder: Recorder::new(client, "kubelet").on(node), about: about(pod) }
    }

    pub(crate) fn normal(&mut self, container: &str, reason: &str, message: &str) {
        self.say(Severity::Normal, container, reason, message);
    }

    pub(crate) fn warning(&mut self, container: &str, reason: &str, message: &str) {
        self.say(Severity::Warning, container, reason, message);
    }

    fn say(&mut self, severity: Severity, container: &str, reason: &str, message: &str) {
        let field_path = (!container.is_empty()).then(|| format!("spec.containers{{{container}}}"));
        let about = ObjectReference { field_path, ..self.about.clone() };
        self.recorder.say(&about, severity, reason, message);
    }
}
