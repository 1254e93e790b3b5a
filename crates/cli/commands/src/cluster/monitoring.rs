//! Metrics service of a cluster: alerts and PromQL queries.

use std::collections::BTreeSet;

use fairway_insight::{Alert, Alerts, alerts};
use fairway_operator::stage::risks::reply;
use fairway_risk::{QueryFailure, QueryOutcome, QueryOutcomes};
use http::{StatusCode, Uri};
use http_body_util::{BodyExt as _, Limited};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::api::{Api, PostParams};
use kube::client::Body;
use kube::config::AuthInfo;
use kube::{Client, Config};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use super::Cluster;
use crate::foreign_text::OneLine;

/// Route of the Thanos querier.
const ROUTE: &str =
    "/apis/route.openshift.io/v1/namespaces/openshift-monitoring/routes/thanos-querier";

/// API group of Routes. A cluster without it has no such metrics service.
const ROUTES: &str = "/apis/route.openshift.io/v1";

/// CA bundle of the ingress controller, which serves Routes.
const INGRESS_CA: &str =
    "/api/v1/namespaces/openshift-config-managed/configmaps/default-ingress-cert";

/// Namespace of the metrics service, and the ServiceAccount with which it reads metrics and alerts.
const NAMESPACE: &str = "openshift-monitoring";
const SERVICE_ACCOUNT: &str = "prometheus-k8s";

/// Minimum lifetime of a token at the API server.
const TOKEN_SECONDS: i64 = 600;

/// Queries per command: twice as many as any path of real graphs has.
const MAX_QUERIES: usize = 200;

/// Hosts to try: a Route has one per router that admits it.
const MAX_HOSTS: usize = 10;

/// Maximum number of certificates of the CA bundle: more than a cluster has.
const MAX_CA_CERTIFICATES: usize = 100;

#[derive(Deserialize)]
struct Route {
    #[serde(default)]
    status: RouteStatus,
}

#[derive(Default, Deserialize)]
struct RouteStatus {
    #[serde(default)]
    ingress: Vec<Ingress>,
}

#[derive(Deserialize)]
struct Ingress {
    #[serde(default)]
    host: String,
}

impl Cluster {
    /// Alerts of the cluster. A failure is a variant of the result.
    pub(crate) async fn alerts(&self) -> Alerts {
        match self.query_monitoring(async |client| self.alerts_from(client).await).await {
            Ok(Some(alerts)) => Alerts::Known(alerts),
            Ok(None) => Alerts::NoMonitoring,
            Err(why) => Alerts::Unreadable(why),
        }
    }

    /// Evaluates queries, at most [`MAX_QUERIES`]; `None` without a metrics service.
    pub(crate) async fn outcomes(
        &self,
        queries: &BTreeSet<String>,
    ) -> Result<Option<QueryOutcomes>, String> {
        let end = Instant::now() + self.timeout;
        self.query_monitoring(async |client| self.outcomes_from(client, queries, end).await).await
    }

    /// Response of the first host of the metrics service that succeeds, `None` without a metrics
    /// service.
    async fn query_monitoring<T>(
        &self,
        query: impl AsyncFn(&Client) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        if let Some(response) = self.monitoring.query(&query).await {
            return Ok(Some(response));
        }
        let text = |error: anyhow::Error| format!("{error:#}");
        let Some(route) = self.one::<Route>(ROUTE).await.map_err(text)? else {
            let routes: Option<serde::de::IgnoredAny> = self.one(ROUTES).await.map_err(text)?;
            return match routes {
                None => Ok(None),
                Some(_) => {
                    Err("the cluster has no Route openshift-monitoring/thanos-querier".into())
                }
            };
        };
        let token = match token_credentials(&self.config.auth_info) {
            Some(token) => token,
            None => self.service_account_token().await?,
        };
        let mut why = "Route openshift-monitoring/thanos-querier has no host".to_owned();
        let ca_certificates = self.ca_certificates().await;
        for Ingress { host } in route.status.ingress.into_iter().take(MAX_HOSTS) {
            let response = match self.client_for(&host, token.clone(), ca_certificates.clone()) {
                Ok(client) => query(&client).await.map(|response| (client, response)),
                Err(error) => Err(error),
            };
            match response {
                Ok((client, response)) => {
                    self.monitoring.remember(client).await;
                    return Ok(Some(response));
                }
                Err(error) => why = format!("{host}: {error}"),
            }
        }
        Err(why)
    }

