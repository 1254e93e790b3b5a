//! Verification of a check's Job.

use serde_json::{Map, Value};

use super::rules::Field;
use super::{ANNOTATION, JobRefusal};
use crate::jobs::JobRequest;

/// Maximum bytes of a manifest. Real ones have less than 2000.
const MAX_BYTES: usize = 64 << 10;

/// Maximum length of a Job name, from which Pod names are derived.
const MAX_NAME: usize = 63;

/// Minimum length of the random suffix of a Job name.
const MIN_SUFFIX: usize = 5;

/// Maximum number of variables and of volumes.
const MAX_LIST: usize = 100;

/// Parts of a Job manifest that are retained.
#[derive(Debug)]
pub(super) struct CheckJob<'a> {
    /// Random suffix of the Job name. All objects of the Job get it.
    pub(super) suffix: &'a str,
    /// Namespace of the manifest.
    pub(super) namespace: &'a str,
    /// ServiceAccount; empty for the default of checks.
    pub(super) account: &'a str,
    /// Whether the Pod gets no token.
    pub(super) without_token: bool,
    /// Retained fields of the container.
    pub(super) container: Map<String, Value>,
    pub(super) variables: Vec<Value>,
    pub(super) mounts: Vec<Value>,
    /// Names of its `emptyDir` volumes.
    pub(super) volumes: Vec<&'a str>,
}

/// Forbidden fields of a Pod.
const FORBIDDEN_POD_FIELDS: [(&str, &str); 9] = [
    ("hostNetwork", "a check must not use the host network"),
    ("hostPID", "a check must not use the host PID namespace"),
    ("hostIPC", "a check must not use the host IPC namespace"),
    ("nodeName", "a check must not select its node"),
    ("imagePullSecrets", "a check must not have pull secrets"),
    ("initContainers", "a check must have exactly one container"),
    ("ephemeralContainers", "a check must have exactly one container"),
    ("runtimeClassName", "a check must use the default runtime class"),
    ("resourceClaims", "a check must not use devices"),
];

/// Forbidden fields of security contexts.
const FORBIDDEN_SECURITY_FIELDS: [(&str, &str); 6] = [
    ("privileged", "a check must not be privileged"),
    ("allowPrivilegeEscalation", "a check must not escalate privileges"),
    ("seLinuxOptions", "a check must use the default SELinux options"),
    ("windowsOptions", "a check must run on Linux"),
    ("sysctls", "a check must not set sysctls"),
    ("procMount", "a check must use the default procMount"),
];

/// Forbidden fields of a container.
const FORBIDDEN_CONTAINER_FIELDS: [(&str, &str); 2] = [
    ("envFrom", "a check must set variables with `env`, and must not read Secrets"),
    ("volumeDevices", "a check must not use devices"),
];

/// Retained fields of a container.
const RETAINED_FIELDS: [&str; 4] = ["image", "command", "args", "workingDir"];

pub(super) fn vet(request: &JobRequest) -> Result<CheckJob<'_>, JobRefusal> {
    let manifest = Field::root(&request.manifest);
    if manifest.value.to_string().len() > MAX_BYTES {
        return refuse(&manifest.field("spec"), "the manifest exceeds 64 KiB");
    }
    verify_kind(&manifest)?;
    let pod = manifest.at(&["spec", "template", "spec"]);
    none_of(&pod, &FORBIDDEN_POD_FIELDS)?;
    security(&pod.field("securityContext"))?;
    let volumes = volumes(&pod.field("volumes"))?;
    let containers = pod.field("containers").items();
    let [container] = &containers[..] else {
        return refuse(&pod.field("containers"), "a check must have exactly one container");
    };
    Ok(CheckJob {
        suffix: suffix(request)?,
        namespace: manifest.at(&["metadata", "namespace"]).text(),
        account: account(&pod)?,
        without_token: pod.field("automountServiceAccountToken").value == &Value::Bool(false),
        container: retained_fields(container)?,
        variables: variables(&container.field("env"))?,
        mounts: mounts(&container.field("volumeMounts"), &volumes)?,
        volumes,
    })
}

fn verify_kind(manifest: &Field<'_>) -> Result<(), JobRefusal> {
    let (version, kind) = (manifest.field("apiVersion"), manifest.field("kind"));
    if (version.text(), kind.text()) != ("batch/v1", "Job") {
        return refuse(&kind, "a check must be a batch/v1 Job");
    }
    let annotation = manifest.at(&["metadata", "annotations", ANNOTATION]);
    if annotation.text() != "true" {
        return refuse(&annotation, "must be \"true\" for a check");
    }
    let owned = "a check must not have owner references or finalizers";
    none_of(&manifest.field("metadata"), &[("ownerReferences", owned), ("finalizers", owned)])
}

fn suffix(request: &JobRequest) -> Result<&str, JobRefusal> {
    let name = Field { path: "name".to_owned(), value: &Value::Null };
    let legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_name = request.name.len() <= MAX_NAME
        && request.name.bytes().all(|byte| legal(byte) || b"-.".contains(&byte))
        && request.name.starts_with(|first: char| first.is_ascii_lowercase());
    match request.name.rsplit_once('-') {
        Some((_, suffix)) if is_name && suffix.len() >= MIN_SUFFIX && !suffix.contains('.') => {
            Ok(suffix)
        }
        _ => refuse(
            &name,
            "the name of a Job must be PREFIX-SUFFIX, where SUFFIX is at least five random \
             characters",
        ),
    }
}

