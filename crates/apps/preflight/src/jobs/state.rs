//! What has become of a check's Job, as far as its objects tell.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod, PodStatus};

/// How long a pod may be without what it needs before that counts as the answer: registries and
/// schedulers have their moments.
const PATIENCE: SignedDuration = SignedDuration::from_secs(90);

/// How long nobody may let a Job have a pod before that counts as the answer: a quota has room again
/// when the pod of another check is gone.
const REFUSAL_PATIENCE: SignedDuration = SignedDuration::from_secs(10);

/// How long a Job may take in all, with the image pull: a minute more than its own deadline.
const WHOLE: SignedDuration = SignedDuration::from_secs(960);

/// Why containers wait whose image is not there.
const CANNOT_PULL: [&str; 5] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "ImageInspectError",
];

/// Why containers wait although their image is there.
const CANNOT_START: [&str; 3] =
    ["CreateContainerConfigError", "CreateContainerError", "RunContainerError"];

/// What runtimes say about a command that their image does not have.
const NO_COMMAND: [&str; 2] = ["executable file", "no such file or directory"];

/// Why the node ended a pod.
const ENDED_BY_NODE: [&str; 5] =
    ["Evicted", "Preempting", "NodeLost", "NodeShutdown", "Terminated"];

/// What is known of a Job.
#[derive(Clone, Debug, Default)]
pub(super) struct Observed {
    pub(super) job: Option<Job>,
    /// The newest of its pods.
    pub(super) pod: Option<Pod>,
    /// What the registry said last: later words are only that it is tried again.
    pub(super) registry: Option<String>,
    /// What was said last when its pod was not created.
    pub(super) refusal: Option<String>,
}

/// How a Job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The container of the check has ended, or could not be started.
    Exited {
        /// With this code.
        code: i32,
        /// The word of the kubelet for it.
        reason: String,
        /// Its last words.
        message: String,
    },
    /// Its image does not have the command.
    NoCommand(String),
    /// Its pod did not come to run.
    NotStarted(String),
    /// It took too long.
    TimedOut(String),
    /// Somebody ended it.
    Killed(String),
}

impl Observed {
    /// Takes note of a pod, which may be newer than the one before.
    pub(super) fn see(&mut self, pod: Pod) {
        let created = |pod: &Pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
        if self.pod.as_ref().is_none_or(|known| created(known) <= created(&pod)) {
            self.registry = registry_words(&pod).or_else(|| self.registry.take());
            self.pod = Some(pod);
        }
    }

    /// Whether the Job has ended, and how. It was asked for at `asked`, and its container may run
    /// for `patience`.
    pub(super) fn end(
        &self,
        asked: Timestamp,
        now: Timestamp,
        patience: SignedDuration,
    ) -> Option<End> {
        let waited = now.duration_since(asked);
        let status = self.pod.as_ref().and_then(|pod| pod.status.as_ref());
        status
            .and_then(|status| self.of_pod(status, now, patience, waited))
            .or_else(|| self.job.as_ref().and_then(of_job))
            .or_else(|| self.without_pod(waited))
            .or_else(|| self.is_gone(waited))
            .or_else(|| late(waited))
    }

    fn of_pod(
        &self,
        status: &PodStatus,
        now: Timestamp,
        patience: SignedDuration,
        waited: SignedDuration,
    ) -> Option<End> {
        of_phase(status)
            .or_else(|| containers(status).find_map(no_command))
            .or_else(|| self.stuck(status).filter(|_| waited > PATIENCE))
            .or_else(|| before(status).find_map(failed_before))
            .or_else(|| exited(status))
            .or_else(|| too_long(status, now, patience))
            .or_else(|| unschedulable(status).filter(|_| waited > PATIENCE))
    }

