//! Ctrl-C, SIGTERM, SIGHUP and the end of a terminal: whatever was made is gone.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use net::Tag;

use crate::common::{Desk, Ended, PATIENCE, with_default_signals};

/// All that ask for an end.
const SIGNALS: [&str; 3] = ["-HUP", "-TERM", "-INT"];

/// The program in a `/run/lockgate` of its own, so that what is left there is its own;
/// ours to end also when a test fails.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            // What it started, too.
            let line = format!("kill -KILL -{}", self.0.id());
            let _ = Command::new("sh").args(["-c", &line]).status();
        }
        let _ = self.0.wait();
    }
}

impl Started {
    fn new(command: Command) -> Self {
        let mut command = with_default_signals(&command);
        // A test signals it alone, or all of it.
        command.process_group(0);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }

    fn signal(&self, name: &str) {
        signal(name, self.0.id());
    }

    /// All of its process group.
    fn signal_all(&self, name: &str) {
        let line = format!("kill {name} -{}", self.0.id());
        let sent = Command::new("sh").args(["-c", &line]).status().unwrap();
        assert!(sent.success());
    }

    /// Until that line is on stdout or stderr.
    fn says(&mut self, what: &str, on_stdout: bool) {
        let lines: Box<dyn BufRead> = match on_stdout {
            true => Box::new(BufReader::new(self.0.stdout.take().unwrap())),
            false => Box::new(BufReader::new(self.0.stderr.take().unwrap())),
        };
        let mut all = String::new();
        for line in lines.lines().map_while(Result::ok) {
            if line.starts_with(what) {
                return;
            }
            all += &(line + "\n");
        }
        panic!("it ended without '{what}': {all}");
    }

    fn ended(mut self) -> (Option<i32>, String) {
        let begun = Instant::now();
        let ended = loop {
            if let Some(ended) = self.0.try_wait().unwrap() {
                break ended;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        };
        let mut said = String::new();
        if let Some(mut errors) = self.0.stderr.take() {
            errors.read_to_string(&mut said).unwrap();
        }
        (ended.code().or(ended.signal().map(|one| -one)), said)
    }
}

fn signal(name: &str, process: u32) {
    let line = format!("kill {name} {process}");
    let sent = Command::new("sh").args(["-c", &line]).status().unwrap();
    assert!(sent.success());
}

/// A router of a file, whose names are of this test alone.
struct Router {
    desk: Desk,
    file: PathBuf,
    name: String,
}

impl Router {
    fn new() -> Self {
        let desk = Desk::new();
        let tag = Tag::fresh();
        let name = tag.name("ends").unwrap();
        let name = name.trim_start_matches("lockgate-").to_owned();
        let file = desk.write("ends.toml", &Self::text(&name));
        Self { desk, file, name }
    }

    fn text(name: &str) -> String {
        format!("schema = 1\n[router.{name}]\n[[router.{name}.port]]\nname = \"p\"\ntap = true\n")
    }

    fn command(&self, words: &str) -> Command {
        let mut command = self.desk.command();
        command.arg("router").args(words.split(' ')).arg(&self.file);
        command
    }

    fn run(&self, words: &str) -> Ended {
        self.command(words).output().unwrap().into()
    }

    fn foreground(&self) -> Started {
        let mut started = Started::new(self.command("up --foreground"));
        started.says("up", true);
        started
    }

    fn namespace(&self) -> PathBuf {
        Path::new("/run/netns").join(format!("lockgate-{}", self.name))
    }

    fn is_anything_left(&self) -> bool {
        let folders = std::fs::read_dir("/run/lockgate").into_iter().flatten();
        let signs = folders.flatten().map(|one| one.path().join("file"));
        let mut own = signs.filter_map(|sign| std::fs::read_link(sign).ok());
        self.namespace().exists() || own.any(|file| file == self.file)
    }

