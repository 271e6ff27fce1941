//! The file that says what is served: read whole, checked whole, before anything is made.

use std::collections::HashSet;
use std::path::PathBuf;

use crypto::{Algorithm, Kind, RsaBits, RsaScheme};
use engine::{FunctionConfig, KeyLimit, RequestLimit, WorkerConfig};
use kit::load::device::PIECE_BYTES;
use policy::controllers::{self, Parameters};
use policy::{Controller, Quota, Settings};
use serde::Deserialize;
use vhost::{DeviceConfig, HostLimits, Limits, REQUEST_BYTES_MAX, SocketConfig};

use crate::units::{parse_memory, parse_size};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default = "auto")]
    backend: String,
    #[serde(default)]
    workers: Vec<usize>,
    spin_us: Option<u64>,
    #[serde(default = "one")]
    quarantine: usize,
    memory_max: Option<String>,
    made_max: Option<String>,
    user: Option<Id>,
    #[serde(default)]
    vf: Vec<Vf>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vf {
    name: String,
    socket: PathBuf,
    owner: Option<Id>,
    group: Option<Id>,
    #[serde(default = "mode")]
    mode: String,
    #[serde(default = "one")]
    queues: usize,
    #[serde(default = "aes_cbc")]
    algorithms: Vec<String>,
    #[serde(default = "weight")]
    weight: u32,
    requests_per_s: Option<u64>,
    bytes_per_s: Option<u64>,
    #[serde(default = "adaptive")]
    controller: String,
    cap_per_s: Option<u32>,
    #[serde(default = "request_max")]
    request_max: String,
    #[serde(default = "auto")]
    piece: String,
    #[serde(default = "depth")]
    depth: usize,
    #[serde(default = "sessions")]
    sessions_max: usize,
    #[serde(default)]
    worker: Seat,
    memory_max: Option<String>,
    made_max: Option<String>,
    connections_per_s: Option<u64>,
    messages_per_s: Option<u64>,
}

/// Whose workers a function has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Seat {
    #[default]
    Shared,
    Own,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Id {
    Number(u32),
    Name(String),
}

fn auto() -> String {
    "auto".to_owned()
}

fn mode() -> String {
    "0600".to_owned()
}

fn one() -> usize {
    1
}

fn weight() -> u32 {
    1
}

fn aes_cbc() -> Vec<String> {
    vec!["aes-cbc".to_owned()]
}

fn adaptive() -> String {
    "adaptive".to_owned()
}

fn request_max() -> String {
    "1M".to_owned()
}

fn depth() -> usize {
    256
}

fn sessions() -> usize {
    1024
}

/// What is served, checked.
#[derive(Debug)]
pub struct Served {
    pub backend: String,
    pub workers: Vec<WorkerConfig>,
    pub limits: HostLimits,
    /// The user it is to run as, a name or a number.
    pub user: Option<String>,
    pub functions: Vec<ServedFunction>,
}

/// One virtual function.
pub struct ServedFunction {
    pub name: String,
    pub function: FunctionConfig,
    pub device: DeviceConfig,
    pub controller: Option<Box<dyn Controller>>,
    /// What is to be measured, where the best size of a piece is asked for.
    pub piece_of: Option<Kind>,
    /// As the file has them.
    pub algorithms: Vec<String>,
    pub quota: String,
}

impl std::fmt::Debug for ServedFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {:?}, {:?}", self.name, self.function, self.device)
    }
}

