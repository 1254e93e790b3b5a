//! The alerts of a cluster, from its monitoring.

use fairway_insight::{Alerts, alerts};
use http::Uri;
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

use super::Cluster;
use super::advice::Failure;
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
        match self.find_alerts().await {
            Ok(alerts) => alerts,
            Err(why) => Alerts::Unreadable(why),
        }
    }

    async fn find_alerts(&self) -> Result<Alerts, String> {
        let told = |error: anyhow::Error| format!("{error:#}");
        let Some(route) = self.one::<Route>(ROUTE).await.map_err(told)? else {
            let routes: Option<serde::de::IgnoredAny> = self.one(ROUTES).await.map_err(told)?;
            return match routes {
                None => Ok(Alerts::NoMonitoring),
                Some(_) => {
                    Err("the cluster has no Route openshift-monitoring/thanos-querier".into())
                }
            };
        };
        let token = match token_alone(&self.config.auth_info) {
            Some(token) => token,
            None => self.lent_token().await?,
        };
        let mut why = "the Route openshift-monitoring/thanos-querier names no host".to_owned();
        let authorities = self.authorities().await;
        for Ingress { host } in route.status.ingress {
            match self.alerts_from(&host, token.clone(), authorities.clone()).await {
                Ok(alerts) => return Ok(alerts),
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
                "this session has no token, the monitoring takes no client certificates, and \
                 none is lent for ServiceAccount {NAMESPACE}/{READER}: {}; `oc login` gets a token",
                failure.in_short()
            )
        })?;
        let token = lent.status.map(|status| status.token.into());
        Ok(AuthInfo { token, ..AuthInfo::default() })
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

    async fn alerts_from(
        &self,
        host: &str,
        token: AuthInfo,
        authorities: Option<Vec<Vec<u8>>>,
    ) -> Result<Alerts, String> {
        let url: Uri = format!("https://{host}").parse().map_err(|_| "not a host".to_owned())?;
        let mut config = Config::new(url);
        config.auth_info = token;
        config.root_cert = authorities;
        config.accept_invalid_certs = self.config.accept_invalid_certs;
        config.proxy_url = self.config.proxy_url.clone();
        config.connect_timeout = Some(self.timeout);
        let client = Client::try_from(config).map_err(|error| error.to_string())?;
        let read = async { Ok(read(&client).await) };
        self.in_time(read).await.map_err(|failure: Failure| failure.in_short())?
    }
}

/// The ways of a session to a token; a certificate is for the API server alone.
fn token_alone(session: &AuthInfo) -> Option<AuthInfo> {
    let AuthInfo { token, token_file, exec, auth_provider, .. } = session.clone();
    let any = token.is_some() || token_file.is_some() || exec.is_some() || auth_provider.is_some();
    any.then(|| AuthInfo { token, token_file, exec, auth_provider, ..AuthInfo::default() })
}

async fn read(client: &Client) -> Result<Alerts, String> {
    let request = http::Request::get("/api/v1/alerts").body(Body::empty());
    let request = request.map_err(|error| error.to_string())?;
    let answer = client.send(request).await.map_err(|error| Failure::Refused(error).in_short())?;
    if !answer.status().is_success() {
        return Err(format!("it answers {}", answer.status()));
    }
    let body = Limited::new(answer.into_body(), alerts::MAX_BYTES).collect().await;
    let body = body.map_err(|error| OneLine(&error.to_string()).to_string())?;
    let alerts = alerts::read(&body.to_bytes()).map_err(|error| error.to_string())?;
    Ok(Alerts::Known(alerts))
}
