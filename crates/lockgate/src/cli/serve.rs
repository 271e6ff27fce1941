//! `lockgate serve`, as data.

use std::path::PathBuf;

use clap::Args;

pub const EXAMPLES: &str = "\
Example, for one guest (examples/one-vm.toml):
  [[vf]]
  name = \"vm1\"
  socket = \"/run/lockgate/vm1.sock\"

Every other key has a default:
  user = \"lockgate\"                 whom it runs as, a name or a number; as root: the
                                    user `lockgate` if there is one, else `nobody`
  backend = \"auto\"                  of the engine: see `lockgate speed --backend`
  workers = [2, 3]                  CPUs of its workers; one worker, on any CPU
  spin_us = 50                      a worker looks so long before it sleeps; learnt
  quarantine = 1                    workers for guests whose memory holds theirs up; 0:
                                    such a guest is cut off
  memory_max, made_max              of all guests together: \"64T\", \"1G\"
  [[vf]]
  owner = \"libvirt-qemu\"            of the socket, a name or a number; also group
  mode = \"0600\"                     of the socket
  queues = 1                        1 to 8; Linux drives one
  algorithms = [\"aes-cbc\"]          also sha-1, sha-2, hmac-sha256, rsa (public keys)
  weight = 1                        share of the workers beside others
  requests_per_s, bytes_per_s       a quota; none
  controller = \"adaptive\"           of the interrupts: static, dim, vic, frequency,
                                    speed-monitor-prose, speed-monitor-listing, none
  cap_per_s                         interrupts/s, with \"static\" and for a start
  request_max = \"1M\"                largest request
  piece = \"auto\"                    longer ones are cut, so that others get their turn;
                                    auto: the shortest that costs little more, measured
                                    at the start; or a size: \"64k\" for a lone guest
  depth = 256                       requests of a queue in flight in the engine
  sessions_max = 1024               keys of one guest
  worker = \"shared\"                 \"own\": a worker for this guest alone
  memory_max = \"1T\"                 memory of the guest that is mapped
  made_max = \"64M\"                  pages that nobody had written before a request named
                                    them: they are made for this process
  connections_per_s = 20            of its socket; who connects more often waits
  messages_per_s = 2000             likewise

Stock QEMU offers guests AES-CBC only on such a device, and a guest that has one
does not migrate. Linux's driver can ask for at most 31 pages at once, 124 KiB;
longer requests end with an error. What else is allowed is for front-ends that ask the device.

Once sockets are open it is confined: a user of its own, no capability, no other
network, no file, and of each kind of thread only the system calls it needs. Another
call ends the program, with a word of which. What the kernel lacks is told. Started
as root it has a process beside it, which removes the sockets at the end.

Memory of guests is taken from memfd, tmpfs and hugetlbfs, sealed or not. Whoever takes
it away while it is in use is cut off, and nobody else.

SIGTERM, SIGHUP and Ctrl-C end: what was taken is finished, keys are zeroised. SIGUSR1
prints the counters. A thread that ends by itself ends all, with a failure: a service
manager starts it again.";

#[derive(Debug, Args)]
pub struct ServeArguments {
    /// The virtual functions, in TOML
    pub file: PathBuf,
    /// Check the file, print what QEMU and libvirt take, and end
    #[arg(long)]
    pub check: bool,
    /// Print no QEMU lines and no libvirt XML
    #[arg(long, conflicts_with = "check")]
    pub no_lines: bool,
    /// Whom to run as, by name or number; before `user` of the file
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// Keep all rights of the user that starts it. Gives up that a guest who finds a fault
    /// in this program gets no files, no network and no other process, and that core dumps
    /// show no keys
    #[arg(long, conflicts_with = "user")]
    pub no_confinement: bool,
}
