//! The monitoring of a cluster: its alerts, and what queries yield.

use std::collections::BTreeSet;

use fairway_insight::{Alert, Alerts, alerts};
use fairway_operator::stage::risks::reply;
use fairway_risk::{Failure, Outcome, Outcomes};
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

/// The Route that leads to the alerts of the platform.
const ROUTE: &str =
    "/apis/route.openshift.io/v1/namespaces/openshift-monitoring/routes/thanos-querier";

/// The group of that kind: a cluster without it has no such monitoring.
const ROUTES: &str = "/apis/route.openshift.io/v1";

/// The authorities of those who answer for Routes.
const AUTHORITIES: &str =
    "/api/v1/namespaces/openshift-config-managed/configmaps/default-ingress-cert";

/// The namespace of the monitoring, and the account that it reads metrics and alerts with.
const NAMESPACE: &str = "openshift-monitoring";
const READER: &str = "prometheus-k8s";

/// API servers lend tokens for no shorter time.
const LENT_SECONDS: i64 = 600;

/// Queries that are asked at once: twice as many as real graphs have on any way.
const MOST_QUERIES: usize = 200;

/// Hosts that are tried: a Route has one of each router that admits it.
const MOST_HOSTS: usize = 10;

/// More authorities than a cluster has.
const MOST_AUTHORITIES: usize = 100;

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
    /// What is firing. That it cannot be read is part of the answer.
    pub(crate) async fn alerts(&self) -> Alerts {
        match self.ask_monitoring(async |client| self.alerts_of(client).await).await {
            Ok(Some(alerts)) => Alerts::Known(alerts),
            Ok(None) => Alerts::NoMonitoring,
            Err(why) => Alerts::Unreadable(why),
        }
    }

    /// What queries yield now, as many as are asked at once; none where there is no monitoring.
    pub(crate) async fn outcomes(
        &self,
        queries: &BTreeSet<String>,
    ) -> Result<Option<Outcomes>, String> {
        let end = Instant::now() + self.timeout;
        self.ask_monitoring(async |client| self.outcomes_of(client, queries, end).await).await
    }

    /// The first answer that a host of the monitoring gives; none where there is no monitoring.
    async fn ask_monitoring<T>(
        &self,
        question: impl AsyncFn(&Client) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        if let Some(answer) = self.monitoring.ask(&question).await {
            return Ok(Some(answer));
        }
        let told = |error: anyhow::Error| format!("{error:#}");
        let Some(route) = self.one::<Route>(ROUTE).await.map_err(told)? else {
            let routes: Option<serde::de::IgnoredAny> = self.one(ROUTES).await.map_err(told)?;
            return match routes {
                None => Ok(None),
                Some(_) => {
                    Err("the cluster has no Route openshift-monitoring/thanos-querier".into())
                }
            };
        };
        let token = match token_alone(&self.config.auth_info) {
            Some(token) => token,
            None => self.lent_token().await?,
        };
        let mut why = "Route openshift-monitoring/thanos-querier has no host".to_owned();
        let authorities = self.authorities().await;
        for Ingress { host } in route.status.ingress.into_iter().take(MOST_HOSTS) {
            let answer = match self.client_of(&host, token.clone(), authorities.clone()) {
                Ok(client) => question(&client).await.map(|answer| (client, answer)),
                Err(error) => Err(error),
            };
            match answer {
                Ok((client, answer)) => {
                    self.monitoring.remember(client).await;
                    return Ok(Some(answer));
                }
                Err(error) => why = format!("{host}: {error}"),
            }
        }
        Err(why)
    }

    /// A token for a session that has none. The monitoring takes no client certificates, and the
    /// API server hands nobody's credentials on to a Service; but whoever may have a token made for
    /// an account may read what it reads.
    async fn lent_token(&self) -> Result<AuthInfo, String> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), NAMESPACE);
        let spec = TokenRequestSpec {
            expiration_seconds: Some(LENT_SECONDS),
            ..TokenRequestSpec::default()
        };
        let request = TokenRequest { spec, ..TokenRequest::default() };
        let params = PostParams::default();
        let lent = self.in_time(accounts.create_token_request(READER, &params, &request)).await;
        let lent = lent.map_err(|failure| {
            format!(
                "this session has no token, the metrics service does not accept client \
                 certificates, and no token can be created for ServiceAccount \
                 {NAMESPACE}/{READER}: {}; run `oc login` to get a token",
                failure.in_short()
            )
        })?;
        let token = lent.status.map(|status| status.token).filter(|token| !token.is_empty());
        let token = token.ok_or_else(|| {
            format!("the API server returned no token for ServiceAccount {NAMESPACE}/{READER}")
        })?;
        Ok(AuthInfo { token: Some(token.into()), ..AuthInfo::default() })
    }

    /// Whom to believe that they are the host of a Route: whom the kubeconfig believes, and whom
    /// the cluster names.
    async fn authorities(&self) -> Option<Vec<Vec<u8>>> {
        let known = self.config.root_cert.clone();
        let Ok(Some(map)) = self.one::<ConfigMap>(AUTHORITIES).await else { return known };
        let data = map.data.unwrap_or_default();
        let bundle = data.get("ca-bundle.crt").map_or("", String::as_str);
        let named = CertificateDer::pem_slice_iter(bundle.as_bytes()).take(MOST_AUTHORITIES);
        let named = named.filter_map(Result::ok).map(|certificate| certificate.to_vec());
        Some(known.into_iter().flatten().chain(named).collect())
            .filter(|all: &Vec<_>| !all.is_empty())
    }

    fn client_of(
        &self,
        host: &str,
        token: AuthInfo,
        authorities: Option<Vec<Vec<u8>>>,
    ) -> Result<Client, String> {
        let url: Uri =
            format!("https://{host}").parse().map_err(|_| "invalid host name".to_owned())?;
        let mut config = Config::new(url);
        config.auth_info = token;
        config.root_cert = authorities;
        config.proxy_url.clone_from(&self.config.proxy_url);
        config.connect_timeout = Some(self.timeout);
        Client::try_from(config).map_err(|error| error.to_string())
    }

    async fn alerts_of(&self, client: &Client) -> Result<Vec<Alert>, String> {
        let (status, body) = self.get_of(client, "/api/v1/alerts").await?;
        if !status.is_success() {
            return Err(format!("the metrics service returned {status}"));
        }
        alerts::read(&body).map_err(|error| error.to_string())
    }

    async fn outcomes_of(
        &self,
        client: &Client,
        queries: &BTreeSet<String>,
        end: Instant,
    ) -> Result<Outcomes, String> {
        let late =
            format!("queries timed out after {:?}; increase --request-timeout", self.timeout);
        ask_each(queries, end, &late, async |query| self.outcome_of(client, query).await).await
    }

    async fn outcome_of(&self, client: &Client, query: &str) -> Result<Outcome, String> {
        let mut asked = url::form_urlencoded::Serializer::new(String::new());
        // Thanos answers for those that are there unless told otherwise.
        asked.append_pair("query", query).append_pair("partial_response", "false");
        let path = format!("/api/v1/query?{}", asked.finish());
        let (status, body) = self.get_of(client, &path).await?;
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return Err(format!("the metrics service returned {status}"));
        }
        Ok(outcome(status, &body))
    }

    async fn get_of(&self, client: &Client, path: &str) -> Result<(StatusCode, Vec<u8>), String> {
        let request = http::Request::get(path).body(Body::empty());
        let request = request.map_err(|error| error.to_string())?;
        let answer = async {
            let answer = client.send(request).await?;
            let status = answer.status();
            Ok((status, Limited::new(answer.into_body(), alerts::MAX_BYTES).collect().await))
        };
        let (status, body) = self.in_time(answer).await.map_err(|failure| failure.in_short())?;
        let body = body.map_err(|error| OneLine(&error.to_string()).to_string())?;
        Ok((status, body.to_bytes().to_vec()))
    }
}

