//! Datagrams of every size that a path may carry.

use std::sync::Arc;

use lockgate_offload::perf::{self, BUFFER_BYTES, FIRST_BYTES_MAX, Served, Validation};
use proptest::prelude::*;
use quinn::{Connection, Endpoint};

use crate::common::{ALL, Kind, identity, offload, run, wanted};

const BYTES: u64 = 3_000_000;

fn endpoint(kind: Kind, payload_bytes: u16) -> Endpoint {
    let offload = offload(kind);
    let transport = Arc::new(perf::transport(&offload, Some(payload_bytes)));
    let (socket, _) = perf::socket(([127, 0, 0, 1], 0).into(), BUFFER_BYTES).unwrap();
    let server = perf::server(&offload, identity(), transport.clone()).unwrap();
    let endpoint = perf::endpoint(&offload, Some(server), socket, payload_bytes);
    let mut endpoint = endpoint.unwrap();
    let client = perf::client(&offload, &wanted(), transport).unwrap();
    endpoint.set_default_client_config(client);
    endpoint
}

/// Both ways; the connection tells what it sent.
async fn transferred(kind: Kind, payload_bytes: u16) -> Connection {
    let [server, client] = [kind, kind].map(|kind| endpoint(kind, payload_bytes));
    let address = server.local_addr().unwrap();
    tokio::spawn(perf::serve(server, Served::default(), Validation::None));
    let connection = client.connect(address, "localhost").unwrap().await.unwrap();
    perf::transfer(&connection, BYTES, BYTES).await.unwrap();
    connection
}

fn carries(kind: Kind, payload_bytes: u16) {
    run(async {
        let connection = transferred(kind, payload_bytes).await;
        let stats = connection.stats();
        let case = format!("{kind:?}, {payload_bytes} B: {stats:?}");
        assert!(stats.path.current_mtu <= payload_bytes, "{case}");
        if payload_bytes <= FIRST_BYTES_MAX {
            assert_eq!(stats.path.current_mtu, payload_bytes, "{case}");
        } else {
            assert!(stats.path.current_mtu >= FIRST_BYTES_MAX, "{case}");
        }
        assert_eq!(stats.path.black_holes_detected, 0, "{case}");
        connection.close(0_u32.into(), b"");
    });
}

/// Where ten no longer fit a message, where a handshake's would be too long for quinn, and
/// the ends of what there is.
#[test]
fn datagrams_at_each_limit_carry_all() {
    for kind in [Kind::Stock, ALL, Kind::Worker] {
        for payload_bytes in [
            1200, 1452, 6550, 6551, 16_000, 16_001, 16_384, 65_000, 65_507,
        ] {
            carries(kind, payload_bytes);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(10, 300)))]

    #[test]
    fn datagrams_of_any_size_carry_all(payload_bytes in 1200_u16..=65_507, is_stock: bool) {
        carries(if is_stock { Kind::Stock } else { ALL }, payload_bytes);
    }
}
