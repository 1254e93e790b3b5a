//! The admission webhook: its configuration, and the review of installations.

use std::collections::BTreeMap;

use fairway_compat::olm::{
    ClusterVersions, MaximumVersion, OlmOperator, install, is_copied, is_object_name,
};
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    RuleWithOperations, ServiceReference, ValidatingWebhook, ValidatingWebhookConfiguration,
    WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use kube::api::ObjectMeta;
use serde::Deserialize;
use serde_json::{Value, json};
use url::{Host, Url};

use crate::metrics::Decision;
use crate::settings::{Settings, WebhookAddress};

/// Name of the webhook configuration.
pub(crate) const CONFIGURATION: &str = "fairway-olm-guard";

/// Name of the webhook in messages of the API server.
const WEBHOOK: &str = "olm-guard.fairway.dev";

/// URL path of the webhook.
pub(crate) const PATH: &str = "/validate";

/// Timeout of the webhook: the maximum delay of an installation without a guard.
const TIMEOUT_SECONDS: i32 = 3;

/// Host names of the webhook.
pub(crate) fn names(settings: &Settings) -> Vec<String> {
    names_at(&client_config(settings, ""))
}

/// Host names of a webhook address.
fn names_at(place: &WebhookClientConfig) -> Vec<String> {
    if let Some(service) = &place.service {
        return vec![format!("{}.{}.svc", service.name, service.namespace)];
    }
    let url = place.url.as_deref().and_then(|url| Url::parse(url).ok());
    // Addresses in the notation of certificates, so that they can be compared.
    match url.as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => vec![name.to_owned()],
        Some(Host::Ipv4(address)) => vec![address.to_string()],
        Some(Host::Ipv6(address)) => vec![address.to_string()],
        None => Vec::new(),
    }
}

/// CA bundle of a configuration.
pub(crate) fn bundle(configuration: &ValidatingWebhookConfiguration) -> String {
    let webhooks = configuration.webhooks.iter().flatten();
    let bundles = webhooks.filter_map(|webhook| webhook.client_config.ca_bundle.as_ref());
    bundles.map(|bundle| String::from_utf8_lossy(&bundle.0).into_owned()).collect()
}

/// The configuration, with all defaults of the API server, so that it can be compared with the live
/// one.
///
/// `failurePolicy: Ignore`: while the guard is unavailable, its webhook refuses nothing. Only
/// installations are reviewed: OLM creates the copies, and installed operators may be changed and
/// deleted.
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

/// Keeps the previous address while the served certificate is valid for it and not for the new one.
pub(crate) fn keep_certified_address(
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
        WebhookAddress::Service(name) => {
            let service = ServiceReference {
                name: name.clone(),
                namespace: settings.namespace.clone(),
                path: Some(PATH.to_owned()),
                port: Some(443),
            };
            (Some(service), None)
        }
        WebhookAddress::Url(url) => (None, Some(url.to_string())),
    };
    WebhookClientConfig { ca_bundle: Some(ByteString(bundle.as_bytes().to_vec())), service, url }
}

/// Response to a review, and its decision.
pub(crate) struct ReviewResponse {
    pub(crate) body: Value,
    pub(crate) decision: Decision,
}

/// A parsed admission review, with the fields that the guard reads.
#[derive(Deserialize)]
pub(crate) struct Review {
    request: Request,
}

#[derive(Deserialize)]
struct Request {
    uid: String,
    #[serde(default)]
    operation: String,
    #[serde(default)]
    namespace: String,
    #[serde(default)]
    name: String,
    object: Option<Object>,
}

#[derive(Deserialize)]
struct Object {
    #[serde(default)]
    metadata: Metadata,
    #[serde(default)]
    spec: Option<Spec>,
    #[serde(default)]
    status: Option<Status>,
}

#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    replaces: Option<String>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    reason: Option<String>,
}

