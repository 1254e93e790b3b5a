//! Built-in resources. All are served as `v1`.

use std::sync::Arc;

use super::{Resource, Subresource, Verb};
use crate::selector::Field;

const EVENT_FIELDS: &[Field] = &[
    Field::at("involvedObject.kind"),
    Field::at("involvedObject.namespace"),
    Field::at("involvedObject.name"),
    Field::at("involvedObject.uid"),
    Field::at("involvedObject.apiVersion"),
    Field::at("involvedObject.resourceVersion"),
    Field::at("involvedObject.fieldPath"),
    Field::at("reason"),
    Field::at("reportingComponent"),
    Field::named("source", "source.component", ""),
    Field::at("type"),
];

/// Events are stored as `v1`, so these fields are mapped.
const NEW_EVENT_FIELDS: &[Field] = &[
    Field::named("regarding.kind", "involvedObject.kind", ""),
    Field::named("regarding.namespace", "involvedObject.namespace", ""),
    Field::named("regarding.name", "involvedObject.name", ""),
    Field::named("regarding.uid", "involvedObject.uid", ""),
    Field::named("regarding.apiVersion", "involvedObject.apiVersion", ""),
    Field::named("regarding.resourceVersion", "involvedObject.resourceVersion", ""),
    Field::named("regarding.fieldPath", "involvedObject.fieldPath", ""),
    Field::at("reason"),
    Field::named("reportingController", "reportingComponent", ""),
    Field::at("type"),
];

const JOB_FIELDS: &[Field] = &[Field::named("status.successful", "status.succeeded", "0")];

const NAMESPACE_FIELDS: &[Field] = &[Field::at("status.phase")];

const NODE_FIELDS: &[Field] = &[Field::named("spec.unschedulable", "spec.unschedulable", "false")];

const SECRET_FIELDS: &[Field] = &[Field::at("type")];

const POD_FIELDS: &[Field] = &[
    Field::at("spec.nodeName"),
    Field::at("spec.restartPolicy"),
    Field::at("spec.schedulerName"),
    Field::at("spec.serviceAccountName"),
    Field::at("status.phase"),
    Field::at("status.podIP"),
    Field::at("status.nominatedNodeName"),
];

const ALL_BUT_DELETE_COLLECTION: &[Verb] =
    &[Verb::Create, Verb::Delete, Verb::Get, Verb::List, Verb::Patch, Verb::Update, Verb::Watch];

const API_EXTENSIONS: &str = "api-extensions";
const RBAC: &str = "rbac.authorization.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

