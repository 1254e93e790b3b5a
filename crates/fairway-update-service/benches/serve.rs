//! How fast answers are served, beside a bare HTTP server that sends the same bytes from memory.
//!
//! Both servers and the clients share this machine and this process, so what counts is the ratio.
//! With `FAIRWAY_DATA`, the answers are those of a whole platform.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use fairway_testkit::measure::{Figure, Table};
use fairway_update_service::source::{Directory, ReleasesFile};
use fairway_update_service::{Options, Service, Watched};
use http::{HeaderMap, Response};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// Both sides get so many turns of this length; the best one counts, which neighbours of this
/// machine disturbed the least.
const TURNS: usize = 3;
const TURN: Duration = Duration::from_secs(2);

const CONNECTIONS: usize = 8;

#[tokio::main]
async fn main() -> Result<()> {
    let Some(data) = std::env::var_os("FAIRWAY_DATA").map(PathBuf::from) else {
        println!("FAIRWAY_DATA is not set: there is nothing to serve");
        return Ok(());
    };
    let service = start(&data).await?;
    let table = Table::new("service", "bare server");
    for channel in ["stable-4.2", "stable-4.18"] {
        for (name, headers) in [("plain", ""), ("gzip", "accept-encoding: gzip\r\n")] {
            let path = format!("/api/upgrades_info/v1/graph?channel={channel}");
            let request = format!("GET {path} HTTP/1.1\r\nhost: bench\r\n{headers}\r\n");
            measure(&table, &format!("{channel}, {name}"), &service, &request).await?;
        }
        let path = format!("/api/upgrades_info/v1/graph?channel={channel}");
        let tag = tag(service.address(), &path).await?;
        let request = format!("GET {path} HTTP/1.1\r\nhost: bench\r\nif-none-match: {tag}\r\n\r\n");
        measure(&table, &format!("{channel}, not modified"), &service, &request).await?;
    }
    with_wrk(service.address());
    service.stop().await;
    Ok(())
}

async fn start(data: &Path) -> Result<Service> {
    let often = Duration::from_mins(10);
    let graph_data = Directory::new(data.join("graph-data-2026-08"));
    let releases = ReleasesFile::new(data.join("releases-2026-08.json"));
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let mut options =
        Options::new(address, Watched::new(graph_data, often), Watched::new(releases, often));
    options.limits.drain = Duration::ZERO;
    let service = Service::start(options).await?;
    while service.status().graph.is_none() {
        sleep_until(Instant::now() + Duration::from_millis(50)).await;
    }
    Ok(service)
}

/// Measures both in turns, and prints two lines.
async fn measure(table: &Table, name: &str, service: &Service, request: &str) -> Result<()> {
    let bare = bare(first(service.address(), request).await?).await?;
    let (mut ours, mut theirs) = (Load::default(), Load::default());
    for _ in 0..TURNS {
        ours = ours.better(load(service.address(), request).await?);
        theirs = theirs.better(load(bare, request).await?);
    }
    table.row(name, ours.rate(), Some(theirs.rate()));
    println!(
        "    p50 {:.1?}, p99 {:.1?}; bare: p50 {:.1?}, p99 {:.1?}",
        ours.at(50),
        ours.at(99),
        theirs.at(50),
        theirs.at(99)
    );
    Ok(())
}

/// What clients saw.
#[derive(Default)]
struct Load {
    took: Duration,
    /// How long each answer took, in order.
    times: Vec<Duration>,
}

impl Load {
    fn better(self, other: Self) -> Self {
        if other.times.len() > self.times.len() { other } else { self }
    }

    fn rate(&self) -> Figure {
        Figure::per_second(self.times.len(), self.took)
    }

    fn at(&self, percent: usize) -> Duration {
        self.times.get(self.times.len() * percent / 100).copied().unwrap_or_default()
    }
}

