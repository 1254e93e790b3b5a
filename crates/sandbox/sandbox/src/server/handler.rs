//! Request handling: authentication, authorization, injected faults, dispatch and audit.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use bytes::Bytes;
use futures::{StreamExt as _, future};
use http::header::USER_AGENT;
use http::{HeaderValue, Request, Response};
use jiff::Timestamp;
use serde_json::Value;

use super::audit::{AuditEntry, AuditStage, AuditStatus};
use super::authn::{
    Caller, Credentials, UserInfo, authenticate, impersonated_user, required_permissions,
    with_implied_groups,
};
use super::authz::{self, RequestAttributes, RequestedObjects};
use super::body::{self, BodyLimit};
use super::listener::Connection;
use super::negotiate::{self, ResponseFormat};
use super::response::{self, ErrorReason, ObjectRenderer, Streamed};
use super::watch::{self, WatchOptions};
use super::{Server, discovery, escalation, log_options, reviews, webhooks};
use crate::api::{
    ApiRequest, ApiResponse, ApiResult, QueryParams, StatusDetails, StatusError, random_uid,
};
use crate::catalog::{self, Catalog, PathError, Subresource, Target, Verb};
use crate::faults::{FaultAction, FaultTarget};
use crate::openapi::OpenApi;
use crate::rbac::{Decision, User};

/// A response other than the regular one.
enum ErrorResponse {
    Status(StatusError),
    /// A response that is not a `Status`.
    Other(Box<Response<Body>>),
}

impl From<StatusError> for ErrorResponse {
    fn from(error: StatusError) -> Self {
        Self::Status(error)
    }
}

impl ErrorResponse {
    fn text(code: u16, text: impl Into<Bytes>) -> Self {
        Self::Other(Box::new(response::plain_text(code, text)))
    }
}

type HandlerResult = Result<Response<Body>, ErrorResponse>;

/// Handles an HTTP request.
pub(super) async fn serve(
    State(server): State<Arc<Server>>,
    request: Request<Body>,
) -> Response<Body> {
    let (mut state, body) = RequestState::new(request, server.api.now());
    let result = server.handle(&mut state, body).await;
    let mut response = result.unwrap_or_else(|error_response| match error_response {
        ErrorResponse::Status(error) => {
            // Errors are JSON or YAML, never tables.
            response::status_error(&error, state.format)
        }
        ErrorResponse::Other(response) => *response,
    });
    let code = response.status().as_u16();
    let reason = response.extensions().get::<ErrorReason>().map_or("", |reason| reason.0);
    let audit_stage = match response.extensions().get() {
        Some(Streamed) => AuditStage::ResponseStarted,
        None => AuditStage::ResponseComplete,
    };
    let status = AuditStatus { stage: audit_stage, code, reason };
    server.audit.write(&state.entry, status, server.api.now()).await;
    if let Ok(id) = HeaderValue::from_str(&state.entry.id) {
        response.headers_mut().insert("audit-id", id);
    }
    response
}

impl Server {
    async fn handle(&self, state: &mut RequestState, body: Body) -> HandlerResult {
        let path = catalog::decode_path(state.parts.uri.path())
            .map_err(|error| path_status(&error))?
            .into_owned();
        state.entry.attributes =
            RequestAttributes::new(state.parts.method.as_str(), &path, &state.query);
        self.authenticate(state)?;
        self.authorize(state)?;
        let fault = state.with_fault_target(|target| self.faults.take(target));
        let error_after = self.inject_fault(state, fault.as_ref()).await?;
        let response = self.dispatch(state, &path, body, fault.as_ref()).await?;
        error_after.map_or(Ok(response), |error| Err(error.into()))
    }

    fn authenticate(&self, state: &mut RequestState) -> Result<(), ErrorResponse> {
        let (store, now) = (self.api.store(), state.entry.received);
        let identity = authenticate(state.credentials(), &self.tokens, store, now)
            .map_err(|_| StatusError::new(401, "Unauthorized", "Unauthorized"))?;
        state.entry.identity = identity;
        let impersonated = impersonated_user(&state.parts.headers).map_err(|error| {
            let path = state.parts.uri.path();
            let text = format!("Internal Server Error: {path:?}: {error}\n");
            ErrorResponse::text(500, text)
        })?;
        if let Some(impersonated) = impersonated {
            for attributes in required_permissions(&impersonated) {
                self.authorizer.check(&state.entry.identity.user, &attributes)?;
            }
            state.entry.impersonated = Some(with_implied_groups(impersonated));
        }
        Ok(())
    }

