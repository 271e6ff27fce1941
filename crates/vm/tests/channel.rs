//! The host's end of the channel, upon guests that do not do what they should.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use lockgate_vm::protocol::{Channel, ChannelError, FrameError};

const LONG: Duration = Duration::from_secs(60);

const HELLO: &str =
    r#"{"schema":1,"release":"6.1","cpus":1,"memory_kib":2,"uptime_s":3.5,"modules_failed":["x"]}"#;

fn hello() -> Vec<u8> {
    format!("LG1 0 hello 0 0 {}\n{HELLO}", HELLO.len()).into_bytes()
}

/// A channel to a guest that has sent this, and the guest's end.
fn sent(bytes: &[u8]) -> (Channel, UnixStream) {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    theirs.write_all(bytes).expect("room for it");
    (Channel::new(ours), theirs)
}

/// A channel to a guest that has said hello, and answers everything with `answer`,
/// then closes.
fn guest(answer: &[u8]) -> Channel {
    let (ours, mut theirs) = UnixStream::pair().expect("a pair of sockets");
    let bytes = [&hello(), answer].concat();
    thread::spawn(move || {
        let _ = theirs.write_all(&bytes);
        let _ = theirs.shutdown(std::net::Shutdown::Write);
        let _ = theirs.read_to_end(&mut Vec::new());
    });
    let mut channel = Channel::new(ours);
    channel.hello(LONG).expect("a guest that says hello");
    channel
}

fn run(channel: &mut Channel, output_bytes_max: u64) -> Result<i32, ChannelError> {
    channel.run(b"script", LONG, output_bytes_max, &mut |_| {})
}

#[test]
fn the_hello_is_read() {
    let (mut channel, _guest) = sent(&hello());
    let hello = channel.hello(LONG).expect("a hello");
    assert_eq!((hello.release.as_str(), hello.cpus), ("6.1", 1));
    assert_eq!((hello.memory_kib, hello.uptime_s), (2, 3.5));
    assert_eq!(hello.modules_failed, ["x"]);
}

#[test]
fn a_hello_that_is_none_is_told() {
    for (bytes, what) in [
        (&b"LG1 0 hello 0 0 2\n{}"[..], "not understood"),
        (b"LG1 1 hello 0 0 0\n", "protocol"),
        (b"LG1 0 end 0 0 0\n", "protocol"),
        (b"Linux version 6.1\n", "protocol"),
        (b"", "closed"),
        (b"LG1 0 hello 0 0 10\n{", "closed"),
    ] {
        let (mut channel, guest) = sent(bytes);
        drop(guest);
        let error = channel.hello(LONG).expect_err("no hello");
        assert!(error.to_string().contains(what), "{error}");
        assert!(!channel.is_usable());
        let error = channel.hello(LONG).expect_err("no hello ever");
        testing::assert_matches!(error, ChannelError::Broken);
    }
}

#[test]
fn a_guest_that_is_silent_is_given_up() {
    testing::timed(|| {
        for start in [&b""[..], b"LG1 0 hello", b"LG1 0 hello 0 0 10\n{"] {
            let (mut channel, _guest) = sent(start);
            let limit = Duration::from_millis(50);
            let error = channel.hello(limit).expect_err("silence");
            let ChannelError::Silent { limit: told } = error else {
                panic!("{error:?}");
            };
            assert_eq!(told, limit);
            assert!(!channel.is_usable());
        }
    });
}

#[test]
fn a_guest_that_does_not_read_is_given_up() {
    testing::timed(|| {
        // Kept open, and never read.
        let (mut channel, _guest) = sent(&hello());
        channel.hello(LONG).expect("a hello");
        let limit = Duration::from_millis(50);
        let error = channel.bye(limit).expect_err("silence");
        testing::assert_matches!(error, ChannelError::Silent { .. });
    });
}

#[test]
fn answers_that_are_none_break_the_channel() {
    for answer in [
        // Of another request; of none; no answer to this; twice hello.
        &b"LG1 2 end 0 0 0\n"[..],
        b"LG1 0 end 0 0 0\n",
        b"LG1 1 data 0 0 0\n",
        b"LG1 1 done 0 0 0\n",
        b"LG1 1 run 0 0 0\n",
        b"LG1 1 hello 0 0 0\n",
        // No exit status.
        b"LG1 1 end 256 0 0\n",
        // More than was allowed, in one piece and in two.
        b"LG1 1 output 0 0 6\n123456LG1 1 end 0 0 0\n",
        b"LG1 1 output 0 0 3\n123LG1 1 output 0 0 3\n456LG1 1 end 0 0 0\n",
        b"LG1 1 output 0 0 99999999999\n",
        // Noise.
        b"\x00\xff\n",
        b"[    0.1] Kernel panic - not syncing\n",
    ] {
        let mut channel = guest(answer);
        let error = run(&mut channel, 5).expect_err("no answer");
        testing::assert_matches!(error, ChannelError::Protocol(_));
        assert!(!error.is_recoverable() && !channel.is_usable());
        let error = channel.get("/x", 1, LONG).expect_err("it is broken");
        testing::assert_matches!(error, ChannelError::Broken);
    }
}

#[test]
fn a_guest_that_dies_within_an_answer_has_closed() {
    for answer in [&b""[..], b"LG1 1", b"LG1 1 output 0 0 4\n12"] {
        let mut channel = guest(answer);
        let error = run(&mut channel, 5).expect_err("no answer");
        testing::assert_matches!(error, ChannelError::Closed);
        assert!(!channel.is_usable());
    }
}

#[test]
fn what_the_guest_regrets_leaves_the_channel_usable() {
    let answers = "LG1 1 late 137 0 0\nLG1 2 over 9 0 0\nLG1 3 fail 0 0 4\nsad\nLG1 4 end 7 0 0\n";
    let mut channel = guest(answers.as_bytes());
    let error = run(&mut channel, 5).expect_err("late");
    testing::assert_matches!(error, ChannelError::Timeout { .. });
    let error = run(&mut channel, 5).expect_err("too much");
    testing::assert_matches!(error, ChannelError::TooLarge { limit: 5, bytes: 9 });
    let error = channel.put("/x", 0, b"", LONG).expect_err("a failure");
    assert!(error.to_string().contains("put /x: sad"), "{error}");
    assert_eq!(run(&mut channel, 5).expect("an end"), 7);
}

#[test]
fn a_file_longer_than_wanted_breaks_the_channel() {
    let mut channel = guest(b"LG1 1 data 0 0 3\n123");
    let error = channel.get("/x", 2, LONG).expect_err("too long");
    let ChannelError::Protocol(FrameError::PayloadTooLarge {
        length: 3,
        limit: 2,
        ..
    }) = error
    else {
        panic!("{error:?}");
    };
}
