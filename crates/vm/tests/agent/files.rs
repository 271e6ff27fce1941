//! Files in and out.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use lockgate_vm::protocol::ChannelError;

use crate::agent::support::{LONG, agent};

#[test]
fn any_bytes_survive() {
    let Some(mut agent) = agent() else { return };
    for length in [0, 1, 255, 65_535, 65_536, 65_537, 300_000] {
        let bytes: Vec<u8> = (0..=255).cycle().take(length).collect();
        let path = agent.path("all bytes");
        agent.channel.put(&path, 0o640, &bytes, LONG).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        assert_eq!(agent.channel.get(&path, length, LONG).unwrap(), bytes);
        let (status, output) = agent.run(&format!("cat '{path}'")).unwrap();
        assert_eq!((status, output), (0, bytes));
    }
}

#[test]
fn any_path_survives() {
    let Some(mut agent) = agent() else { return };
    for name in [
        "with space",
        " leading and trailing ",
        "new\nline",
        "trailing new line\n\n",
        "quote'and\"both`x`$(touch oops)",
        "back\\slash",
        "-n",
        "*?[a]",
        "é漢\u{1F600}",
        "new/folders are/made",
    ] {
        let path = agent.path(name);
        agent
            .channel
            .put(&path, 0o600, name.as_bytes(), LONG)
            .unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), name.as_bytes(), "{name:?}");
        let got = agent.channel.get(&path, 1000, LONG).unwrap();
        assert_eq!(got, name.as_bytes(), "{name:?}");
    }
    let long = agent.path(&"x".repeat(255 - ".lockgate-new".len()));
    agent.channel.put(&long, 0o600, b"", LONG).unwrap();
}

#[test]
fn modes_are_kept() {
    let Some(mut agent) = agent() else { return };
    for mode in [0o400, 0o644, 0o755, 0o7777] {
        let path = agent.path("file");
        agent.channel.put(&path, mode, b"", LONG).unwrap();
        let about = std::fs::metadata(&path).unwrap();
        assert_eq!(about.permissions().mode() & 0o7777, mode);
    }
}

#[test]
fn what_was_there_is_replaced() {
    let Some(mut agent) = agent() else { return };
    let path = agent.path("file");
    let link = agent.path("link");
    std::fs::write(&path, "old and longer").unwrap();
    std::os::unix::fs::symlink("/nonexistent", &link).unwrap();
    for path in [&path, &link] {
        agent.channel.put(path, 0o600, b"new", LONG).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), b"new");
    }
}

#[test]
fn what_cannot_be_done_is_said_and_the_channel_goes_on() {
    let Some(mut agent) = agent() else { return };
    let folder = agent.path("folder");
    std::fs::create_dir(&folder).unwrap();
    let big = vec![1; 1_000_000];
    for path in ["/proc/version", "/proc/nope/file", folder.as_str()] {
        let error = agent.channel.put(path, 0o600, &big, LONG).unwrap_err();
        let text = error.to_string();
        testing::assert_matches!(error, ChannelError::Failed { .. });
        assert!(text.contains(path), "{text}");
    }
    for path in ["/nonexistent/file", folder.as_str()] {
        let error = agent.channel.get(path, 10, LONG).unwrap_err();
        let ChannelError::Failed { why, .. } = error else {
            panic!("{error:?}");
        };
        assert!(why.contains(path), "{why}");
    }
    agent.goes_on();
}

#[test]
fn a_full_disk_is_said_and_the_channel_goes_on() {
    let Some(mut agent) = agent() else { return };
    let full = agent.path("full");
    // A link is replaced, a file would be; what is full is the state's own.
    std::os::unix::fs::symlink("/dev/full", agent.path("full.lockgate-new")).unwrap();
    let error = agent
        .channel
        .put(&full, 0o600, &vec![1; 1_000_000], LONG)
        .unwrap_err();
    let ChannelError::Failed { why, .. } = error else {
        panic!("{error:?}");
    };
    assert!(why.contains("No space left"), "{why}");
    agent.goes_on();
}

#[test]
fn a_file_without_a_length_is_read_and_a_long_one_refused() {
    let Some(mut agent) = agent() else { return };
    let release = std::fs::read("/proc/sys/kernel/osrelease").unwrap();
    let got = agent.channel.get("/proc/sys/kernel/osrelease", 200, LONG);
    assert_eq!(got.unwrap(), release);
    let path = agent.path("ten");
    std::fs::write(&path, "0123456789").unwrap();
    assert_eq!(agent.channel.get(&path, 10, LONG).unwrap(), b"0123456789");
    for (path, limit) in [
        (path.as_str(), 9),
        (path.as_str(), 0),
        ("/dev/zero", 100_000),
    ] {
        let error = agent.channel.get(path, limit, LONG).unwrap_err();
        testing::assert_matches!(error, ChannelError::TooLarge { .. });
    }
    agent.goes_on();
}

#[test]
fn a_file_that_never_ends_to_come_is_given_up() {
    let Some(mut agent) = agent() else { return };
    let fifo = agent.path("fifo");
    agent.run(&format!("mkfifo '{fifo}'")).unwrap();
    let limit = Duration::from_secs(1);
    let error = agent.channel.get(&fifo, 10, limit).unwrap_err();
    testing::assert_matches!(error, ChannelError::Timeout { .. });
    agent.goes_on();
}

#[test]
fn paths_that_are_none_are_refused_here() {
    let Some(mut agent) = agent() else { return };
    for path in ["", "relative", "/nul\0", &format!("/{}", "x".repeat(4095))] {
        let error = agent.channel.get(path, 1, LONG).unwrap_err();
        testing::assert_matches!(error, ChannelError::BadPath { .. });
        let error = agent.channel.put(path, 0, b"", LONG).unwrap_err();
        testing::assert_matches!(error, ChannelError::BadPath { .. });
    }
    agent.goes_on();
}
