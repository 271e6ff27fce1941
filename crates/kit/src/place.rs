//! Which CPUs a trial's threads get.

use std::fs;

/// Whether clients share the workers' cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Placement {
    /// Clients and workers have cores of their own.
    Split,
    /// A client runs on its worker's core, as in a guest with one vCPU.
    Shared,
}

impl Placement {
    pub const ALL: [Self; 2] = [Self::Shared, Self::Split];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Split => "split",
            Self::Shared => "shared",
        }
    }
}

crate::named!(Placement, "placement");

/// The CPUs of one trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// One a worker.
    pub workers: Vec<usize>,
    /// One a lane's client.
    pub clients: Vec<usize>,
}

impl Cpus {
    /// Every CPU that takes part, once.
    pub fn all(&self) -> Vec<usize> {
        let mut all = [&self.workers[..], &self.clients[..]].concat();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Whether clients run on workers' CPUs.
    pub fn is_shared(&self) -> bool {
        self.clients.iter().any(|cpu| self.workers.contains(cpu))
    }

    /// How many threads that are always busy find no CPU of their own: workers,
    /// and clients where they look for completions.
    pub fn crowd(&self, clients_look: bool) -> usize {
        let excess = |cpus: &[usize]| {
            let distinct: std::collections::BTreeSet<_> = cpus.iter().collect();
            cpus.len() - distinct.len()
        };
        let clients: &[usize] = if clients_look { &self.clients } else { &[] };
        excess(&self.workers) + excess(clients)
    }
}

/// Places workers and clients on `cpus`; `None` where split is asked of one CPU.
pub fn place(cpus: &[usize], placement: Placement, workers: usize, lanes: usize) -> Option<Cpus> {
    let count = cpus.len();
    match placement {
        Placement::Shared => {
            let workers = dealt(cpus, workers);
            let clients = dealt(&workers, lanes);
            Some(Cpus { workers, clients })
        }
        Placement::Split if count < 2 => None,
        Placement::Split => {
            // Workers from the end, since CPU 0 takes most interrupts; at
            // least one CPU stays for the clients.
            let for_workers = workers.min(count - 1);
            let (for_clients, for_workers) = cpus.split_at(count - for_workers);
            Some(Cpus {
                workers: dealt(for_workers, workers),
                clients: dealt(for_clients, lanes),
            })
        }
    }
}

/// One CPU for each of this many threads, in turns.
fn dealt(cpus: &[usize], threads: usize) -> Vec<usize> {
    cpus.iter().copied().cycle().take(threads).collect()
}

/// The CPUs this process may use, one a core where the machine has
/// hyper-threads: two siblings would share the very core that is measured.
pub fn usable_cpus() -> std::io::Result<Vec<usize>> {
    let allowed = sys::affinity::allowed_cpus()?;
    let siblings = |cpu: usize| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        fs::read_to_string(path).unwrap_or_else(|_| cpu.to_string())
    };
    Ok(one_a_core(&allowed, siblings))
}

fn one_a_core(allowed: &[usize], siblings: impl Fn(usize) -> String) -> Vec<usize> {
    let mut seen = Vec::new();
    let is_first = |cpu: &usize| {
        let core = siblings(*cpu);
        let is_new = !seen.contains(&core);
        seen.push(core);
        is_new
    };
    allowed.iter().copied().filter(is_first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_keeps_a_cpu_for_the_clients() {
        let cpus = |workers, lanes| place(&[0, 1, 2], Placement::Split, workers, lanes).unwrap();
        let of = |cpus: Cpus| (cpus.workers, cpus.clients);
        assert_eq!(of(cpus(1, 1)), (vec![2], vec![0]));
        assert_eq!(of(cpus(5, 3)), (vec![1, 2, 1, 2, 1], vec![0, 0, 0]));
        assert_eq!(place(&[7], Placement::Split, 1, 1), None);
    }

    #[test]
    fn shared_clients_sit_with_their_worker() {
        let cpus = place(&[4, 5], Placement::Shared, 2, 3).unwrap();
        assert_eq!(cpus.all(), [4, 5]);
        assert_eq!((cpus.workers, cpus.clients), (vec![4, 5], vec![4, 5, 4]));
    }

    #[test]
    fn hyper_threads_count_once() {
        let siblings = |cpu: usize| format!("{},{}", cpu % 2, cpu % 2 + 2);
        assert_eq!(one_a_core(&[0, 1, 2, 3], siblings), [0, 1]);
    }
}