    /// Token for a session with a client certificate. The metrics service does not accept client
    /// certificates, and the API server forwards no credentials to a Service. A user who may create
    /// tokens for the ServiceAccount may read with its permissions.
    async fn service_account_token(&self) -> Result<AuthInfo, String> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), NAMESPACE);
        let spec = TokenRequestSpec {
            expiration_seconds: Some(TOKEN_SECONDS),
            ..TokenRequestSpec::default()
        };
        let request = TokenRequest { spec, ..TokenRequest::default() };
        let params = PostParams::default();
        let response = self
            .with_timeout(accounts.create_token_request(SERVICE_ACCOUNT, &params, &request))
            .await;
        let response = response.map_err(|failure| {
            format!(
                "the current credentials contain no token, the metrics service does not accept \
                 client certificates, and no token can be created for ServiceAccount \
                 {NAMESPACE}/{SERVICE_ACCOUNT}: {}; run `oc login` to get a token",
                failure.summary()
            )
        })?;
        let token = response.status.map(|status| status.token).filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| {
            format!(
                "the API server returned no token for ServiceAccount {NAMESPACE}/{SERVICE_ACCOUNT}"
            )
        })?;
        Ok(AuthInfo { token: Some(token.into()), ..AuthInfo::default() })
    }

    /// CA certificates of the kubeconfig and of the ingress controller.
    async fn ca_certificates(&self) -> Option<Vec<Vec<u8>>> {
        let known = self.config.root_cert.clone();
        let Ok(Some(map)) = self.one::<ConfigMap>(INGRESS_CA).await else { return known };
        let data = map.data.unwrap_or_default();
        let bundle = data.get("ca-bundle.crt").map_or("", String::as_str);
        let named = CertificateDer::pem_slice_iter(bundle.as_bytes()).take(MAX_CA_CERTIFICATES);
        let named = named.filter_map(Result::ok).map(|certificate| certificate.to_vec());
        Some(known.into_iter().flatten().chain(named).collect())
            .filter(|all: &Vec<_>| !all.is_empty())
    }

    fn client_for(
        &self,
        host: &str,
        token: AuthInfo,
        ca_certificates: Option<Vec<Vec<u8>>>,
    ) -> Result<Client, String> {
        let url: Uri =
            format!("https://{host}").parse().map_err(|_| "invalid host name".to_owned())?;
        let mut config = Config::new(url);
        config.auth_info = token;
        config.root_cert = ca_certificates;
        config.proxy_url.clone_from(&self.config.proxy_url);
        config.connect_timeout = Some(self.timeout);
        Client::try_from(config).map_err(|error| error.to_string())
    }

    async fn alerts_from(&self, client: &Client) -> Result<Vec<Alert>, String> {
        let (status, body) = self.get_from(client, "/api/v1/alerts").await?;
        if !status.is_success() {
            return Err(format!("the metrics service returned {status}"));
        }
        alerts::read(&body).map_err(|error| error.to_string())
    }

    async fn outcomes_from(
        &self,
        client: &Client,
        queries: &BTreeSet<String>,
        end: Instant,
    ) -> Result<QueryOutcomes, String> {
        let timeout_message =
            format!("queries timed out after {:?}; increase --request-timeout", self.timeout);
        query_each(queries, end, &timeout_message, async |query| {
            self.outcome_from(client, query).await
        })
        .await
    }

    async fn outcome_from(&self, client: &Client, query: &str) -> Result<QueryOutcome, String> {
        let mut parameters = url::form_urlencoded::Serializer::new(String::new());
        // By default, Thanos returns partial results if some of its stores do not respond.
        parameters.append_pair("query", query).append_pair("partial_response", "false");
        let path = format!("/api/v1/query?{}", parameters.finish());
        let (status, body) = self.get_from(client, &path).await?;
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(format!("the metrics service returned {status}"));
        }
        Ok(outcome(status, &body))
    }

    async fn get_from(&self, client: &Client, path: &str) -> Result<(StatusCode, Vec<u8>), String> {
        let request = http::Request::get(path).body(Body::empty());
        let request = request.map_err(|error| error.to_string())?;
        let response = async {
            let response = client.send(request).await?;
            let status = response.status();
            Ok((status, Limited::new(response.into_body(), alerts::MAX_BYTES).collect().await))
        };
        let (status, body) =
            self.with_timeout(response).await.map_err(|failure| failure.summary())?;
        let body = body.map_err(|error| OneLine(&error.to_string()).to_string())?;
        Ok((status, body.to_bytes().to_vec()))
    }
}

