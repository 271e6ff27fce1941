//! What comes before, beside and instead of 1-RTT packets.

use std::sync::Arc;
use std::time::Duration;

use quinn::EndpointConfig;

use crate::common::{
    ALL, Kind, bytes, connect, echo, echo_of, party, party_on, round_trip, run, socket,
};

fn pairs() -> [(Kind, Kind); 4] {
    [
        (ALL, ALL),
        (ALL, Kind::Stock),
        (Kind::Stock, ALL),
        (Kind::Worker, Kind::Worker),
    ]
}

#[test]
fn data_of_0_rtt_arrives() {
    for (server, client) in pairs() {
        run(async {
            let (server, client) = (party(server, |_| {}), party(client, |_| {}));
            echo(&server.endpoint);
            let text = bytes(50_000);
            let first = connect(&client, server.address()).await;
            assert!(round_trip(&first, &text).await == text);
            let connecting = client.endpoint.connect(server.address(), "localhost");
            let (second, accepted) = match connecting.unwrap().into_0rtt() {
                Ok(early) => early,
                Err(_) => panic!("a ticket was there"),
            };
            assert!(round_trip(&second, &text).await == text);
            assert!(accepted.await);
            assert!(round_trip(&second, &text).await == text);
        });
    }
}

#[test]
fn addresses_are_validated_by_retry() {
    for (server, client) in pairs() {
        run(async {
            let (server, client) = (party(server, |_| {}), party(client, |_| {}));
            let listening = server.endpoint.clone();
            tokio::spawn(async move {
                while let Some(incoming) = listening.accept().await {
                    if !incoming.remote_address_validated() {
                        incoming.retry().unwrap();
                        continue;
                    }
                    tokio::spawn(echo_of(incoming.await.unwrap()));
                }
            });
            let text = bytes(50_000);
            let connection = connect(&client, server.address()).await;
            assert!(round_trip(&connection, &text).await == text);
        });
    }
}

#[test]
fn a_client_moves_to_another_address() {
    for (server, client) in pairs() {
        run(async {
            let opens_together = client != Kind::Stock;
            let (server, client) = (party(server, |_| {}), party(client, |_| {}));
            echo(&server.endpoint);
            let text = bytes(1_000_000);
            let connection = connect(&client, server.address()).await;
            let mut before = client.counts();
            for _ in 0..5 {
                assert!(round_trip(&connection, &text).await == text);
                // What comes before the first packet to a new id is opened is opened alone:
                // how much, the host decides, but more than one flight comes.
                let counts = client.counts();
                let is_more = counts.opened_together > before.opened_together;
                assert_eq!(is_more, opens_together, "{before:?}, {counts:?}");
                before = counts;
                client.endpoint.rebind(socket()).unwrap();
            }
        });
    }
}

/// A server that lost its connections says so, though no key of theirs is left.
#[test]
fn a_server_resets_what_it_does_not_know() {
    for (server, client) in pairs() {
        let (sender, address) = std::sync::mpsc::channel();
        let (forget, forgotten) = tokio::sync::oneshot::channel::<()>();
        let first = std::thread::spawn(move || {
            run(async {
                let server = party_on(server, socket(), steady, |_| {});
                echo(&server.endpoint);
                sender.send(server.address()).unwrap();
                // Its runtime ends without a word to the client.
                let _ = forgotten.await;
            });
        });
        run(async {
            let client = party(client, |_| {});
            let address = address.recv().unwrap();
            let connection = connect(&client, address).await;
            assert!(round_trip(&connection, b"here").await == b"here");
            forget.send(()).unwrap();
            first.join().unwrap();
            let again = std::net::UdpSocket::bind(address).unwrap();
            let _second = party_on(server, again, steady, |_| {});
            while let Ok((mut send, _)) = connection.open_bi().await {
                let _ = send.write_all(&[1; 2000]).await;
                tokio::time::sleep(Duration::from_millis(20)).await;
                if connection.close_reason().is_some() {
                    break;
                }
            }
            assert_eq!(connection.closed().await, quinn::ConnectionError::Reset);
        });
    }
}

/// Knows its ids and reset tokens again.
fn steady() -> EndpointConfig {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &[7; 64]);
    let mut config = EndpointConfig::new(Arc::new(key));
    config.cid_generator(|| Box::new(quinn_proto::HashedConnectionIdGenerator::from_key(7)));
    config
}
