//! An echo server of quinn's, accelerated: lines that say `offload` are what is new.
//!
//! `cargo run --release --package lockgate-offload --example accelerated`, then ask it with
//! any client of QUIC that offers the protocol `perf`.

use std::error::Error;
use std::net::UdpSocket;

use lockgate_offload::{Offload, Together};
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
    while let Some(incoming) = endpoint.accept().await {
        let connection = incoming.await?;
        tokio::spawn(async move {
            while let Ok((mut send, mut receive)) = connection.accept_bi().await {
                while let Ok(Some(chunk)) = receive.read_chunk(1 << 16, true).await {
                    if send.write_chunk(chunk.bytes).await.is_err() {
                        break;
                    }
                }
                let _ = send.finish();
            }
        });
    }
    Ok(())
}
