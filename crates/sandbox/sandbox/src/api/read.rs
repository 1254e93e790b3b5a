//! Reading objects: one, some, and what happens to them.

use super::refusals::no_number;
use super::request::Request;
use super::{Call, Refusal, Reply};
use crate::selector::{Field, FieldSelector, FieldSelectorError, LabelSelector};
use crate::store::{At, ListOptions, ListQuery, ReadError, Selection, WatchFrom};

/// One object.
pub(super) fn get(request: &Request<'_>) -> Result<Reply, Refusal> {
    let query = &request.call.query;
    check_not_in_the_future(request, query.get("resourceVersion").unwrap_or_default())?;
    let object = request.existing(&request.key()?)?;
    Ok(request.shown(&object, false, Vec::new()))
}

/// As many objects as are selected.
pub(super) fn list(request: &Request<'_>) -> Result<Reply, Refusal> {
    let query = &request.call.query;
    let options = ListOptions::parse(&ListQuery {
        resource_version: query.get("resourceVersion").unwrap_or_default(),
        resource_version_match: query.get("resourceVersionMatch").unwrap_or_default(),
        continue_token: query.get("continue").unwrap_or_default(),
        limit: limit(request.call)?,
    })?;
    let selection = selection(request.call)?;
    let mut list = request.api.store().list(&request.strategy.storage(), &selection, &options)?;
    for object in &mut list.items {
        *object = request.strategy.shown(object);
    }
    Ok(Reply::List(list))
}

/// What happens to the objects that are selected.
pub(super) fn watch(request: &Request<'_>) -> Result<Reply, Refusal> {
    let query = &request.call.query;
    limit(request.call)?;
    let version = query.get("resourceVersion").unwrap_or_default();
    let from = WatchFrom::parse(version, query.get("resourceVersionMatch").unwrap_or_default())?;
    let selection = selection(request.call)?;
    let watcher = request.api.store().watch(&request.strategy.storage(), selection, from)?;
    if request.strategy.is_shown_as_stored() {
        return Ok(Reply::Watch(watcher));
    }
    let strategy = request.strategy.clone();
    Ok(Reply::Watch(watcher.shown_by(move |object| strategy.shown(object))))
}

/// Which objects a request for several of them means.
pub(super) fn selection(call: &Call) -> Result<Selection, Refusal> {
    let query = &call.query;
    let labels = LabelSelector::parse(query.get("labelSelector").unwrap_or_default());
    let labels = labels.map_err(|error| Refusal::bad_request(error.to_string()))?;
    let text = query.get("fieldSelector").unwrap_or_default();
    let fields = FieldSelector::parse(text, &call.resource.fields);
    let fields = fields.map_err(|error| unknown_field(call, &error))?;
    Ok(Selection { namespace: call.namespace.clone(), labels, fields })
}

fn limit(call: &Call) -> Result<i64, Refusal> {
    number(call, "timeoutSeconds")?;
    number(call, "limit")
}

fn number(call: &Call, parameter: &str) -> Result<i64, Refusal> {
    match call.query.get(parameter).unwrap_or_default() {
        "" => Ok(0),
        text => text.parse().map_err(|_| Refusal::bad_request(no_number("ParseInt", text))),
    }
}

fn check_not_in_the_future(request: &Request<'_>, version: &str) -> Result<(), Refusal> {
    let query = ListQuery { resource_version: version, ..ListQuery::default() };
    let current = request.api.store().revision();
    match ListOptions::parse(&query)?.at {
        At::NotOlderThan(requested) if requested > current => {
            Err(ReadError::TooLarge { requested, current }.into())
        }
        _ => Ok(()),
    }
}

/// Kinds that know no more fields than those of the metadata say so.
fn unknown_field(call: &Call, error: &FieldSelectorError) -> Refusal {
    let resource = &call.resource;
    let knows_more = resource.custom.is_some()
        || resource.fields.iter().any(|field| !Field::METADATA.contains(field));
    let message = match error {
        FieldSelectorError::Unsupported { field, .. } => match resource.kind.as_str() {
            "Job" => format!("field label {field:?} not supported for batchv1.Job"),
            _ if knows_more => error.to_string(),
            _ => format!(
                "{field:?} is not a known field selector: \
                 only \"metadata.name\", \"metadata.namespace\""
            ),
        },
        other => other.to_string(),
    };
    Refusal::bad_request(message)
}