/// Whoever answered last. Finding the monitoring takes requests to the API server, and a token that
/// is written into audit logs: not at every look of somebody who watches.
pub(super) struct Known<C>(Mutex<Option<C>>);

impl<C> Default for Known<C> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<C> Known<C> {
    /// The answer; whoever gives none is forgotten, as tokens and hosts end.
    async fn ask<T>(&self, question: impl AsyncFn(&C) -> Result<T, String>) -> Option<T> {
        let client = self.0.lock().await.take()?;
        let answer = question(&client).await.ok()?;
        self.remember(client).await;
        Some(answer)
    }

    async fn remember(&self, client: C) {
        *self.0.lock().await = Some(client);
    }
}

/// What each query yields, all of them until then; `late` is said of others. After the first one
/// without an answer nobody is asked any more, and what was answered before stays.
async fn ask_each(
    queries: &BTreeSet<String>,
    end: Instant,
    late: &str,
    ask: impl AsyncFn(&str) -> Result<Outcome, String>,
) -> Result<Outcomes, String> {
    let (mut outcomes, mut silence) = (Outcomes::new(), None);
    for query in queries.iter().take(MOST_QUERIES) {
        let answer = match &silence {
            Some(why) => Err(String::clone(why)),
            None => timeout_at(end, ask(query)).await.unwrap_or_else(|_| Err(late.to_owned())),
        };
        let outcome = match answer {
            Ok(outcome) => outcome,
            Err(why) if outcomes.is_empty() => return Err(why),
            Err(why) => Err(Failure::asking(silence.insert(why))),
        };
        outcomes.insert(query.clone(), outcome);
    }
    Ok(outcomes)
}

