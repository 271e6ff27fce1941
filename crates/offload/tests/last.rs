//! What is held is sent, whatever ends.

use std::time::Duration;

use crate::common::{ALL, Kind, bytes, connect, party, run};

/// The client's thread ends with its runtime as soon as all is written and acknowledged
/// once; the server gets all of it, and the close that was sent last.
#[test]
fn the_last_datagrams_leave_with_the_runtime() {
    let mut closed = 0;
    for (round, kind) in (0..20).zip([ALL, Kind::Worker].into_iter().cycle()) {
        let text = bytes(1 + round * 1337);
        let (sender, receiver) = std::sync::mpsc::channel();
        let (will_close, closes) = std::sync::mpsc::channel::<bool>();
        let expected = text.clone();
        let server = std::thread::spawn(move || {
            run(async {
                let server = party(Kind::Stock, |_| {});
                sender.send(server.address()).unwrap();
                let connection = server.endpoint.accept().await.unwrap().await.unwrap();
                let mut stream = connection.accept_uni().await.unwrap();
                let got = stream.read_to_end(1 << 20).await.unwrap();
                assert!(got == expected);
                let mut answer = connection.open_uni().await.unwrap();
                answer.write_all(b"got it").await.unwrap();
                answer.finish().unwrap();
                // The answer leaves meanwhile.
                let closes = tokio::task::spawn_blocking(move || closes.recv().unwrap());
                if !closes.await.unwrap() {
                    return;
                }
                let begin = std::time::Instant::now();
                let closed = connection.closed().await;
                assert!(begin.elapsed() < Duration::from_secs(5), "{closed}");
                testing::assert_matches!(closed, quinn::ConnectionError::ApplicationClosed(_));
            });
        });
        let address = receiver.recv().unwrap();
        run(async {
            let client = party(kind, |_| {});
            let connection = connect(&client, address).await;
            let mut stream = connection.open_uni().await.unwrap();
            stream.write_all(&text).await.unwrap();
            stream.finish().unwrap();
            let mut answer = connection.accept_uni().await.unwrap();
            assert_eq!(answer.read_to_end(64).await.unwrap(), b"got it");
            let before = connection.stats().udp_tx.datagrams;
            connection.close(7_u32.into(), b"done");
            // The close goes out in the connection's last turn; nothing runs after it.
            tokio::task::yield_now().await;
            // Unless quinn spares it for later: where it has frames to send, too, it obeys
            // its pacer.
            let has_closed = connection.stats().udp_tx.datagrams > before;
            closed += u32::from(has_closed);
            will_close.send(has_closed).unwrap();
        });
        assert!(server.join().is_ok(), "round {round}, {kind:?}");
    }
    assert!(closed > 10, "{closed} of 20 closes were sent at once");
}
