//! `lockgate router`, as data.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub const EXAMPLES: &str = "\
Examples:
  lockgate router up examples/two-bgp.toml
  lockgate router show examples/two-bgp.toml
  lockgate router reload examples/two-bgp.toml   after a change: only what differs
  lockgate router down examples/two-bgp.toml
  lockgate router show                           all that are up, whatever their file; so does down

A file is a list of routers; each lives in the network namespace lockgate-NAME:
  schema = 1
  [router.edge1]
  path = \"xdp\"                 or \"kernel\", the default; \"bridge\"
  firewall = \"obey\"           the default; \"bypass\": XDP asks no firewall
  bird = \"edge1.conf\"          BIRD 2 with this configuration, beside the file; or
                               frr = \"edge1.conf\": FRR, with the programs that it needs
  threads = [2, 3]             kernel threads of their own receive, on these CPUs
                               (threaded NAPI), and nobody else's time is taken
  [[router.edge1.port]]
  name = \"lan\"
  veth = \"lan1\"                the other end of the port, here; or one of:
                               device = \"eth1\"    a card, virtual function or tap, lent
                               tap = true         for a guest, in the namespace
                               macvlan = \"eth0\"   beside the host's own on that card
                               to = \"edge2.core\"  a cable to another router's port
  addresses = [\"192.0.2.1/30\", \"2001:db8::1/64\"]
  mtu = 1500
  [[router.edge1.route]]
  to = \"198.18.0.0/16\"
  via = \"192.0.2.2\"

XDP forwards by the kernel's table: what the file, BIRD, FRR or `ip -n lockgate-edge1 route`
puts there. Frames that something else in the namespace decides about go through the kernel,
which asks it: nftables, iptables, tc filters, queueing disciplines, IPsec, BPF programs.
`show` names it, and counts those frames. On `reload` BIRD reads a changed configuration; FRR starts anew with it, and its
routes are gone meanwhile. Devices that carry an address are refused. All is journalled: after `down`,
or at the next start, of either kind, after kill -9, nothing is left, and devices are back as they were.

Exit codes: 0 done; 2 wrong usage, or a file that cannot be; 3 it failed, and nothing was
changed; 4 a capability is missing.";

#[derive(Debug, Args)]
pub struct RouterArguments {
    #[command(subcommand)]
    pub command: RouterCommand,
}

#[derive(Debug, Subcommand)]
pub enum RouterCommand {
    /// Make the routers of a file
    Up {
        /// The routers, in TOML
        file: PathBuf,
        /// Check the file and what it needs, and make nothing
        #[arg(long, conflicts_with = "foreground")]
        check: bool,
        /// Stay until Ctrl-C, SIGTERM or SIGHUP, and take them away then
        #[arg(long)]
        foreground: bool,
        /// Once they are up, say everything to a file beside the socket
        #[arg(long, hide = true, requires = "foreground")]
        to_log: bool,
    },
    /// Take them away, with all that was made for them
    Down {
        /// The file they are up from [default: all that are up]
        file: Option<PathBuf>,
    },
    /// Show ports, counters by port and by reason, routes
    Show {
        /// The file they are up from [default: all that are up]
        file: Option<PathBuf>,
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
    /// Read the file again, and change what differs
    Reload {
        /// The file they are up from
        file: PathBuf,
    },
}