/// ServiceAccount of a check; empty for the default of checks.
pub(super) fn account<'a>(pod: &Field<'a>) -> Result<&'a str, JobRefusal> {
    let (name, old) = (pod.field("serviceAccountName").text(), pod.field("serviceAccount"));
    if old.is_set() && !name.is_empty() && old.text() != name {
        return refuse(&old, "a check may have only one ServiceAccount");
    }
    Ok(if name.is_empty() { old.text() } else { name })
}

fn volumes<'a>(volumes: &Field<'a>) -> Result<Vec<&'a str>, JobRefusal> {
    let items = volumes.items();
    if items.len() > MAX_LIST {
        return refuse(volumes, "a check may have at most 100 volumes");
    }
    for volume in &items {
        for kind in volume.value.as_object().into_iter().flat_map(Map::keys) {
            if !["name", "emptyDir"].contains(&kind.as_str()) {
                let why = "a check may have only emptyDir volumes";
                return refuse(&volume.field(kind), why);
            }
        }
    }
    Ok(items.iter().map(|volume| volume.field("name").text()).collect())
}

fn security(context: &Field<'_>) -> Result<(), JobRefusal> {
    none_of(context, &FORBIDDEN_SECURITY_FIELDS)?;
    let added = context.at(&["capabilities", "add"]);
    let (user, not_root) = (context.field("runAsUser"), context.field("runAsNonRoot"));
    let profiles = [("seccompProfile", "RuntimeDefault"), ("appArmorProfile", "RuntimeDefault")];
    if added.is_set() {
        return refuse(&added, "a check must not add capabilities");
    }
    if user.value.as_i64() == Some(0) || not_root.value == &Value::Bool(false) {
        let field = if user.value.is_null() { not_root } else { user };
        return refuse(&field, "a check must not run as root");
    }
    for (profile, least) in profiles {
        let kind = context.at(&[profile, "type"]);
        if kind.is_set() && kind.text() != least {
            return refuse(&kind, "a check must use the profile RuntimeDefault");
        }
    }
    Ok(())
}

fn retained_fields(container: &Field<'_>) -> Result<Map<String, Value>, JobRefusal> {
    none_of(container, &FORBIDDEN_CONTAINER_FIELDS)?;
    security(&container.field("securityContext"))?;
    let image = container.field("image");
    if !image.text().contains("@sha256:") {
        return refuse(&image, "the image must be referenced by digest");
    }
    for port in container.field("ports").items() {
        none_of(&port, &[("hostPort", "a check must not use the host network")])?;
    }
    let set = RETAINED_FIELDS.into_iter().map(|name| container.field(name)).zip(RETAINED_FIELDS);
    let set = set.filter(|(field, _)| field.is_set());
    Ok(set.map(|(field, name)| (name.to_owned(), field.value.clone())).collect())
}

fn variables(env: &Field<'_>) -> Result<Vec<Value>, JobRefusal> {
    let items = env.items();
    if items.len() > MAX_LIST {
        return refuse(env, "a check may have at most 100 variables");
    }
    for variable in &items {
        let from = variable.field("valueFrom");
        for source in from.value.as_object().into_iter().flat_map(Map::keys) {
            if !["fieldRef", "resourceFieldRef"].contains(&source.as_str()) {
                let why = "a check must set variables by value, and must not read Secrets";
                return refuse(&from.field(source), why);
            }
        }
    }
    Ok(items
        .into_iter()
        .map(|variable| select_fields(&variable, &["name", "value", "valueFrom"]))
        .collect())
}

fn mounts(mounts: &Field<'_>, volumes: &[&str]) -> Result<Vec<Value>, JobRefusal> {
    let items = mounts.items();
    for mount in &items {
        if !volumes.contains(&mount.field("name").text()) {
            return refuse(&mount.field("name"), "a check may mount only its own volumes");
        }
    }
    Ok(items
        .into_iter()
        .map(|mount| select_fields(&mount, &["name", "mountPath", "readOnly"]))
        .collect())
}

/// Selects fields of an object.
fn select_fields(field: &Field<'_>, names: &[&str]) -> Value {
    let fields = field.value.as_object().into_iter().flatten();
    let selected = fields.filter(|(name, _)| names.contains(&name.as_str()));
    selected.map(|(name, value)| (name.clone(), value.clone())).collect::<Map<_, _>>().into()
}

fn none_of(parent: &Field<'_>, refused: &[(&str, &'static str)]) -> Result<(), JobRefusal> {
    for (name, why) in refused {
        let field = parent.field(name);
        if field.is_set() {
            return refuse(&field, why);
        }
    }
    Ok(())
}

fn refuse<T>(field: &Field<'_>, why: &'static str) -> Result<T, JobRefusal> {
    Err(JobRefusal::Job { field: field.path.clone(), why })
}
