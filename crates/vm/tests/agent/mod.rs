//! The agent's script and the host's end of the channel, without a guest: the
//! script runs here, under busybox's shell, over a socket.

mod files;
mod hostile;
mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use support::{LONG, agent, silent_agent};

use lockgate_vm::protocol::ChannelError;

#[test]
fn it_says_what_it_runs_on() {
    let Some(mut agent) = silent_agent() else {
        return;
    };
    let hello = agent.channel.hello(LONG).unwrap();
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(hello.schema, 1);
    assert_eq!(hello.release, release.trim());
    assert!(hello.cpus > 0 && hello.memory_kib > 0 && hello.uptime_s > 0.0);
    assert!(hello.modules_failed.is_empty());
}

#[test]
fn modules_that_were_not_loaded_are_named() {
    let Some(mut agent) = silent_agent() else {
        return;
    };
    // The agent finds the list when it is ready to speak, which it is not yet:
    // it was only just started. A second one, over the same state, finds it.
    agent.channel.hello(LONG).unwrap();
    std::fs::write(agent.path("state/modules_failed"), "aesni-intel\nnope\n").unwrap();
    let mut second = agent.another();
    let hello = second.channel.hello(LONG).unwrap();
    assert_eq!(hello.modules_failed, ["aesni-intel", "nope"]);
}

#[test]
fn output_and_status_come_back() {
    let Some(mut agent) = agent() else { return };
    let (status, output) = agent.run("echo out; echo err >&2; exit 3").unwrap();
    assert_eq!((status, output.as_slice()), (3, &b"out\nerr\n"[..]));
    // The next request finds the channel clean.
    assert_eq!(agent.run("").unwrap(), (0, Vec::new()));
    assert_eq!(agent.run("syntax error (").unwrap().0, 2);
}

#[test]
fn any_script_survives() {
    let Some(mut agent) = agent() else { return };
    let quoted = r#"printf '%s|' "a  b" 'c"d' e\'f '$x' '\n' "tab	tab" -- '*'"#;
    let (status, output) = agent.run(quoted).unwrap();
    assert_eq!(status, 0);
    assert_eq!(
        String::from_utf8(output).unwrap(),
        "a  b|c\"d|e'f|$x|\\n|tab\ttab|--|*|"
    );
    let long = format!("# {}\necho end", "x".repeat(300_000));
    assert_eq!(agent.run(&long).unwrap(), (0, b"end\n".to_vec()));
}

#[test]
fn a_script_may_name_its_interpreter() {
    let Some(mut agent) = agent() else { return };
    let (status, output) = agent.run("#!/bin/cat\nread back").unwrap();
    assert_eq!(status, 0);
    assert_eq!(output, b"#!/bin/cat\nread back");
    let (status, output) = agent.run("#!/nonexistent/interpreter\n").unwrap();
    assert_eq!(status, 127, "{}", String::from_utf8_lossy(&output));
}

#[test]
fn output_comes_while_the_script_runs() {
    testing::timed(|| {
        let Some(mut agent) = agent() else { return };
        let answer = agent.path("answer");
        let script =
            format!("echo question; while [ ! -e {answer} ]; do sleep 0.02; done; echo ok");
        let mut pieces = Vec::new();
        let mut live = |piece: &[u8]| {
            std::fs::write(Path::new(&answer), "").unwrap();
            pieces.push(piece.to_vec());
        };
        let status = agent.channel.run(script.as_bytes(), LONG, 100, &mut live);
        assert_eq!(status.unwrap(), 0);
        assert_eq!(pieces, [b"question\n".to_vec(), b"ok\n".to_vec()]);
    });
}

#[test]
fn output_of_every_length_around_a_pipe_survives() {
    let Some(mut agent) = agent() else { return };
    for length in [
        1, 4095, 4096, 4097, 65_535, 65_536, 65_537, 131_072, 200_001,
    ] {
        // An octal dump of a counter: every place looks different.
        let script = format!("od -A n -t x4 -v /proc/self/exe | head -c {length}");
        let (status, output) = agent.run(&script).unwrap();
        assert_eq!((status, output.len()), (0, length));
        assert_eq!(agent.run(&script).unwrap().1, output);
    }
}

