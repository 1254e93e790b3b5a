//! How API servers find the webhook, and what they ask it about.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    RuleWithOperations, ServiceReference, ValidatingWebhook, ValidatingWebhookConfiguration,
    WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::api::ObjectMeta;
use url::Host;

use crate::settings::{Reach, Settings};

/// The configuration.
pub(crate) const CONFIGURATION: &str = "fairway-olm-guard";

/// The name under which a refusal is told.
const WEBHOOK: &str = "olm-guard.fairway.dev";

/// Where the webhook answers.
pub(crate) const PATH: &str = "/validate";

/// An installation waits so long at most for a guard that does not answer.
const TIMEOUT_SECONDS: i32 = 3;

/// What API servers call the webhook.
pub(crate) fn names(settings: &Settings) -> Vec<String> {
    match &settings.reach {
        Reach::Service(name) => vec![format!("{name}.{}.svc", settings.namespace)],
        // Addresses as certificates are read, so that the two can be compared.
        Reach::Url(url) => match url.host() {
            Some(Host::Domain(name)) => vec![name.to_owned()],
            Some(Host::Ipv4(address)) => vec![address.to_string()],
            Some(Host::Ipv6(address)) => vec![address.to_string()],
            None => Vec::new(),
        },
    }
}

/// The authorities that a configuration names.
pub(crate) fn bundle(configuration: &ValidatingWebhookConfiguration) -> String {
    let webhooks = configuration.webhooks.iter().flatten();
    let bundles = webhooks.filter_map(|webhook| webhook.client_config.ca_bundle.as_ref());
    bundles.map(|bundle| String::from_utf8_lossy(&bundle.0).into_owned()).collect()
}

/// The configuration, with everything that an API server would add: what was read can be compared
/// with it.
///
/// A guard that does not answer blocks nothing, and what is not an installation is none of its
/// business: copies are made by OLM itself, and what is installed may be changed and deleted.
pub(crate) fn configuration(settings: &Settings, bundle: &str) -> ValidatingWebhookConfiguration {
    let words = |word: &str| Some(vec![word.to_owned()]);
    let not_copied = LabelSelectorRequirement {
        key: "olm.copiedFrom".to_owned(),
        operator: "DoesNotExist".to_owned(),
        values: None,
    };
    let webhook = ValidatingWebhook {
        name: WEBHOOK.to_owned(),
        admission_review_versions: vec!["v1".to_owned()],
        client_config: client_config(settings, bundle),
        failure_policy: Some("Ignore".to_owned()),
        match_conditions: None,
        match_policy: Some("Equivalent".to_owned()),
        namespace_selector: Some(LabelSelector::default()),
        object_selector: Some(LabelSelector {
            match_expressions: Some(vec![not_copied]),
            match_labels: None,
        }),
        rules: Some(vec![RuleWithOperations {
            api_groups: words("operators.coreos.com"),
            api_versions: words("v1alpha1"),
            operations: words("CREATE"),
            resources: words("clusterserviceversions"),
            scope: Some("Namespaced".to_owned()),
        }]),
        side_effects: "None".to_owned(),
        timeout_seconds: Some(TIMEOUT_SECONDS),
    };
    ValidatingWebhookConfiguration {
        metadata: ObjectMeta { name: Some(CONFIGURATION.to_owned()), ..ObjectMeta::default() },
        webhooks: Some(vec![webhook]),
    }
}

fn client_config(settings: &Settings, bundle: &str) -> WebhookClientConfig {
    let (service, url) = match &settings.reach {
        Reach::Service(name) => {
            let service = ServiceReference {
                name: name.clone(),
                namespace: settings.namespace.clone(),
                path: Some(PATH.to_owned()),
                port: Some(443),
            };
            (Some(service), None)
        }
        Reach::Url(url) => (None, Some(url.to_string())),
    };
    WebhookClientConfig { ca_bundle: Some(ByteString(bundle.as_bytes().to_vec())), service, url }
}
