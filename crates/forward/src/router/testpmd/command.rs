//! How `testpmd` is called. Pure.

use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub interfaces: [String; 2],
    pub peers: [[u8; 6]; 2],
    pub queues: u32,
    /// Frames taken at once, 1 to 512.
    pub burst: u32,
    /// CPUs of the threads that forward; queue `q` is on `cpus[q mod len]`.
    pub cpus: Vec<usize>,
    pub files: PathBuf,
}

const RING_ENTRIES: u32 = 2048;

/// Memory buffers: two rings of 2,048 in each direction of each port and queue, and
/// what the threads hold back.
const BUFFERS_PER_QUEUE: u32 = 16_384;

/// MiB of a queue's buffers: 2,304 bytes each, and some.
const MEMORY_MIB_PER_QUEUE: u32 = 64;

impl Call {
    /// The command. It forwards until it gets the command to quit, counts the cycles of
    /// bursts that had frames, and needs neither huge pages nor PCI devices nor a BPF file system.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("LIBXDP_SKIP_DISPATCHER", "1");
        // Else in /run/dpdk, and never removed.
        command.env("RUNTIME_DIRECTORY", &self.files);
        command.args(["--lcores", &self.lcores(), "--main-lcore=0"]);
        command.args(["--no-huge", "--no-pci", "--no-telemetry", "--no-shconf"]);
        command
            .arg("-m")
            .arg((128 + MEMORY_MIB_PER_QUEUE * self.queues).to_string());
        for (port, interface) in self.interfaces.iter().enumerate() {
            let queues = self.queues;
            command.arg("--vdev").arg(format!(
                "net_af_xdp{port},iface={interface},start_queue=0,queue_count={queues},busy_budget=0"
            ));
        }
        command.args([
            "--",
            "--interactive",
            "--forward-mode=mac",
            "--auto-start",
            "--record-core-cycles",
        ]);
        for (port, peer) in self.peers.iter().enumerate() {
            command.arg(format!("--eth-peer={port},{}", mac(peer)));
        }
        command.args([
            format!("--nb-cores={}", self.queues),
            format!("--rxq={}", self.queues),
            format!("--txq={}", self.queues),
            format!("--burst={}", self.burst),
            format!("--rxd={RING_ENTRIES}"),
            format!("--txd={RING_ENTRIES}"),
            format!("--total-num-mbufs={}", BUFFERS_PER_QUEUE * self.queues),
        ]);
        command
    }

    /// Thread 0 waits for commands; each other forwards one queue.
    fn lcores(&self) -> String {
        let cpu = |queue: u32| self.cpus[queue as usize % self.cpus.len()];
        let mut threads = vec![format!("0@{}", cpu(0))];
        threads.extend((0..self.queues).map(|queue| format!("{}@{}", queue + 1, cpu(queue))));
        threads.join(",")
    }
}

fn mac(address: &[u8; 6]) -> String {
    address.map(|byte| format!("{byte:02x}")).join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_names_ports_cpus_and_peers() {
        let call = Call {
            interfaces: ["lga".to_owned(), "lgb".to_owned()],
            peers: [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 0xab]],
            queues: 2,
            burst: 32,
            cpus: vec![3],
            files: "/run/lockgate/lockgate-x".into(),
        };
        let command = call.command(Path::new("dpdk-testpmd"));
        let text: Vec<_> = command
            .get_args()
            .map(|word| word.to_string_lossy())
            .collect();
        let text = text.join(" ");
        assert!(
            text.starts_with("--lcores 0@3,1@3,2@3 --main-lcore=0 "),
            "{text}"
        );
        assert!(
            text.contains("--vdev net_af_xdp1,iface=lgb,start_queue=0,queue_count=2,busy_budget=0")
        );
        assert!(text.contains("--eth-peer=1,02:00:00:00:00:ab"));
        assert!(text.contains("--burst=32 --rxd=2048 --txd=2048 --total-num-mbufs=32768"));
    }
}
