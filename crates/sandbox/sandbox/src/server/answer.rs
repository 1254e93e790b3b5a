//! From a request to its answer, step by step.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use bytes::Bytes;
use futures::{StreamExt as _, future};
use http::{HeaderValue, Request, Response};
use serde_json::Value;

use super::attributes::{Attributes, Objects};
use super::audit::{Outcome, Stage};
use super::body::Limit;
use super::exchange::Exchange;
use super::negotiate::Accepted;
use super::respond::{self, GoesOn, Reason};
use super::shape::Shape;
use super::watch::{self, Wishes};
use super::{
    Server, body, credentials, documents, escalation, identity, impersonate, logs, negotiate,
    reviews, webhooks,
};
use crate::api::{Call, Details, Refusal, Reply};
use crate::catalog::{self, Catalog, PathError, Subresource, Target, Verb};
use crate::faults::Action;
use crate::openapi::OpenApi;
use crate::rbac::Decision;

/// Why there is no ordinary answer.
enum Failure {
    Refused(Refusal),
    /// An answer all the same, of another form than a `Status`.
    Text(Box<Response<Body>>),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Failure {
    fn text(code: u16, text: impl Into<Bytes>) -> Self {
        Self::Text(Box::new(respond::text_plain(code, text)))
    }
}

type Answer = Result<Response<Body>, Failure>;

/// Answers a request.
pub(super) async fn serve(
    State(server): State<Arc<Server>>,
    request: Request<Body>,
) -> Response<Body> {
    let (mut exchange, body) = Exchange::begin(request, server.api.now());
    let answer = server.answer(&mut exchange, body).await;
    let mut response = answer.unwrap_or_else(|failure| match failure {
        Failure::Refused(refusal) => {
            // A refusal is JSON or YAML, and never a table.
            respond::refusal(&refusal, exchange.accepted)
        }
        Failure::Text(response) => *response,
    });
    let code = response.status().as_u16();
    let reason = response.extensions().get::<Reason>().map_or("", |reason| reason.0);
    let stage = match response.extensions().get() {
        Some(GoesOn) => Stage::ResponseStarted,
        None => Stage::ResponseComplete,
    };
    let outcome = Outcome { stage, code, reason };
    server.audit.write(&exchange.entry, outcome, server.api.now()).await;
    if let Ok(id) = HeaderValue::from_str(&exchange.entry.id) {
        response.headers_mut().insert("audit-id", id);
    }
    response
}

impl Server {
    async fn answer(&self, exchange: &mut Exchange, body: Body) -> Answer {
        let path = catalog::decode_path(exchange.parts.uri.path())
            .map_err(|error| path_refusal(&error))?
            .into_owned();
        exchange.entry.attributes =
            Attributes::of(exchange.parts.method.as_str(), &path, &exchange.query);
        self.authenticate(exchange)?;
        self.authorize(exchange)?;
        let fault = exchange.with_subject(|subject| self.faults.strike(subject));
        let refuse_after = self.before(exchange, fault.as_ref()).await?;
        let response = self.dispatch(exchange, &path, body, fault.as_ref()).await?;
        refuse_after.map_or(Ok(response), |refusal| Err(refusal.into()))
    }

    fn authenticate(&self, exchange: &mut Exchange) -> Result<(), Failure> {
        let (store, now) = (self.api.store(), exchange.entry.received);
        let identity = identity::authenticate(exchange.proof(), &self.tokens, store, now)
            .map_err(|_| Refusal::new(401, "Unauthorized", "Unauthorized"))?;
        exchange.entry.identity = identity;
        let wanted = impersonate::wanted(&exchange.parts.headers).map_err(|error| {
            let path = exchange.parts.uri.path();
            let text = format!("Internal Server Error: {path:?}: {error}\n");
            Failure::text(500, text)
        })?;
        if let Some(wanted) = wanted {
            for attributes in impersonate::required(&wanted) {
                self.access.check(&exchange.entry.identity.user, &attributes)?;
            }
            exchange.entry.impersonated = Some(impersonate::complete(wanted));
        }
        Ok(())
    }

    fn authorize(&self, exchange: &mut Exchange) -> Result<(), Refusal> {
        exchange.entry.was_authorized = true;
        match self.access.decide(exchange.user(), exchange.attributes()) {
            Decision::Allowed(grant) => {
                exchange.entry.allowed = Some(grant.to_string());
                Ok(())
            }
            Decision::Denied => {
                Err(super::access::forbidden(exchange.user(), exchange.attributes()))
            }
        }
    }