/// Asks for the same thing again and again, on several connections.
async fn load(address: SocketAddr, request: &str) -> Result<Load> {
    let begun = Instant::now();
    let mut clients = JoinSet::new();
    for _ in 0..CONNECTIONS {
        clients.spawn(client(address, request.to_owned(), begun + TURN));
    }
    let mut load = Load::default();
    while let Some(times) = clients.join_next().await {
        load.times.extend(times??);
    }
    load.took = begun.elapsed();
    load.times.sort_unstable();
    Ok(load)
}

async fn client(address: SocketAddr, request: String, end: Instant) -> Result<Vec<Duration>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut times, mut buffer) = (Vec::new(), vec![0; 256 << 10]);
    // The answers are all as long as the first.
    stream.write_all(request.as_bytes()).await?;
    let length = read_answer(&mut stream).await?.length();
    while Instant::now() < end {
        let begun = Instant::now();
        stream.write_all(request.as_bytes()).await?;
        let mut left = length;
        while left > 0 {
            let read = stream.read(&mut buffer[..left.min(256 << 10)]).await?;
            ensure!(read > 0, "the connection ended");
            left -= read;
        }
        times.push(begun.elapsed());
    }
    Ok(times)
}

/// An answer: its head, and its body.
struct Answer {
    head: Vec<u8>,
    body: Vec<u8>,
}

impl Answer {
    fn length(&self) -> usize {
        self.head.len() + self.body.len()
    }

    fn header(&self, name: &str) -> Option<String> {
        let head = String::from_utf8_lossy(&self.head);
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| key == &name).map(|(_, value)| value.to_owned()).next()
    }
}

async fn first(address: SocketAddr, request: &str) -> Result<Answer> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    read_answer(&mut stream).await
}

async fn tag(address: SocketAddr, path: &str) -> Result<String> {
    let answer = first(address, &format!("GET {path} HTTP/1.1\r\nhost: bench\r\n\r\n")).await?;
    answer.header("etag").context("no tag")
}

async fn read_answer(stream: &mut TcpStream) -> Result<Answer> {
    let mut head = Vec::new();
    let end = loop {
        if let Some(end) = head.windows(4).position(|window| window == b"\r\n\r\n") {
            break end + 4;
        }
        ensure!(stream.read_buf(&mut head).await? > 0, "the connection ended");
    };
    let body = head.split_off(end);
    let mut answer = Answer { head, body };
    let length = answer.header("content-length").map_or(Ok(0), |text| text.parse())?;
    while answer.body.len() < length {
        ensure!(stream.read_buf(&mut answer.body).await? > 0, "the connection ended");
    }
    Ok(answer)
}

/// A server that does nothing but send one answer, with the same headers.
async fn bare(answer: Answer) -> Result<SocketAddr> {
    let head = String::from_utf8(answer.head)?;
    let status: u16 = head.split(' ').nth(1).context("no status")?.parse()?;
    let mut headers = HeaderMap::new();
    for (name, value) in head.lines().skip(1).filter_map(|line| line.split_once(": ")) {
        if !matches!(name, "date" | "content-length") {
            headers.insert(http::HeaderName::try_from(name)?, value.parse()?);
        }
    }
    let body = Bytes::from(answer.body);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (headers, body) = (headers.clone(), body.clone());
            tokio::spawn(async move {
                stream.set_nodelay(true)?;
                let service = service_fn(move |_| {
                    let mut response = Response::new(Full::new(body.clone()));
                    *response.status_mut() = status.try_into().expect("it came from a server");
                    response.headers_mut().clone_from(&headers);
                    std::future::ready(Ok::<_, Infallible>(response))
                });
                http1::Builder::new().serve_connection(TokioIo::new(stream), service).await?;
                anyhow::Ok(())
            });
        }
    });
    Ok(address)
}

/// The same with `wrk`, where it is installed.
fn with_wrk(address: SocketAddr) {
    let url = format!("http://{address}/api/upgrades_info/v1/graph?channel=stable-4.18");
    let run = Command::new("wrk").args(["-t1", "-c8", "-d3s", "--latency", &url]).output();
    if let Ok(output) = run {
        println!("{}", String::from_utf8_lossy(&output.stdout));
    }
}
