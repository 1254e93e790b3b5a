//! State of a check's Job, derived from its objects.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod, PodStatus};

/// Time that a pod may wait for its image or its node. Registries and schedulers have transient
/// errors.
const WAITING_GRACE_PERIOD: SignedDuration = SignedDuration::from_secs(90);

/// Time that a Job may have no pod. Quota is available again when the pod of another check is gone.
const REFUSAL_GRACE_PERIOD: SignedDuration = SignedDuration::from_secs(10);

/// Maximum time of a Job, including the image pull: one minute more than its deadline.
const MAX_JOB_TIME: SignedDuration = SignedDuration::from_secs(960);

/// Waiting reasons of containers whose image is missing.
const PULL_REASONS: [&str; 5] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
];

/// Waiting reasons of containers that do not start.
const START_REASONS: [&str; 3] =
    ["CreateContainerConfigError", "CreateContainerError", "RunContainerError"];

/// Error texts of container runtimes for a missing command.
const MISSING_COMMAND_TEXTS: [&str; 2] = ["executable file", "no such file or directory"];

/// Reasons of pods that the node terminated.
const NODE_TERMINATION_REASONS: [&str; 5] =
    ["Evicted", "Preempting", "NodeLost", "NodeShutdown", "Terminated"];

/// Observed objects of a Job.
#[derive(Clone, Debug, Default)]
pub(super) struct ObservedJob {
    pub(super) job: Option<Job>,
    /// The newest pod of the Job.
    pub(super) pod: Option<Pod>,
    /// Latest error of the registry. `ImagePullBackOff` does not repeat it.
    pub(super) registry: Option<String>,
    /// Latest error of the pod's creation.
    pub(super) refusal: Option<String>,
}

/// How a Job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JobEnd {
    /// The container of the check terminated, or could not be started.
    Exited {
        code: i32,
        /// Reason of the kubelet.
        reason: String,
        /// Termination message.
        message: String,
    },
    /// The image does not contain the command.
    NoCommand(String),
    /// The pod did not start.
    NotStarted(String),
    /// The Job timed out.
    TimedOut(String),
    /// The pod was terminated.
    Killed(String),
}

impl ObservedJob {
    /// Records a pod, if it is newer than the previous one.
    pub(super) fn record_pod(&mut self, pod: Pod) {
        let created = |pod: &Pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
        if self.pod.as_ref().is_none_or(|known| created(known) <= created(&pod)) {
            self.registry = registry_error(&pod).or_else(|| self.registry.take());
            self.pod = Some(pod);
        }
    }

    /// How the Job ended, if it did. It was requested at `requested`, and its container may run for
    /// `timeout`.
    pub(super) fn end(
        &self,
        requested: Timestamp,
        now: Timestamp,
        timeout: SignedDuration,
    ) -> Option<JobEnd> {
        let waited = now.duration_since(requested);
        let status = self.pod.as_ref().and_then(|pod| pod.status.as_ref());
        status
            .and_then(|status| self.of_pod(status, now, timeout, waited))
            .or_else(|| self.job.as_ref().and_then(of_job))
            .or_else(|| self.without_pod(waited))
            .or_else(|| self.is_gone(waited))
            .or_else(|| late(waited))
    }

    fn of_pod(
        &self,
        status: &PodStatus,
        now: Timestamp,
        timeout: SignedDuration,
        waited: SignedDuration,
    ) -> Option<JobEnd> {
        of_phase(status)
            .or_else(|| containers(status).find_map(no_command))
            .or_else(|| self.stuck(status).filter(|_| waited > WAITING_GRACE_PERIOD))
            .or_else(|| before(status).find_map(failed_init_container))
            .or_else(|| exited(status))
            .or_else(|| too_long(status, now, timeout))
            .or_else(|| unschedulable(status).filter(|_| waited > WAITING_GRACE_PERIOD))
    }