/// Reads the file's text.
///
/// # Errors
/// A sentence that names the key, its value, the limit and the remedy.
pub fn parse(text: &str) -> Result<Served, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    if file.vf.is_empty() {
        return Err("no [[vf]]: give at least one, with `name` and `socket`".to_owned());
    }
    let spin = file.spin_us.map(std::time::Duration::from_micros);
    let worker = |cpu| WorkerConfig {
        cpu,
        idle_spin: spin,
        is_core_shared: false,
        nice: 0,
        stand_ins: STAND_INS,
    };
    let mut workers: Vec<WorkerConfig> = match &file.workers[..] {
        [] => vec![worker(None)],
        cpus => cpus.iter().map(|cpu| worker(Some(*cpu))).collect(),
    };
    let shared: Vec<usize> = (0..workers.len()).collect();
    if file.quarantine > QUARANTINE_MAX {
        let count = file.quarantine;
        return Err(format!("`quarantine` {count}: give 0 to {QUARANTINE_MAX}"));
    }
    let quarantine: Vec<usize> = (0..file.quarantine).map(|one| shared.len() + one).collect();
    let others = WorkerConfig {
        idle_spin: Some(std::time::Duration::ZERO),
        nice: QUARANTINE_NICE,
        ..worker(None)
    };
    workers.extend(quarantine.iter().map(|_| others));
    let mut taken = HashSet::new();
    let mut functions = Vec::new();
    for vf in &file.vf {
        for (what, value) in [
            ("name", vf.name.clone()),
            ("socket", vf.socket.display().to_string()),
        ] {
            if !taken.insert((what, value.clone())) {
                return Err(format!(
                    "two [[vf]] have the {what} {value:?}: give each its own"
                ));
            }
        }
        let own = [workers.len()];
        let seats = match vf.worker {
            Seat::Shared => &shared[..],
            Seat::Own => {
                workers.push(worker(None));
                &own
            }
        };
        let served = vf.check(seats, &quarantine, functions.len());
        functions.push(served.map_err(|error| format!("vf {:?}: {error}", vf.name))?);
    }
    let most = HostLimits::default();
    Ok(Served {
        backend: file.backend,
        workers,
        limits: HostLimits {
            memory_bytes_max: memory("memory_max", file.memory_max.as_deref())?
                .unwrap_or(most.memory_bytes_max),
            made_bytes_max: memory("made_max", file.made_max.as_deref())?
                .unwrap_or(most.made_bytes_max),
        },
        user: file.user.map(|user| match user {
            Id::Number(number) => number.to_string(),
            Id::Name(name) => name,
        }),
        functions,
    })
}

