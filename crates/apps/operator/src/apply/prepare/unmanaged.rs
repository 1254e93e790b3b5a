//! What others fill in.

use serde_json::Value;

/// Somebody else fills in the authority that signs for the object's service.
const INJECTED_CA: &str = "service.beta.openshift.io/inject-cabundle";

/// Leaves out what others fill in, as the object says now or is to say.
pub(super) fn leave_out(wanted: &mut Value, live: Option<&Value>) {
    let asks = |object: &Value| object["metadata"]["annotations"][INJECTED_CA] == "true";
    if !asks(wanted) && !live.is_some_and(asks) {
        return;
    }
    let webhooks = wanted.get_mut("webhooks").and_then(Value::as_array_mut);
    for webhook in webhooks.into_iter().flatten() {
        forget_ca(webhook.pointer_mut("/clientConfig"));
    }
    forget_ca(wanted.pointer_mut("/spec/conversion/webhook/clientConfig"));
    forget_ca(wanted.pointer_mut("/spec"));
}

fn forget_ca(client: Option<&mut Value>) {
    if let Some(client) = client.and_then(Value::as_object_mut) {
        client.remove("caBundle");
    }
}
