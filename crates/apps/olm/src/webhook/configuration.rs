//! How API servers find the webhook, and what they ask it about.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    RuleWithOperations, ServiceReference, ValidatingWebhook, ValidatingWebhookConfiguration,
    WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::api::ObjectMeta;
use url::{Host, Url};

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
    names_at(&client_config(settings, ""))
}

/// What API servers call a webhook that they find there.
fn names_at(place: &WebhookClientConfig) -> Vec<String> {
    if let Some(service) = &place.service {
        return vec![format!("{}.{}.svc", service.name, service.namespace)];
    }
    let url = place.url.as_deref().and_then(|url| Url::parse(url).ok());
    // Addresses as certificates are read, so that the two can be compared.
    match url.as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => vec![name.to_owned()],
        Some(Host::Ipv4(address)) => vec![address.to_string()],
        Some(Host::Ipv6(address)) => vec![address.to_string()],
        None => Vec::new(),
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

/// Leads API servers where they were led before, for as long as the certificate that is served is
/// for that place, and not yet for the new one.
pub(crate) fn stay_where_certified(
    wanted: &mut ValidatingWebhookConfiguration,
    before: &ValidatingWebhookConfiguration,
    certified: &[String],
) {
    let [before] = before.webhooks.as_deref().unwrap_or_default() else { return };
    for webhook in wanted.webhooks.iter_mut().flatten() {
        let (place, old) = (&mut webhook.client_config, &before.client_config);
        if names_at(place) != certified && names_at(old) == certified {
            place.service.clone_from(&old.service);
            place.url.clone_from(&old.url);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str) -> ValidatingWebhookConfiguration {
        let client_config = WebhookClientConfig {
            url: Some(url.to_owned()),
            ca_bundle: Some(ByteString(url.as_bytes().to_vec())),
            ..WebhookClientConfig::default()
        };
        let webhook = ValidatingWebhook { client_config, ..ValidatingWebhook::default() };
        ValidatingWebhookConfiguration {
            webhooks: Some(vec![webhook]),
            ..ValidatingWebhookConfiguration::default()
        }
    }

    #[test]
    fn api_servers_are_led_where_the_certificate_is_for() {
        let (old, new) = ("https://old:9443/validate", "https://[::ffff:10.0.0.1]/validate");
        let led = |before: &str, certified: &str| {
            let mut wanted = at(new);
            stay_where_certified(&mut wanted, &at(before), &[certified.to_owned()]);
            let place = wanted.webhooks.unwrap().remove(0).client_config;
            assert_eq!(place.ca_bundle, Some(ByteString(new.into())), "whom to trust is news");
            place.url.unwrap()
        };
        assert_eq!(led(old, "old"), old, "the new certificate is on its way");
        assert_eq!(led(old, "::ffff:10.0.0.1"), new);
        assert_eq!(led(old, "another"), new, "neither is right, so nothing is lost");
        assert_eq!(led("nonsense", "old"), new);
    }

    #[test]
    fn services_are_called_by_their_names() {
        let service = ServiceReference {
            name: "guard".to_owned(),
            namespace: "ns".to_owned(),
            ..ServiceReference::default()
        };
        let place = WebhookClientConfig { service: Some(service), ..Default::default() };
        assert_eq!(names_at(&place), ["guard.ns.svc"]);
    }
}