impl Vf {
    fn check(
        &self,
        seats: &[usize],
        quarantine: &[usize],
        index: usize,
    ) -> Result<ServedFunction, String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if self.name.is_empty() || self.name.len() > 64 || !self.name.chars().all(is_plain) {
            return Err("`name` is 1 to 64 letters, digits, '-', '_' or '.'".to_owned());
        }
        let bytes = size("request_max", &self.request_max)?;
        if bytes > REQUEST_BYTES_MAX {
            let limit = REQUEST_BYTES_MAX;
            return Err(format!("`request_max` of {bytes} bytes: at most {limit}"));
        }
        in_range("depth", self.depth, DEPTH_MAX)?;
        in_range("sessions_max", self.sessions_max, SESSIONS_MAX)?;
        let request_max = RequestLimit {
            bytes,
            // As many pages as it may have, wherever it begins in the first.
            segments: bytes.div_ceil(PAGE_BYTES) + 2,
        };
        let controller = self.controller()?;
        let moderation = controller.as_ref().map(|one| one.moderation());
        let (quota, in_words) = self.quota()?;
        // Each guest's first queue on the next worker, so that guests spread.
        let in_turn = (0..seats.len()).map(|seat| seats[(seat + index) % seats.len()]);
        Ok(ServedFunction {
            name: self.name.clone(),
            function: FunctionConfig {
                weight: self.weight,
                quota,
                settings: self.settings()?,
                // One that stops beside the one that follows it.
                lanes_max: self.queues.saturating_mul(2).max(1),
                request_max,
                keys_max: KeyLimit {
                    sessions: self.sessions_max,
                    ..KeyLimit::default()
                },
            },
            device: DeviceConfig {
                socket: self.socket()?,
                queues: self.queues,
                workers: in_turn.collect(),
                // With a worker of its own it holds up itself alone.
                quarantine: match self.worker {
                    Seat::Shared => quarantine.to_vec(),
                    Seat::Own => seats.to_vec(),
                },
                limits: self.limits()?,
                depth: self.depth,
                segments_max: request_max.segments,
                piece_bytes: Some(match self.piece.as_str() {
                    "auto" => PIECE_BYTES,
                    text => size("piece", text)?,
                }),
                moderation: vhost::moderation(moderation.unwrap_or(policy::Moderation::Each)),
                offers_config: self.algorithms != aes_cbc(),
                allowed: self.allowed()?,
            },
            controller,
            piece_of: (self.piece == "auto").then(|| self.cut()).flatten(),
            algorithms: self.algorithms.clone(),
            quota: in_words,
        })
    }

    fn limits(&self) -> Result<Limits, String> {
        let most = Limits::default();
        for (key, value) in [
            ("connections_per_s", self.connections_per_s),
            ("messages_per_s", self.messages_per_s),
        ] {
            if let Some(value) = value {
                let value = usize::try_from(value).unwrap_or(usize::MAX);
                in_range(key, value, OFTEN_MAX)?;
            }
        }
        Ok(Limits {
            memory_bytes_max: memory("memory_max", self.memory_max.as_deref())?
                .unwrap_or(most.memory_bytes_max),
            made_bytes_max: memory("made_max", self.made_max.as_deref())?
                .unwrap_or(most.made_bytes_max),
            connections_per_s: self.connections_per_s.unwrap_or(most.connections_per_s),
            messages_per_s: self.messages_per_s.unwrap_or(most.messages_per_s),
        })
    }

    /// Its first service whose requests can be cut.
    fn cut(&self) -> Option<Kind> {
        let of = |name: &String| match name.as_str() {
            "aes-cbc" => Some(Algorithm::Aes128Cbc),
            "sha-1" => Some(Algorithm::Sha1),
            "sha-2" => Some(Algorithm::Sha256),
            "hmac-sha256" => Some(Algorithm::HmacSha256),
            _ => None,
        };
        self.algorithms.iter().find_map(of).map(Kind::from)
    }

    fn socket(&self) -> Result<SocketConfig, String> {
        if !self.socket.is_absolute() {
            let path = self.socket.display();
            return Err(format!("`socket` {path} is not an absolute path"));
        }
        let mode = u32::from_str_radix(&self.mode, 8).ok();
        let mode = mode.filter(|mode| *mode <= 0o777);
        Ok(SocketConfig {
            path: self.socket.clone(),
            mode: mode.ok_or_else(|| format!("`mode` {:?} is not octal up to 0777", self.mode))?,
            owner: id("owner", self.owner.as_ref(), "/etc/passwd")?,
            group: id("group", self.group.as_ref(), "/etc/group")?,
        })
    }

    fn settings(&self) -> Result<Settings, String> {
        let cap = self.cap_per_s.map(Settings::cap).transpose();
        let cap = cap.map_err(|error| format!("`cap_per_s`: {error}"))?;
        Ok(cap.unwrap_or(Settings::UNLIMITED))
    }

    fn allowed(&self) -> Result<Vec<Algorithm>, String> {
        use Algorithm as A;
        let mut allowed = Vec::new();
        for name in &self.algorithms {
            let more: &[A] = match name.as_str() {
                "aes-cbc" => &[A::Aes128Cbc, A::Aes192Cbc, A::Aes256Cbc],
                "sha-1" => &[A::Sha1],
                "sha-2" => &[A::Sha256, A::Sha384, A::Sha512],
                "hmac-sha256" => &[A::HmacSha256],
                "rsa" => &[
                    A::Rsa(RsaBits::B2048, RsaScheme::Pkcs1),
                    A::Rsa(RsaBits::B3072, RsaScheme::Pkcs1),
                    A::Rsa(RsaBits::B4096, RsaScheme::Pkcs1),
                ],
                other => {
                    return Err(format!(
                        "`algorithms` has {other:?}; known: aes-cbc, sha-1, sha-2, hmac-sha256, rsa"
                    ));
                }
            };
            allowed.extend(more);
        }
        if allowed.is_empty() {
            return Err("`algorithms` is empty: allow at least one".to_owned());
        }
        Ok(allowed)
    }

    fn controller(&self) -> Result<Option<Box<dyn Controller>>, String> {
        if self.controller == "none" {
            return Ok(None);
        }
        let mut parameters = Parameters::default();
        if let Some(per_s) = self.cap_per_s {
            let set = parameters.with_static_per_s(per_s);
            let set = set.and_then(|set| set.with_initial_per_s(Some(per_s)));
            parameters = set.map_err(|error| format!("`cap_per_s`: {error}"))?;
        }
        let found = controllers::by_name(&self.controller, &parameters);
        found.map(Some).map_err(|error| format!("{error}, none"))
    }

    fn quota(&self) -> Result<(Quota, String), String> {
        let mut quota = Quota::UNLIMITED;
        let mut words = Vec::new();
        if let Some(per_s) = self.requests_per_s {
            quota = quota
                .and_requests(per_s)
                .map_err(|error| error.to_string())?;
            words.push(format!("{per_s} requests/s"));
        }
        if let Some(per_s) = self.bytes_per_s {
            quota = quota.and_bytes(per_s).map_err(|error| error.to_string())?;
            words.push(format!("{per_s} bytes/s"));
        }
        if words.is_empty() {
            words.push("no quota".to_owned());
        }
        Ok((quota, words.join(", ")))
    }
}

const PAGE_BYTES: usize = 4096;
const DEPTH_MAX: usize = 1024;
const SESSIONS_MAX: usize = 16_384;
/// Connections and messages a second.
const OFTEN_MAX: usize = 1_000_000;

/// Guests whose memory may hold up one worker at a time, while the others go on.
const STAND_INS: usize = 2;

