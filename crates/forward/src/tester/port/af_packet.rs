//! Ports of packet sockets: any interface, no XDP, and the slowest.

use std::os::fd::AsFd;
use std::time::Duration;

use net::netlink::Link;
use sys::packet::{Batch, PacketSocket};

use super::collect::{Collector, Inlet};
use super::send::{BATCH_MAX, Outlet};
use super::{Port, PortError};

/// Opens a port at a link of the calling thread's network namespace. It counts
/// on the CPU `sink_cpu`, if one is given.
pub fn open(link: &Link, sink_cpu: Option<usize>) -> Result<Port, PortError> {
    let interface = &link.name;
    let open = || {
        PacketSocket::open(link.index).map_err(PortError::of(format!(
            "cannot open a packet socket at {interface}; it needs CAP_NET_RAW and CAP_NET_ADMIN (run as root)"
        )))
    };
    let inlet = PacketInlet {
        socket: open()?,
        batch: Batch::new(BATCH_MAX as usize),
    };
    let transmitter = PacketTransmitter {
        socket: open()?,
        batch: Batch::new(BATCH_MAX as usize),
        interface: interface.clone(),
        has_queue: link.kind != "veth",
    };
    Ok(Port {
        kind: "af-packet",
        interface: interface.clone(),
        address: link.address,
        transmitter: Box::new(transmitter),
        receiver: Box::new(Collector::start(inlet, sink_cpu)?),
    })
}

struct PacketTransmitter {
    socket: PacketSocket,
    batch: Batch,
    interface: String,
    /// Whether frames that the link drops found a queue of its own full. A veth has
    /// none: its frames lie in the ring of its other end, the device under test.
    has_queue: bool,
}

impl Outlet for PacketTransmitter {
    fn stage(&mut self, frame: &[u8]) -> Result<bool, PortError> {
        Ok(self.batch.push(frame))
    }

    fn flush(&mut self) -> Result<u64, PortError> {
        let sent = self.socket.send(&mut self.batch);
        self.batch.clear();
        let sent = sent.map_err(PortError::of(format!(
            "{} takes no frames; it must be up",
            self.interface
        )))?;
        let refused = if self.has_queue { sent.dropped } else { 0 };
        Ok((refused + sent.left) as u64)
    }
}

struct PacketInlet {
    socket: PacketSocket,
    batch: Batch,
}

impl Inlet for PacketInlet {
    fn collect(
        &mut self,
        timeout: Duration,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<usize, PortError> {
        let count = self.socket.receive(&mut self.batch).map_err(PortError::of(
            "cannot receive frames; the interface must be there",
        ))?;
        if count == 0 {
            wait(&self.socket, timeout)?;
        }
        self.batch.frames().for_each(each);
        Ok(count)
    }
}

/// Until there is something to read, or the time is over.
pub(super) fn wait(file: &impl AsFd, timeout: Duration) -> Result<(), PortError> {
    sys::readable::any(&[file.as_fd()], timeout)
        .map(|_| ())
        .map_err(PortError::of("cannot wait for frames"))
}
