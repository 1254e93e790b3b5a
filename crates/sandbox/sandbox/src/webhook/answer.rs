//! What the answer of a webhook means.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::api::Refusal;

/// What a webhook said.
#[derive(Debug, PartialEq)]
pub struct Verdict {
    /// Whether the change may happen.
    pub said: Result<(), Refusal>,
    /// What the client should know, whatever it may.
    pub warnings: Vec<String>,
}

/// What of an answer counts.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    response: Option<Response>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    #[serde(default)]
    uid: String,
    #[serde(default)]
    allowed: bool,
    status: Option<Map<String, Value>>,
    patch: Option<String>,
    patch_type: Option<String>,
    warnings: Option<Vec<String>>,
}

/// Reads the answer of a webhook to the review with that id; an error is the end of a sentence.
pub fn read(webhook: &str, uid: &str, body: &[u8]) -> Result<Verdict, String> {
    let review: Review = serde_json::from_slice(body)
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
    let said = if response.allowed { Ok(()) } else { Err(denied(webhook, response.status)) };
    Ok(Verdict { said, warnings: response.warnings.unwrap_or_default() })
}

/// What the client is told: the webhook's own words, and whose they are.
fn denied(webhook: &str, status: Option<Map<String, Value>>) -> Refusal {
    let mut status = status.unwrap_or_default();
    let code = status.remove("code").and_then(|code| code.as_u64());
    let code = code.and_then(|code| u16::try_from(code).ok()).filter(|code| *code >= 400);
    let message = status.remove("message");
    let word = |value: Option<&Value>| {
        value.and_then(Value::as_str).filter(|word| !word.is_empty()).map(str::to_owned)
    };
    let by = format!("admission webhook {webhook:?} denied the request");
    let message = match word(message.as_ref()).or_else(|| word(status.get("reason"))) {
        Some(why) => format!("{by}: {why}"),
        None => format!("{by} without explanation"),
    };
    status.retain(|field, _| matches!(field.as_str(), "reason" | "details" | "metadata"));
    Refusal::new(code.unwrap_or(400), "", message).passing_on(status)
}