    /// A container that waits for what will not come.
    fn stuck(&self, status: &PodStatus) -> Option<End> {
        containers(status).find_map(|container| {
            let (reason, message) = waits(container)?;
            let told = if message.is_empty() { reason } else { message };
            if CANNOT_PULL.contains(&reason) {
                let why = || format!("cannot pull its image {}: {told}", container.image);
                return Some(End::NotStarted(self.registry.clone().unwrap_or_else(why)));
            }
            let why = || format!("cannot start its container: {told}");
            CANNOT_START.contains(&reason).then(|| End::NotStarted(why()))
        })
    }

    /// A Job that may not have a pod: policies, quotas and webhooks are asked before there is one.
    fn without_pod(&self, waited: SignedDuration) -> Option<End> {
        let refusal = self.refusal.as_ref().filter(|_| self.pod.is_none())?;
        let why = || format!("cannot create its pod: {refusal}");
        (waited > REFUSAL_PATIENCE).then(|| End::NotStarted(why()))
    }

    fn is_gone(&self, waited: SignedDuration) -> Option<End> {
        let gone = self.job.is_none() && waited > PATIENCE;
        gone.then(|| End::Killed("another client deleted its Job".to_owned()))
    }
}

fn late(waited: SignedDuration) -> Option<End> {
    let why = || format!("no result after {} seconds", waited.as_secs());
    (waited > WHOLE).then(|| End::TimedOut(why()))
}

fn of_job(job: &Job) -> Option<End> {
    let conditions = job.status.as_ref()?.conditions.as_ref()?;
    let failed = conditions.iter().find(|one| one.type_ == "Failed" && one.status == "True")?;
    let message = failed.message.as_deref().unwrap_or_default();
    Some(match failed.reason.as_deref() {
        Some("DeadlineExceeded") => at_deadline(),
        _ => End::Killed(format!("its Job failed: {message}")),
    })
}

fn at_deadline() -> End {
    End::TimedOut("its Job exceeded its deadline".to_owned())
}

