//! Ports of the tester: what sends a stream, and what counts the frames that
//! come. One file a kind.

pub mod af_packet;
#[cfg(feature = "bpf")]
pub mod af_xdp;
mod collect;
pub mod frames;
#[cfg(feature = "bpf")]
pub mod live;
mod pace;
mod send;
pub mod tap;

use std::sync::atomic::AtomicBool;

use trial::Histogram;

use super::stream::Stream;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transmitted {
    pub due: u64,
    /// Frames that the port's link took, and those that its own queue refused: loss
    /// is counted against these.
    pub offered: u64,
    /// Of these, frames that the port's own queue refused. A frame that finds the
    /// ring of a veth's other end full does not count: the device under test lost it.
    pub refused: u64,
    /// From the first frame due to the last, ns.
    pub elapsed_ns: u64,
    /// Longest time by which a frame was behind its due time, ns.
    pub behind_ns_max: u64,
    /// Longest pause between two looks at the clock, ns: a scheduler gap.
    pub gap_ns_max: u64,
    /// Frames counted as lost where the number under way is limited: at most this
    /// many found no room.
    pub given_up: u64,
    /// CPU time of the thread that sent, ns. With a rate most of it is waiting: to be
    /// in time, a port looks at the clock until the next frame is due.
    pub cpu_ns: u64,
}

/// What a receiver counted. Each frame counts once: in `received`, `late` or
/// `foreign`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Received {
    pub received: u64,
    pub duplicates: u64,
    /// Of `received`, those with a lower sequence than one before (RFC 4737,
    /// section 3.3).
    pub reordered: u64,
    pub late: u64,
    pub foreign: u64,
    /// Bytes of `received`, each with its frame check sequence.
    pub bytes: u64,
    /// From the first frame received to the last, ns.
    pub elapsed_ns: u64,
    pub latency: Histogram,
}

pub use sys::failure::Failure as PortError;

pub trait Transmitter: Send {
    /// Sends the stream from the calling thread, until its time is over or
    /// `stop` is set.
    ///
    /// # Errors
    /// [`PortError`] when the port is gone or refuses for another reason than
    /// a full queue.
    fn transmit(&mut self, stream: &Stream, stop: &AtomicBool) -> Result<Transmitted, PortError>;

    /// From now on the limit of frames under way is kept by this receiver's counts,
    /// where both can.
    fn follow(&mut self, receiver: &dyn Receiver) -> Result<(), PortError> {
        let _ = receiver;
        Ok(())
    }

    /// Itself, where several of its kind can send from one thread
    /// ([`live::transmit_in_turns`]).
    #[cfg(feature = "bpf")]
    fn taking_turns(&mut self) -> Option<&mut live::LiveTransmitter> {
        None
    }
}

pub trait Receiver: Send {
    /// Counts from now on, from nothing, the frames of this stream of its trial.
    fn begin(&mut self, stream: &Stream) -> Result<(), PortError>;

    fn counts(&mut self) -> Result<Received, PortError>;

    /// Its progress, where a transmitter of its kind can follow that.
    #[cfg(feature = "bpf")]
    fn reached(&self) -> Option<&xdp::Reached> {
        None
    }

    /// CPU time of the counting thread so far, ns.
    fn cpu_ns(&mut self) -> Result<u64, PortError>;
}

/// A port of the tester: either end of it may be used alone.
pub struct Port {
    pub kind: &'static str,
    pub interface: String,
    pub address: [u8; 6],
    pub transmitter: Box<dyn Transmitter>,
    pub receiver: Box<dyn Receiver>,
}
