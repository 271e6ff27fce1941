//! One frame into two DUTs, and what came out of each, port by port.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use wire::checksum::Pseudo;
use wire::icmp::{self, Over};
use wire::{EtherType, Summary, ethernet, ipv4, protocol, udp};

use crate::behaviour::normal::normalised;
use crate::behaviour::plan;
use crate::behaviour::rig::Rig;

const LONG: Duration = Duration::from_secs(10);

/// Time for the frame that is sent on, after the one that is answered: where nothing
/// is sent on, a look ends then.
const FORWARDED_WITHIN: Duration = Duration::from_millis(100);

/// Times that a difference is looked at again, each with more patience, before it
/// counts: a late frame belongs to an earlier look.
const PATIENCE: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(30),
    Duration::from_millis(300),
];

/// Marks the frames that end a look; no other frame has it as an echo's
/// identifier or a source port.
const MARK: u16 = 0x4c47;

/// See [`Rig::forget_neighbours`].
const NEIGHBOURS_FORGOTTEN_EVERY: u16 = 128;

/// Frames by the tester's port they came to.
pub type Output = [Vec<Vec<u8>>; 2];

pub type Look = (Output, bool);

#[derive(Debug)]
pub struct Difference(pub String);

/// Frames, and the tester's ports they leave by.
pub type Input<'a> = [(usize, &'a [u8])];

pub struct Pair {
    pub reference: Rig,
    pub subject: Rig,
    /// Frames that do not count: those that a DUT sends at a limited rate.
    pub ignored: fn(&[u8]) -> bool,
    /// For how long a DUT may answer nothing before it counts as mute.
    pub mute_after: Duration,
    /// See [`FORWARDED_WITHIN`].
    pub forwarded_within: Duration,
    count: u16,
    late: [usize; 2],
}

impl Pair {
    pub fn new(reference: Rig, subject: Rig) -> Self {
        Self {
            reference,
            subject,
            ignored: |_| false,
            mute_after: LONG,
            forwarded_within: FORWARDED_WITHIN,
            count: 0,
            late: [0; 2],
        }
    }

    pub fn compare(&mut self, port: usize, frame: &[u8]) -> Result<Output, Difference> {
        self.compare_by(&[(port, frame)], |_| {})
    }

    /// As [`compare`](Self::compare), of a frame that must make no difference.
    pub fn same(&mut self, port: usize, frame: &[u8]) -> Output {
        let compared = self.compare(port, frame);
        compared.unwrap_or_else(|difference| panic!("{}", difference.0))
    }

    pub fn both(&self) -> [&Rig; 2] {
        [&self.reference, &self.subject]
    }

    /// Sends several at once; the order in which they come out may differ.
    pub fn compare_burst(&mut self, input: &Input<'_>) -> Result<Output, Difference> {
        self.compare_by(input, |output| {
            output.iter_mut().for_each(|frames| frames.sort())
        })
    }

    fn compare_by(
        &mut self,
        input: &Input<'_>,
        order: impl Fn(&mut Output),
    ) -> Result<Output, Difference> {
        let mut last = None;
        for patience in PATIENCE {
            let [mut reference, mut subject] = self.looks(input, patience)?;
            order(&mut reference.0);
            order(&mut subject.0);
            if reference == subject {
                return Ok(reference.0);
            }
            last = Some((reference, subject));
        }
        let (reference, subject) = last.expect("there is patience");
        Err(Difference(told(input, &reference, &subject)))
    }

    /// Sends frames to both, and waits this long after they went through.
    pub fn looks(
        &mut self,
        input: &Input<'_>,
        patience: Duration,
    ) -> Result<[Look; 2], Difference> {
        self.count = self.count.wrapping_add(1);
        let count = self.count;
        if count.is_multiple_of(NEIGHBOURS_FORGOTTEN_EVERY) {
            self.forget_neighbours();
        }
        let ports = [0, 1].map(|side| input.iter().any(|(port, _)| *port == side));
        let rigs = [(&self.reference, "kernel"), (&self.subject, "subject")];
        // Both first, so that they work at the same time.
        for ((rig, _), late) in rigs.into_iter().zip(&mut self.late) {
            *late += drain(rig);
            for (port, frame) in input {
                rig.ports[*port].send(frame).unwrap();
            }
            for port in [0, 1].into_iter().filter(|port| ports[*port]) {
                for mark in marks(port, count) {
                    rig.ports[port].send(&mark).unwrap();
                }
            }
        }
        let outputs = rigs.map(|(rig, name)| {
            let look = collect(
                rig,
                ports,
                count,
                [patience, self.mute_after, self.forwarded_within],
            );
            look.map_err(|()| {
                let frame = Summary(input[0].1);
                Difference(format!("the {name} DUT is mute after {frame}"))
            })
        });
        let [reference, subject] = outputs;
        let mut looks = [reference?, subject?];
        for frames in looks.iter_mut().flat_map(|(output, _)| output) {
            frames.retain(|frame| !(self.ignored)(frame));
        }
        Ok(looks)
    }