    /// What a fault does before anything else is done; returns what is to be said afterwards.
    async fn before(
        &self,
        exchange: &Exchange,
        fault: Option<&Action>,
    ) -> Result<Option<Refusal>, Failure> {
        match fault {
            None | Some(Action::CutWatch(_)) => Ok(None),
            Some(Action::Refuse(refusal)) => Err(refusal.clone().into()),
            Some(Action::RefuseAfter(refusal)) => Ok(Some(refusal.clone())),
            Some(Action::Delay(duration)) => {
                let until = tokio::time::Instant::now() + *duration;
                tokio::time::sleep_until(until).await;
                Ok(None)
            }
            Some(Action::Drop) => {
                if let Some(connection) = exchange.connection() {
                    connection.cut.cancel();
                }
                let broken = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
                let body = Body::from_stream(futures::stream::iter([Err::<&str, _>(broken)]));
                Err(Failure::Text(Box::new(respond::body(500, "text/plain", body))))
            }
        }
    }

    async fn dispatch(
        &self,
        exchange: &mut Exchange,
        path: &str,
        body: Body,
        fault: Option<&Action>,
    ) -> Answer {
        let (method, uri) = (exchange.parts.method.as_str(), &exchange.parts.uri);
        let catalog = self.api.catalog();
        let target = Target::parse(&catalog, method, uri.path(), uri.query().unwrap_or_default());
        let target = target.map_err(|error| no_target(exchange, &catalog, &error))?;
        if let Target::Other(path) = &target {
            return Ok(self.other(exchange, path));
        }
        exchange.accepted = negotiate::negotiate(&exchange.parts.headers, &exchange.query)?;
        let document = documents::discovery(&catalog, &target, &self.address, exchange.accepted);
        if let Some(document) = document {
            return Ok(document);
        }
        let Target::Objects { resource, namespace, name, subresource, verb } = target else {
            return Ok(self.other(exchange, path));
        };
        let kind = subresource.and_then(Subresource::own_kind).map_or(&*resource.kind, |it| it.2);
        let limit = Limit { bytes: self.limits.body_bytes, time: self.limits.body_time };
        let bytes = body::read(body, &exchange.parts.headers, limit).await?;
        let call = Call {
            user: exchange.user().clone(),
            user_agent: exchange.entry.user_agent.clone(),
            namespace,
            name,
            subresource,
            verb,
            query: exchange.query.clone(),
            body: body::parse(
                &bytes,
                &exchange.parts.headers,
                verb,
                kind,
                resource.custom.is_some(),
            )?,
            resource,
        };
        self.objects(exchange, call, fault).await
    }

    fn other(&self, exchange: &Exchange, path: &str) -> Response<Body> {
        if let Some(health) = documents::health(path, &exchange.query) {
            return health;
        }
        let pretty = Accepted { pretty: true, ..Accepted::default() };
        let (catalog, store) = (self.api.catalog(), self.api.store());
        if path == "/openapi/v3" {
            return respond::document(200, &OpenApi::index(&catalog, store), pretty);
        }
        let wanted = path.strip_prefix("/openapi/v3/");
        if let Some(text) = wanted.and_then(|it| self.open_api.document(&catalog, store, it)) {
            return respond::body(200, "application/json", Body::from(text));
        }
        let code = if path == "/" { 200 } else { 404 };
        respond::document(code, &documents::paths(&catalog), pretty)
    }

    async fn objects(&self, exchange: &Exchange, mut call: Call, fault: Option<&Action>) -> Answer {
        let shape = Shape::new(&call.resource, exchange.accepted, &call.query)?;
        let wishes = Wishes::parse(&call.query);
        if call.verb == Verb::Watch {
            call.query = watch::plain_query(&call.query, self.api.store().revision())?;
        }
        if let Some(document) = self.review(exchange, &call)? {
            return Ok(respond::document(201, &document, exchange.accepted));
        }
        if call.subresource == Some(Subresource::Log) {
            return Ok(self.log(exchange, &call)?);
        }
        self.check_escalation(&call)?;
        let call = Arc::new(call);
        let answered = webhooks::answer(&self.api, &call, &self.stopping).await;
        let reply = match answered.reply {
            // Whoever watches learns it from an event.
            Err(refusal) if call.verb == Verb::Watch && refusal.code == 410 => {
                let body = watch::refused(&refusal);
                return Ok(respond::body(200, "application/json", body));
            }
            Err(refusal) => {
                let mut response = respond::refusal(&refusal, exchange.accepted);
                respond::warn(&mut response, &answered.warnings);
                return Ok(response);
            }
            Ok(reply) => reply,
        };
        let mut response = self.reply(exchange, &call, fault, shape, wishes, reply)?;
        respond::warn(&mut response, &answered.warnings);
        Ok(response)
    }

