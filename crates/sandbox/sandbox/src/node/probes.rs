//! Probes: asking a container how it is.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, HTTPGetAction, Probe, TCPSocketAction};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::runtime::{Runtime, StartError};
use super::status::ADDRESS;
use super::unverified;
use crate::init::{Attachment, Plan};

/// What a probe is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Startup,
    Readiness,
    Liveness,
}

impl Question {
    pub(crate) const ALL: [Self; 3] = [Self::Startup, Self::Readiness, Self::Liveness];

    pub(crate) fn probe(self, container: &Container) -> Option<&Probe> {
        match self {
            Self::Startup => container.startup_probe.as_ref(),
            Self::Readiness => container.readiness_probe.as_ref(),
            Self::Liveness => container.liveness_probe.as_ref(),
        }
    }

    /// As it begins sentences.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Readiness => "Readiness",
            Self::Liveness => "Liveness",
        }
    }
}

/// Answers in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    successes: i32,
    failures: i32,
}

impl Tally {
    /// Counts an answer; tells what is believed now, if enough of them agree.
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

/// How long to wait at first, and then each time.
pub(crate) fn pace(probe: &Probe) -> (Duration, Duration) {
    let seconds = |value: Option<i32>, default: u64| {
        Duration::from_secs(value.and_then(|value| u64::try_from(value).ok()).unwrap_or(default))
    };
    let period = seconds(probe.period_seconds, 10).max(Duration::from_secs(1));
    (seconds(probe.initial_delay_seconds, 0), period)
}

/// Where a probe finds a container.
pub(crate) struct Target<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) plan: &'a Plan,
    pub(crate) process: i32,
    pub(crate) container: &'a Container,
}

/// Asks once; an error is what a person is told.
pub(crate) async fn ask(probe: &Probe, target: &Target<'_>) -> Result<(), String> {
    let limit = probe.timeout_seconds.and_then(|limit| u64::try_from(limit).ok()).unwrap_or(1);
    let answer = tokio::time::timeout(Duration::from_secs(limit.max(1)), once(probe, target));
    answer.await.unwrap_or_else(|_| Err(format!("timed out after {limit}s")))
}

async fn once(probe: &Probe, target: &Target<'_>) -> Result<(), String> {
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

async fn run(command: Vec<String>, target: &Target<'_>) -> Result<(), String> {
    let plan = Plan { command, ..target.plan.clone() };
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
    let port = number(&socket.port, container)?;
    let connected = TcpStream::connect((host, port)).await;
    connected.map_err(|error| format!("dial tcp {host}:{port}: {error}"))
}

async fn http_get(get: &HTTPGetAction, container: &Container) -> Result<(), String> {
    let (host, port) = (get.host.clone(), get.port.clone());
    let stream = connect(&TCPSocketAction { host, port }, container).await?;
    if get.scheme.as_deref() == Some("HTTPS") {
        let stream = unverified::connect(stream).await.map_err(|error| error.to_string())?;
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
    let failed = |error: std::io::Error| format!("Get {path:?}: {error}");
    stream.write_all(text.as_bytes()).await.map_err(failed)?;
    // The status is in the first line; the rest is nobody's business.
    let mut line = Vec::new();
    stream.take(64).read_to_end(&mut line).await.map_err(failed)?;
    judge(&line)
}

fn judge(answer: &[u8]) -> Result<(), String> {
    let answer = String::from_utf8_lossy(answer);
    let code = answer.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
    match code.and_then(|code| code.parse::<u16>().ok()) {
        Some(200..=399) => Ok(()),
        Some(code) => Err(format!("HTTP probe failed with statuscode: {code}")),
        None => Err("malformed HTTP response".to_owned()),
    }
}

fn number(port: &IntOrString, container: &Container) -> Result<u16, String> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn enough_answers_in_a_row_make_a_belief() {
        let probe = json!({ "successThreshold": 2, "failureThreshold": 3 });
        let probe: Probe = serde_json::from_value(probe).unwrap();
        let mut tally = Tally::default();
        let answers = [true, true, false, false, true, false, false, false];
        let beliefs = answers.map(|answer| tally.count(&probe, answer));
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(beliefs, [None, yes, None, None, None, None, None, no]);
    }

    #[test]
    fn answers_of_servers_are_judged_by_their_status() {
        assert_eq!(judge(b"HTTP/1.1 200 OK\r\n"), Ok(()));
        assert_eq!(judge(b"HTTP/1.0 302 Found\r\n"), Ok(()));
        let error = judge(b"HTTP/1.1 500 Internal").unwrap_err();
        assert_eq!(error, "HTTP probe failed with statuscode: 500");
        assert!(judge(b"SSH-2.0").is_err());
    }

    #[test]
    fn ports_have_names() {
        let container = json!({ "name": "c", "ports": [{ "name": "web", "containerPort": 80 }] });
        let container = serde_json::from_value(container).unwrap();
        assert_eq!(number(&IntOrString::String("web".into()), &container), Ok(80));
        assert_eq!(number(&IntOrString::Int(8080), &container), Ok(8080));
        assert!(number(&IntOrString::String("no".into()), &container).is_err());
    }
}