impl Review {
    /// Parses a review; `None` if the body is invalid.
    pub(crate) fn parse(body: &[u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    /// Namespace and name of the operator that a refused installation would update. Invalid names are
    /// ignored, because any client can send them.
    pub(crate) fn predecessor(&self, cluster: &ClusterVersions) -> Option<(&str, &str)> {
        let request = &self.request;
        install::refusal(&installation(request)?, cluster)?;
        let name = request.object.as_ref()?.spec.as_ref()?.replaces.as_deref()?;
        let namespace = request.namespace.as_str();
        (is_object_name(namespace) && is_object_name(name)).then_some((namespace, name))
    }

    /// Responds to a review. Only the installation of an operator that does not support the running
    /// version is refused. OLM also creates an object for the update of an installed operator, which
    /// is allowed.
    pub(crate) fn respond(&self, cluster: &ClusterVersions, is_update: bool) -> ReviewResponse {
        let operator = installation(&self.request).filter(|_| !is_update);
        let refusal = operator.as_ref().and_then(|operator| install::refusal(operator, cluster));
        let decision = if refusal.is_some() { Decision::refused } else { Decision::allowed };
        let mut response = json!({ "uid": self.request.uid, "allowed": refusal.is_none() });
        if let Some(message) = refusal {
            response["status"] = json!({ "code": 403, "reason": "Forbidden", "message": message });
        }
        if let Some(warning) = operator.as_ref().and_then(warning) {
            response["warnings"] = json!([warning]);
        }
        let body = json!({
            "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response,
        });
        ReviewResponse { body, decision }
    }
}

/// The operator of a review, if it is an installation.
fn installation(request: &Request) -> Option<OlmOperator> {
    let object = request.object.as_ref().filter(|_| request.operation == "CREATE")?;
    let nothing = BTreeMap::new();
    let Metadata { name, labels, annotations } = &object.metadata;
    let (labels, annotations) =
        (labels.as_ref().unwrap_or(&nothing), annotations.as_ref().unwrap_or(&nothing));
    let reason = object.status.as_ref().and_then(|status| status.reason.as_deref());
    if is_copied(&request.namespace, labels, annotations, reason) {
        return None;
    }
    let name = name.clone().unwrap_or_else(|| request.name.clone());
    Some(OlmOperator::read(request.namespace.clone(), name, annotations))
}

/// Warning for the user who installs an operator.
fn warning(operator: &OlmOperator) -> Option<String> {
    match &operator.declared {
        MaximumVersion::Invalid(why) => Some(format!(
            "the operator {operator} declares an invalid maximum OpenShift version: {why}"
        )),
        MaximumVersion::Missing | MaximumVersion::Maximum(..) => None,
    }
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
    fn keep_certified_address_until_certificate_matches() {
        let (old, new) = ("https://old:9443/validate", "https://[::ffff:10.0.0.1]/validate");
        let led = |before: &str, certified: &str| {
            let mut wanted = at(new);
            keep_certified_address(&mut wanted, &at(before), &[certified.to_owned()]);
            let place = wanted.webhooks.unwrap().remove(0).client_config;
            assert_eq!(place.ca_bundle, Some(ByteString(new.into())), "the CA bundle is new");
            place.url.unwrap()
        };
        assert_eq!(led(old, "old"), old, "the new certificate is not served yet");
        assert_eq!(led(old, "::ffff:10.0.0.1"), new);
        assert_eq!(led(old, "another"), new, "neither address is valid");
        assert_eq!(led("nonsense", "old"), new);
    }

    #[test]
    fn names_at_service_is_its_dns_name() {
        let service = ServiceReference {
            name: "guard".to_owned(),
            namespace: "ns".to_owned(),
            ..ServiceReference::default()
        };
        let place = WebhookClientConfig { service: Some(service), ..Default::default() };
        assert_eq!(names_at(&place), ["guard.ns.svc"]);
    }
}

#[cfg(test)]
mod review_tests {
    use fairway_api::Version;
    use fairway_compat::olm::MAXIMUM_ANNOTATION;

    use super::*;

    fn cluster(version: &str) -> ClusterVersions {
        let version = Version::parse(version).ok();
        ClusterVersions { desired: version.clone(), completed: version }
    }

    fn body(operation: &str, metadata: &Value) -> Vec<u8> {
        let request = json!({
            "uid": "7", "operation": operation, "namespace": "ns", "name": "etcd.v1",
            "object": { "metadata": metadata, "status": { "reason": null } },
        });
        json!({ "kind": "AdmissionReview", "request": request }).to_string().into_bytes()
    }

    fn up_to(maximum: &str) -> Value {
        json!({ "name": "etcd.v1", "annotations": { MAXIMUM_ANNOTATION: maximum } })
    }

    fn allowed(body: &[u8], cluster: &ClusterVersions) -> bool {
        let response = Review::parse(body).unwrap().respond(cluster, false);
        response.body["response"]["allowed"].as_bool().unwrap()
    }

    #[test]
    fn answer_refuses_only_incompatible_installations() {
        let cluster = cluster("4.9.1");
        assert!(!allowed(&body("CREATE", &up_to("4.8")), &cluster));
        assert!(allowed(&body("CREATE", &up_to("4.9")), &cluster));
        assert!(allowed(&body("UPDATE", &up_to("4.8")), &cluster));
        assert!(allowed(&body("DELETE", &up_to("4.8")), &cluster));
        assert!(allowed(&body("CREATE", &up_to("4.8")), &ClusterVersions::default()));
        let mut copy = up_to("4.8");
        copy["labels"] = json!({ "olm.copiedFrom": "elsewhere" });
        assert!(allowed(&body("CREATE", &copy), &cluster));
    }

    #[test]
    fn predecessor_of_invalid_name_is_none() {
        let predecessor_of = |namespace: &str, replaces: &Value| {
            let object = json!({ "metadata": up_to("4.8"), "spec": { "replaces": replaces } });
            let request = json!({
                "uid": "7", "operation": "CREATE", "namespace": namespace, "object": object,
            });
            let body = json!({ "request": request }).to_string();
            let review = Review::parse(body.as_bytes()).unwrap();
            let found = review.predecessor(&cluster("4.9.1"));
            found.map(|(namespace, name)| (namespace.to_owned(), name.to_owned()))
        };
        let found = Some(("team".to_owned(), "etcd.v1.0.0".to_owned()));
        assert_eq!(predecessor_of("team", &json!("etcd.v1.0.0")), found);
        assert_eq!(predecessor_of("a/../team", &json!("etcd.v1.0.0")), None);
        for replaces in [json!(null), json!(""), json!("?limit=1"), json!("../other"), json!("A b")]
        {
            assert_eq!(predecessor_of("team", &replaces), None, "{replaces}");
        }
    }

    #[test]
    fn answer_to_invalid_maximum_has_warning() {
        let review = Review::parse(&body("CREATE", &up_to("4.x"))).unwrap();
        let answer = review.respond(&cluster("4.9.1"), false);
        assert_eq!(answer.body["response"]["allowed"], true);
        let warning = answer.body["response"]["warnings"][0].as_str().unwrap();
        insta::assert_snapshot!(warning, @r#"the operator ns/etcd.v1 declares an invalid maximum OpenShift version: failed to parse "4.x" as semver: unexpected character 'x' while parsing minor version number"#);
    }

    #[test]
    fn parse_of_invalid_body_is_none() {
        for body in ["", "{}", "[]", r#"{"request":{}}"#, r#"{"request":{"uid":7}}"#] {
            assert!(Review::parse(body.as_bytes()).is_none(), "{body}");
        }
    }
}
