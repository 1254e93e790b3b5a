//! What several of these tests need: a service with its own files, and a client that sends bytes.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fairway_update_service::source::{Directory, ReleasesFile};
use fairway_update_service::{Limits, Options, Service, Status, Watched};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};

/// Short enough for a test, and long enough for a file to be written in between.
pub(crate) const SETTLE: Duration = Duration::from_millis(40);

/// Nothing here takes so long, unless it is broken: the slowest is a whole platform, read by a
/// program that was not optimised on a machine that does something else, too.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) const GRAPH: &str = "/api/upgrades_info/v1/graph?channel=stable-5.1";

/// Files that a service reads.
pub(crate) struct World {
    directory: tempfile::TempDir,
}

impl World {
    /// Three releases, one channel and one risk.
    pub(crate) fn new() -> Self {
        let world = Self { directory: tempfile::tempdir().unwrap() };
        world.write("version", "1.1.0\n");
        world.write(
            "channels/stable-5.1.yaml",
            "name: stable-5.1\nversions: [5.1.0, 5.1.1, 5.1.2]\n",
        );
        world.write(
            "blocked-edges/5.1.2-Risk.yaml",
            "to: 5.1.2\nfrom: 5[.]1[.]1.*\nurl: https://example.com/1\nname: Risk\nmessage: It breaks.\nmatchingRules: [{type: Always}]\n",
        );
        world.releases(&[("5.1.0", &[]), ("5.1.1", &["5.1.0"]), ("5.1.2", &["5.1.0", "5.1.1"])]);
        world
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

    /// Writes the list of releases: versions, and those before them.
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

    pub(crate) fn options(&self) -> Options {
        options(&self.graph_data(), &self.path("releases.json"))
    }

    /// A service that has a graph, which it keeps even when these files go away.
    pub(crate) async fn serve(&self) -> Service {
        let service = Service::start(self.options()).await.unwrap();
        until(&service, |status| status.graph.is_some()).await;
        service
    }
}

/// A service that looks at these files all the time.
pub(crate) fn options(graph_data: &Path, releases: &Path) -> Options {
    let directory = Directory::new(graph_data).settle(SETTLE);
    let file = ReleasesFile::new(releases).settle(SETTLE);
    let mut options = Options::new(
        SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        Watched::new(directory, SETTLE / 2),
        Watched::new(file, SETTLE / 2),
    );
    options.limits = Limits { drain: Duration::from_millis(100), ..Limits::default() };
    options
}

/// Waits until things are like that.
pub(crate) async fn until(service: &Service, reached: impl Fn(&Status) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !reached(&service.status()) {
        assert!(Instant::now() < deadline, "{:#?}", service.status());
        sleep_until(Instant::now() + Duration::from_millis(5)).await;
    }
}

/// An answer as it came.
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

/// Sends a request on a connection of its own.
pub(crate) async fn request(service: &Service, method: &str, path: &str, headers: &str) -> Reply {
    let text =
        format!("{method} {path} HTTP/1.1\r\nhost: test\r\nconnection: close\r\n{headers}\r\n");
    send(service.address(), text.as_bytes()).await.expect("an answer")
}

pub(crate) async fn get(service: &Service, path: &str) -> Reply {
    request(service, "GET", path, "").await
}

/// Sends bytes, and reads the answer, if there is one.
pub(crate) async fn send(address: SocketAddr, bytes: &[u8]) -> Option<Reply> {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // Whoever refuses the beginning does not read the rest.
    let _ = stream.write_all(bytes).await;
    let without_body = bytes.starts_with(b"HEAD");
    timeout(PATIENCE, read_reply(&mut stream, without_body)).await.expect("in time")
}

/// Reads one answer; `None` if the connection ends before it does.
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