#[rustfmt::skip]
const TABLE: &[Row] = &[
    row("", "ConfigMap", "configmaps").short(&["cm"]),
    row("", "Endpoints", "endpoints").short(&["ep"]),
    row("", "Event", "events").short(&["ev"]).fields(EVENT_FIELDS),
    row("", "LimitRange", "limitranges").short(&["limits"]),
    row("", "Namespace", "namespaces").short(&["ns"]).cluster_scoped().verbs(ALL_BUT_DELETE_COLLECTION)
        .with(&[Subresource::Finalize, Subresource::Status]).fields(NAMESPACE_FIELDS),
    row("", "Node", "nodes").short(&["no"]).cluster_scoped().with(&[Subresource::Status])
        .fields(NODE_FIELDS),
    row("", "PersistentVolumeClaim", "persistentvolumeclaims").short(&["pvc"]).with(&[Subresource::Status]),
    row("", "PersistentVolume", "persistentvolumes").short(&["pv"]).cluster_scoped().with(&[Subresource::Status]),
    row("", "Pod", "pods").short(&["po"]).category("all").fields(POD_FIELDS)
        .with(&[Subresource::Binding, Subresource::Log, Subresource::Status]),
    row("", "ResourceQuota", "resourcequotas").short(&["quota"]).with(&[Subresource::Status]),
    row("", "Secret", "secrets").fields(SECRET_FIELDS),
    row("", "ServiceAccount", "serviceaccounts").short(&["sa"]).with(&[Subresource::Token]),
    row("", "Service", "services").short(&["svc"]).category("all").verbs(ALL_BUT_DELETE_COLLECTION)
        .with(&[Subresource::Status]),
    row(ADMISSION, "MutatingWebhookConfiguration", "mutatingwebhookconfigurations").cluster_scoped().category(API_EXTENSIONS),
    row(ADMISSION, "ValidatingWebhookConfiguration", "validatingwebhookconfigurations").cluster_scoped().category(API_EXTENSIONS),
    row("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions").short(&["crd", "crds"])
        .cluster_scoped().category(API_EXTENSIONS).with(&[Subresource::Status]),
    row("apiregistration.k8s.io", "APIService", "apiservices").cluster_scoped().category(API_EXTENSIONS).with(&[Subresource::Status]),
    row("apps", "DaemonSet", "daemonsets").short(&["ds"]).category("all").with(&[Subresource::Status]),
    row("apps", "Deployment", "deployments").short(&["deploy"]).category("all").with(&[Subresource::Scale, Subresource::Status]),
    row("apps", "ReplicaSet", "replicasets").short(&["rs"]).category("all").with(&[Subresource::Scale, Subresource::Status]),
    row("apps", "StatefulSet", "statefulsets").short(&["sts"]).category("all").with(&[Subresource::Scale, Subresource::Status]),
    row("authentication.k8s.io", "SelfSubjectReview", "selfsubjectreviews").cluster_scoped().verbs(&[Verb::Create]),
    row("authentication.k8s.io", "TokenReview", "tokenreviews").cluster_scoped().verbs(&[Verb::Create]),
    row(AUTHORIZATION, "LocalSubjectAccessReview", "localsubjectaccessreviews").verbs(&[Verb::Create]),
    row(AUTHORIZATION, "SelfSubjectAccessReview", "selfsubjectaccessreviews").cluster_scoped().verbs(&[Verb::Create]),
    row(AUTHORIZATION, "SelfSubjectRulesReview", "selfsubjectrulesreviews").cluster_scoped().verbs(&[Verb::Create]),
    row(AUTHORIZATION, "SubjectAccessReview", "subjectaccessreviews").cluster_scoped().verbs(&[Verb::Create]),
    row("batch", "CronJob", "cronjobs").short(&["cj"]).category("all").with(&[Subresource::Status]),
    row("batch", "Job", "jobs").category("all").with(&[Subresource::Status])
        .fields(JOB_FIELDS),
    row("coordination.k8s.io", "Lease", "leases"),
    row("events.k8s.io", "Event", "events").short(&["ev"]).fields(NEW_EVENT_FIELDS),
    row("networking.k8s.io", "IngressClass", "ingressclasses").cluster_scoped(),
    row("networking.k8s.io", "Ingress", "ingresses").short(&["ing"]).with(&[Subresource::Status]),
    row("networking.k8s.io", "NetworkPolicy", "networkpolicies").short(&["netpol"]),
    row("policy", "PodDisruptionBudget", "poddisruptionbudgets").short(&["pdb"]).with(&[Subresource::Status]),
    row(RBAC, "ClusterRoleBinding", "clusterrolebindings").cluster_scoped(),
    row(RBAC, "ClusterRole", "clusterroles").cluster_scoped(),
    row(RBAC, "RoleBinding", "rolebindings"),
    row(RBAC, "Role", "roles"),
    row("scheduling.k8s.io", "PriorityClass", "priorityclasses").short(&["pc"]).cluster_scoped(),
    row("storage.k8s.io", "StorageClass", "storageclasses").short(&["sc"]).cluster_scoped(),
];

/// The built-in resources, sorted by group.
pub(super) fn resources() -> impl Iterator<Item = Arc<Resource>> {
    TABLE.iter().map(|row| Arc::new(row.resource()))
}

#[derive(Clone, Copy)]
struct Row {
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    category: Option<&'static str>,
    namespaced: bool,
    verbs: &'static [Verb],
    subresources: &'static [Subresource],
    fields: &'static [Field],
}

const fn row(group: &'static str, kind: &'static str, plural: &'static str) -> Row {
    Row {
        group,
        kind,
        plural,
        short_names: &[],
        category: None,
        namespaced: true,
        verbs: Verb::ALL,
        subresources: &[],
        fields: &[],
    }
}

impl Row {
    const fn short(mut self, names: &'static [&'static str]) -> Self {
        self.short_names = names;
        self
    }

    const fn category(mut self, category: &'static str) -> Self {
        self.category = Some(category);
        self
    }

    const fn cluster_scoped(mut self) -> Self {
        self.namespaced = false;
        self
    }

    const fn verbs(mut self, verbs: &'static [Verb]) -> Self {
        self.verbs = verbs;
        self
    }

    const fn with(mut self, subresources: &'static [Subresource]) -> Self {
        self.subresources = subresources;
        self
    }

    const fn fields(mut self, fields: &'static [Field]) -> Self {
        self.fields = fields;
        self
    }

    /// Selectable fields. As in the API server, cluster-scoped resources with own fields do not
    /// support `metadata.namespace`, those without do.
    fn all_fields(&self) -> Vec<Field> {
        let [name, namespace] = Field::METADATA;
        let namespace = (self.namespaced || self.fields.is_empty()).then_some(namespace);
        std::iter::once(name).chain(namespace).chain(self.fields.iter().cloned()).collect()
    }

    fn resource(&self) -> Resource {
        Resource {
            group: self.group.to_owned(),
            version: "v1".to_owned(),
            kind: self.kind.to_owned(),
            list_kind: format!("{}List", self.kind),
            plural: self.plural.to_owned(),
            singular: self.kind.to_ascii_lowercase(),
            short_names: self.short_names.iter().map(|&name| name.to_owned()).collect(),
            categories: self.category.into_iter().map(str::to_owned).collect(),
            namespaced: self.namespaced,
            verbs: self.verbs,
            subresources: self.subresources.to_vec(),
            fields: self.all_fields(),
            custom: None,
        }
    }
}