    fn forget_neighbours(&self) {
        for rig in self.both() {
            rig.forget_neighbours();
        }
        std::thread::sleep(Duration::from_millis(5));
        for rig in self.both() {
            drain(rig);
        }
    }

    /// Frames that came after the look that they belong to, of the reference and of
    /// the subject.
    pub fn late(&mut self) -> [usize; 2] {
        std::thread::sleep(Duration::from_millis(50));
        self.late[0] += drain(&self.reference);
        self.late[1] += drain(&self.subject);
        self.late
    }
}

fn drain(rig: &Rig) -> usize {
    let mut count = 0;
    for port in &rig.ports {
        while let Some(frame) = port.receive().unwrap() {
            count += usize::from(mark_of(&frame).is_none() && normalised(&frame).is_some());
        }
    }
    count
}

/// A frame that the DUT itself answers, and one that it sends on: when both are
/// through, so is everything sent before.
fn marks(port: usize, count: u16) -> [Vec<u8>; 2] {
    let header = ethernet::Repr {
        destination: plan::DUT[port],
        source: plan::TESTER[port],
        ether_type: EtherType::IPV4,
    };
    let source = plan::TESTER_V4[port];
    let echo = icmp::Repr::new(icmp::v4::ECHO_REQUEST, icmp::echo(MARK, count), &[]);
    let echo = ipv4::Repr::new(source, plan::DUT_V4[port], protocol::ICMPV4)
        .to_bytes(&echo.to_bytes(Over::V4))
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

enum Mark {
    Answered,
    Forwarded,
}

fn mark_of(frame: &[u8]) -> Option<(Mark, u16)> {
    let view = ethernet::Packet::new(frame).ok()?;
    let packet = ipv4::Packet::new(view.payload()).ok()?;
    match packet.protocol() {
        protocol::ICMPV4 => {
            let view = icmp::Packet::new(packet.payload()).ok()?;
            let message = icmp::Repr::parse(&view, Over::V4).ok()?;
            let [a, b, c, d] = message.rest;
            let is_mark = message.kind == icmp::v4::ECHO_REPLY && [a, b] == MARK.to_be_bytes();
            is_mark.then_some((Mark::Answered, u16::from_be_bytes([c, d])))
        }
        protocol::UDP => {
            let datagram = udp::Packet::new(packet.payload()).ok()?;
            let is_mark = datagram.source_port() == MARK;
            is_mark.then_some((Mark::Forwarded, datagram.destination_port()))
        }
        _ => None,
    }
}

/// What came until the marks of each port, and for a further time. Without a mark
/// that is sent on the look ends `forwarded_within` later; without one that is
/// answered it fails.
fn collect(
    rig: &Rig,
    ports: [bool; 2],
    count: u16,
    [patience, mute_after, forwarded_within]: [Duration; 3],
) -> Result<Look, ()> {
    let began = Instant::now();
    let mut output = Output::default();
    // By the port it came to; what is not waited for counts as there.
    let mut answers = ports.map(|is_used| !is_used);
    let mut forwards = [!ports[1], !ports[0]];
    let (mut answered, mut end) = (None, None);
    loop {
        let mut heard = false;
        for side in [0, 1] {
            while let Some(frame) = rig.ports[side].receive().unwrap() {
                heard = true;
                match mark_of(&frame) {
                    Some((Mark::Answered, number)) if number == count => answers[side] = true,
                    Some((Mark::Forwarded, number)) if number == count => forwards[side] = true,
                    Some(_) => {}
                    None => output[side].extend(normalised(&frame)),
                }
            }
        }
        let has_forwarded = forwards == [true; 2];
        if answers == [true; 2] && end.is_none() {
            let answered = *answered.get_or_insert_with(Instant::now);
            if has_forwarded || answered.elapsed() > forwarded_within {
                end = Some(Instant::now() + patience);
            }
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            return Ok((output, has_forwarded));
        }
        if began.elapsed() > mute_after {
            return Err(());
        }
        if !heard {
            std::thread::sleep(Duration::from_micros(20));
        }
    }
}

fn told(input: &Input<'_>, reference: &Look, subject: &Look) -> String {
    let mut text = String::new();
    for (port, frame) in input {
        let _ = writeln!(text, "into port {port}: {}\n  {frame:02x?}", Summary(frame));
    }
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
