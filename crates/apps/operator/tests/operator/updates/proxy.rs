//! Clusters that reach the outside only through a proxy.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::service::{Service, leads_to};
use super::stage::{Stage, lazy, message};

/// A proxy that finds one machine behind every name. It ends with this value.
pub(crate) struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn start(behind: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let seen = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // A client that goes away is none of the proxy's business.
                let _ = forward(client, behind, &seen).await;
            }
        });
        Self { address, asked, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://me:secret@{}", self.address)
    }

    /// The heads of the requests so far.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(
    mut client: TcpStream,
    behind: SocketAddr,
    asked: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await?);
    }
    asked.lock().unwrap().push(String::from_utf8_lossy(&head).into_owned());
    let mut server = TcpStream::connect(behind).await?;
    if head.starts_with(b"CONNECT ") {
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
    } else {
        server.write_all(&head).await?;
    }
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

/// An address of this machine for which proxies are used.
fn outside(service: &Service) -> String {
    format!("http://0.0.0.0:{}/graph", service.address().port())
}

#[tokio::test]
async fn the_service_is_asked_through_the_proxy() {
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let proxy = Proxy::start(service.address()).await;
    let stage = Stage::start(&outside(&service), lazy());
    stage.until_offered(&["5.1.1"]).await;
    stage.set_proxy(&proxy.url(), "");
    stage.edit(|spec| spec.upstream = Some("http://updates.example/graph".to_owned()));
    stage.until(|updates| updates.generation == 2).await;
    stage.until_offered(&["5.1.1"]).await;
    let asked = proxy.asked();
    let asked = asked.last().unwrap();
    assert!(asked.starts_with("GET http://updates.example/graph?arch=amd64&"), "{asked}");
    assert!(asked.contains("proxy-authorization: Basic "), "{asked}");
}

#[tokio::test]
async fn who_is_excepted_is_asked_directly() {
    let service =
        Service::start_at((Ipv4Addr::UNSPECIFIED, 0).into(), |_| leads_to(&["5.1.1"])).await;
    let proxy = Proxy::start(service.address()).await;
    let stage = Stage::start(&outside(&service), lazy());
    stage.until_offered(&["5.1.1"]).await;
    stage.set_proxy(&proxy.url(), "updates.example,0.0.0.0/8");
    stage.until_counted("Unchanged", 1).await;
    assert_eq!(proxy.asked().len(), 0);
    stage.set_proxy(&proxy.url(), "updates.example");
    stage.until_counted("Unchanged", 2).await;
    assert_eq!(proxy.asked().len(), 1);
    stage.edit(|spec| spec.upstream = Some(service.url().replace("0.0.0.0", "127.0.0.1")));
    stage.until(|updates| updates.generation == 2).await;
    assert_eq!(proxy.asked().len(), 1);
}

#[tokio::test]
async fn a_proxy_that_is_none_is_not_gone_around() {
    let service = Service::start(|_| leads_to(&["5.1.1"])).await;
    let stage = Stage::start(&outside(&service), lazy());
    stage.until_offered(&["5.1.1"]).await;
    stage.set_proxy("socks5://me:secret@proxy.example", "");
    let updates = stage.until_failed("RemoteFailed").await;
    insta::assert_snapshot!(message(&updates, service.address()), @"Unable to retrieve available updates: invalid httpProxy in Proxy cluster: not an http or https URL. The listed updates are from …");
    assert_eq!(service.asked().len(), 1);
}
