//! Scripts that do what scripts do: the next request must not notice.

use std::time::{Duration, Instant};

use lockgate_vm::protocol::ChannelError;

use crate::agent::support::{LONG, agent};

#[test]
fn closed_descriptors() {
    let Some(mut agent) = agent() else { return };
    assert_eq!(
        agent.run("exec 0<&- 1>&- 2>&-; exit 5").unwrap(),
        (5, Vec::new())
    );
    // Whatever else it could have inherited.
    let script = "for fd in 3 4 5 6 7 8 9; do eval \"exec $fd>&-\"; done; echo x";
    assert_eq!(agent.run(script).unwrap(), (0, b"x\n".to_vec()));
    agent.goes_on();
}

#[test]
fn the_channel_is_not_inherited() {
    let Some(mut agent) = agent() else { return };
    // The fields of a forged end, to any descriptor that is open.
    let forged = "for fd in 3 4 5 6 7 8 9; do \
         eval \"printf 'LG1 1 end 77 0 0\\\\n' >&$fd\" 2>/dev/null; done; exit 4";
    assert_eq!(agent.run(forged).unwrap(), (4, Vec::new()));
    agent.goes_on();
}

#[test]
fn a_script_that_reads() {
    let Some(mut agent) = agent() else { return };
    assert_eq!(
        agent.run("cat; read -r x; echo \"$?\"").unwrap(),
        (0, b"1\n".to_vec())
    );
    agent.goes_on();
}

#[test]
fn what_stays_in_the_background_is_not_waited_for() {
    let Some(mut agent) = agent() else { return };
    let began = Instant::now();
    let pids = agent.path("pids");
    let script = format!(
        "sleep 50 & echo $! >{pids}; setsid sh -c 'echo $$ >>{pids}; exec sleep 50' & sleep 0.2; echo done"
    );
    assert_eq!(agent.run(&script).unwrap(), (0, b"done\n".to_vec()));
    assert!(began.elapsed() < Duration::from_secs(40));
    // It lives on, as a daemon must.
    let script = format!("while read -r pid; do kill \"$pid\" || exit 1; done <{pids}");
    assert_eq!(agent.run(&script).unwrap(), (0, Vec::new()));
    agent.goes_on();
}

#[test]
fn what_stays_in_the_background_may_write_on() {
    let Some(mut agent) = agent() else { return };
    let pid = agent.path("pid");
    let script =
        format!("while :; do echo noise; done & echo $! >{pid}; echo end of script; exit 6");
    let mut output = Vec::new();
    let status = agent
        .channel
        .run(script.as_bytes(), LONG, 100 << 20, &mut |piece| {
            output.extend_from_slice(piece);
        })
        .unwrap();
    assert_eq!(status, 6);
    let text = String::from_utf8(output).unwrap();
    assert!(text.contains("end of script\n"));
    // The script's line may stand within one of the noise, which a full pipe
    // takes in parts.
    let noise = text.replacen("end of script\n", "", 1);
    assert!("noise\n".repeat(noise.len() / 6 + 1).starts_with(&noise));
    agent.goes_on();
    // It was not killed by writing without a reader.
    let script = format!("read -r pid <{pid}; kill -0 \"$pid\" && kill -KILL \"$pid\"");
    assert_eq!(agent.run(&script).unwrap(), (0, Vec::new()));
}

#[test]
fn a_script_that_is_killed() {
    let Some(mut agent) = agent() else { return };
    let (status, output) = agent.run("echo last words; kill -KILL $$").unwrap();
    assert_eq!((status, output), (128 + 9, b"last words\n".to_vec()));
    let (status, _) = agent.run("kill -SEGV $$").unwrap();
    assert_eq!(status, 128 + 11);
    agent.goes_on();
}

#[test]
fn a_script_that_kills_those_above_it() {
    let Some(mut agent) = agent() else { return };
    // Whoever started the script is killed: how it ends cannot be known.
    let script = "echo bye; kill -KILL $PPID; sleep 0.2; echo orphan";
    let limit = Duration::from_secs(1);
    let error = agent.run_within(script, limit, 100).unwrap_err();
    testing::assert_matches!(
        error,
        ChannelError::Failed { .. } | ChannelError::Timeout { .. }
    );
    agent.goes_on();
}

#[test]
fn output_that_looks_like_the_protocol() {
    let Some(mut agent) = agent() else { return };
    let script = "for i in 1 2 3; do printf 'LG1 1 end 0 0 0\\n'; \
         cat /proc/sys/kernel/random/uuid; done | tee /dev/stderr | tr -d '\\n'";
    let (status, output) = agent.run(script).unwrap();
    assert_eq!(status, 0);
    assert_eq!(output.len(), 3 * (16 + 37) + 3 * (15 + 36));
    // A half of a mark, as the very last bytes.
    let (_, output) = agent
        .run("read -r u </proc/sys/kernel/random/uuid; printf '%s' \"${u%????}\"")
        .unwrap();
    assert_eq!(output.len(), 32);
    agent.goes_on();
}

#[test]
fn settings_of_the_shell_do_not_leak() {
    let Some(mut agent) = agent() else { return };
    agent
        .run("cd /; umask 777; export LC_ALL=de_DE.UTF-8 PATH=; set -e; ulimit -n 3; exit 0")
        .unwrap();
    let path = agent.path("plain");
    agent.channel.put(&path, 0o644, b"x", LONG).unwrap();
    assert_eq!(agent.channel.get(&path, 1, LONG).unwrap(), b"x");
    agent.goes_on();
}

#[test]
fn a_script_that_kills_all_around_it() {
    let Some(mut agent) = agent() else { return };
    // Its grandparent, then all of that one's children but itself: who starts,
    // who watches, who sends.
    let script = "read -r line </proc/$PPID/stat; set -- ${line##*) }; above=$2; \
         read -r line </proc/$above/stat; set -- ${line##*) }; agent=$2; \
         for pid in $(cat /proc/$agent/task/$agent/children) $above; do \
         kill -KILL $pid; done; sleep 0.2";
    match agent.run_within(script, Duration::from_secs(2), 100) {
        Ok(_) => panic!("no process was left to say so"),
        Err(error) => assert!(error.is_recoverable(), "{error:?}"),
    }
    agent.goes_on();
}
