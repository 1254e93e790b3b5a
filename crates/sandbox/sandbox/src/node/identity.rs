//! Command, user and capabilities of a container.

use fairway_registry::ImageConfig;
use k8s_openapi::api::core::v1::{Container, Pod};

use super::environment::expand;

/// Default capabilities, as in containerd.
const CAPABILITIES: [&str; 14] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "NET_RAW",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// The command: `command` and `args` of the pod override entry point and command of the image.
pub(crate) fn command(
    container: &Container,
    image: &ImageConfig,
    environment: &[(String, String)],
) -> Vec<String> {
    let variable = |name: &str| {
        environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    let given = |words: Option<&Vec<String>>| -> Vec<String> {
        words.into_iter().flatten().map(|word| expand(word, variable)).collect()
    };
    let (command, arguments) = (given(container.command.as_ref()), given(container.args.as_ref()));
    match (command.is_empty(), arguments.is_empty()) {
        (true, true) => [image.entrypoint.as_slice(), &image.cmd].concat(),
        (true, false) => [image.entrypoint.as_slice(), &arguments].concat(),
        (false, _) => [command, arguments].concat(),
    }
}

/// User and groups of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContainerIdentity {
    pub(crate) user: u32,
    pub(crate) group: u32,
    pub(crate) groups: Vec<u32>,
}

/// Determines user and groups from the pod, the image, and /etc/passwd of the image.
pub(crate) fn identity(
    pod: &Pod,
    container: &Container,
    image: &ImageConfig,
    passwd: &str,
) -> Result<ContainerIdentity, String> {
    let pod_context = pod.spec.as_ref().and_then(|spec| spec.security_context.as_ref());
    let context = container.security_context.as_ref();
    let user = context
        .and_then(|context| context.run_as_user)
        .or_else(|| pod_context.and_then(|context| context.run_as_user));
    let group = context
        .and_then(|context| context.run_as_group)
        .or_else(|| pod_context.and_then(|context| context.run_as_group));
    let non_root = context
        .and_then(|context| context.run_as_non_root)
        .or_else(|| pod_context.and_then(|context| context.run_as_non_root))
        .unwrap_or(false);

    let of_image = image_user(&image.user, passwd);
    if non_root && user.is_none() && of_image.is_none() {
        let user = image.user.as_str();
        return Err(format!(
            "container has runAsNonRoot and image has non-numeric user ({user}), cannot verify user is non-root"
        ));
    }
    let (image_user, image_group) = of_image.unwrap_or_default();
    let user = user.and_then(|user| u32::try_from(user).ok()).unwrap_or(image_user);
    if non_root && user == 0 {
        return Err("container has runAsNonRoot and image will run as root".to_owned());
    }
    let group = group.and_then(|group| u32::try_from(group).ok()).unwrap_or(image_group);
    let extra = pod_context.into_iter().flat_map(|context| {
        context.supplemental_groups.iter().flatten().chain(context.fs_group.iter())
    });
    let groups = extra.filter_map(|group| u32::try_from(*group).ok()).collect();
    Ok(ContainerIdentity { user, group, groups })
}

/// Parses the user of an image: `1000`, `1000:1000`, `name` or `name:1000`.
fn image_user(text: &str, passwd: &str) -> Option<(u32, u32)> {
    if text.is_empty() {
        return Some((0, 0));
    }
    let (user, group) = text.split_once(':').unwrap_or((text, ""));
    let line = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let known = line.filter(|fields| fields.len() > 3).find(|fields| fields[0] == user);
    let (user, own_group) = match (user.parse(), known) {
        (Ok(user), _) => (user, 0),
        (Err(_), Some(fields)) => (fields[2].parse().ok()?, fields[3].parse().ok()?),
        (Err(_), None) => return None,
    };
    Some((user, group.parse().unwrap_or(own_group)))
}

/// Capabilities of a container; `None` for all (privileged).
pub(crate) fn capabilities(container: &Container) -> Option<Vec<String>> {
    let context = container.security_context.as_ref();
    if context.and_then(|context| context.privileged) == Some(true) {
        return None;
    }
    let changes = context.and_then(|context| context.capabilities.as_ref());
    let named = |names: Option<&Vec<String>>| -> Vec<String> {
        let names = names.into_iter().flatten();
        names.map(|name| name.strip_prefix("CAP_").unwrap_or(name).to_uppercase()).collect()
    };
    let added = named(changes.and_then(|changes| changes.add.as_ref()));
    let dropped = named(changes.and_then(|changes| changes.drop.as_ref()));
    let all_dropped = dropped.iter().any(|name| name == "ALL");
    let defaults = CAPABILITIES.iter().map(|name| (*name).to_owned());
    let kept = defaults.filter(|name| !all_dropped && !dropped.contains(name));
    Some(kept.chain(added.iter().cloned()).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn container(value: Value) -> Container {
        let mut value = value;
        value["name"] = json!("c");
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn command_of_pod_overrides_image() {
        let image = ImageConfig {
            entrypoint: vec!["/entry".to_owned()],
            cmd: vec!["default".to_owned()],
            ..ImageConfig::default()
        };
        let environment = [("A".to_owned(), "1".to_owned())];
        for (given, expected) in [
            (json!({}), vec!["/entry", "default"]),
            (json!({ "args": ["$(A)"] }), vec!["/entry", "1"]),
            (json!({ "command": ["/x"] }), vec!["/x"]),
            (json!({ "command": ["/x"], "args": ["y"] }), vec!["/x", "y"]),
        ] {
            assert_eq!(command(&container(given), &image, &environment), expected);
        }
    }

    #[test]
    fn identity_prefers_container_then_pod_then_image() {
        let pod: Pod = serde_json::from_value(json!({ "spec": { "containers": [],
            "securityContext": { "runAsUser": 7, "fsGroup": 9 } } }))
        .unwrap();
        let image = ImageConfig { user: "app:5".to_owned(), ..ImageConfig::default() };
        let passwd = "root:x:0:0::/:\napp:x:42:43::/:\n";
        let run = |pod: &Pod, given: Value| identity(pod, &container(given), &image, passwd);
        let own = json!({ "securityContext": { "runAsUser": 3, "runAsGroup": 4 } });
        assert_eq!(
            run(&pod, own).unwrap(),
            ContainerIdentity { user: 3, group: 4, groups: vec![9] }
        );
        let expected = ContainerIdentity { user: 7, group: 5, groups: vec![9] };
        assert_eq!(run(&pod, json!({})).unwrap(), expected);
        let expected = ContainerIdentity { user: 42, group: 5, groups: Vec::new() };
        assert_eq!(run(&Pod::default(), json!({})).unwrap(), expected);

        let careful = container(json!({ "securityContext": { "runAsNonRoot": true } }));
        let root = ImageConfig::default();
        let error = identity(&Pod::default(), &careful, &root, "").unwrap_err();
        assert_eq!(error, "container has runAsNonRoot and image will run as root");
    }

    #[test]
    fn capabilities_are_added_and_dropped_by_name() {
        let change = json!({ "securityContext": { "capabilities":
            { "drop": ["ALL"], "add": ["CAP_NET_ADMIN"] } } });
        assert_eq!(capabilities(&container(change)), Some(vec!["NET_ADMIN".to_owned()]));
        let all = json!({ "securityContext": { "privileged": true } });
        assert_eq!(capabilities(&container(all)), None);
        assert_eq!(capabilities(&container(json!({}))).unwrap().len(), CAPABILITIES.len());
    }
}