/// Client of the host that responded last. Finding the metrics service takes several requests and a
/// token, which audit logs record; `status --watch` must not repeat that at every poll.
pub(super) struct CachedClient<C>(Mutex<Option<C>>);

impl<C> Default for CachedClient<C> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<C> CachedClient<C> {
    /// Response of the cached client. A client that fails is dropped: its token or host may have
    /// expired.
    async fn query<T>(&self, query: impl AsyncFn(&C) -> Result<T, String>) -> Option<T> {
        let client = self.0.lock().await.take()?;
        let response = query(&client).await.ok()?;
        self.remember(client).await;
        Some(response)
    }

    async fn remember(&self, client: C) {
        *self.0.lock().await = Some(client);
    }
}

/// Evaluates each query until `end`; `timeout_message` is the error of later ones. After the first
/// failure no more queries are sent, and earlier results stay.
async fn query_each(
    queries: &BTreeSet<String>,
    end: Instant,
    timeout_message: &str,
    evaluate: impl AsyncFn(&str) -> Result<QueryOutcome, String>,
) -> Result<QueryOutcomes, String> {
    let (mut outcomes, mut failure) = (QueryOutcomes::new(), None);
    for query in queries.iter().take(MAX_QUERIES) {
        let response = match &failure {
            Some(why) => Err(String::clone(why)),
            None => timeout_at(end, evaluate(query))
                .await
                .unwrap_or_else(|_| Err(timeout_message.to_owned())),
        };
        let outcome = match response {
            Ok(outcome) => outcome,
            Err(why) if outcomes.is_empty() => return Err(why),
            Err(why) => Err(QueryFailure::request_failed(failure.insert(why))),
        };
        outcomes.insert(query.clone(), outcome);
    }
    Ok(outcomes)
}

/// Outcome of a response.
fn outcome(status: StatusCode, body: &[u8]) -> QueryOutcome {
    let (response, warnings) =
        reply::read(status, body).map_err(|error| QueryFailure::request_failed(&error))?;
    match (response.outcome(), warnings.first()) {
        // Missing series could match, so an incomplete 0 is not a result; an incomplete match is.
        (Ok(false), Some(warning)) => Err(QueryFailure::request_failed(&format_args!(
            "the result is 0 with a warning, so data may be missing: {warning}"
        ))),
        (outcome, _) => outcome,
    }
}

/// Credentials of a session that produce a token; a client certificate is for the API server only.
fn token_credentials(session: &AuthInfo) -> Option<AuthInfo> {
    let AuthInfo { token, token_file, exec, auth_provider, .. } = session.clone();
    let any = token.is_some() || token_file.is_some() || exec.is_some() || auth_provider.is_some();
    any.then(|| AuthInfo { token, token_file, exec, auth_provider, ..AuthInfo::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn cached_client_is_reused_until_it_fails() {
        let known = CachedClient::default();
        let fine = async |name: &&str| Ok((*name).to_owned());
        assert_eq!(known.query(fine).await, None, "no client is cached");
        known.remember("thanos").await;
        for _ in 0..2 {
            assert_eq!(known.query(fine).await.as_deref(), Some("thanos"));
        }
        let refused: Option<()> = known.query(async |_| Err("it answers 401".to_owned())).await;
        assert_eq!(refused, None);
        assert_eq!(known.query(fine).await, None, "the token has expired");
    }

    #[tokio::test]
    async fn query_results_are_kept_after_timeout() {
        let queries = ["a", "b", "c", "d"].map(str::to_owned).into();
        let until = async |first: &str| {
            let query = async |query: &str| {
                if query < first { Ok(Ok(true)) } else { std::future::pending().await }
            };
            query_each(&queries, Instant::now(), "too late", query).await
        };
        let answered = |outcomes: &QueryOutcomes| outcomes.values().filter(|it| it.is_ok()).count();
        assert!(until("a").await.is_err(), "another host may respond");
        for (first, count) in [("b", 1), ("d", 3), ("e", 4)] {
            let outcomes = until(first).await.unwrap();
            assert_eq!((answered(&outcomes), outcomes.len()), (count, 4), "{first}");
        }
    }
}
