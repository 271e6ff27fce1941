//! Key updates, in both directions, also at the same time.

use std::time::Duration;

use crate::common::{ALL, Kind, bytes, connect, echo_of, party, round_trip, run};

fn updates_are_followed(server: Kind, client: Kind) {
    run(async {
        let (server, client) = (party(server, |_| {}), party(client, |_| {}));
        let listening = server.endpoint.clone();
        let accepted =
            tokio::spawn(async move { listening.accept().await.unwrap().await.unwrap() });
        let connection = connect(&client, server.address()).await;
        let other = accepted.await.unwrap();
        tokio::spawn(echo_of(other.clone()));
        let updating = connection.clone();
        let updates = tokio::spawn(async move {
            for round in 0.. {
                tokio::time::sleep(Duration::from_millis(2)).await;
                if round % 3 != 1 {
                    updating.force_key_update();
                }
                if round % 3 != 0 {
                    other.force_key_update();
                }
            }
        });
        let text = bytes(1_000_000);
        for _ in 0..4 {
            assert!(round_trip(&connection, &text).await == text);
        }
        updates.abort();
        for (party, counts) in [("server", server.counts()), ("client", client.counts())] {
            assert_eq!((counts.spoilt, counts.unmatched), (0, 0), "{party}");
        }
        if client.counts().opened_together > 0 {
            let counts = client.counts();
            assert!(
                counts.opened_together > 4 * counts.opened_alone,
                "{counts:?}"
            );
        }
    });
}

#[test]
fn between_two_of_ours() {
    updates_are_followed(ALL, ALL);
}

#[test]
fn between_two_with_workers() {
    updates_are_followed(Kind::Worker, Kind::Worker);
}

#[test]
fn with_a_stock_server() {
    updates_are_followed(Kind::Stock, ALL);
}

#[test]
fn with_a_stock_client() {
    updates_are_followed(ALL, Kind::Stock);
}