fn of_phase(status: &PodStatus) -> Option<End> {
    let reason = status.reason.as_deref()?;
    let message = status.message.as_deref().unwrap_or_default();
    let killed = || End::Killed(format!("its node terminated its pod ({reason}): {message}"));
    match status.phase.as_deref() {
        Some("Failed") if reason == "DeadlineExceeded" => Some(at_deadline()),
        Some("Failed") if ENDED_BY_NODE.contains(&reason) => Some(killed()),
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

/// Some runtimes do not let a container begin whose command is missing.
fn no_command(container: &ContainerStatus) -> Option<End> {
    let (reason, message) = waits(container)?;
    let words = message.to_lowercase();
    let is_missing =
        CANNOT_START.contains(&reason) && NO_COMMAND.iter().all(|part| words.contains(part));
    is_missing.then(|| End::NoCommand(message.to_owned()))
}

/// What a registry says about an image of a pod.
fn registry_words(pod: &Pod) -> Option<String> {
    containers(pod.status.as_ref()?).find_map(|container| {
        let (reason, message) = waits(container)?;
        let says = reason == "ErrImagePull" && !message.is_empty();
        says.then(|| format!("cannot pull its image {}: {message}", container.image))
    })
}

/// An init container that failed: the check does not run after that.
fn failed_before(container: &ContainerStatus) -> Option<End> {
    let ended = terminated(container).filter(|ended| ended.exit_code != 0)?;
    let (name, code) = (&container.name, ended.exit_code);
    Some(End::NotStarted(format!("its init container {name} failed with exit code {code}")))
}

/// The container of the check; where there are several, the first that did not end well.
fn exited(status: &PodStatus) -> Option<End> {
    let ended: Option<Vec<_>> = checks(status).map(terminated).collect();
    let ended = ended?;
    let worst = ended.iter().find(|ended| ended.exit_code != 0).or_else(|| ended.first())?;
    Some(End::Exited {
        code: worst.exit_code,
        reason: worst.reason.clone().unwrap_or_default(),
        message: worst.message.clone().unwrap_or_default(),
    })
}

fn too_long(status: &PodStatus, now: Timestamp, patience: SignedDuration) -> Option<End> {
    let since = |container: &ContainerStatus| {
        Some(container.state.as_ref()?.running.as_ref()?.started_at.as_ref()?.0)
    };
    let longest = checks(status).filter_map(since).map(|since| now.duration_since(since)).max()?;
    let why = || format!("timed out after {} seconds", patience.as_secs());
    (longest > patience).then(|| End::TimedOut(why()))
}

fn unschedulable(status: &PodStatus) -> Option<End> {
    let mut conditions = status.conditions.iter().flatten();
    let refused = conditions.find(|one| one.type_ == "PodScheduled" && one.status == "False")?;
    let message = refused.message.as_deref().unwrap_or_default();
    Some(End::NotStarted(format!("cannot schedule its pod: {message}")))
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

    /// How it ended, of a pod in one state, so long after the Job was asked for.
    fn told(seconds: i64, status: &Value) -> String {
        let job = Some(Job::default());
        let mut observed = Observed { job, ..Observed::default() };
        observed.see(pod(status));
        let end = observed.end(at(0), at(seconds), SignedDuration::from_secs(300));
        end.map_or_else(|| "-".to_owned(), |end| format!("{end:?}"))
    }

    #[test]
    fn every_way_to_end_is_told_apart() {
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
        let told =
            cases.iter().map(|(case, after, status)| format!("{case}: {}", told(*after, status)));
        insta::assert_snapshot!(told.collect::<Vec<_>>().join("\n"), @r#"
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
    fn the_registrys_own_words_outlast_the_pauses() {
        let mut observed = Observed { job: Some(Job::default()), ..Observed::default() };
        observed.see(pod(&waiting("ErrImagePull", "denied: who are you?")));
        observed.see(pod(&waiting("ImagePullBackOff", "Back-off pulling image")));
        let end = observed.end(at(0), at(100), SignedDuration::ZERO);
        let why = "cannot pull its image registry.example/check: denied: who are you?";
        assert_eq!(end, Some(End::NotStarted(why.to_owned())));
    }

    #[test]
    fn a_job_that_may_not_have_a_pod_says_why_within_seconds() {
        let words = "pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\"";
        let mut observed = Observed {
            job: Some(Job::default()),
            refusal: Some(words.to_owned()),
            ..Observed::default()
        };
        let end = |observed: &Observed, seconds| {
            let end = observed.end(at(0), at(seconds), SignedDuration::ZERO);
            end.map_or_else(|| "-".to_owned(), |end| format!("{end:?}"))
        };
        assert_eq!(end(&observed, 5), "-", "others may make room");
        insta::assert_snapshot!(end(&observed, 11), @r#"NotStarted("cannot create its pod: pods \"a\" is forbidden: violates PodSecurity \"restricted:latest\"")"#);
        observed.see(pod(&json!({})));
        assert_eq!(end(&observed, 11), "-", "it was created after all");
    }

    #[test]
    fn a_job_without_a_pod() {
        let end = |job: Option<Value>, seconds| {
            let job = job.map(|status| serde_json::from_value(json!({"status": status})).unwrap());
            Observed { job, ..Observed::default() }.end(at(0), at(seconds), SignedDuration::ZERO)
        };
        let failed = |reason: &str| {
            let condition =
                json!({"type": "Failed", "status": "True", "reason": reason, "message": "m"});
            Some(json!({"conditions": [condition]}))
        };
        assert_eq!(end(failed("DeadlineExceeded"), 1), Some(at_deadline()));
        let killed = End::Killed("its Job failed: m".to_owned());
        assert_eq!(end(failed("PodFailurePolicy"), 1), Some(killed));
        assert_eq!(end(None, 1), None);
        assert!(matches!(end(None, 100), Some(End::Killed(_))));
    }
}