    /// A container that cannot start.
    fn stuck(&self, status: &PodStatus) -> Option<JobEnd> {
        containers(status).find_map(|container| {
            let (reason, message) = waits(container)?;
            let rendered = if message.is_empty() { reason } else { message };
            if PULL_REASONS.contains(&reason) {
                let why = || format!("cannot pull its image {}: {rendered}", container.image);
                return Some(JobEnd::NotStarted(self.registry.clone().unwrap_or_else(why)));
            }
            let why = || format!("cannot start its container: {rendered}");
            START_REASONS.contains(&reason).then(|| JobEnd::NotStarted(why()))
        })
    }

    /// A Job without a pod: policies, quotas and webhooks refuse it before it exists.
    fn without_pod(&self, waited: SignedDuration) -> Option<JobEnd> {
        let refusal = self.refusal.as_ref().filter(|_| self.pod.is_none())?;
        let why = || format!("cannot create its pod: {refusal}");
        (waited > REFUSAL_GRACE_PERIOD).then(|| JobEnd::NotStarted(why()))
    }

    fn is_gone(&self, waited: SignedDuration) -> Option<JobEnd> {
        let gone = self.job.is_none() && waited > WAITING_GRACE_PERIOD;
        gone.then(|| JobEnd::Killed("another client deleted its Job".to_owned()))
    }
}

fn late(waited: SignedDuration) -> Option<JobEnd> {
    let why = || format!("no result after {} seconds", waited.as_secs());
    (waited > MAX_JOB_TIME).then(|| JobEnd::TimedOut(why()))
}

fn of_job(job: &Job) -> Option<JobEnd> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    let failed = conditions.iter().find(|one| one.type_ == "Failed" && one.status == "True")?;
    let message = failed.message.as_deref().unwrap_or_default();
    Some(match failed.reason.as_deref() {
        Some("DeadlineExceeded") => at_deadline(),
        _ => JobEnd::Killed(format!("its Job failed: {message}")),
    })
}

fn at_deadline() -> JobEnd {
    JobEnd::TimedOut("its Job exceeded its deadline".to_owned())
}

fn of_phase(status: &PodStatus) -> Option<JobEnd> {
    let reason = status.reason.as_deref()?;
    let message = status.message.as_deref().unwrap_or_default();
    let killed = || JobEnd::Killed(format!("its node terminated its pod ({reason}): {message}"));
    match status.phase.as_deref() {
        Some("Failed") if reason == "DeadlineExceeded" => Some(at_deadline()),
        Some("Failed") if NODE_TERMINATION_REASONS.contains(&reason) => Some(killed()),
        _ => None,
    }
}

fn before(status: &PodStatus) -> impl Iterator<Item = &ContainerStatus> {
    status.init_container_statuses.iter().flatten()
}

fn checks(status: &PodStatus) -> impl Iterator<Item = &ContainerStatus> {
    status.container_statuses.iter().flatten()
}

fn containers(status: &PodStatus) -> impl Iterator<Item = &ContainerStatus> {
    before(status).chain(checks(status))
}

fn waits(container: &ContainerStatus) -> Option<(&str, &str)> {
    let waiting = container.state.as_ref()?.waiting.as_ref()?;
    Some((waiting.reason.as_deref()?, waiting.message.as_deref().unwrap_or_default()))
}

fn terminated(container: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    container.state.as_ref()?.terminated.as_ref()
}

/// Some runtimes do not start a container whose command is missing.
fn no_command(container: &ContainerStatus) -> Option<JobEnd> {
    let (reason, message) = waits(container)?;
    let lower = message.to_lowercase();
    let is_missing = START_REASONS.contains(&reason)
        && MISSING_COMMAND_TEXTS.iter().all(|part| lower.contains(part));
    is_missing.then(|| JobEnd::NoCommand(message.to_owned()))
}

/// Error of the registry about an image of a pod.
fn registry_error(pod: &Pod) -> Option<String> {
    containers(pod.status.as_ref()?).find_map(|container| {
        let (reason, message) = waits(container)?;
        let says = reason == "ErrImagePull" && !message.is_empty();
        says.then(|| format!("cannot pull its image {}: {message}", container.image))
    })
}

