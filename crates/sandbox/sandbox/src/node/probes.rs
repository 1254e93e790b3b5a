//! Startup, readiness and liveness probes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, HTTPGetAction, Probe, TCPSocketAction};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::runtime::{Runtime, StartError};
use super::status::ADDRESS;
use crate::init::{Attachment, ContainerSpec};

/// Type of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeKind {
    Startup,
    Readiness,
    Liveness,
}

impl ProbeKind {
    pub(crate) const ALL: [Self; 3] = [Self::Startup, Self::Readiness, Self::Liveness];

    pub(crate) fn probe(self, container: &Container) -> Option<&Probe> {
        match self {
            Self::Startup => container.startup_probe.as_ref(),
            Self::Readiness => container.readiness_probe.as_ref(),
            Self::Liveness => container.liveness_probe.as_ref(),
        }
    }

    /// The name in event messages.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Readiness => "Readiness",
            Self::Liveness => "Liveness",
        }
    }
}

/// Consecutive probe results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProbeCounter {
    successes: i32,
    failures: i32,
}

impl ProbeCounter {
    /// Counts a result; returns the new state when a threshold is reached.
    pub(crate) fn count(&mut self, probe: &Probe, success: bool) -> Option<bool> {
        let (row, threshold) = if success {
            *self = Self { successes: self.successes.saturating_add(1), failures: 0 };
            (self.successes, probe.success_threshold.unwrap_or(1))
        } else {
            *self = Self { successes: 0, failures: self.failures.saturating_add(1) };
            (self.failures, probe.failure_threshold.unwrap_or(3))
        };
        (row >= threshold).then_some(success)
    }
}

/// Initial delay and period.
pub(crate) fn schedule(probe: &Probe) -> (Duration, Duration) {
    let seconds = |value: Option<i32>, default: u64| {
        Duration::from_secs(value.and_then(|value| u64::try_from(value).ok()).unwrap_or(default))
    };
    let period = seconds(probe.period_seconds, 10).max(Duration::from_secs(1));
    (seconds(probe.initial_delay_seconds, 0), period)
}

/// The container that a probe targets.
pub(crate) struct ProbeTarget<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) plan: &'a ContainerSpec,
    pub(crate) process: i32,
    pub(crate) container: &'a Container,
}

/// Runs a probe once. The error is part of an event message.
pub(crate) async fn run_probe(probe: &Probe, target: &ProbeTarget<'_>) -> Result<(), String> {
    let limit = probe.timeout_seconds.and_then(|limit| u64::try_from(limit).ok()).unwrap_or(1);
    let result = tokio::time::timeout(Duration::from_secs(limit.max(1)), once(probe, target));
    result.await.unwrap_or_else(|_| Err(format!("timed out after {limit}s")))
}

async fn once(probe: &Probe, target: &ProbeTarget<'_>) -> Result<(), String> {
    if let Some(exec) = &probe.exec {
        return run(exec.command.clone().unwrap_or_default(), target).await;
    }
    if let Some(get) = &probe.http_get {
        return http_get(get, target.container).await;
    }
    if let Some(socket) = &probe.tcp_socket {
        return connect(socket, target.container).await.map(drop);
    }
    Err("the sandbox supports only the probes exec, httpGet and tcpSocket".to_owned())
}

async fn run(command: Vec<String>, target: &ProbeTarget<'_>) -> Result<(), String> {
    let plan = ContainerSpec { command, ..target.plan.clone() };
    let attachment = Attachment { process: target.process, plan };
    match target.runtime.attach(&attachment).await {
        Ok((0, _)) => Ok(()),
        Ok((_, output)) => Err(String::from_utf8_lossy(&output).into_owned()),
        Err(StartError::Refused(message)) => Err(message),
        Err(error) => Err(error.to_string()),
    }
}

async fn connect(socket: &TCPSocketAction, container: &Container) -> Result<TcpStream, String> {
    let host = socket.host.as_deref().unwrap_or(ADDRESS);
    let port = port_number(&socket.port, container)?;
    let connected = TcpStream::connect((host, port)).await;
    connected.map_err(|error| format!("dial tcp {host}:{port}: {error}"))
}

