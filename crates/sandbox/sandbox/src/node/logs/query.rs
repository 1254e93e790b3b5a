//! What somebody wants to read, and why there is nothing; the texts are the API server's.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod};

use crate::api::Refusal;

/// Which part of a log, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// Which container; may be left out if there is only one.
    pub container: Option<String>,
    /// Whether to go on until the container ends.
    pub follow: bool,
    /// Whether the run before the newest one is meant.
    pub previous: bool,
    /// Only this many lines from the end.
    pub tail_lines: Option<u64>,
    /// At most this many bytes.
    pub limit_bytes: Option<u64>,
    /// Only what was written in the last seconds.
    pub since_seconds: Option<i64>,
    /// Only what was written since then.
    pub since_time: Option<Timestamp>,
    /// Whether each line begins with its time.
    pub timestamps: bool,
}

/// The container that is meant.
pub(super) fn container(pod: &Pod, options: &LogOptions) -> Result<String, Refusal> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let spec = pod.spec.clone().unwrap_or_default();
    let names = |containers: &[Container]| -> Vec<String> {
        containers.iter().map(|container| container.name.clone()).collect()
    };
    let (main, init) = (names(&spec.containers), names(&spec.init_containers.unwrap_or_default()));
    let asked = options.container.as_deref().unwrap_or_default();
    if asked.is_empty() {
        if let [only] = main.as_slice() {
            return Ok(only.clone());
        }
        let or_init = if init.is_empty() {
            String::new()
        } else {
            format!(" or one of the init containers: [{}]", init.join(" "))
        };
        return Err(Refusal::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]{or_init}",
            main.join(" ")
        )));
    }
    if main.iter().chain(&init).any(|known| known == asked) {
        return Ok(asked.to_owned());
    }
    Err(Refusal::bad_request(format!("container {asked} is not valid for pod {name}")))
}

/// Why there is nothing to read.
pub(super) fn nothing(pod: &Pod, container: &str, previous: bool) -> Refusal {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    if previous {
        return Refusal::bad_request(format!(
            "previous terminated container {container:?} in pod {name:?} not found"
        ));
    }
    let status = pod.status.clone().unwrap_or_default();
    let statuses = [status.container_statuses, status.init_container_statuses];
    let mut statuses = statuses.into_iter().flatten().flatten();
    let status = statuses.find(|status: &ContainerStatus| status.name == container);
    let waiting = status.and_then(|status| status.state?.waiting?.reason);
    let reason = waiting.unwrap_or_else(|| "ContainerCreating".to_owned());
    let why = match reason.as_str() {
        "ErrImagePull" | "ImagePullBackOff" => "trying and failing to pull image",
        "ErrImageNeverPull" => "image can't be pulled",
        other => other,
    };
    let message = format!("container {container:?} in pod {name:?} is waiting to start: {why}");
    Refusal::bad_request(message)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(spec: &Value, reason: &str) -> Pod {
        let waiting = json!([{ "name": "a", "image": "", "imageID": "", "ready": false,
            "restartCount": 0, "state": { "waiting": { "reason": reason } } }]);
        let pod = json!({ "metadata": { "name": "web" }, "spec": spec,
            "status": { "containerStatuses": waiting } });
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn the_only_container_needs_no_name() {
        let one = pod(&json!({ "containers": [{ "name": "a" }] }), "");
        assert_eq!(container(&one, &LogOptions::default()).unwrap(), "a");
        let two = pod(
            &json!({ "initContainers": [{ "name": "i" }],
                "containers": [{ "name": "a" }, { "name": "b" }] }),
            "",
        );
        let error = container(&two, &LogOptions::default()).unwrap_err();
        insta::assert_snapshot!(error.message, @"a container name must be specified for pod web, choose one of: [a b] or one of the init containers: [i]");
        let named = |name: &str| LogOptions { container: Some(name.into()), ..Default::default() };
        assert_eq!(container(&two, &named("i")).unwrap(), "i");
        let error = container(&two, &named("z")).unwrap_err();
        insta::assert_snapshot!(error.message, @"container z is not valid for pod web");
    }

    #[test]
    fn why_there_is_nothing() {
        let on_node = json!({ "nodeName": "n", "containers": [{ "name": "a" }] });
        let told = |reason: &str, previous| nothing(&pod(&on_node, reason), "a", previous).message;
        insta::assert_snapshot!(told("ContainerCreating", false), @r#"container "a" in pod "web" is waiting to start: ContainerCreating"#);
        insta::assert_snapshot!(told("ImagePullBackOff", false), @r#"container "a" in pod "web" is waiting to start: trying and failing to pull image"#);
        insta::assert_snapshot!(told("", true), @r#"previous terminated container "a" in pod "web" not found"#);
    }
}
