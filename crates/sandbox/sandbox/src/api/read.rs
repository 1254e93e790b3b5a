//! Reads: get, list and watch.

use super::context::RequestContext;
use super::status_error::go_parse_error;
use super::{ApiRequest, ApiResponse, ApiResult, StatusError};
use crate::selector::{Field, FieldSelector, FieldSelectorError, LabelSelector};
use crate::store::{ListOptions, ListQuery, ListRevision, ReadError, Selection, WatchFrom};

/// Reads one object.
pub(super) fn get(context: &RequestContext<'_>) -> ApiResult {
    let query = &context.request.query;
    check_not_future(context, query.get("resourceVersion").unwrap_or_default())?;
    let object = context.stored_object(&context.key()?)?;
    Ok(context.object_response(&object, false, Vec::new()))
}

/// Lists the selected objects.
pub(super) fn list(context: &RequestContext<'_>) -> ApiResult {
    let query = &context.request.query;
    let options = ListOptions::parse(&ListQuery {
        resource_version: query.get("resourceVersion").unwrap_or_default(),
        resource_version_match: query.get("resourceVersionMatch").unwrap_or_default(),
        continue_token: query.get("continue").unwrap_or_default(),
        limit: limit(context.request)?,
    })?;
    let selection = selection(context.request)?;
    let mut list = context.api.store().list(&context.strategy.storage(), &selection, &options)?;
    for object in &mut list.items {
        *object = context.strategy.to_requested_version(object);
    }
    Ok(ApiResponse::List(list))
}

/// Watches the selected objects.
pub(super) fn watch(context: &RequestContext<'_>) -> ApiResult {
    let query = &context.request.query;
    limit(context.request)?;
    let version = query.get("resourceVersion").unwrap_or_default();
    let from = WatchFrom::parse(version, query.get("resourceVersionMatch").unwrap_or_default())?;
    let selection = selection(context.request)?;
    let watcher = context.api.store().watch(&context.strategy.storage(), selection, from)?;
    if context.strategy.returns_stored_objects() {
        return Ok(ApiResponse::Watch(watcher));
    }
    let strategy = context.strategy.clone();
    Ok(ApiResponse::Watch(
        watcher.converted_by(move |object| strategy.to_requested_version(object)),
    ))
}

/// The selection of a list, watch or deletecollection request.
pub(super) fn selection(request: &ApiRequest) -> ApiResult<Selection> {
    let query = &request.query;
    let labels = LabelSelector::parse(query.get("labelSelector").unwrap_or_default());
    let labels = labels.map_err(|error| StatusError::bad_request(error.to_string()))?;
    let text = query.get("fieldSelector").unwrap_or_default();
    let fields = FieldSelector::parse(text, &request.resource.fields);
    let fields = fields.map_err(|error| unknown_field(request, &error))?;
    Ok(Selection { namespace: request.namespace.clone(), labels, fields })
}

fn limit(request: &ApiRequest) -> ApiResult<i64> {
    number(request, "timeoutSeconds")?;
    number(request, "limit")
}

fn number(request: &ApiRequest, parameter: &str) -> ApiResult<i64> {
    match request.query.get(parameter).unwrap_or_default() {
        "" => Ok(0),
        text => {
            text.parse().map_err(|_| StatusError::bad_request(go_parse_error("ParseInt", text)))
        }
    }
}

fn check_not_future(context: &RequestContext<'_>, version: &str) -> ApiResult<()> {
    let query = ListQuery { resource_version: version, ..ListQuery::default() };
    let current = context.api.store().revision();
    match ListOptions::parse(&query)?.at {
        ListRevision::NotOlderThan(requested) if requested > current => {
            Err(ReadError::TooLarge { requested, current }.into())
        }
        _ => Ok(()),
    }
}

/// The error for an unsupported field, which differs by kind.
fn unknown_field(request: &ApiRequest, error: &FieldSelectorError) -> StatusError {
    let resource = &request.resource;
    let has_own_fields = resource.custom.is_some()
        || resource.fields.iter().any(|field| !Field::METADATA.contains(field));
    let message = match error {
        FieldSelectorError::Unsupported { field, .. } => match resource.kind.as_str() {
            "Job" => format!("field label {field:?} not supported for batchv1.Job"),
            _ if has_own_fields => error.to_string(),
            _ => format!(
                "{field:?} is not a known field selector: \
                 only \"metadata.name\", \"metadata.namespace\""
            ),
        },
        other => other.to_string(),
    };
    StatusError::bad_request(message)
}