    /// The process that keeps it, as another `up` is told.
    fn keeper(&self) -> u32 {
        let refused = self.run("up");
        assert_eq!(refused.code, Some(3), "{}", refused.stderr);
        refused.says(&["are up", "kept by the process", "reload"]);
        let words = refused.stderr.split("kept by the process ").nth(1).unwrap();
        words.split(';').next().unwrap().parse().unwrap()
    }
}

/// However a test ends.
impl Drop for Router {
    fn drop(&mut self) {
        let _ = self.run("down");
    }
}

#[test]
fn a_router_in_the_foreground_goes_with_each() {
    testing::timed_as_root(|| {
        for name in SIGNALS {
            let router = Router::new();
            let started = router.foreground();
            assert!(router.is_anything_left());
            started.signal(name);
            assert_eq!(started.ended().0, Some(0), "{name}");
            assert!(!router.is_anything_left(), "{name}");
        }
    });
}

/// At any moment while it comes: what was begun is ended, or was up and goes.
#[test]
fn a_router_that_is_coming_up_leaves_nothing() {
    testing::timed_as_root(|| {
        for round in 0..testing::cases(12, 60) {
            for way in ["up", "up --foreground"] {
                let router = Router::new();
                let started = Started::new(router.command(way));
                std::thread::sleep(Duration::from_millis(u64::from(round * 7 % 60)));
                started.signal(SIGNALS[round as usize % 3]);
                let (code, said) = started.ended();
                // Before it looked for signals the system's own end is as good.
                let is_up = way == "up" && code == Some(0);
                let is_right = is_up || matches!(code, Some(0 | 130 | -1 | -2 | -15));
                assert!(is_right, "{way}: {code:?}: {said}");
                if is_up {
                    router.run("down").ok();
                }
                assert!(!router.is_anything_left(), "{way}, round {round}: {code:?}");
            }
        }
    });
}

/// Those come twice of themselves.
#[test]
fn a_second_one_does_not_cut_the_end_short() {
    testing::timed_as_root(|| {
        for name in ["-HUP", "-TERM"] {
            let router = Router::new();
            let started = router.foreground();
            started.signal(name);
            started.signal(name);
            assert_eq!(started.ended().0, Some(0), "{name}");
            assert!(!router.is_anything_left(), "{name}");
        }
    });
}

/// Under nohup(1).
#[test]
fn an_ignored_hangup_stays_ignored() {
    testing::timed_as_root(|| {
        let router = Router::new();
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]);
        let inner = router.command("up --foreground");
        command.arg(inner.get_program()).args(inner.get_args());
        command.current_dir(router.desk.path());
        let mut started = Started::new(command);
        started.says("up", true);
        started.signal("-HUP");
        // It answers still.
        router.run("show").ok();
        router.run("show").ok();
        assert!(router.is_anything_left());
        started.signal("-TERM");
        assert_eq!(started.ended().0, Some(0));
        assert!(!router.is_anything_left());
    });
}

fn fields(process: u32) -> Vec<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    fields.split(' ').map(str::to_owned).collect()
}

/// A terminal of script(1), in which a shell starts a router and is gone.
#[test]
fn a_kept_router_stays_when_its_terminal_closes() {
    if !testing::has_programs(&["script"], "bsdutils") {
        return;
    }
    testing::timed_as_root(|| {
        let router = Router::new();
        let up = router.command("up");
        let line = format!(
            "exec 9>&1; '{}' router up '{}' && kill -KILL $$",
            up.get_program().display(),
            router.file.display()
        );
        let mut script = Command::new("script");
        script.args(["-q", "-c", &line, "/dev/null"]);
        let mut script = with_default_signals(&script);
        let ended = script.stdin(Stdio::null()).output().unwrap();
        assert!(router.namespace().exists(), "{ended:?}");
        let keeper = router.keeper();
        // Its group, its session, its terminal: proc(5).
        let (own, fields) = (keeper.to_string(), fields(keeper));
        assert_eq!(fields[2..5], [own.clone(), own, "0".to_owned()]);
        for link in std::fs::read_dir(format!("/proc/{keeper}/fd")).unwrap() {
            let target = std::fs::read_link(link.unwrap().path()).unwrap();
            assert!(!target.starts_with("/dev/pts") && !target.starts_with("/dev/tty"));
        }
        // To itself it ends it.
        signal("-HUP", keeper);
        testing::until(|| router.is_anything_left(), |is_left| !is_left);
    });
}

#[test]
fn what_a_killed_one_left_is_swept_by_either_way_of_up() {
    testing::timed_as_root(|| {
        for way in ["up", "up --foreground"] {
            let router = Router::new();
            let started = router.foreground();
            started.signal("-KILL");
            assert_eq!(started.ended().0, Some(-9));
            assert!(router.namespace().exists());
            let mut again = Started::new(router.command(way));
            again.says("up", true);
            assert!(router.namespace().exists());
            router.run("show").ok();
            router.run("down").ok();
            drop(again);
            assert!(!router.is_anything_left(), "{way}");
        }
    });
}