/// A failed init container. The check does not run after it.
fn failed_init_container(container: &ContainerStatus) -> Option<JobEnd> {
    let ended = terminated(container).filter(|ended| ended.exit_code != 0)?;
    let (name, code) = (&container.name, ended.exit_code);
    Some(JobEnd::NotStarted(format!("its init container {name} failed with exit code {code}")))
}

/// Termination of the check's container; of several, the first that failed.
fn exited(status: &PodStatus) -> Option<JobEnd> {
    let ended: Option<Vec<_>> = checks(status).map(terminated).collect();
    let ended = ended?;
    let worst = ended.iter().find(|ended| ended.exit_code != 0).or_else(|| ended.first())?;
    Some(JobEnd::Exited {
        code: worst.exit_code,
        reason: worst.reason.clone().unwrap_or_default(),
        message: worst.message.clone().unwrap_or_default(),
    })
}

fn too_long(status: &PodStatus, now: Timestamp, timeout: SignedDuration) -> Option<JobEnd> {
    let since = |container: &ContainerStatus| {
        Some(container.state.as_ref()?.running.as_ref()?.started_at.as_ref()?.0)
    };
    let longest = checks(status).filter_map(since).map(|since| now.duration_since(since)).max()?;
    let why = || format!("timed out after {} seconds", timeout.as_secs());
    (longest > timeout).then(|| JobEnd::TimedOut(why()))
}