    fn authorize(&self, state: &mut RequestState) -> ApiResult<()> {
        state.entry.was_authorized = true;
        match self.authorizer.decide(state.user(), state.attributes()) {
            Decision::Allowed(grant) => {
                state.entry.allowed = Some(grant.to_string());
                Ok(())
            }
            Decision::Denied => Err(authz::forbidden(state.user(), state.attributes())),
        }
    }

    /// Injects a fault before the request is handled. Returns the error to report afterwards.
    async fn inject_fault(
        &self,
        state: &RequestState,
        fault: Option<&FaultAction>,
    ) -> Result<Option<StatusError>, ErrorResponse> {
        match fault {
            None | Some(FaultAction::CutWatch(_) | FaultAction::HangWatch(_)) => Ok(None),
            Some(FaultAction::Refuse(error)) => Err(error.clone().into()),
            Some(FaultAction::RefuseAfter(error)) => Ok(Some(error.clone())),
            Some(FaultAction::Delay(duration)) => {
                let until = tokio::time::Instant::now() + *duration;
                tokio::time::sleep_until(until).await;
                Ok(None)
            }
            Some(FaultAction::Drop) => {
                if let Some(connection) = state.connection() {
                    connection.close.cancel();
                }
                Err(connection_reset())
            }
            Some(FaultAction::Hang) => {
                // A restart of the sandbox ends it, as all connections.
                let (close, stopping) = (self.connections(), self.stopping());
                tokio::select! {
                    () = close.cancelled() => {}
                    () = stopping.cancelled() => {}
                }
                Err(connection_reset())
            }
        }
    }

    async fn dispatch(
        &self,
        state: &mut RequestState,
        path: &str,
        body: Body,
        fault: Option<&FaultAction>,
    ) -> HandlerResult {
        let (method, uri) = (state.parts.method.as_str(), &state.parts.uri);
        let catalog = self.api.catalog();
        let target = Target::parse(&catalog, method, uri.path(), uri.query().unwrap_or_default());
        let target = target.map_err(|error| path_not_served(state, &catalog, &error))?;
        if let Target::Other(path) = &target {
            return Ok(self.other_path(state, path));
        }
        state.format = negotiate::negotiate(&state.parts.headers, &state.query)?;
        let document =
            discovery::discovery_document(&catalog, &target, &self.address, state.format);
        if let Some(document) = document {
            return Ok(document);
        }
        let Target::Objects { resource, namespace, name, subresource, verb } = target else {
            return Ok(self.other_path(state, path));
        };
        let kind = subresource.and_then(Subresource::own_kind).map_or(&*resource.kind, |it| it.2);
        let limit = BodyLimit { bytes: self.limits.body_bytes, time: self.limits.body_time };
        let bytes = body::read(body, &state.parts.headers, limit).await?;
        let request = ApiRequest {
            user: state.user().clone(),
            user_agent: state.entry.user_agent.clone(),
            namespace,
            name,
            subresource,
            verb,
            query: state.query.clone(),
            body: body::parse(&bytes, &state.parts.headers, verb, kind, resource.custom.is_some())?,
            resource,
        };
        self.handle_objects(state, request, fault).await
    }

    fn other_path(&self, state: &RequestState, path: &str) -> Response<Body> {
        if let Some(health) = discovery::health(path, &state.query) {
            return health;
        }
        let pretty = ResponseFormat { pretty: true, ..ResponseFormat::default() };
        let (catalog, store) = (self.api.catalog(), self.api.store());
        if path == "/openapi/v3" {
            return response::document(200, &OpenApi::index(&catalog, store), pretty);
        }
        let document = path.strip_prefix("/openapi/v3/");
        if let Some(text) = document.and_then(|it| self.open_api.document(&catalog, store, it)) {
            return response::with_body(200, "application/json", Body::from(text));
        }
        let code = if path == "/" { 200 } else { 404 };
        response::document(code, &discovery::path_index(&catalog), pretty)
    }

    async fn handle_objects(
        &self,
        state: &RequestState,
        mut request: ApiRequest,
        fault: Option<&FaultAction>,
    ) -> HandlerResult {
        let renderer = ObjectRenderer::new(&request.resource, state.format, &request.query)?;
        let options = WatchOptions::parse(&request.query);
        if request.verb == Verb::Watch {
            request.query =
                watch::without_initial_events(&request.query, self.api.store().revision())?;
        }
        if let Some(document) = self.review(state, &request)? {
            return Ok(response::document(201, &document, state.format));
        }
        if request.subresource == Some(Subresource::Log) {
            return Ok(self.log(state, &request)?);
        }
        self.check_escalation(&request)?;
        let request = Arc::new(request);
        let reviewed = webhooks::handle(&self.api, &request, &self.stopping).await;
        let response = match reviewed.result {
            // Watches report it in an event, as in the API server.
            Err(error) if request.verb == Verb::Watch && error.code == 410 => {
                let body = watch::error_body(&error);
                return Ok(response::with_body(200, "application/json", body));
            }
            Err(error) => {
                let mut response = response::status_error(&error, state.format);
                response::warn(&mut response, &reviewed.warnings);
                return Ok(response);
            }
            Ok(response) => response,
        };
        let mut response =
            self.success_response(state, &request, fault, renderer, options, response)?;
        response::warn(&mut response, &reviewed.warnings);
        Ok(response)
    }

