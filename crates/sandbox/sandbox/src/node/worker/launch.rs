//! Starting a container.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, Pod};
use tokio::sync::watch;

use super::volumes::NamespaceObjects;
use super::{ContainerEvent, ContainerHandle, NodeContext, PodWorker};
use crate::init::{ContainerSpec, Mount, Root};
use crate::node::environment::{environment, expand, service};
use crate::node::files::{mount, remove_tree};
use crate::node::identity::{capabilities, command, identity};
use crate::node::images::UnpackedImage;
use crate::node::logs::{LogPosition, pump};
use crate::node::probes::{ProbeCounter, ProbeKind};
use crate::node::runtime::{SignalSender, StartError, prepare_overlay};
use crate::node::state::{ContainerExit, ContainerPhase, RestartBackoff, format_duration};
use crate::node::volumes::VolumePlan;

/// Exit code of containerd for a program that could not be started.
const START_ERROR: i32 = 128;
/// Retry delay of the kubelet for missing objects.
const CONFIG_RETRY_DELAY: SignedDuration = SignedDuration::from_secs(5);
/// Default of `terminationMessagePath`.
const MESSAGE_PATH: &str = "/dev/termination-log";

/// A started container.
pub(crate) struct StartedContainer {
    orders: SignalSender,
    plan: ContainerSpec,
    process: i32,
    image_id: String,
    id: String,
}

/// Error while starting a container.
pub(crate) enum LaunchError {
    /// The image is missing.
    Image(String),
    /// A referenced object is missing.
    Config(String),
    /// The program cannot be started.
    Program { message: String, image_id: String },
}

/// Inputs for starting a container, independent of the worker.
struct ContainerLaunch {
    context: Arc<NodeContext>,
    pod: Arc<Pod>,
    container: Container,
    /// Directory of the pod.
    directory: PathBuf,
    /// Number of earlier runs.
    attempt: i32,
    mounts: Result<Vec<Mount>, String>,
    environment: Result<Vec<(String, String)>, String>,
    message_file: PathBuf,
}

impl PodWorker {
    /// Starts a container in a task, which reports through the inbox.
    pub(super) fn start(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if slot.end().is_some() {
            let ended = slot.end().cloned();
            slot.last = ended;
            slot.restarts += 1;
            slot.backoff = slot.backoff.after_restart();
        }
        slot.state = ContainerPhase::Starting;
        let launch = self.launch(index);
        let outbox = self.outbox.clone();
        tokio::spawn(async move {
            let event = match launch.run().await {
                Ok((started, container, output)) => {
                    let started = Box::new(started);
                    let sent = outbox.send(ContainerEvent::Started { slot: index, started }).await;
                    if sent.is_err() {
                        return;
                    }
                    // The log is complete before the exit is reported.
                    let (_, code) = tokio::join!(output, container);
                    ContainerEvent::Exited { slot: index, code }
                }
                Err(error) => ContainerEvent::LaunchFailed { slot: index, error },
            };
            // The send fails if the worker has stopped.
            let _ = outbox.send(event).await;
        });
    }

    fn has_files(&self, volume: &str) -> bool {
        let volumes = self.pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
        volumes.filter(|it| it.name == volume).any(VolumePlan::has_files)
    }

