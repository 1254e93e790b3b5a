//! The table of the built-in kinds.

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

use super::rules::{NOTHING_SPECIAL, Rules};
use super::{
    Kind, api_service, config_map, cron_job, custom_resource_definition, daemon_set, deployment,
    disruption_budget, endpoints, event, ingress, job, lease, limit_range, namespace,
    network_policy, node, pod, priority_class, rbac, replica_set, resource_quota, review, secret,
    service, stateful_set, storage_class, token_request, volume, volume_claim, webhook,
};
use crate::metadata::NameRule;

/// All of them, by group and kind.
pub(super) static KINDS: [Kind; 44] = [
    kind::<Binding>(NOTHING_SPECIAL),
    kind::<ConfigMap>(config_map::RULES),
    kind::<Endpoints>(endpoints::RULES),
    kind::<Event>(event::CORE),
    kind::<LimitRange>(limit_range::RULES),
    kind::<Namespace>(namespace::RULES).named(NameRule::Label),
    kind::<Node>(node::RULES),
    kind::<PersistentVolumeClaim>(volume_claim::RULES),
    kind::<PersistentVolume>(volume::RULES),
    kind::<Pod>(pod::RULES),
    kind::<ResourceQuota>(resource_quota::RULES),
    kind::<Secret>(secret::RULES),
    kind::<ServiceAccount>(NOTHING_SPECIAL),
    kind::<Service>(service::RULES).named(NameRule::LetterFirstLabel),
    kind::<MutatingWebhookConfiguration>(webhook::MUTATING),
    kind::<ValidatingWebhookConfiguration>(webhook::VALIDATING),
    kind::<CustomResourceDefinition>(custom_resource_definition::RULES),
    kind::<APIService>(api_service::RULES).named(NameRule::PathSegment),
    kind::<DaemonSet>(daemon_set::RULES),
    kind::<Deployment>(deployment::RULES),
    kind::<ReplicaSet>(replica_set::RULES),
    kind::<StatefulSet>(stateful_set::RULES),
    kind::<TokenRequest>(token_request::RULES),
    kind::<SelfSubjectReview>(NOTHING_SPECIAL),
    kind::<TokenReview>(NOTHING_SPECIAL),
    kind::<LocalSubjectAccessReview>(review::LOCAL),
    kind::<SelfSubjectAccessReview>(review::SELF),
    kind::<SelfSubjectRulesReview>(NOTHING_SPECIAL),
    kind::<SubjectAccessReview>(review::SUBJECT),
    kind::<Scale>(NOTHING_SPECIAL),
    kind::<CronJob>(cron_job::RULES),
    kind::<Job>(job::RULES),
    kind::<Lease>(lease::RULES),
    kind::<events::v1::Event>(event::NEW),
    kind::<IngressClass>(ingress::CLASS),
    kind::<Ingress>(ingress::INGRESS),
    kind::<NetworkPolicy>(network_policy::RULES),
    kind::<PodDisruptionBudget>(disruption_budget::RULES),
    kind::<ClusterRoleBinding>(rbac::CLUSTER_ROLE_BINDING).named(NameRule::PathSegment),
    kind::<ClusterRole>(rbac::CLUSTER_ROLE).named(NameRule::PathSegment),
    kind::<RoleBinding>(rbac::ROLE_BINDING).named(NameRule::PathSegment),
    kind::<Role>(rbac::ROLE).named(NameRule::PathSegment),
    kind::<PriorityClass>(priority_class::RULES),
    kind::<StorageClass>(storage_class::RULES),
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