    /// The response to a successful request.
    fn success_response(
        &self,
        state: &RequestState,
        request: &ApiRequest,
        fault: Option<&FaultAction>,
        renderer: ObjectRenderer,
        options: WatchOptions,
        response: ApiResponse,
    ) -> HandlerResult {
        let now = self.api.now();
        match response {
            ApiResponse::Object { object, created, warnings } => {
                let mut response =
                    renderer.object_response(if created { 201 } else { 200 }, &object, now)?;
                response::warn(&mut response, &warnings);
                Ok(response)
            }
            ApiResponse::Document(document) => {
                let code = if request.verb == Verb::Create { 201 } else { 200 };
                Ok(response::document(code, &document, state.format))
            }
            ApiResponse::Accepted(document) => Ok(response::document(202, &document, state.format)),
            ApiResponse::List(list) => Ok(renderer.list_response(list, now)?),
            ApiResponse::Watch(watcher) => {
                let permit = Arc::clone(&self.watches)
                    .try_acquire_owned()
                    .map_err(|_| too_many_watches())?;
                let stream = watch::WatchStream {
                    api: self.api.clone(),
                    watcher,
                    renderer,
                    options,
                    close: self.connections(),
                    break_after: match fault {
                        Some(FaultAction::CutWatch(events)) => Some(*events),
                        _ => None,
                    },
                    hang_after: match fault {
                        Some(FaultAction::HangWatch(events)) => Some(*events),
                        _ => None,
                    },
                    _held: (permit, self.audit.completion_guard(state.entry.clone(), &self.api)),
                };
                let mut response = response::with_body(200, "application/json", stream.body());
                response.extensions_mut().insert(Streamed);
                Ok(response)
            }
        }
    }

    /// Handles reviews and token requests, which are not stored.
    fn review(&self, state: &RequestState, request: &ApiRequest) -> ApiResult<Option<Value>> {
        let (user_info, now) = (state.user_info(), self.api.now());
        let review = reviews::handle_access_review(&self.authorizer, user_info, request);
        let review = review.or_else(|| {
            reviews::handle_token_request(&self.tokens, self.api.store(), request, now)
        });
        review.transpose()
    }

    /// Streams the log of a container.
    fn log(&self, state: &RequestState, request: &ApiRequest) -> ApiResult<Response<Body>> {
        let namespace = request.namespace.as_deref().unwrap_or_default();
        let pod = request.name.as_deref().unwrap_or_default();
        let options = log_options::parse(pod, &request.query)?;
        let logs =
            self.logs.get().ok_or_else(|| StatusError::not_implemented("logs without nodes"))?;
        let Some(log) = logs.log(namespace, pod, &options)? else {
            return Ok(response::with_body(204, "text/plain", Body::empty()));
        };
        let guard = self.audit.completion_guard(state.entry.clone(), &self.api);
        let (close, stopping) = (self.connections(), self.stopping().clone());
        let until_closed = async move {
            // Either ends the stream; a log has no state to lose.
            tokio::select! {
                () = close.cancelled_owned() => {}
                () = stopping.cancelled_owned() => {}
            }
        };
        // Dropping the stream drops the audit guard, which logs the end of the response.
        let log = log.take_until(until_closed).scan(guard, |_, piece| future::ready(Some(piece)));
        let mut response = response::with_body(200, "text/plain", Body::from_stream(log));
        response.extensions_mut().insert(Streamed);
        Ok(response)
    }

    /// Checks a role or binding for privilege escalation, as it would be stored after the request.
    fn check_escalation(&self, request: &ApiRequest) -> ApiResult<()> {
        if !escalation::is_role_write(request) {
            return Ok(());
        }
        let attempt =
            ApiRequest { query: request.query.clone().with("dryRun", "All"), ..request.clone() };
        match self.api.handle(&attempt)? {
            ApiResponse::Object { object, .. } => {
                escalation::check_escalation(&self.authorizer, request, &object)
            }
            _ => Ok(()),
        }
    }
}

