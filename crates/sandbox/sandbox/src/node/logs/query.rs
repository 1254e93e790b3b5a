//! Options of log requests, with the errors of the API server.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, ContainerStatus, Pod};

use crate::api::StatusError;

/// Options of `GET pods/log`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogOptions {
    /// Container; optional for pods with one container.
    pub container: Option<String>,
    /// Whether to stream until the container exits.
    pub follow: bool,
    /// Whether to read the previous run.
    pub previous: bool,
    /// Maximum number of lines, from the end.
    pub tail_lines: Option<u64>,
    /// Maximum number of bytes.
    pub limit_bytes: Option<u64>,
    /// Only lines of the last seconds.
    pub since_seconds: Option<i64>,
    /// Only lines since this time.
    pub since_time: Option<Timestamp>,
    /// Whether to prefix lines with timestamps.
    pub timestamps: bool,
}

/// The container of a log request.
pub(super) fn container(pod: &Pod, options: &LogOptions) -> Result<String, StatusError> {
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
        return Err(StatusError::bad_request(format!(
            "a container name must be specified for pod {name}, choose one of: [{}]{or_init}",
            main.join(" ")
        )));
    }
    if main.iter().chain(&init).any(|known| known == asked) {
        return Ok(asked.to_owned());
    }
    Err(StatusError::bad_request(format!("container {asked} is not valid for pod {name}")))
}

/// The error for a container without a log.
pub(super) fn no_log(pod: &Pod, container: &str, previous: bool) -> StatusError {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    if previous {
        return StatusError::bad_request(format!(
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
    StatusError::bad_request(message)
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
    fn container_without_name_is_the_only_one() {
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
    fn no_log_returns_api_server_message() {
        let on_node = json!({ "nodeName": "n", "containers": [{ "name": "a" }] });
        let message =
            |reason: &str, previous| no_log(&pod(&on_node, reason), "a", previous).message;
        insta::assert_snapshot!(message("ContainerCreating", false), @r#"container "a" in pod "web" is waiting to start: ContainerCreating"#);
        insta::assert_snapshot!(message("ImagePullBackOff", false), @r#"container "a" in pod "web" is waiting to start: trying and failing to pull image"#);
        insta::assert_snapshot!(message("", true), @r#"previous terminated container "a" in pod "web" not found"#);
    }
}
