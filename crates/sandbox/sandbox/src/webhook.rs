//! Validating admission webhooks: matching, reviews and responses.

use k8s_openapi::api::admissionregistration::v1::{
    RuleWithOperations, ServiceReference, ValidatingWebhook, ValidatingWebhookConfiguration,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as Structured;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::api::{
    AdmissionOperation, ApiRequest, ApiResult, ObjectChange, RequestBody, StatusError,
};
use crate::catalog::{Catalog, Resource, Subresource, Verb};
use crate::selector::LabelSelector;
use crate::store::Store;

const GROUP: &str = "admissionregistration.k8s.io";
const CONFIGURATIONS: [&str; 2] =
    ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];

/// Webhooks that may match a request, in the order of their configurations. Configurations
/// themselves are exempt, so that a broken one can be repaired.
pub fn candidates(store: &Store, request: &ApiRequest) -> Vec<ValidatingWebhook> {
    let resource = &request.resource;
    let reads = matches!(request.verb, Verb::Get | Verb::List | Verb::Watch);
    if reads || resource.group == GROUP && CONFIGURATIONS.contains(&&*resource.plural) {
        return Vec::new();
    }
    let configurations = store.all(GROUP, CONFIGURATIONS[1]);
    configurations
        .iter()
        .filter_map(|object| ValidatingWebhookConfiguration::deserialize(&**object).ok())
        .flat_map(|configuration| configuration.webhooks.unwrap_or_default())
        .collect()
}

/// The error for a failed webhook, unless its failure policy ignores it.
pub fn failure(webhook: &ValidatingWebhook, problem: &str) -> ApiResult<()> {
    let name = &webhook.name;
    if webhook.failure_policy.as_deref() == Some("Ignore") {
        tracing::warn!(
            webhook = name,
            error = problem,
            "webhook failed; ignored because failurePolicy is Ignore"
        );
        return Ok(());
    }
    Err(StatusError::internal_with_cause(&format!("failed calling webhook {name:?}: {problem}")))
}

/// The TLS server name of a Service.
pub fn server_name(service: &ServiceReference) -> String {
    format!("{}.{}.svc", service.name, service.namespace)
}

/// A webhook to call for a change.
#[derive(Debug)]
pub struct MatchedWebhook<'a> {
    /// The webhook.
    pub webhook: &'a ValidatingWebhook,
    /// The resource version in which it expects objects.
    pub version: String,
}

/// Whether to call a webhook for a change. `namespace` is the Namespace of the object.
pub fn matched<'a>(
    webhook: &'a ValidatingWebhook,
    change: &ObjectChange<'_>,
    namespace: Option<&Value>,
    catalog: &Catalog,
) -> Option<MatchedWebhook<'a>> {
    if !selects_namespace(webhook, change, namespace) || !selects_object(webhook, change) {
        return None;
    }
    let resource = &change.request.resource;
    if rules_match(webhook, change, resource) {
        return Some(MatchedWebhook { webhook, version: resource.version.clone() });
    }
    if webhook.match_policy.as_deref() == Some("Exact") {
        return None;
    }
    let mut others = catalog.resources().filter(|other| {
        (&other.group, &other.plural) == (&resource.group, &resource.plural)
            && other.version != resource.version
    });
    let other = others.find(|other| rules_match(webhook, change, other))?;
    Some(MatchedWebhook { webhook, version: other.version.clone() })
}

/// Whether a rule matches resource and operation.
fn rules_match(
    webhook: &ValidatingWebhook,
    change: &ObjectChange<'_>,
    resource: &Resource,
) -> bool {
    let subresource = change.request.subresource.map_or("", Subresource::as_str);
    let operation = change.operation.as_str();
    webhook.rules.iter().flatten().any(|rule| {
        let RuleWithOperations { api_groups, api_versions, operations, resources, scope } = rule;
        let has_scope = match scope.as_deref() {
            Some("Cluster") => !resource.namespaced,
            Some("Namespaced") => resource.namespaced,
            _ => true,
        };
        has_scope
            && contains(operations.as_deref(), operation)
            && contains(api_groups.as_deref(), &resource.group)
            && contains(api_versions.as_deref(), &resource.version)
            && resources
                .iter()
                .flatten()
                .any(|it| resource_matches(it, &resource.plural, subresource))
    })
}