    fn launch(&self, index: usize) -> ContainerLaunch {
        let slot = &self.slots[index];
        let container = &slot.container;
        let lookup = NamespaceObjects::of(&self.context, &self.pod);
        let service = service(self.context.options.api_server);
        let environment = environment(&self.pod, container, &lookup, service);
        let environment = environment.map_err(|error| error.to_string());
        let known = environment.clone().unwrap_or_default();
        let variable = |name: &str| {
            known.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        let volumes = container.volume_mounts.iter().flatten().map(|requested| {
            let directory = self.volumes.directories.get(&requested.name);
            let directory = directory.ok_or_else(|| format!("no volume {:?}", requested.name))?;
            let mut mount = mount(directory, requested, |text| expand(text, variable))?;
            mount.read_only |= self.has_files(&requested.name);
            Ok(mount)
        });
        ContainerLaunch {
            mounts: volumes.collect(),
            context: Arc::clone(&self.context),
            pod: Arc::clone(&self.pod),
            container: container.clone(),
            directory: self.directory.clone(),
            attempt: slot.restarts,
            environment,
            message_file: self.message_file(index),
        }
    }

    pub(super) fn on_started(&mut self, index: usize, started: StartedContainer) {
        let now = self.now();
        let slot = &mut self.slots[index];
        let name = slot.container.name.clone();
        let image = slot.container.image.clone().unwrap_or_default();
        slot.image_id = started.image_id;
        slot.state = ContainerPhase::Running { since: now, id: started.id };
        if slot.restarts == 0 {
            // A successful start resets the backoff of errors before it.
            slot.backoff = RestartBackoff::default();
        }
        slot.started = ProbeKind::Startup.probe(&slot.container).is_none();
        slot.ready = ProbeKind::Readiness.probe(&slot.container).is_none();
        let hooked = slot.container.lifecycle.as_ref();
        let hooked = hooked.is_some_and(|lifecycle| lifecycle.post_start.is_some());
        let present = format!("Container image {image:?} already present on machine");
        self.events.normal(&name, "Pulled", &present);
        self.events.normal(&name, "Created", &format!("Created container: {name}"));
        self.events.normal(&name, "Started", &format!("Started container {name}"));
        if hooked {
            let message = "the sandbox does not run postStart hooks";
            self.events.warning(&name, "FailedPostStartHook", message);
        }
        let handle = ContainerHandle {
            orders: started.orders,
            plan: started.plan,
            process: started.process,
            probes: Vec::new(),
            counters: [ProbeCounter::default(); 3],
            kill: None,
        };
        self.handles.insert(index, handle);
        self.start_probes(index);
    }

    pub(super) fn on_launch_error(&mut self, index: usize, error: LaunchError) {
        let now = self.now();
        match error {
            LaunchError::Image(message) => self.on_missing_image(index, &message, now),
            LaunchError::Config(message) => {
                let name = self.slots[index].container.name.clone();
                self.events.warning(&name, "Failed", &format!("Error: {message}"));
                let retry = now.saturating_add(CONFIG_RETRY_DELAY).ok();
                let reason = "CreateContainerConfigError".to_owned();
                self.slots[index].state = ContainerPhase::Waiting { reason, message, retry };
            }
            LaunchError::Program { message, image_id } => {
                let slot = &mut self.slots[index];
                let name = slot.container.name.clone();
                slot.image_id = image_id;
                slot.state = ContainerPhase::Exited(ContainerExit {
                    code: START_ERROR,
                    reason: "StartError".to_owned(),
                    message: message.clone(),
                    // The container never ran; containerd reports this time.
                    since: Timestamp::UNIX_EPOCH,
                    until: now,
                    id: String::new(),
                });
                self.events.warning(&name, "Failed", &format!("Error: {message}"));
            }
        }
    }

    fn on_missing_image(&mut self, index: usize, message: &str, now: Timestamp) {
        let slot = &mut self.slots[index];
        let name = slot.container.name.clone();
        let image = slot.container.image.clone().unwrap_or_default();
        if slot.container.image_pull_policy.as_deref() == Some("Never") {
            let message = format!(
                "Container image {image:?} is not present with pull policy of Never: {message}"
            );
            let retry = now.saturating_add(CONFIG_RETRY_DELAY).ok();
            let reason = "ErrImageNeverPull".to_owned();
            self.events.warning(&name, "ErrImageNeverPull", &message);
            slot.state = ContainerPhase::Waiting { reason, message, retry };
            return;
        }
        let (reason, text) = if slot.backoff == RestartBackoff::default() {
            self.events.warning(
                &name,
                "Failed",
                &format!("Failed to pull image {image:?}: {message}"),
            );
            self.events.warning(&name, "Failed", "Error: ErrImagePull");
            ("ErrImagePull", message.to_owned())
        } else {
            self.events.normal(&name, "BackOff", &format!("Back-off pulling image {image:?}"));
            self.events.warning(&name, "Failed", "Error: ImagePullBackOff");
            ("ImagePullBackOff", format!("Back-off pulling image {image:?}: {message}"))
        };
        slot.backoff = slot.backoff.after_restart();
        tracing::debug!(
            image,
            delay = format_duration(slot.backoff.delay()),
            "an image is missing"
        );
        let retry = Some(slot.backoff.until(now));
        slot.state = ContainerPhase::Waiting { reason: reason.to_owned(), message: text, retry };
    }
}

impl ContainerLaunch {
    async fn run(
        self,
    ) -> Result<
        (StartedContainer, impl Future<Output = i32>, impl Future<Output = io::Result<()>>),
        LaunchError,
    > {
        let name = self.container.image.clone().unwrap_or_default();
        let directory = self.container_directory();
        let files = |error: io::Error| LaunchError::Config(error.to_string());
        remove_tree(&directory).map_err(files)?;
        fs::create_dir_all(&directory).map_err(files)?;
        let images = &self.context.images;
        let image = if self.context.runtime.mode().overlay {
            images.get(&name).await
        } else {
            images.copy(&name, directory.join("root")).await
        };
        let image = image.map_err(LaunchError::Image)?;
        let plan = self.plan(&image, &directory).map_err(LaunchError::Config)?;
        let image_id = format!("{}@{}", name.split(['@']).next().unwrap_or_default(), image.digest);
        let mut container = self.context.runtime.start(&plan).await.map_err(|error| {
            let message = match error {
                StartError::Refused(message) => message,
                error @ StartError::Io(_) => fairway_text::chain(&error),
            };
            LaunchError::Program { message, image_id: image_id.clone() }
        })?;
        let output = self.write_log(container.output.take());
        let uid = self.pod.metadata.uid.as_deref().unwrap_or_default();
        let id = format!("fairway://{uid}-{}-{}", self.container.name, self.attempt);
        let (orders, process) = (container.orders, container.process);
        let started = StartedContainer { orders, plan, process, image_id, id };
        Ok((started, container.end.wait(), output))
    }

