//! A server that sends one fixed response.

use std::convert::Infallible;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, Response, StatusCode};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// A raw response.
pub(crate) struct RawResponse {
    head: String,
    pub(crate) body: Bytes,
}

impl RawResponse {
    pub(crate) fn header(&self, name: &str) -> Result<String> {
        let value = self.headers().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned());
        value.with_context(|| format!("the answer has no {name}"))
    }

    fn status(&self) -> Result<StatusCode> {
        Ok(self.head.split(' ').nth(1).context("no status")?.parse()?)
    }

    fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.head.lines().skip(1).filter_map(|line| line.split_once(": "))
    }
}

/// Fetches a response.
pub(crate) fn fetch(
    address: SocketAddr,
    path: &str,
    headers: &[(String, String)],
) -> Result<RawResponse> {
    let mut request = format!("GET {path} HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n");
    for (name, value) in headers {
        write!(request, "{name}: {value}\r\n")?;
    }
    let mut stream = TcpStream::connect(address)?;
    stream.write_all((request + "\r\n").as_bytes())?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").context("no headers")?;
    let body = Bytes::copy_from_slice(&bytes[end + 4..]);
    Ok(RawResponse { head: String::from_utf8(bytes[..end].to_vec())?, body })
}

/// Serves a response with the same headers for all requests.
pub(crate) async fn serve(answer: RawResponse) -> Result<SocketAddr> {
    let status = answer.status()?;
    let mut headers = HeaderMap::new();
    // Headers of the connection, which hyper writes itself.
    let own = ["connection", "content-length", "date"];
    for (name, value) in answer.headers().filter(|(name, _)| !own.contains(name)) {
        headers.insert(HeaderName::try_from(name)?, value.parse()?);
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (headers, body) = (headers.clone(), answer.body.clone());
            tokio::spawn(async move {
                stream.set_nodelay(true)?;
                let service = service_fn(move |_| {
                    let mut response = Response::new(Full::new(body.clone()));
                    *response.status_mut() = status;
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
