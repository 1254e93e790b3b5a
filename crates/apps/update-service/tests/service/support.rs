//! A service with its own files, and a client that sends raw bytes.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairway_update_service::source::{Directory, ReleasesFile};
use fairway_update_service::{PolledSource, Service, ServiceLimits, ServiceOptions, ServiceStatus};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};

/// Short, and long enough to write a file in between.
pub(crate) const SETTLE: Duration = Duration::from_millis(40);

/// The slowest test reads the graph of a real platform with an unoptimised binary on a busy host.
pub(crate) const TIMEOUT: Duration = Duration::from_mins(2);

pub(crate) const GRAPH: &str = "/api/upgrades_info/v1/graph?channel=stable-5.1";

/// Files of a service.
pub(crate) struct TestData {
    directory: tempfile::TempDir,
}

impl TestData {
    /// Three releases, one channel and one risk.
    pub(crate) fn new() -> Self {
        let data = Self { directory: tempfile::tempdir().unwrap() };
        data.write("version", "1.1.0\n");
        data.write(
            "channels/stable-5.1.yaml",
            "name: stable-5.1\nversions: [5.1.0, 5.1.1, 5.1.2]\n",
        );
        data.write(
            "blocked-edges/5.1.2-Risk.yaml",
            "to: 5.1.2\nfrom: 5[.]1[.]1.*\nurl: https://example.com/1\nname: Risk\nmessage: It breaks.\nmatchingRules: [{type: Always}]\n",
        );
        data.releases(&[("5.1.0", &[]), ("5.1.1", &["5.1.0"]), ("5.1.2", &["5.1.0", "5.1.1"])]);
        data
    }

    pub(crate) fn graph_data(&self) -> PathBuf {
        self.directory.path().join("graph-data")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file of graph-data.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.graph_data().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        fs::remove_file(self.graph_data().join(path)).unwrap();
    }

    /// Writes the list of releases with their previous versions.
    pub(crate) fn releases(&self, releases: &[(&str, &[&str])]) {
        let releases = releases.iter().map(|(version, previous)| {
            json!({
                "image": format!("registry.example/release@sha256:{version}"),
                "arch": "amd64",
                "release-metadata": {
                    "kind": "cincinnati-metadata-v0", "version": version, "previous": previous,
                },
            })
        });
        let list = releases.collect::<Value>().to_string();
        fs::write(self.path("releases.json"), list).unwrap();
    }

    pub(crate) fn options(&self) -> ServiceOptions {
        options(&self.graph_data(), &self.path("releases.json"))
    }

    /// Starts a service and waits for its graph. It keeps the graph when the files are removed.
    pub(crate) async fn serve(&self) -> Service {
        let service = Service::start(self.options()).await.unwrap();
        until(&service, |status| status.graph.is_some()).await;
        service
    }
}

/// Options with short poll intervals.
pub(crate) fn options(graph_data: &Path, releases: &Path) -> ServiceOptions {
    let directory = Directory::new(graph_data).settle(SETTLE);
    let file = ReleasesFile::new(releases).settle(SETTLE);
    let mut options = ServiceOptions::new(
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        PolledSource::new(directory, SETTLE / 2),
        PolledSource::new(file, SETTLE / 2),
    );
    options.limits =
        ServiceLimits { drain: Duration::from_millis(100), ..ServiceLimits::default() };
    options
}

/// Waits until the status meets a condition.
pub(crate) async fn until(service: &Service, reached: impl Fn(&ServiceStatus) -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !reached(&service.status()) {
        assert!(Instant::now() < deadline, "{:#?}", service.status());
        sleep_until(Instant::now() + Duration::from_millis(5)).await;
    }
}

/// A raw response.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn tag(&self) -> String {
        self.header("etag").unwrap().to_owned()
    }
}

/// Sends a request on a new connection.
pub(crate) async fn request(service: &Service, method: &str, path: &str, headers: &str) -> Reply {
    let text =
        format!("{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n{headers}\r\n");
    send(service.address(), text.as_bytes()).await.expect("an answer")
}

pub(crate) async fn get(service: &Service, path: &str) -> Reply {
    request(service, "GET", path, "").await
}

/// Sends bytes and reads the response, if any.
pub(crate) async fn send(address: SocketAddr, bytes: &[u8]) -> Option<Reply> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may close the connection before it has read everything.
    let _ = stream.write_all(bytes).await;
    let without_body = bytes.starts_with(b"HEAD");
    timeout(TIMEOUT, read_reply(&mut stream, without_body)).await.expect("in time")
}

/// Reads one response; `None` if the connection ends early.
pub(crate) async fn read_reply(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    without_body: bool,
) -> Option<Reply> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let mut body = bytes.split_off(end + 4);
    let head = String::from_utf8(bytes).unwrap();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let mut reply = Reply { status, head, body: Vec::new() };
    let bodiless = without_body || status == 304 || status == 204;
    let length: usize = if bodiless {
        0
    } else {
        reply.header("content-length").map_or(0, |text| text.parse().unwrap())
    };
    while body.len() < length {
        if stream.read_buf(&mut body).await.ok()? == 0 {
            return None;
        }
    }
    reply.body = body;
    Some(reply)
}