    /// Directory of the container.
    fn container_directory(&self) -> PathBuf {
        self.directory.join("containers").join(&self.container.name)
    }

    fn write_log(
        &self,
        output: Option<crate::node::runtime::Output>,
    ) -> impl Future<Output = io::Result<()>> + use<> {
        let logs = self.directory.join("logs").join(&self.container.name);
        let path = logs.join(format!("{}.log", self.attempt));
        let (sender, receiver) = watch::channel(LogPosition::default());
        let uid = self.pod.metadata.uid.as_deref().unwrap_or_default();
        self.context.logs.begin(uid, &self.container.name, &path, receiver);
        let api = self.context.client.api().clone();
        async move {
            match output {
                Some(output) => pump(output, path, sender, api).await,
                None => Ok(()),
            }
        }
    }

    fn plan(&self, image: &UnpackedImage, directory: &Path) -> Result<ContainerSpec, String> {
        let failed = |error: io::Error| error.to_string();
        let mode = self.context.runtime.mode();
        let passwd = fs::read_to_string(image.root.join("etc/passwd")).unwrap_or_default();
        let identity = identity(&self.pod, &self.container, &image.config, &passwd)?;
        let mut environment: Vec<(String, String)> = image
            .config
            .env
            .iter()
            .filter_map(|variable| variable.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let hostname = self.hostname();
        environment.push(("HOSTNAME".to_owned(), hostname.clone()));
        environment.extend(self.environment.clone()?);
        let command = command(&self.container, &image.config, &environment);
        let root = if mode.overlay {
            prepare_overlay(directory, &image.root).map_err(failed)?
        } else {
            Root::Directory(image.root.clone())
        };
        let mut mounts = self.system_files(&hostname).map_err(failed)?;
        mounts.extend(self.mounts.clone()?);
        let of_image = image.config.working_dir.clone();
        let directory =
            self.container.working_dir.clone().filter(|directory| !directory.is_empty());
        let directory = directory.unwrap_or(of_image);
        let context = self.container.security_context.as_ref();
        Ok(ContainerSpec {
            confinement: mode.confinement,
            root,
            read_only_root: context.and_then(|context| context.read_only_root_filesystem)
                == Some(true),
            mounts,
            hostname,
            command,
            environment,
            working_directory: PathBuf::from("/").join(directory),
            user: identity.user,
            group: identity.group,
            groups: identity.groups,
            capabilities: capabilities(&self.container),
        })
    }

    fn hostname(&self) -> String {
        let spec = self.pod.spec.as_ref();
        let requested = spec.and_then(|spec| spec.hostname.clone());
        requested.or_else(|| self.pod.metadata.name.clone()).unwrap_or_default()
    }

    /// Files that every container has: hosts, hostname, resolv.conf and the termination message.
    fn system_files(&self, hostname: &str) -> io::Result<Vec<Mount>> {
        let directory = self.directory.join("etc");
        fs::create_dir_all(&directory)?;
        let aliases = self.pod.spec.iter().flat_map(|spec| spec.host_aliases.iter().flatten());
        let aliases: Vec<String> = aliases
            .map(|alias| {
                let names = alias.hostnames.clone().unwrap_or_default();
                format!("{}\t{}\n", alias.ip, names.join("\t"))
            })
            .collect();
        let aliases = aliases.concat();
        let hosts = format!("127.0.0.1\tlocalhost {hostname}\n::1\tlocalhost\n{aliases}");
        let resolver = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
        let mut mounts = Vec::new();
        for (name, content) in
            [("hosts", hosts), ("hostname", format!("{hostname}\n")), ("resolv.conf", resolver)]
        {
            fs::write(directory.join(name), content)?;
            let (source, target) = (directory.join(name), PathBuf::from("/etc").join(name));
            mounts.push(Mount { source, target, read_only: false });
        }
        if let Some(parent) = self.message_file.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&self.message_file, "")?;
        fs::set_permissions(&self.message_file, Permissions::from_mode(0o666))?;
        let target = self.container.termination_message_path.clone();
        let target =
            target.filter(|path| !path.is_empty()).unwrap_or_else(|| MESSAGE_PATH.to_owned());
        let source = self.message_file.clone();
        mounts.push(Mount { source, target: target.into(), read_only: false });
        Ok(mounts)
    }
}