/// A response that breaks off at its start.
fn connection_reset() -> ErrorResponse {
    let broken = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    let body = Body::from_stream(futures::stream::iter([Err::<&str, _>(broken)]));
    ErrorResponse::Other(Box::new(response::with_body(500, "text/plain", body)))
}

/// The error for a path that is not served.
fn path_not_served(state: &RequestState, catalog: &Catalog, error: &PathError) -> ErrorResponse {
    let attributes = state.attributes();
    let status_response = || ErrorResponse::Status(path_status(error));
    let page_not_found = || ErrorResponse::text(404, "404 page not found\n");
    match (error, &attributes.objects) {
        (PathError::NotFound, None) if attributes.path.starts_with("/api/") => status_response(),
        (PathError::NotFound, None) => page_not_found(),
        (
            PathError::NotFound,
            Some(RequestedObjects { group, version, resource, subresource, name, .. }),
        ) => {
            let found = catalog.resource(group, version, resource);
            match found.filter(|found| found.custom.is_some() && !subresource.is_empty()) {
                Some(found) => ErrorResponse::Status(StatusError::not_found(found, name)),
                None if is_custom_group(catalog, group) => page_not_found(),
                None => status_response(),
            }
        }
        _ => status_response(),
    }
}

/// Whether a group consists of custom resources.
fn is_custom_group(catalog: &Catalog, group: &str) -> bool {
    catalog.resources().any(|resource| *resource.group == *group && resource.custom.is_some())
}

fn path_status(error: &PathError) -> StatusError {
    let message = error.to_string();
    match error {
        PathError::Invalid { .. } => StatusError::bad_request(message),
        PathError::NotFound => {
            StatusError::new(404, "NotFound", message).with_details(StatusDetails::default())
        }
        PathError::MethodNotAllowed => StatusError::new(405, "MethodNotAllowed", message)
            .with_details(StatusDetails::default()),
    }
}

fn too_many_watches() -> StatusError {
    let message = "Too many requests, please try again later.";
    let details = StatusDetails { retry_after_seconds: Some(1), ..StatusDetails::default() };
    StatusError::new(429, "TooManyRequests", message).with_details(details)
}

/// A request and the state of its handling.
pub(super) struct RequestState {
    pub(super) parts: http::request::Parts,
    pub(super) query: QueryParams,
    pub(super) format: ResponseFormat,
    pub(super) entry: AuditEntry,
}

impl RequestState {
    pub(super) fn new<B>(http_request: Request<B>, now: Timestamp) -> (Self, B) {
        let (parts, body) = http_request.into_parts();
        let query = QueryParams::parse(parts.uri.query().unwrap_or_default());
        let agent = parts.headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok());
        let source = parts.extensions.get::<Connection>().map(|it| it.peer.ip().to_string());
        let entry = AuditEntry {
            id: random_uid().unwrap_or_default(),
            uri: parts.uri.path_and_query().map_or_else(String::new, ToString::to_string),
            user_agent: agent.unwrap_or_default().to_owned(),
            source: source.unwrap_or_else(|| "127.0.0.1".to_owned()),
            received: now,
            ..AuditEntry::default()
        };
        (Self { parts, query, format: ResponseFormat::default(), entry }, body)
    }

    pub(super) fn attributes(&self) -> &RequestAttributes {
        &self.entry.attributes
    }

    /// The effective user: the impersonated one, or else the authenticated one.
    pub(super) fn user_info(&self) -> &UserInfo {
        self.entry.impersonated.as_ref().unwrap_or(&self.entry.identity)
    }

    pub(super) fn user(&self) -> &User {
        &self.user_info().user
    }

    pub(super) fn connection(&self) -> Option<&Connection> {
        self.parts.extensions.get()
    }

    pub(super) fn credentials(&self) -> Credentials<'_> {
        Credentials {
            caller: self.parts.extensions.get::<Caller>().map(|caller| &caller.0),
            certificate: self.connection().and_then(|it| it.certificate.as_ref()),
            headers: &self.parts.headers,
        }
    }

    /// Calls a function with the attributes that faults match.
    pub(super) fn with_fault_target<T>(&self, use_target: impl FnOnce(&FaultTarget<'_>) -> T) -> T {
        let attributes = self.attributes();
        let objects = attributes.objects.clone().unwrap_or_default();
        let resource = match objects.subresource.as_str() {
            "" => objects.resource,
            subresource => format!("{}/{subresource}", objects.resource),
        };
        use_target(&FaultTarget {
            verb: &attributes.verb,
            resource: &resource,
            namespace: &objects.namespace,
            name: &objects.name,
            user_agent: &self.entry.user_agent,
            is_continued: self.query.get("continue").is_some_and(|token| !token.is_empty()),
        })
    }
}