/// Every key is there once for each of them, too.
const QUARANTINE_MAX: usize = 8;
/// A thirtieth of the time of a CPU that others want, too (sched(7)): a thread that waits
/// for pages runs in the kernel, which may let nobody else on for a millisecond. Never
/// nothing: whoever is there goes on.
const QUARANTINE_NICE: i32 = 15;

fn in_range(key: &str, value: usize, limit: usize) -> Result<(), String> {
    if (1..=limit).contains(&value) {
        Ok(())
    } else {
        Err(format!("`{key}` {value}: give 1 to {limit}"))
    }
}

fn size(key: &str, text: &str) -> Result<usize, String> {
    let bytes = parse_size(text).map_err(|error| format!("`{key}` {text:?} is {error}"))?;
    usize::try_from(bytes).map_err(|_| format!("`{key}` {text:?} is too large"))
}

fn memory(key: &str, text: Option<&str>) -> Result<Option<u64>, String> {
    let read = |text| parse_memory(text).map_err(|error| format!("`{key}` {text:?} is {error}"));
    text.map(read).transpose()
}

/// A user's or a group's number.
fn id(key: &str, id: Option<&Id>, file: &str) -> Result<Option<u32>, String> {
    let name = match id {
        None => return Ok(None),
        Some(Id::Number(number)) => return Ok(Some(*number)),
        Some(Id::Name(name)) => name,
    };
    let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let mut lines = text.lines().map(|line| line.split(':'));
    let number = lines.find_map(|mut fields| {
        let is_it = fields.next() == Some(name);
        is_it.then(|| fields.nth(1)?.parse().ok())?
    });
    let missing = || format!("`{key}` {name:?} is not in {file}; give one that is, or its number");
    number.map(Some).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(line: &str) -> Result<Served, String> {
        parse(&format!(
            "[[vf]]\nname = \"a\"\nsocket = \"/run/a\"\n{line}\n"
        ))
    }

    #[test]
    fn defaults_are_a_whole_device() {
        let served = with("").unwrap();
        let one = &served.functions[0];
        // One of them for the quarantine.
        assert_eq!((served.workers.len(), one.device.socket.mode), (2, 0o600));
        assert_eq!(
            (&one.device.workers, &one.device.quarantine),
            (&vec![0], &vec![1])
        );
        assert_eq!(one.device.allowed.len(), 3);
        assert!(!one.device.offers_config && one.controller.is_some());
        assert_eq!(one.function.request_max.segments, 258);
        assert!(
            with("controller = \"none\"").unwrap().functions[0]
                .controller
                .is_none()
        );
        let owned = with("owner = \"root\"\ngroup = 12").unwrap();
        let socket = &owned.functions[0].device.socket;
        assert_eq!((socket.owner, socket.group), (Some(0), Some(12)));
        let own = with("worker = \"own\"\nmemory_max = \"8G\"\nmade_max = \"1M\"").unwrap();
        let device = &own.functions[0].device;
        assert_eq!((own.workers.len(), &device.workers), (3, &vec![2]));
        let limits = device.limits;
        assert_eq!(
            (limits.memory_bytes_max, limits.made_bytes_max),
            (8 << 30, 1 << 20)
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_limit() {
        for (line, words) in [
            ("weigth = 2", "weigth"),
            ("mode = \"9\"", "octal"),
            ("algorithms = [\"rot13\"]", "known: aes-cbc"),
            ("algorithms = []", "at least one"),
            ("controller = \"best\"", "known: static"),
            ("cap_per_s = 0", "cap_per_s"),
            ("requests_per_s = 0", "0 requests/s"),
            ("request_max = \"2M\"", "1048576"),
            ("request_max = \"much\"", "not a size"),
            ("depth = 0", "1 to 1024"),
            ("sessions_max = 0", "1 to 16384"),
            ("worker = \"mine\"", "shared"),
            ("memory_max = \"1E\"", "not a size"),
            ("memory_max = \"200T\"", "140737488355328"),
            ("messages_per_s = 0", "1 to 1000000"),
            ("owner = \"nobody-of-that-name\"", "/etc/passwd"),
            (
                "[[vf]]\nname = \"b\"\nsocket = \"/run/a\"",
                "two [[vf]] have the socket",
            ),
            ("[[vf]]\nname = \"b\"\nsocket = \"run/a\"", "absolute"),
            ("[[vf]]\nname = \"b c\"\nsocket = \"/run/b\"", "letters"),
        ] {
            let error = with(line).unwrap_err();
            assert!(error.contains(words), "{line}: {error}");
        }
        assert!(parse("").unwrap_err().contains("[[vf]]"));
    }
}
