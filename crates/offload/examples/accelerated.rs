//! A server of quinn's, accelerated: the four lines that say `offload` are what is new.
//!
//! `cargo run --release --package lockgate-offload --example accelerated`, then ask it with
//! `lockgate quic perf client [::1]:4433 --insecure --protection stock`, or with another
//! client of draft-banks-quic-performance.

use std::error::Error;
use std::net::UdpSocket;

use lockgate_offload::{Offload, Together, perf};
use quinn::EndpointConfig;
use quinn::crypto::rustls::QuicServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::version::TLS13;

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(serve())
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());

    let offload = Offload::new(&crypto::by_name("kernels")?, Together::ALL);
    let mut tls = rustls::ServerConfig::builder_with_provider(offload.provider())
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key.into())?;
    tls.alpn_protocols = vec![b"perf".to_vec()];
    let server = offload.server(QuicServerConfig::try_from(tls)?);
    let socket = UdpSocket::bind("[::]:4433")?;
    let endpoint = offload.endpoint(EndpointConfig::default(), Some(server), socket)?;

    println!("listening on {}", endpoint.local_addr()?);
    let served = perf::Served::default();
    perf::serve(endpoint, served, perf::Validation::None).await;
    Ok(())
}
