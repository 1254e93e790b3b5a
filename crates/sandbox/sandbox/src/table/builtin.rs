//! Table columns of the built-in kinds.

use Heading::{Date, Integer, Name, Text, Wide, WideName};
use serde_json::Value;

use super::row::RowContext;
use super::{Column, cells, custom};

/// Columns and cells of a built-in kind.
pub(super) struct BuiltinPrinter {
    group: &'static str,
    kind: &'static str,
    headings: &'static [Heading],
    pub(super) cells: fn(RowContext<'_>) -> Vec<Value>,
    pub(super) conditions: fn(&Value) -> Vec<Value>,
}

#[derive(Clone, Copy)]
enum Heading {
    /// Name of the object.
    Name,
    /// Name of the object, in wide output only.
    WideName,
    Text(&'static str),
    Integer(&'static str),
    Date(&'static str),
    /// A string, in wide output only.
    Wide(&'static str),
}

const AGE: Heading = Text("Age");
const CREATED: &[Heading] = &[Name, Date("Created At")];
const BINDING: &[Heading] =
    &[Name, Text("Role"), AGE, Wide("Users"), Wide("Groups"), Wide("ServiceAccounts")];
const WEBHOOKS: &[Heading] = &[Name, Integer("Webhooks"), AGE];
const EVENT: &[Heading] = &[
    Text("Last Seen"),
    Text("Type"),
    Text("Reason"),
    Text("Object"),
    Wide("Subobject"),
    Wide("Source"),
    Text("Message"),
    Wide("First Seen"),
    Wide("Count"),
    WideName,
];
const CONTAINERS: Heading = Wide("Containers");
const IMAGES: Heading = Wide("Images");
const SELECTOR: Heading = Wide("Selector");

const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

/// Columns of kinds without specific ones.
static OTHER: BuiltinPrinter = printer("", "", &[Name, AGE], cells::name_and_age);

#[rustfmt::skip]
static PRINTERS: &[BuiltinPrinter] = &[
    printer("", "ConfigMap", &[Name, Text("Data"), AGE], cells::core::config_map),
    printer("", "Event", EVENT, cells::core::core_event),
    printer("", "Namespace", &[Name, Text("Status"), AGE], cells::core::namespace),
    printer("", "Node", &[
        Name, Text("Status"), Text("Roles"), AGE, Text("Version"), Wide("Internal-IP"),
        Wide("External-IP"), Wide("OS-Image"), Wide("Kernel-Version"), Wide("Container-Runtime"),
    ], cells::core::node),
    BuiltinPrinter { conditions: cells::workload::pod_conditions, ..printer("", "Pod", &[
        Name, Text("Ready"), Text("Status"), Integer("Restarts"), AGE, Wide("IP"), Wide("Node"),
        Wide("Nominated Node"), Wide("Readiness Gates"),
    ], cells::workload::pod) },
    printer("", "Secret", &[Name, Text("Type"), Text("Data"), AGE], cells::core::secret),
    printer("", "Service", &[
        Name, Text("Type"), Text("Cluster-IP"), Text("External-IP"), Text("Port(s)"), AGE, SELECTOR,
    ], cells::network::service),
    printer("", "ServiceAccount", &[Name, Text("Secrets"), AGE], cells::core::service_account),
    printer(ADMISSION, "MutatingWebhookConfiguration", WEBHOOKS, cells::core::webhooks),
    printer(ADMISSION, "ValidatingWebhookConfiguration", WEBHOOKS, cells::core::webhooks),
    printer("apiextensions.k8s.io", "CustomResourceDefinition", CREATED, cells::created),
    printer("apiregistration.k8s.io", "APIService", &[
        Name, Text("Service"), Text("Available"), AGE,
    ], cells::core::api_service),
    printer("apps", "DaemonSet", &[
        Name, Integer("Desired"), Integer("Current"), Integer("Ready"), Integer("Up-to-date"),
        Integer("Available"), Text("Node Selector"), AGE, CONTAINERS, IMAGES, SELECTOR,
    ], cells::workload::daemon_set),
    printer("apps", "Deployment", &[
        Name, Text("Ready"), Text("Up-to-date"), Text("Available"), AGE, CONTAINERS, IMAGES, SELECTOR,
    ], cells::workload::deployment),
    printer("apps", "ReplicaSet", &[
        Name, Integer("Desired"), Integer("Current"), Integer("Ready"), AGE, CONTAINERS, IMAGES, SELECTOR,
    ], cells::workload::replica_set),
    printer("batch", "Job", &[
        Name, Text("Completions"), Text("Duration"), AGE, CONTAINERS, IMAGES, SELECTOR,
    ], cells::workload::job),
    printer("coordination.k8s.io", "Lease", &[Name, Text("Holder"), AGE], cells::core::lease),
    printer("events.k8s.io", "Event", EVENT, cells::core::event),
    printer(RBAC, "ClusterRole", CREATED, cells::created),
    printer(RBAC, "ClusterRoleBinding", BINDING, cells::core::binding),
    printer(RBAC, "Role", CREATED, cells::created),
    printer(RBAC, "RoleBinding", BINDING, cells::core::binding),
    printer("storage.k8s.io", "StorageClass", &[
        Name, Text("Provisioner"), Text("ReclaimPolicy"), Text("VolumeBindingMode"),
        Text("AllowVolumeExpansion"), AGE,
    ], cells::core::storage_class),
];

const fn printer(
    group: &'static str,
    kind: &'static str,
    headings: &'static [Heading],
    cells: fn(RowContext<'_>) -> Vec<Value>,
) -> BuiltinPrinter {
    BuiltinPrinter { group, kind, headings, cells, conditions: no_conditions }
}

fn no_conditions(_: &Value) -> Vec<Value> {
    Vec::new()
}

/// The printer of a kind.
pub(super) fn find(group: &str, kind: &str) -> &'static BuiltinPrinter {
    let found = PRINTERS.iter().find(|printer| printer.group == group && printer.kind == kind);
    found.unwrap_or(&OTHER)
}

impl BuiltinPrinter {
    pub(super) fn columns(&self) -> Vec<Column> {
        self.headings.iter().map(|heading| heading.column()).collect()
    }
}

impl Heading {
    fn column(self) -> Column {
        let column = |name: &str, type_: &str, priority: i32| Column {
            name: name.to_owned(),
            type_: type_.to_owned(),
            format: String::new(),
            description: String::new(),
            priority,
        };
        match self {
            Name => custom::name_column(),
            WideName => Column { priority: 1, ..custom::name_column() },
            Text(name) => column(name, "string", 0),
            Integer(name) => column(name, "integer", 0),
            Date(name) => column(name, "date", 0),
            Wide(name) => column(name, "string", 1),
        }
    }
}