fn unschedulable(status: &PodStatus) -> Option<JobEnd> {
    let mut conditions = status.conditions.iter().flatten();
    let refused = conditions.find(|one| one.type_ == "PodScheduled" && one.status == "False")?;
    let message = refused.message.as_deref().unwrap_or_default();
    Some(JobEnd::NotStarted(format!("cannot schedule its pod: {message}")))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn pod(status: &Value) -> Pod {
        serde_json::from_value(json!({"metadata": {"name": "a"}, "status": status})).unwrap()
    }

    fn container(state: &Value) -> Value {
        json!({"containerStatuses": [{
            "name": "check", "image": "registry.example/check", "imageID": "", "ready": false,
            "restartCount": 0, "state": state,
        }]})
    }

    fn waiting(reason: &str, message: &str) -> Value {
        container(&json!({"waiting": {"reason": reason, "message": message}}))
    }

    fn ended(code: i32, reason: &str) -> Value {
        container(&json!({"terminated": {"exitCode": code, "reason": reason, "message": "bye"}}))
    }

    /// The end of a Job with a pod in this state, some seconds after the request.
    fn rendered(seconds: i64, status: &Value) -> String {
        let job = Some(Job::default());
        let mut observed = ObservedJob { job, ..ObservedJob::default() };
        observed.record_pod(pod(status));
        let end = observed.end(at(0), at(seconds), SignedDuration::from_secs(300));
        end.map_or_else(|| "-".to_owned(), |end| format!("{end:?}"))
    }

    #[test]
    fn end_distinguishes_all_causes() {
        let missing = "container create failed: executable file `/bin/preflight` not found: No \
                       such file or directory";
        let scheduled = json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"},
        ]});
        let init = json!({"initContainerStatuses": [{
            "name": "manifests", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": 1}},
        }]});
        let running = container(&json!({"running": {"startedAt": at(10).to_string()}}));
        let cases = [
            ("all is well", 5, ended(0, "Completed")),
            ("it says no", 5, ended(1, "Error")),
            ("too much memory", 5, ended(137, "OOMKilled")),
            ("no command, as containerd says it", 5, ended(128, "StartError")),
            ("no command, as CRI-O says it", 5, waiting("CreateContainerError", missing)),
            ("a wrong mount", 5, waiting("CreateContainerError", "no such device")),
            ("a wrong mount, still", 95, waiting("CreateContainerError", "no such device")),
            ("no image, so far", 30, waiting("ErrImagePull", "unauthorized")),
            ("no image", 95, waiting("ErrImagePull", "unauthorized")),
            ("it runs", 300, running.clone()),
            ("it runs for too long", 311, running),
            ("no room, so far", 30, scheduled.clone()),
            ("no room", 95, scheduled),
            ("no manifests", 5, init),
            ("evicted", 5, json!({"phase": "Failed", "reason": "Evicted", "message": "no disk"})),
            ("its deadline", 5, json!({"phase": "Failed", "reason": "DeadlineExceeded"})),
            ("nothing", 100, json!({})),
            ("nothing at all", 961, json!({})),
        ];
        let rendered = cases
            .iter()
            .map(|(case, after, status)| format!("{case}: {}", rendered(*after, status)));
        insta::assert_snapshot!(rendered.collect::<Vec<_>>().join("\n"), @r#"
        all is well: Exited { code: 0, reason: "Completed", message: "bye" }
        it says no: Exited { code: 1, reason: "Error", message: "bye" }
        too much memory: Exited { code: 137, reason: "OOMKilled", message: "bye" }
        no command, as containerd says it: Exited { code: 128, reason: "StartError", message: "bye" }
        no command, as CRI-O says it: NoCommand("container create failed: executable file `/bin/preflight` not found: No such file or directory")
        a wrong mount: -
        a wrong mount, still: NotStarted("cannot start its container: no such device")
        no image, so far: -
        no image: NotStarted("cannot pull its image registry.example/check: unauthorized")
        it runs: -
        it runs for too long: TimedOut("timed out after 300 seconds")
        no room, so far: -
        no room: NotStarted("cannot schedule its pod: 0/3 nodes are available")
        no manifests: NotStarted("its init container manifests failed with exit code 1")
        evicted: Killed("its node terminated its pod (Evicted): no disk")
        its deadline: TimedOut("its Job exceeded its deadline")
        nothing: -
        nothing at all: TimedOut("no result after 961 seconds")
        "#);
    }

    #[test]
    fn end_keeps_error_of_registry_during_backoff() {
        let mut observed = ObservedJob { job: Some(Job::default()), ..ObservedJob::default() };
        observed.record_pod(pod(&waiting("ErrImagePull", "denied: who are you?")));
        observed.record_pod(pod(&waiting("ImagePullBackOff", "Back-off pulling image")));
        let end = observed.end(at(0), at(100), SignedDuration::ZERO);
        let why = "cannot pull its image registry.example/check: denied: who are you?";
        assert_eq!(end, Some(JobEnd::NotStarted(why.to_owned())));
    }

    #[test]
    fn job_with_refused_pod_ends_after_grace_period() {
        let message = "pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\"";
        let mut observed = ObservedJob {
            job: Some(Job::default()),
            refusal: Some(message.to_owned()),
            ..ObservedJob::default()
        };
        let end = |observed: &ObservedJob, seconds| {
            let end = observed.end(at(0), at(seconds), SignedDuration::ZERO);
            end.map_or_else(|| "-".to_owned(), |end| format!("{end:?}"))
        };
        assert_eq!(end(&observed, 5), "-", "others may make room");
        insta::assert_snapshot!(end(&observed, 11), @r#"NotStarted("cannot create its pod: pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\"")"#);
        observed.record_pod(pod(&json!({})));
        assert_eq!(end(&observed, 11), "-", "it was created after all");
    }

    #[test]
    fn end_of_job_without_pod() {
        let end = |job: Option<Value>, seconds| {
            let job = job.map(|status| serde_json::from_value(json!({"status": status})).unwrap());
            ObservedJob { job, ..ObservedJob::default() }.end(
                at(0),
                at(seconds),
                SignedDuration::ZERO,
            )
        };
        let failed = |reason: &str| {
            let condition =
                json!({"type": "Failed", "status": "True", "reason": reason, "message": "m"});
            Some(json!({"conditions": [condition]}))
        };
        assert_eq!(end(failed("DeadlineExceeded"), 1), Some(at_deadline()));
        let killed = JobEnd::Killed("its Job failed: m".to_owned());
        assert_eq!(end(failed("PodFailurePolicy"), 1), Some(killed));
        assert_eq!(end(None, 1), None);
        assert!(matches!(end(None, 100), Some(JobEnd::Killed(_))));
    }
}
