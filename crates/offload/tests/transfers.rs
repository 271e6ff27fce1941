//! Every kind of endpoint with every other.

use lockgate_offload::Together;

use crate::common::{ALL, Kind, bytes, connect, echo, party, round_trip, run};

const SEAL: Together = Together {
    seal: true,
    open: false,
};
const OPEN: Together = Together {
    seal: false,
    open: true,
};

#[test]
fn every_kind_talks_to_every_kind() {
    let kinds = [
        Kind::Stock,
        Kind::Ours("kernels", Together::NONE),
        Kind::Ours("kernels", SEAL),
        Kind::Ours("kernels", OPEN),
        ALL,
        Kind::Ours("aws-lc", Together::ALL),
        Kind::Ours("portable", Together::ALL),
        Kind::Worker,
    ];
    let text = bytes(300_000);
    for server in kinds {
        for client in kinds {
            run(async {
                let (server, client) = (party(server, |_| {}), party(client, |_| {}));
                echo(&server.endpoint);
                let connection = connect(&client, server.address()).await;
                assert!(round_trip(&connection, &text).await == text);
                connection.close(0_u32.into(), b"");
            });
        }
    }
}

#[test]
fn nearly_all_packets_are_sealed_and_opened_together() {
    run(async {
        let (server, client) = (party(ALL, |_| {}), party(ALL, |_| {}));
        echo(&server.endpoint);
        let connection = connect(&client, server.address()).await;
        let text = bytes(3_000_000);
        assert!(round_trip(&connection, &text).await == text);
        for counts in [server.counts(), client.counts()] {
            assert!(counts.sealed_together > 2000, "{counts:?}");
            assert!(counts.opened_together > 1000, "{counts:?}");
            assert!(counts.sealed_alone <= 20, "{counts:?}");
            assert!(counts.opened_alone <= 20, "{counts:?}");
            assert_eq!(
                (counts.spoilt, counts.unmatched, counts.failed_messages),
                (0, 0, 0)
            );
            assert!(counts.datagrams > 5 * counts.messages / 2, "{counts:?}");
        }
    });
}

#[test]
fn connections_on_several_threads_share_an_endpoint() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(3)
        .enable_all()
        .build()
        .unwrap();
    for kind in [ALL, Kind::Worker] {
        runtime.block_on(many(kind));
    }
}

async fn many(kind: Kind) {
    let (server, client) = (party(kind, |_| {}), party(kind, |_| {}));
    echo(&server.endpoint);
    let text = bytes(200_000);
    let mut tasks = Vec::new();
    for _ in 0..24 {
        let connecting = client.endpoint.connect(server.address(), "localhost");
        let text = text.clone();
        tasks.push(tokio::spawn(async move {
            let connection = connecting.unwrap().await.unwrap();
            for _ in 0..3 {
                assert!(round_trip(&connection, &text).await == text);
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let counts = server.counts();
    assert!(
        counts.opened_together > 10 * counts.opened_alone,
        "{counts:?}"
    );
    assert_eq!((counts.spoilt, counts.unmatched), (0, 0));
}