    /// The answer to a request that was not refused.
    fn reply(
        &self,
        exchange: &Exchange,
        call: &Call,
        fault: Option<&Action>,
        shape: Shape,
        wishes: Wishes,
        reply: Reply,
    ) -> Answer {
        let now = self.api.now();
        match reply {
            Reply::Object { object, created, warnings } => {
                let mut response = shape.one(if created { 201 } else { 200 }, &object, now)?;
                respond::warn(&mut response, &warnings);
                Ok(response)
            }
            Reply::Document(document) => {
                let code = if call.verb == Verb::Create { 201 } else { 200 };
                Ok(respond::document(code, &document, exchange.accepted))
            }
            Reply::Accepted(document) => Ok(respond::document(202, &document, exchange.accepted)),
            Reply::List(list) => Ok(shape.list(list, now)?),
            Reply::Watch(watcher) => {
                let permit = Arc::clone(&self.watches).try_acquire_owned().map_err(|_| busy())?;
                let stream = watch::Stream {
                    api: self.api.clone(),
                    watcher,
                    shape,
                    wishes,
                    cut: self.connections(),
                    cut_after: match fault {
                        Some(Action::CutWatch(events)) => Some(*events),
                        _ => None,
                    },
                    _held: (permit, self.audit.ending(exchange.entry.clone(), &self.api)),
                };
                let mut response = respond::body(200, "application/json", stream.body());
                response.extensions_mut().insert(GoesOn);
                Ok(response)
            }
        }
    }
}

impl Server {
    /// What is answered without looking at objects, or at those of the client alone.
    fn review(&self, exchange: &Exchange, call: &Call) -> Result<Option<Value>, Refusal> {
        let (actor, now) = (exchange.actor(), self.api.now());
        let review = reviews::answer(&self.access, actor, call);
        let review =
            review.or_else(|| credentials::answer(&self.tokens, self.api.store(), call, now));
        review.transpose()
    }

    /// What a container wrote; the request was allowed.
    fn log(&self, exchange: &Exchange, call: &Call) -> Result<Response<Body>, Refusal> {
        let namespace = call.namespace.as_deref().unwrap_or_default();
        let pod = call.name.as_deref().unwrap_or_default();
        let options = logs::options(pod, &call.query)?;
        let served =
            self.logs.get().ok_or_else(|| Refusal::not_implemented("logs without nodes"))?;
        let Some(log) = served.log(namespace, pod, &options)? else {
            return Ok(respond::body(204, "text/plain", Body::empty()));
        };
        let ending = self.audit.ending(exchange.entry.clone(), &self.api);
        let (cut, stopping) = (self.connections(), self.stopping().clone());
        let until_cut = async move {
            tokio::select! {
                () = cut.cancelled_owned() => {}
                () = stopping.cancelled_owned() => {}
            }
        };
        // What logs the end goes with the stream.
        let log = log.take_until(until_cut).scan(ending, |_, piece| future::ready(Some(piece)));
        let mut response = respond::body(200, "text/plain", Body::from_stream(log));
        response.extensions_mut().insert(GoesOn);
        Ok(response)
    }

    /// Looks at what a role or a binding would be after the request, before it is.
    fn check_escalation(&self, call: &Call) -> Result<(), Refusal> {
        if !escalation::concerns(call) {
            return Ok(());
        }
        let attempt = Call { query: call.query.clone().with("dryRun", "All"), ..call.clone() };
        match self.api.answer(&attempt)? {
            Reply::Object { object, .. } => escalation::check(&self.access, call, &object),
            _ => Ok(()),
        }
    }
}

/// Why nothing is served at a path.
fn no_target(exchange: &Exchange, catalog: &Catalog, error: &PathError) -> Failure {
    let attributes = exchange.attributes();
    let refused = || Failure::Refused(path_refusal(error));
    let nowhere = || Failure::text(404, "404 page not found\n");
    match (error, &attributes.objects) {
        (PathError::NotFound, None) if attributes.path.starts_with("/api/") => refused(),
        (PathError::NotFound, None) => nowhere(),
        (
            PathError::NotFound,
            Some(Objects { group, version, resource, subresource, name, .. }),
        ) => {
            let found = catalog.resource(group, version, resource);
            match found.filter(|found| found.custom.is_some() && !subresource.is_empty()) {
                Some(found) => Failure::Refused(Refusal::not_found(found, name)),
                None if is_defined(catalog, group) => nowhere(),
                None => refused(),
            }
        }
        _ => refused(),
    }
}

/// Whether a group is made of definitions.
fn is_defined(catalog: &Catalog, group: &str) -> bool {
    catalog.resources().any(|resource| *resource.group == *group && resource.custom.is_some())
}

fn path_refusal(error: &PathError) -> Refusal {
    let message = error.to_string();
    match error {
        PathError::Invalid { .. } => Refusal::bad_request(message),
        PathError::NotFound => Refusal::new(404, "NotFound", message).about(Details::default()),
        PathError::MethodNotAllowed => {
            Refusal::new(405, "MethodNotAllowed", message).about(Details::default())
        }
    }
}

fn busy() -> Refusal {
    let message = "Too many requests, please try again later.";
    let details = Details { retry_after_seconds: Some(1), ..Details::default() };
    Refusal::new(429, "TooManyRequests", message).about(details)
}
