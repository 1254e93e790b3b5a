//! The description of all this for programs.

use serde_json::{Value, json};

use super::accept::MediaType;
use crate::document::Document;

/// The `OpenAPI` document of a service with that prefix.
pub(crate) fn document(prefix: &str) -> Document {
    Document::new(description(prefix).to_string().into_bytes())
}

fn description(prefix: &str) -> Value {
    let graph = operation(
        "The updates that clusters of a channel and an architecture see",
        &[
            channel(),
            architecture(),
            ignored("version", "The version of the cluster"),
            ignored("id", "The identity of the cluster"),
        ],
        &json!({
            MediaType::CincinnatiV1.name(): {"schema": reference("Graph")},
            MediaType::Json.name(): {"schema": reference("Graph")},
        }),
    );
    let channels = operation(
        "The channels of a version",
        &[parameter("version", true, "A version, without its architecture"), architecture()],
        &json!({MediaType::Json.name(): {"schema": reference("Channels")}}),
    );
    let latest = operation(
        "The latest release of a channel",
        &[channel(), architecture()],
        &json!({MediaType::Json.name(): {"schema": reference("Latest")}}),
    );
    let archive = operation(
        "The graph-data that is in use, as a compressed archive",
        &[],
        &json!({"application/gzip": {}}),
    );
    let signature = operation(
        "A signature of a release image",
        &[
            in_path("digest", "The SHA-256 of the image, in hexadecimal digits"),
            in_path("number", "Which of its signatures, counted from 1"),
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
            "200": {"description": "What was asked for", "content": content},
            "304": {"description": "The client has it already"},
            "400": error("A parameter is missing or invalid"),
            "404": error("There is no such thing"),
            "406": error("The client reads none of the types"),
            "503": error("There is no graph yet, or there is too much to do"),
        },
    })
}

fn channel() -> Value {
    parameter("channel", true, "A channel, such as stable-5.1")
}

fn architecture() -> Value {
    parameter("arch", false, "An architecture, such as amd64, or multi")
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
                "description": "The places of two nodes: where the update begins, and where it leads",
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