/// What an answer to a query means.
fn outcome(status: StatusCode, body: &[u8]) -> Outcome {
    let (answer, warnings) = reply::read(status, body).map_err(|error| Failure::asking(&error))?;
    match (answer.outcome(), warnings.first()) {
        // What is missing might say that the cluster matches; nothing says that it does not.
        (Ok(false), Some(warning)) => Err(Failure::asking(&format_args!(
            "the result 0 may be incomplete, the metrics service returned a warning: {warning}"
        ))),
        (outcome, _) => outcome,
    }
}

/// The ways of a session to a token; a certificate is for the API server alone.
fn token_alone(session: &AuthInfo) -> Option<AuthInfo> {
    let AuthInfo { token, token_file, exec, auth_provider, .. } = session.clone();
    let any = token.is_some() || token_file.is_some() || exec.is_some() || auth_provider.is_some();
    any.then(|| AuthInfo { token, token_file, exec, auth_provider, ..AuthInfo::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn whoever_answers_is_asked_again_until_there_is_no_answer() {
        let known = Known::default();
        let fine = async |name: &&str| Ok((*name).to_owned());
        assert_eq!(known.ask(fine).await, None, "nobody is known yet");
        known.remember("thanos").await;
        for _ in 0..2 {
            assert_eq!(known.ask(fine).await.as_deref(), Some("thanos"));
        }
        let refused: Option<()> = known.ask(async |_| Err("it answers 401".to_owned())).await;
        assert_eq!(refused, None);
        assert_eq!(known.ask(fine).await, None, "the token has ended");
    }

    #[tokio::test]
    async fn what_was_answered_stays_when_time_runs_out() {
        let queries = ["a", "b", "c", "d"].map(str::to_owned).into();
        let until = async |first: &str| {
            let ask = async |query: &str| {
                if query < first { Ok(Ok(true)) } else { std::future::pending().await }
            };
            ask_each(&queries, Instant::now(), "too late", ask).await
        };
        let answered = |outcomes: &Outcomes| outcomes.values().filter(|it| it.is_ok()).count();
        assert!(until("a").await.is_err(), "somebody else may answer");
        for (first, count) in [("b", 1), ("d", 3), ("e", 4)] {
            let outcomes = until(first).await.unwrap();
            assert_eq!((answered(&outcomes), outcomes.len()), (count, 4), "{first}");
        }
    }
}
