//! Ports of AF_XDP sockets: frames go between a driver's queue and our memory.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use xdp::socket::{Capture, Frame, Pool, Receive, Socket, SocketOptions, Transmit, Umem};

use super::collect::{Collector, Inlet};
use super::send::Outlet;
use super::{Port, PortError};

const RING_ENTRIES: u32 = 2048;

const BATCH: u32 = 64;

/// Memory for the kernel's copies of frames that a device has not done with:
/// more than all of the port's frames, so that a full device loses frames
/// instead of holding the port back.
const SEND_BUFFER_BYTES: usize = 16 << 20;

/// How long frames that wait at the end of a stream may take to leave, and the
/// interval of looks.
const LEAVE_MAX: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_micros(200);

/// Opens a port at queue 0 of an interface of the calling thread's network
/// namespace, which has `queues` queues. It counts on the CPU `sink_cpu`, if one
/// is given: frames that come through other queues too.
pub fn open(
    interface: &str,
    interface_index: u32,
    address: [u8; 6],
    queues: u32,
    sink_cpu: Option<usize>,
) -> Result<Port, PortError> {
    let context = || format!("cannot open an AF_XDP port at {interface}");
    let capture = Capture::attach(interface_index, queues).map_err(PortError::of(context()))?;
    let (umem, mut pool) =
        Umem::new(RING_ENTRIES * (queues + 1), 2048).map_err(PortError::of(context()))?;
    let options = SocketOptions {
        ring_entries: RING_ENTRIES,
        send_budget: Some(BATCH),
        send_buffer_bytes: Some(SEND_BUFFER_BYTES),
        ..SocketOptions::default()
    };
    let mut first = None;
    let mut receivers = Vec::new();
    for queue in 0..queues {
        let socket = Socket::open(&umem, interface_index, queue, &options)
            .map_err(PortError::of(context()))?;
        capture
            .feed(queue, &socket.receive)
            .map_err(PortError::of(context()))?;
        receivers.push(socket.receive);
        first.get_or_insert(socket.transmit);
    }
    let transmitter = XdpTransmitter {
        transmit: first.ok_or_else(|| PortError::new(format!("{interface} has no queue")))?,
        pool: pool.split(RING_ENTRIES as usize),
        umem: Arc::clone(&umem),
        interface: interface.to_owned(),
    };
    let mut inlet = XdpInlet {
        receivers,
        umem,
        pool,
        frames: Vec::new(),
        _capture: capture,
    };
    // Before any sending: without frames to receive into, packets are lost.
    inlet.refill();
    Ok(Port {
        kind: "af-xdp",
        interface: interface.to_owned(),
        address,
        transmitter: Box::new(transmitter),
        receiver: Box::new(Collector::start(inlet, sink_cpu)?),
    })
}

struct XdpTransmitter {
    transmit: Transmit,
    pool: Pool,
    umem: Arc<Umem>,
    interface: String,
}

impl Outlet for XdpTransmitter {
    fn stage(&mut self, bytes: &[u8]) -> Result<bool, PortError> {
        if self.pool.is_empty() {
            self.transmit.reclaim(&mut self.pool);
        }
        let Some(mut frame) = self.pool.take() else {
            return Ok(false);
        };
        let written = self.umem.write(&mut frame, bytes);
        written.map_err(PortError::of(
            "a test frame is longer than a frame of memory",
        ))?;
        match self.transmit.stage(frame) {
            Ok(()) => Ok(true),
            Err(frame) => {
                self.pool.put(frame);
                Ok(false)
            }
        }
    }

    fn flush(&mut self) -> Result<u64, PortError> {
        // What the kernel does not take now stays in the ring: nothing is
        // refused, and the sender gets behind.
        let flushed = self.transmit.flush();
        flushed.map_err(PortError::of(format!(
            "{} takes no frames; it must be up",
            self.interface
        )))?;
        self.transmit.reclaim(&mut self.pool);
        Ok(0)
    }

    fn finish(&mut self) -> Result<u64, PortError> {
        let until = Instant::now() + LEAVE_MAX;
        loop {
            self.flush()?;
            let waiting = self.transmit.waiting();
            if waiting == 0 || Instant::now() > until {
                return Ok(waiting.into());
            }
            std::thread::sleep(LOOK);
        }
    }
}

struct XdpInlet {
    receivers: Vec<Receive>,
    umem: Arc<Umem>,
    pool: Pool,
    frames: Vec<Frame>,
    _capture: Capture,
}

impl XdpInlet {
    fn refill(&mut self) {
        for receive in &mut self.receivers {
            receive.refill(&mut self.pool, RING_ENTRIES);
        }
    }
}

impl Inlet for XdpInlet {
    fn collect(
        &mut self,
        timeout: Duration,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<usize, PortError> {
        let mut count = 0;
        for receive in &mut self.receivers {
            receive.refill(&mut self.pool, RING_ENTRIES);
            receive.receive(BATCH, &mut self.frames);
            count += self.frames.len();
            for frame in self.frames.drain(..) {
                each(self.umem.bytes(&frame));
                self.pool.put(frame);
            }
        }
        if count == 0 {
            let sockets: Vec<_> = self.receivers.iter().map(AsFd::as_fd).collect();
            sys::readable::any(&sockets, timeout)
                .map_err(PortError::of("cannot wait for frames"))?;
        }
        Ok(count)
    }
}