fn contains(words: Option<&[String]>, wanted: &str) -> bool {
    words.unwrap_or_default().iter().any(|word| word == "*" || word == wanted)
}

/// Whether `pods`, `pods/*`, `*/status` or similar matches the resource.
fn resource_matches(rule: &str, plural: &str, subresource: &str) -> bool {
    let (resource, part) = rule.split_once('/').unwrap_or((rule, ""));
    (resource == "*" || resource == plural) && (part == "*" || part == subresource)
}

/// Whether the namespace selector matches. Namespaces are selected by their own labels, objects by
/// those of their namespace. Cluster-scoped objects always match.
fn selects_namespace(
    webhook: &ValidatingWebhook,
    change: &ObjectChange<'_>,
    namespace: Option<&Value>,
) -> bool {
    let Some(selector) = required_selector(webhook.namespace_selector.as_ref()) else {
        return true;
    };
    let resource = &change.request.resource;
    if resource.group.is_empty() && resource.kind == "Namespace" {
        return change.object.or(change.old).is_some_and(|it| selector.matches(it));
    }
    !resource.namespaced || selector.matches(namespace.unwrap_or(&Value::Null))
}

/// Whether the object selector matches the old or the new object.
fn selects_object(webhook: &ValidatingWebhook, change: &ObjectChange<'_>) -> bool {
    let Some(selector) = required_selector(webhook.object_selector.as_ref()) else { return true };
    [change.object, change.old].into_iter().flatten().any(|object| selector.matches(object))
}

/// A non-empty selector. Invalid selectors cannot be stored.
fn required_selector(selector: Option<&Structured>) -> Option<LabelSelector> {
    let selector = LabelSelector::from_structured(selector?).ok()?;
    (!selector.is_everything()).then_some(selector)
}

/// The `AdmissionReview` request for a webhook.
pub fn review_request(
    matched: &MatchedWebhook<'_>,
    change: &ObjectChange<'_>,
    uid: &str,
) -> Result<Value, String> {
    let webhook = matched.webhook;
    if !webhook.admission_review_versions.iter().any(|version| version == "v1") {
        return Err("webhook does not accept known AdmissionReview versions (v1)".to_owned());
    }
    let request = change.request;
    let resource = &request.resource;
    let gvk = |version: &str| json!({ "group": resource.group, "version": version, "kind": resource.kind });
    let gvr = |version: &str| json!({ "group": resource.group, "version": version, "resource": resource.plural });
    let mut review = json!({
        "uid": uid,
        "kind": gvk(&matched.version),
        "resource": gvr(&matched.version),
        "requestKind": gvk(&resource.version),
        "requestResource": gvr(&resource.version),
        "operation": change.operation.as_str(),
        "userInfo": { "username": request.user.name, "groups": request.user.groups },
        "object": change.object.map(|object| in_version(object, matched, change)),
        "oldObject": change.old.map(|object| in_version(object, matched, change)),
        "dryRun": change.dry_run,
        "options": options(change),
    });
    if !change.name.is_empty() {
        review["name"] = json!(change.name);
    }
    if let Some(namespace) = namespace(change) {
        review["namespace"] = json!(namespace);
    }
    if let Some(part) = request.subresource.map(Subresource::as_str) {
        review["subResource"] = json!(part);
        review["requestSubResource"] = json!(part);
    }
    Ok(json!({ "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": review }))
}

/// The namespace of a change. A Namespace is its own namespace.
fn namespace<'a>(change: &ObjectChange<'a>) -> Option<&'a str> {
    let resource = &change.request.resource;
    if resource.group.is_empty() && resource.kind == "Namespace" {
        return Some(change.name);
    }
    change.request.namespace.as_deref().filter(|_| resource.namespaced)
}

