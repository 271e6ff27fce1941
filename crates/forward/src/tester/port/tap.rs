//! Ports of taps: what is written to the file comes out of the link, as if it
//! had been received there, and what the link sends is read. One call a frame.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::{Errno, read, write};

use super::af_packet::wait;
use super::collect::{Collector, Inlet};
use super::frames::FRAME_BYTES_MAX;
use super::send::{BATCH_MAX, Outlet};
use super::{Port, PortError};

/// Makes a port of the file of a tap, without packet information and not
/// blocking. It counts on the CPU `sink_cpu`, if one is given.
pub fn open(
    interface: &str,
    file: OwnedFd,
    address: [u8; 6],
    sink_cpu: Option<usize>,
) -> Result<Port, PortError> {
    let context = format!("cannot open the tap {interface} for both directions");
    let reader = file.try_clone().map_err(PortError::of(context))?;
    let inlet = TapInlet {
        file: reader,
        buffer: vec![0; 65_536],
    };
    let transmitter = TapTransmitter {
        file,
        interface: interface.to_owned(),
        refused: 0,
    };
    Ok(Port {
        kind: "tap",
        interface: interface.to_owned(),
        address,
        transmitter: Box::new(transmitter),
        receiver: Box::new(Collector::start(inlet, sink_cpu)?),
    })
}

struct TapTransmitter {
    file: OwnedFd,
    interface: String,
    refused: u64,
}

impl Outlet for TapTransmitter {
    fn stage(&mut self, frame: &[u8]) -> Result<bool, PortError> {
        debug_assert!(frame.len() <= FRAME_BYTES_MAX);
        match write(&self.file, frame) {
            // What finds the ring full is lost by the side that did not empty it: the
            // device under test, whose port the tap is.
            Ok(_) | Err(Errno::AGAIN) => Ok(true),
            Err(Errno::NOBUFS | Errno::NOMEM | Errno::INTR) => {
                self.refused += 1;
                Ok(true)
            }
            Err(error) => Err(PortError::of(format!(
                "{} takes no frames; it must be up",
                self.interface
            ))(error)),
        }
    }

    fn flush(&mut self) -> Result<u64, PortError> {
        Ok(std::mem::take(&mut self.refused))
    }
}

struct TapInlet {
    file: OwnedFd,
    buffer: Vec<u8>,
}

impl Inlet for TapInlet {
    fn collect(
        &mut self,
        timeout: Duration,
        each: &mut dyn FnMut(&[u8]),
    ) -> Result<usize, PortError> {
        for count in 0..BATCH_MAX as usize {
            match read(&self.file, &mut self.buffer) {
                Ok(bytes) => each(&self.buffer[..bytes]),
                Err(Errno::AGAIN | Errno::INTR) => {
                    if count == 0 {
                        wait(&self.file, timeout)?;
                    }
                    return Ok(count);
                }
                Err(error) => {
                    return Err(PortError::of("cannot read frames; the tap must be there")(
                        error,
                    ));
                }
            }
        }
        Ok(BATCH_MAX as usize)
    }
}