#[test]
fn fifty_megabytes_survive() {
    let Some(mut agent) = agent() else { return };
    let (status, output) = agent.run("yes 0123456789abcde | head -c 50000000").unwrap();
    assert_eq!((status, output.len()), (0, 50_000_000));
    let mut lines = output.chunks(16);
    assert!(lines.all(|line| line == b"0123456789abcde\n"));
}

#[test]
fn the_room_for_output_is_kept_to_the_byte() {
    let Some(mut agent) = agent() else { return };
    let exact = agent.run_within("printf 1234", LONG, 4).unwrap();
    assert_eq!(exact, (0, b"1234".to_vec()));
    let error = agent.run_within("printf 12345", LONG, 4).unwrap_err();
    let ChannelError::TooLarge { limit: 4, bytes: 5 } = error else {
        panic!("{error:?}");
    };
    assert_eq!(agent.run_within("true", LONG, 0).unwrap(), (0, Vec::new()));
}

#[test]
fn endless_output_is_ended() {
    testing::timed(|| {
        let Some(mut agent) = agent() else { return };
        let error = agent.run_within("yes & yes", LONG, 1_000_000).unwrap_err();
        assert!(error.is_recoverable(), "{error:?}");
        testing::assert_matches!(error, ChannelError::TooLarge { .. });
        agent.goes_on();
    });
}

#[test]
fn a_script_that_takes_too_long_is_ended_with_its_session() {
    testing::timed(|| {
        let Some(mut agent) = agent() else { return };
        let alive = agent.path("alive");
        // Its child is in a group of its own (coreutils' timeout makes one), and
        // no one listens to SIGTERM.
        let script = format!(
            "trap '' TERM; echo begun; /usr/bin/timeout 100 sh -c 'trap \"\" TERM; \
             while :; do echo >>{alive}; sleep 0.05; done' & sleep 100; wait"
        );
        let limit = Duration::from_secs(2);
        let began = Instant::now();
        let mut output = Vec::new();
        let error = agent
            .channel
            .run(script.as_bytes(), limit, 100, &mut |piece| {
                output.extend_from_slice(piece);
            })
            .unwrap_err();
        testing::assert_matches!(error, ChannelError::Timeout { limit: l } if *l == limit);
        assert!(began.elapsed() >= limit);
        // A shell of the session may live long enough to say that its child was
        // killed.
        assert!(output.starts_with(b"begun\n"), "{output:?}");
        let lines = || std::fs::read(&alive).unwrap().len();
        let before = lines();
        assert!(before > 0, "the child was there");
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(lines(), before, "and is no more");
        agent.goes_on();
    });
}

#[test]
fn no_time_at_all_is_a_time_limit() {
    let Some(mut agent) = agent() else { return };
    let error = agent
        .run_within("sleep 100", Duration::ZERO, 0)
        .unwrap_err();
    testing::assert_matches!(error, ChannelError::Timeout { .. });
    agent.goes_on();
}

#[test]
fn many_runs_leave_nothing_behind() {
    let Some(mut agent) = agent() else { return };
    for round in 0..50 {
        let (status, output) = agent.run(&format!("echo {round}; exit {round}")).unwrap();
        assert_eq!((status, output), (round, format!("{round}\n").into_bytes()));
    }
    // A run's files go once its answer is sent: those of the last are there.
    let (_, left) = agent.run(&format!("ls '{}'", agent.path("state"))).unwrap();
    let left = String::from_utf8(left).unwrap();
    assert!(
        left.lines().all(|name| name.starts_with("run.51.")),
        "{left}"
    );
    // What removes those files is a child, too, and behind the answer.
    let deadline = Instant::now() + LONG;
    while agent.children() > 0 {
        assert!(Instant::now() < deadline, "a child stays");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn goodbye_ends_it() {
    let Some(mut agent) = agent() else { return };
    agent.channel.bye(LONG).unwrap();
    assert!(agent.process.0.wait().unwrap().success());
    testing::assert_matches!(agent.run("true"), Err(ChannelError::Broken));
}

#[test]
fn a_host_that_is_gone_ends_it() {
    let Some(agent) = agent() else { return };
    let (mut process, channel) = agent.into_parts();
    drop(channel);
    assert!(!process.0.wait().unwrap().success());
}