/// The object in the version that the webhook expects. Versions differ only in `apiVersion`.
fn in_version(object: &Value, matched: &MatchedWebhook<'_>, change: &ObjectChange<'_>) -> Value {
    let resource = &change.request.resource;
    let mut object = object.clone();
    if matched.version != resource.version {
        object["apiVersion"] = json!(format!("{}/{}", resource.group, matched.version));
    }
    object
}

/// The options of the operation, which may be a creation by a patch.
fn options(change: &ObjectChange<'_>) -> Value {
    let mut options = match (change.operation, &change.request.body) {
        (AdmissionOperation::Delete, RequestBody::Object(options)) => options.clone(),
        _ => json!({}),
    };
    let kind = match change.operation {
        AdmissionOperation::Create => "CreateOptions",
        AdmissionOperation::Update => "UpdateOptions",
        AdmissionOperation::Delete => "DeleteOptions",
    };
    options["kind"] = json!(kind);
    options["apiVersion"] = json!("meta.k8s.io/v1");
    if change.dry_run {
        options["dryRun"] = json!(["All"]);
    }
    if let Some(manager) = change.request.query.get("fieldManager").filter(|it| !it.is_empty()) {
        options["fieldManager"] = json!(manager);
    }
    options
}

/// The response of a webhook.
#[derive(Debug, PartialEq)]
pub struct AdmissionResponse {
    /// Whether the change is allowed.
    pub result: ApiResult<()>,
    /// Warnings for the client.
    pub warnings: Vec<String>,
}

/// The used fields of an `AdmissionReview` response.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewDocument {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    response: Option<ReviewResponse>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ReviewResponse {
    #[serde(default)]
    uid: String,
    #[serde(default)]
    allowed: bool,
    status: Option<Map<String, Value>>,
    patch: Option<String>,
    patch_type: Option<String>,
    warnings: Option<Vec<String>>,
}

/// Parses the response to the review with this UID. The error completes a message.
pub fn parse_response(webhook: &str, uid: &str, body: &[u8]) -> Result<AdmissionResponse, String> {
    let review: ReviewDocument = serde_json::from_slice(body)
        .map_err(|error| format!("couldn't get version/kind; json parse error: {error}"))?;
    let Some(response) = review.response else {
        return Err("webhook response was absent".to_owned());
    };
    if response.uid != uid {
        return Err(format!("expected response.uid={uid:?}, got {:?}", response.uid));
    }
    let (group, version) = review.api_version.split_once('/').unwrap_or_default();
    if (group, version, &*review.kind) != ("admission.k8s.io", "v1", "AdmissionReview") {
        return Err(format!(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, \
             got {group}/{version}, Kind={}",
            review.kind
        ));
    }
    if response.patch.is_some_and(|patch| !patch.is_empty()) {
        return Err("validating webhook may not return response.patch".to_owned());
    }
    if response.patch_type.is_some() {
        return Err("validating webhook may not return response.patchType".to_owned());
    }
    let result =
        if response.allowed { Ok(()) } else { Err(denied_error(webhook, response.status)) };
    Ok(AdmissionResponse { result, warnings: response.warnings.unwrap_or_default() })
}

/// The error for the client, with message and name of the webhook.
fn denied_error(webhook: &str, status: Option<Map<String, Value>>) -> StatusError {
    let mut status = status.unwrap_or_default();
    let code = status.remove("code").and_then(|code| code.as_u64());
    let code = code.and_then(|code| u16::try_from(code).ok()).filter(|code| *code >= 400);
    let message = status.remove("message");
    let word = |value: Option<&Value>| {
        value.and_then(Value::as_str).filter(|word| !word.is_empty()).map(str::to_owned)
    };
    let denial = format!("admission webhook {webhook:?} denied the request");
    let message = match word(message.as_ref()).or_else(|| word(status.get("reason"))) {
        Some(why) => format!("{denial}: {why}"),
        None => format!("{denial} without explanation"),
    };
    status.retain(|field, _| matches!(field.as_str(), "reason" | "details" | "metadata"));
    StatusError::new(code.unwrap_or(400), "", message).with_webhook_status(status)
}
