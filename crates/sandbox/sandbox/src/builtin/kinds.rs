//! Table of the built-in kinds.

use std::sync::OnceLock;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenRequest, TokenReview};
use k8s_openapi::api::authorization::v1::{
    LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview,
};
use k8s_openapi::api::autoscaling::v1::Scale;
use k8s_openapi::api::batch::v1::{CronJob, Job};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    Binding, ConfigMap, Endpoints, Event, LimitRange, Namespace, Node, PersistentVolume,
    PersistentVolumeClaim, Pod, ResourceQuota, Secret, Service, ServiceAccount,
};
use k8s_openapi::api::events;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::api::scheduling::v1::PriorityClass;
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use schemars::{JsonSchema, SchemaGenerator};

use super::{
    DEFAULT_RULES, Kind, Rules, SPEC_RULES, access, batch, cluster, config, extension, pod,
    service, workload,
};
use crate::metadata::NameRule;

/// All built-in kinds, by group and kind.
pub(super) static KINDS: [Kind; 44] = [
    kind::<Binding>(DEFAULT_RULES),
    kind::<ConfigMap>(config::CONFIG_MAP),
    kind::<Endpoints>(DEFAULT_RULES),
    kind::<Event>(cluster::CORE_EVENT),
    kind::<LimitRange>(DEFAULT_RULES),
    kind::<Namespace>(cluster::NAMESPACE).named(NameRule::Label),
    kind::<Node>(cluster::NODE),
    kind::<PersistentVolumeClaim>(DEFAULT_RULES),
    kind::<PersistentVolume>(DEFAULT_RULES),
    kind::<Pod>(pod::RULES),
    kind::<ResourceQuota>(DEFAULT_RULES),
    kind::<Secret>(config::SECRET),
    kind::<ServiceAccount>(DEFAULT_RULES),
    kind::<Service>(service::SERVICE).named(NameRule::LetterFirstLabel),
    kind::<MutatingWebhookConfiguration>(DEFAULT_RULES),
    kind::<ValidatingWebhookConfiguration>(extension::VALIDATING),
    kind::<CustomResourceDefinition>(extension::CRD),
    kind::<APIService>(DEFAULT_RULES).named(NameRule::PathSegment),
    kind::<DaemonSet>(workload::DAEMON_SET),
    kind::<Deployment>(workload::DEPLOYMENT),
    kind::<ReplicaSet>(workload::REPLICA_SET),
    kind::<StatefulSet>(SPEC_RULES),
    kind::<TokenRequest>(access::TOKEN_REQUEST),
    kind::<SelfSubjectReview>(DEFAULT_RULES),
    kind::<TokenReview>(DEFAULT_RULES),
    kind::<LocalSubjectAccessReview>(access::LOCAL_SUBJECT_ACCESS_REVIEW),
    kind::<SelfSubjectAccessReview>(access::SELF_SUBJECT_ACCESS_REVIEW),
    kind::<SelfSubjectRulesReview>(DEFAULT_RULES),
    kind::<SubjectAccessReview>(access::SUBJECT_ACCESS_REVIEW),
    kind::<Scale>(DEFAULT_RULES),
    kind::<CronJob>(SPEC_RULES),
    kind::<Job>(batch::JOB),
    kind::<Lease>(cluster::LEASE),
    kind::<events::v1::Event>(cluster::EVENT),
    kind::<IngressClass>(SPEC_RULES),
    kind::<Ingress>(SPEC_RULES),
    kind::<NetworkPolicy>(SPEC_RULES),
    kind::<PodDisruptionBudget>(SPEC_RULES),
    kind::<ClusterRoleBinding>(access::CLUSTER_ROLE_BINDING).named(NameRule::PathSegment),
    kind::<ClusterRole>(access::CLUSTER_ROLE).named(NameRule::PathSegment),
    kind::<RoleBinding>(access::ROLE_BINDING).named(NameRule::PathSegment),
    kind::<Role>(access::ROLE).named(NameRule::PathSegment),
    kind::<PriorityClass>(cluster::PRIORITY_CLASS),
    kind::<StorageClass>(DEFAULT_RULES),
];

const fn kind<K: k8s_openapi::Resource + JsonSchema>(rules: Rules) -> Kind {
    Kind {
        group: K::GROUP,
        name: K::KIND,
        api_version: K::API_VERSION,
        describe: describe::<K>,
        schema_name: schema_name::<K>,
        name_rule: NameRule::Subdomain,
        rules,
        blank: OnceLock::new(),
    }
}

impl Kind {
    const fn named(mut self, rule: NameRule) -> Self {
        self.name_rule = rule;
        self
    }
}

fn describe<K: JsonSchema>(generator: &mut SchemaGenerator) {
    generator.subschema_for::<K>();
}

fn schema_name<K: JsonSchema>() -> String {
    K::schema_name().into_owned()
}