async fn http_get(get: &HTTPGetAction, container: &Container) -> Result<(), String> {
    let (host, port) = (get.host.clone(), get.port.clone());
    let stream = connect(&TCPSocketAction { host, port }, container).await?;
    if get.scheme.as_deref() == Some("HTTPS") {
        let stream = connect_tls(stream).await.map_err(|error| error.to_string())?;
        request(stream, get).await
    } else {
        request(stream, get).await
    }
}

async fn request<S>(mut stream: S, get: &HTTPGetAction) -> Result<(), String>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let path = get.path.as_deref().unwrap_or("/");
    let headers = get.http_headers.iter().flatten();
    let headers: Vec<String> =
        headers.map(|header| format!("{}: {}\r\n", header.name, header.value)).collect();
    let headers = headers.concat();
    let text = format!(
        "GET {path} HTTP/1.1\r\nHost: {ADDRESS}\r\nUser-Agent: kube-probe/1.33\r\n\
         Accept: */*\r\nConnection: close\r\n{headers}\r\n"
    );
    let failed = |error: io::Error| format!("Get {path:?}: {error}");
    stream.write_all(text.as_bytes()).await.map_err(failed)?;
    // The status is in the first line; the rest is not needed.
    let mut line = Vec::new();
    stream.take(64).read_to_end(&mut line).await.map_err(failed)?;
    parse_status(&line)
}

fn parse_status(result: &[u8]) -> Result<(), String> {
    let result = String::from_utf8_lossy(result);
    let code = result.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
    match code.and_then(|code| code.parse::<u16>().ok()) {
        Some(200..=399) => Ok(()),
        Some(code) => Err(format!("HTTP probe failed with statuscode: {code}")),
        None => Err("malformed HTTP response".to_owned()),
    }
}

fn port_number(port: &IntOrString, container: &Container) -> Result<u16, String> {
    let number = match port {
        IntOrString::Int(number) => Some(*number),
        IntOrString::String(name) => {
            let mut ports = container.ports.iter().flatten();
            let named = ports.find(|port| port.name.as_ref() == Some(name));
            named.map(|port| port.container_port).or_else(|| name.parse().ok())
        }
    };
    let number = number.and_then(|number| u16::try_from(number).ok());
    number.ok_or_else(|| format!("couldn't find port: {port:?}"))
}

/// Connects with TLS and accepts every certificate, as kubelets do: probes send no secrets, and
/// certificates of pods are not made for kubelets.
async fn connect_tls(stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AcceptAnyCertificate(provider)))
        .with_no_client_auth();
    let name = ServerName::IpAddress(stream.peer_addr()?.ip().into());
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

/// Accepts every certificate, but verifies that the server has its key.
#[derive(Debug)]
struct AcceptAnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyCertificate {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn count_reaches_threshold_after_consecutive_results() {
        let probe = json!({ "successThreshold": 2, "failureThreshold": 3 });
        let probe: Probe = serde_json::from_value(probe).unwrap();
        let mut counter = ProbeCounter::default();
        let answers = [true, true, false, false, true, false, false, false];
        let beliefs = answers.map(|result| counter.count(&probe, result));
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(beliefs, [None, yes, None, None, None, None, None, no]);
    }

    #[test]
    fn parse_status_accepts_2xx_and_3xx() {
        assert_eq!(parse_status(b"HTTP/1.1 200 OK\r\n"), Ok(()));
        assert_eq!(parse_status(b"HTTP/1.0 302 Found\r\n"), Ok(()));
        let error = parse_status(b"HTTP/1.1 500 Internal").unwrap_err();
        assert_eq!(error, "HTTP probe failed with statuscode: 500");
        assert!(parse_status(b"SSH-2.0").is_err());
    }

    #[test]
    fn port_number_resolves_names() {
        let container = json!({ "name": "c", "ports": [{ "name": "web", "containerPort": 80 }] });
        let container = serde_json::from_value(container).unwrap();
        assert_eq!(port_number(&IntOrString::String("web".into()), &container), Ok(80));
        assert_eq!(port_number(&IntOrString::Int(8080), &container), Ok(8080));
        assert!(port_number(&IntOrString::String("no".into()), &container).is_err());
    }
}
