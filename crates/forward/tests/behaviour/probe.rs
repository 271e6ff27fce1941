//! One frame into two DUTs, and what came out of each, port by port.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use wire::checksum::Pseudo;
use wire::{EtherType, Summary, ethernet, icmpv4, ipv4, protocol, udp};

use crate::normal::normalised;
use crate::plan;
use crate::rig::Rig;

/// Against hangs only.
const LONG: Duration = Duration::from_secs(10);

/// For the frame that is sent on, after the one that is answered: where nothing
/// is sent on, a look is over then.
const FORWARDED_WITHIN: Duration = Duration::from_millis(200);

/// Times that a difference is looked at again, each with more patience, before
/// it counts: a late frame of the one before is none of this one.
const PATIENCE: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(30),
    Duration::from_millis(300),
];

/// Marks the frames that end a look; no other frame has it as an echo's
/// identifier or a source port.
const MARK: u16 = 0x4c47;

/// Frames by the tester's port they came to.
pub type Output = [Vec<Vec<u8>>; 2];

/// What came, and whether the frame that is sent on came through.
pub type Look = (Output, bool);

/// What two DUTs made of the same frame.
#[derive(Debug)]
pub struct Difference(pub String);

/// Two DUTs that shall do the same.
pub struct Pair {
    pub reference: Rig,
    pub subject: Rig,
    count: u16,
}

impl Pair {
    pub fn new(reference: Rig, subject: Rig) -> Self {
        Self {
            reference,
            subject,
            count: 0,
        }
    }

    /// Sends a frame to both, compares what comes out, and returns it.
    pub fn compare(&mut self, port: usize, frame: &[u8]) -> Result<Output, Difference> {
        let mut outputs = None;
        for patience in PATIENCE {
            let [reference, subject] = self.looks(port, frame, patience)?;
            if reference == subject {
                return Ok(reference.0);
            }
            outputs = Some((reference, subject));
        }
        let (reference, subject) = outputs.expect("there is patience");
        Err(Difference(told(port, frame, &reference, &subject)))
    }

    /// Sends a frame to both, and waits for so long after it went through.
    pub fn looks(
        &mut self,
        port: usize,
        frame: &[u8],
        patience: Duration,
    ) -> Result<[Look; 2], Difference> {
        self.count = self.count.wrapping_add(1);
        let count = self.count;
        let rigs = [(&self.reference, "kernel"), (&self.subject, "subject")];
        // Both first, so that they work at the same time.
        for (rig, _) in rigs {
            while [0, 1]
                .iter()
                .any(|side| rig.ports[*side].receive().unwrap().is_some())
            {}
            rig.ports[port].send(frame).unwrap();
            for mark in marks(port, count) {
                rig.ports[port].send(&mark).unwrap();
            }
        }
        let outputs = rigs.map(|(rig, name)| {
            collect(rig, port, count, patience).map_err(|()| {
                let frame = Summary(frame);
                Difference(format!(
                    "the {name} DUT is mute after {frame} on port {port}"
                ))
            })
        });
        let [reference, subject] = outputs;
        Ok([reference?, subject?])
    }
}

/// A frame that the DUT itself answers, and one that it sends on: when both are
/// through, so is whatever was sent before.
fn marks(port: usize, count: u16) -> [Vec<u8>; 2] {
    let header = ethernet::Repr {
        destination: plan::DUT[port],
        source: plan::TESTER[port],
        ether_type: EtherType::IPV4,
    };
    let source = plan::TESTER_V4[port];
    let echo = icmpv4::Repr::EchoRequest {
        identifier: MARK,
        sequence: count,
        data: &[],
    };
    let echo = ipv4::Repr::new(source, plan::DUT_V4[port], protocol::ICMPV4)
        .to_bytes(&echo.to_bytes())
        .unwrap();
    // On the link itself: no change of routes concerns it.
    let destination = plan::TESTER_V4[1 - port];
    let datagram = udp::Repr {
        source_port: MARK,
        destination_port: count,
    }
    .to_bytes(&Pseudo::V4(source, destination), &[])
    .unwrap();
    let datagram = ipv4::Repr::new(source, destination, protocol::UDP)
        .to_bytes(&datagram)
        .unwrap();
    [header.to_bytes(&echo), header.to_bytes(&datagram)]
}

/// Whether it is a mark's answer, and which one's.
fn mark_of(frame: &[u8]) -> Option<(u8, u16)> {
    let view = ethernet::Packet::new(frame).ok()?;
    let packet = ipv4::Packet::new(view.payload()).ok()?;
    match packet.protocol() {
        protocol::ICMPV4 => {
            let message = icmpv4::Packet::new(packet.payload()).ok()?;
            match icmpv4::Repr::parse(&message).ok()? {
                icmpv4::Repr::EchoReply {
                    identifier: MARK,
                    sequence,
                    ..
                } => Some((0, sequence)),
                _ => None,
            }
        }
        protocol::UDP => {
            let datagram = udp::Packet::new(packet.payload()).ok()?;
            (datagram.source_port() == MARK).then_some((1, datagram.destination_port()))
        }
        _ => None,
    }
}

/// What came until both marks, and for so much longer. Without the one that is
/// sent on it is over [`FORWARDED_WITHIN`] later, without the other it fails.
fn collect(rig: &Rig, port: usize, count: u16, patience: Duration) -> Result<Look, ()> {
    let began = Instant::now();
    let mut output = Output::default();
    let mut marks = [false; 2];
    let (mut answered, mut end) = (None, None);
    loop {
        let mut heard = false;
        for side in [0, 1] {
            while let Some(frame) = rig.ports[side].receive().unwrap() {
                heard = true;
                match mark_of(&frame) {
                    Some((kind, number)) if number == count => {
                        let wanted = if kind == 0 { port } else { 1 - port };
                        marks[usize::from(kind)] |= side == wanted;
                    }
                    Some(_) => {}
                    None => output[side].extend(normalised(&frame)),
                }
            }
        }
        if marks[0] && end.is_none() {
            let answered = *answered.get_or_insert_with(Instant::now);
            if marks[1] || answered.elapsed() > FORWARDED_WITHIN {
                end = Some(Instant::now() + patience);
            }
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            return Ok((output, marks[1]));
        }
        if began.elapsed() > LONG {
            return Err(());
        }
        if !heard {
            std::thread::sleep(Duration::from_micros(20));
        }
    }
}

/// For people: what went in, what came out of each.
fn told(port: usize, frame: &[u8], reference: &Look, subject: &Look) -> String {
    let mut text = format!("into port {port}: {}\n  {frame:02x?}\n", Summary(frame));
    for (name, (output, forwards)) in [("kernel", reference), ("subject", subject)] {
        if !forwards {
            let _ = writeln!(text, "the {name} sends nothing on");
        }
        for (side, frames) in output.iter().enumerate() {
            let _ = writeln!(text, "out of the {name}'s port {side}: {}", frames.len());
            for frame in frames {
                let _ = writeln!(text, "  {}\n  {frame:02x?}", Summary(frame));
            }
        }
    }
    text
}