/// As systemd does with `Restart=`: at once.
#[test]
fn a_restart_at_once_after_a_kill_is_up() {
    testing::timed_as_root(|| {
        let router = Router::new();
        let mut started = router.foreground();
        for _ in 0..5 {
            started.signal("-KILL");
            assert_eq!(started.ended().0, Some(-9));
            started = router.foreground();
        }
        started.signal("-TERM");
        assert_eq!(started.ended().0, Some(0));
        assert!(!router.is_anything_left());
    });
}

#[test]
fn of_two_at_once_one_is_up_and_the_other_says_which() {
    testing::timed_as_root(|| {
        for _ in 0..testing::cases(5, 30) {
            let router = Router::new();
            let ups: Vec<_> = (0..3).map(|_| Started::new(router.command("up"))).collect();
            let ended: Vec<_> = ups.into_iter().map(Started::ended).collect();
            let won = ended.iter().filter(|(code, _)| *code == Some(0)).count();
            assert_eq!(won, 1, "{ended:?}");
            let keeper = format!("kept by the process {};", router.keeper());
            for (code, said) in ended.iter().filter(|(code, _)| *code != Some(0)) {
                assert_eq!(*code, Some(3));
                assert!(said.contains(&keeper), "{said}");
            }
            // Nothing of the winner's went with them.
            router.run("show").ok().shows(&[&router.name]);
            router.run("down").ok();
            assert!(!router.is_anything_left());
        }
    });
}

#[test]
fn a_name_that_another_file_has_is_its_own_and_down_says_so() {
    testing::timed_as_root(|| {
        let router = Router::new();
        router.run("up").ok();
        let keeper = router.keeper();
        let other = Router::new();
        std::fs::write(&other.file, Router::text(&router.name)).unwrap();
        for way in ["up", "up --foreground"] {
            let refused = other.run(way);
            assert_eq!(refused.code, Some(3), "{}", refused.stderr);
            let name = format!("lockgate-{} is held by the process {keeper}", router.name);
            refused.says(&[&name]);
        }
        let down = other.run("down").ok();
        down.says(&[
            &format!("lockgate-{} stays", router.name),
            &format!("but of the process {keeper}"),
            "nothing of them is left",
        ]);
        router.run("show").ok().shows(&[&router.name]);
        router.run("down").ok();
        assert!(!router.is_anything_left());
        // Of one that nobody keeps it says what to do.
        std::fs::File::create_new(router.namespace()).unwrap();
        let up = router.run("up");
        let down = router.run("down");
        std::fs::remove_file(router.namespace()).unwrap();
        assert_eq!((up.code, down.code), (Some(3), Some(3)));
        up.says(&["is there already"]);
        down.says(&["no program that runs made it", "ip netns delete"]);
        router.run("down").ok();
    });
}

/// Sections that make namespaces, stopped at any moment.
#[test]
fn a_run_that_is_stopped_leaves_no_namespace() {
    if !testing::has_programs(&["unshare", "mount"], "util-linux mount") {
        return;
    }
    testing::timed_as_root(|| {
        for (round, name) in SIGNALS.into_iter().enumerate() {
            let desk = Desk::new();
            let mut command = Command::new("unshare");
            // The shell waits for its child, which gets the signals as usual.
            let script = "mkdir -p /run/lockgate && mount -t tmpfs -o mode=700 none /run/lockgate
                trap : HUP TERM INT; \"$@\"; code=$?; ls /run/lockgate >&2; exit $code";
            let inner = desk.command();
            command
                .args(["--mount", "sh", "-c", script, "sh"])
                .arg(inner.get_program())
                .args(["run", "router-paths", "--budget", "1h"])
                .current_dir(desk.path());
            let started = Started::new(command);
            testing::until(|| !desk.runs().is_empty(), |is_begun| *is_begun);
            std::thread::sleep(Duration::from_millis(400 * round as u64));
            // To all of it, as by a terminal.
            started.signal_all(name);
            let (code, said) = started.ended();
            assert_eq!(code, Some(130), "{name}: {said}");
            assert!(!said.contains(".journal"), "{name}: {said}");
        }
    });
}
