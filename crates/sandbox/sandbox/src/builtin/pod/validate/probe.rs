//! How containers are watched, and what is called when they start and stop.

use serde_json::Value;

use crate::builtin::check::{Errors, not_negative, one_of, port, port_number, required};
use crate::builtin::value::{get, items, text};
use crate::field_error::{FieldError, Path};

const HEADER: &str = "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";

pub(super) fn lifecycle(container: &Value, path: &Path, errors: &mut Errors) {
    let Some(lifecycle) = get(container, "lifecycle") else { return };
    for name in ["postStart", "preStop"] {
        if let Some(hook) = get(lifecycle, name) {
            handler(hook, &path.field("lifecycle").field(name), errors);
        }
    }
}

pub(super) fn all(container: &Value, path: &Path, errors: &mut Errors) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = get(container, name) else { continue };
        let path = path.field(name);
        self::probe(probe, &path, errors);
        let successes = probe["successThreshold"].as_i64().unwrap_or(1);
        if name != "readinessProbe" && successes != 1 {
            let path = path.field("successThreshold");
            errors.push(FieldError::invalid(path, successes, "must be 1"));
        }
    }
}

fn probe(probe: &Value, path: &Path, errors: &mut Errors) {
    const NUMBERS: [&str; 5] = [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ];
    handler(probe, path, errors);
    not_negative(probe, &NUMBERS, path, errors);
}

fn handler(handler: &Value, path: &Path, errors: &mut Errors) {
    let kinds = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];
    let mut given = kinds.into_iter().filter(|kind| get(handler, kind).is_some());
    let Some(kind) = given.next() else {
        errors.push(FieldError::required(path, "must specify a handler type"));
        return;
    };
    action(kind, &handler[kind], &path.field(kind), errors);
    for kind in given {
        let why = "may not specify more than 1 handler type";
        errors.push(FieldError::forbidden(path.field(kind), why));
    }
}

fn action(kind: &str, action: &Value, path: &Path, errors: &mut Errors) {
    match kind {
        "exec" if items(action, "command").is_empty() => {
            errors.push(FieldError::required(path.field("command"), ""));
        }
        "httpGet" => http_get(action, path, errors),
        "tcpSocket" => port(&action["port"], &path.field("port"), errors),
        "grpc" => port_number(&action["port"], &path.field("port"), errors),
        _ => {}
    }
}

fn http_get(action: &Value, path: &Path, errors: &mut Errors) {
    required(action, "path", path, errors);
    port(&action["port"], &path.field("port"), errors);
    one_of(action, "scheme", &["HTTP", "HTTPS"], path, errors);
    for header in items(action, "httpHeaders") {
        let name = text(header, "name");
        let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        if name.is_empty() || !name.bytes().all(good) {
            errors.push(FieldError::invalid(path.field("httpHeaders"), name, HEADER));
        }
    }
}
