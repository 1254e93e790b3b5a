//! `OpenAPI` description of the service.

use serde_json::{Value, json};

use super::negotiation::MediaType;
use crate::body::ResponseBody;

/// The `OpenAPI` document of a service with that prefix.
pub(crate) fn document(prefix: &str) -> ResponseBody {
    ResponseBody::new(description(prefix).to_string().into_bytes())
}

fn description(prefix: &str) -> Value {
    let graph = operation(
        "Update graph of a channel and an architecture",
        &[
            channel(),
            architecture(),
            ignored("version", "Version of the cluster"),
            ignored("id", "ID of the cluster"),
        ],
        &json!({
            MediaType::CincinnatiV1.name(): {"schema": reference("Graph")},
            MediaType::Json.name(): {"schema": reference("Graph")},
        }),
    );
    let channels = operation(
        "Channels of a version",
        &[parameter("version", true, "Version, without architecture"), architecture()],
        &json!({MediaType::Json.name(): {"schema": reference("Channels")}}),
    );
    let latest = operation(
        "Latest release of a channel",
        &[channel(), architecture()],
        &json!({MediaType::Json.name(): {"schema": reference("Latest")}}),
    );
    let archive = operation(
        "Current graph-data, as a gzip tar archive",
        &[],
        &json!({"application/gzip": {}}),
    );
    let signature = operation(
        "Signature of a release image",
        &[
            in_path("digest", "SHA-256 digest of the image, in hexadecimal"),
            in_path("number", "Number of the signature, starting at 1"),
        ],
        &json!({"application/octet-stream": {}}),
    );
    json!({
        "openapi": "3.0.3",
        "info": {"title": "Fairway update service", "version": env!("CARGO_PKG_VERSION")},
        "paths": {
            format!("{prefix}/graph"): {"get": graph},
            format!("{prefix}/v1/graph"): {"get": graph},
            format!("{prefix}/v1/channels"): {"get": channels},
            format!("{prefix}/v1/latest"): {"get": latest},
            format!("{prefix}/graph-data"): {"get": archive},
            format!("{prefix}/signatures/sha256={{digest}}/signature-{{number}}"): {"get": signature},
        },
        "components": {"schemas": schemas()},
    })
}

fn operation(summary: &str, parameters: &[Value], content: &Value) -> Value {
    let error = |description: &str| json!({"description": description, "content": {"application/json": {"schema": reference("Error")}}});
    json!({
        "summary": summary,
        "parameters": parameters,
        "responses": {
            "200": {"description": "The requested document", "content": content},
            "304": {"description": "Not modified"},
            "400": error("A parameter is missing or invalid"),
            "404": error("Not found"),
            "406": error("The client accepts none of the media types"),
            "503": error("No graph is available yet, or the service is overloaded"),
        },
    })
}

fn channel() -> Value {
    parameter("channel", true, "Channel, such as stable-5.1")
}

fn architecture() -> Value {
    parameter("arch", false, "Architecture, such as amd64, or multi")
}

fn parameter(name: &str, required: bool, description: &str) -> Value {
    json!({
        "name": name, "in": "query", "required": required, "description": description,
        "schema": {"type": "string"},
    })
}

fn ignored(name: &str, description: &str) -> Value {
    parameter(name, false, &format!("{description}; ignored"))
}

fn in_path(name: &str, description: &str) -> Value {
    json!({
        "name": name, "in": "path", "required": true, "description": description,
        "schema": {"type": "string"},
    })
}

fn reference(schema: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{schema}")})
}

fn schemas() -> Value {
    let text = json!({"type": "string"});
    let list = |items: &Value| json!({"type": "array", "items": items});
    let object = |required: &[&str], properties: Value| json!({"type": "object", "required": required, "properties": properties});
    json!({
        "Graph": object(&["version", "nodes", "edges", "conditionalEdges"], json!({
            "version": {"type": "integer", "enum": [1]},
            "nodes": list(&reference("Node")),
            "edges": list(&json!({
                "type": "array", "minItems": 2, "maxItems": 2,
                "items": {"type": "integer", "minimum": 0},
                "description": "Indexes of two nodes: source and target of the update",
            })),
            "conditionalEdges": list(&reference("ConditionalEdges")),
        })),
        "Node": object(&["version", "payload", "metadata"], json!({
            "version": text, "payload": text,
            "metadata": {"type": "object", "additionalProperties": text},
        })),
        "ConditionalEdges": object(&["edges", "risks"], json!({
            "edges": list(&object(&["from", "to"], json!({"from": text, "to": text}))),
            "risks": list(&reference("Risk")),
        })),
        "Risk": object(&["url", "name", "message", "matchingRules"], json!({
            "url": text, "name": text, "message": text,
            "matchingRules": list(&object(&["type"], json!({
                "type": text, "promql": object(&["promql"], json!({"promql": text})),
            }))),
        })),
        "Channels": object(&["version", "channels"], json!({
            "version": text, "arch": text, "channels": list(&text),
        })),
        "Latest": object(&["channel", "arch", "version", "payload"], json!({
            "channel": text, "arch": text, "version": text, "payload": text,
        })),
        "Error": object(&["kind", "value"], json!({"kind": text, "value": text})),
    })
}
