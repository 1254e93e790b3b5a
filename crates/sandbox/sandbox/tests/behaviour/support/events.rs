//! Events of a watch.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use http::Response;
use http_body_util::BodyExt;
use kube::client::Body;
use serde_json::Value;
use tokio::time::timeout;

use super::response::Normalizer;

/// Timeout of an event.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Events of a watch.
pub(crate) struct WatchEvents {
    body: Body,
    read: Vec<u8>,
    names: Normalizer,
}

impl WatchEvents {
    pub(super) async fn of(response: Response<Body>, names: Normalizer) -> Result<Self> {
        let status = response.status();
        let mut body = response.into_body();
        if !status.is_success() {
            let text =
                String::from_utf8_lossy(&(&mut body).collect().await?.to_bytes()).into_owned();
            bail!("the watch was refused: {status} {text}");
        }
        Ok(Self { body, read: Vec::new(), names })
    }

    /// The next event; `None` at the end of the watch.
    pub(crate) async fn next(&mut self) -> Result<Option<Value>> {
        loop {
            if let Some(end) = self.read.iter().position(|&byte| byte == b'\n') {
                let line: Vec<u8> = self.read.drain(..=end).collect();
                return serde_json::from_slice(&line).map(Some).context("no event");
            }
            let frame = timeout(TIMEOUT, self.body.frame()).await.context("no event came")?;
            let Some(frame) = frame else {
                ensure!(self.read.is_empty(), "the watch ends within an event");
                return Ok(None);
            };
            if let Ok(data) = frame?.into_data() {
                self.read.extend_from_slice(&data);
            }
        }
    }

    /// The next event; an error at the end of the watch.
    pub(crate) async fn event(&mut self) -> Result<Value> {
        self.next().await?.context("the watch ended")
    }

    /// This number of events, one per line: type, name and data.
    pub(crate) async fn shown(&mut self, count: usize) -> Result<String> {
        let mut lines = Vec::new();
        for _ in 0..count {
            lines.push({
                let event = self.event().await?;
                self.line(&event)
            });
        }
        Ok(lines.join("\n"))
    }

    /// All events until the end of the watch.
    pub(crate) async fn rest(&mut self) -> Result<String> {
        let mut lines = Vec::new();
        while let Some(event) = self.next().await? {
            lines.push(self.line(&event));
        }
        Ok(lines.join("\n"))
    }

    fn line(&self, event: &Value) -> String {
        let (kind, object) = (event["type"].as_str().unwrap_or("-"), &event["object"]);
        let text = match kind {
            "ERROR" => {
                format!("ERROR {} {}: {}", object["code"], object["reason"], object["message"])
            }
            "BOOKMARK" => format!("BOOKMARK {}", object["kind"]),
            _ => format!("{kind} {} {}", object["metadata"]["name"], object["data"]),
        };
        self.names.normalize(&text)
    }
}
