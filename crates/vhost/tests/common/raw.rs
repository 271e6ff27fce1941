//! A front-end that says anything, and a guest that puts anything into its queue.

use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use lockgate_vhost::front::{Driver, FrontEnd};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use sys::event::Event;

use super::{LONG, Rig};

pub const GET_FEATURES: u32 = 1;
pub const SET_FEATURES: u32 = 2;
pub const SET_MEM_TABLE: u32 = 5;
pub const SET_LOG_BASE: u32 = 6;
pub const SET_VRING_NUM: u32 = 8;
pub const SET_VRING_ADDR: u32 = 9;
pub const SET_VRING_BASE: u32 = 10;
pub const GET_VRING_BASE: u32 = 11;
pub const SET_VRING_KICK: u32 = 12;
pub const SET_VRING_CALL: u32 = 13;
pub const SET_VRING_ERR: u32 = 14;
pub const SET_PROTOCOL_FEATURES: u32 = 16;
pub const SET_VRING_ENABLE: u32 = 18;
pub const CREATE_SESSION: u32 = 26;
pub const CLOSE_SESSION: u32 = 27;
pub const GET_INFLIGHT_FD: u32 = 31;
pub const SET_INFLIGHT_FD: u32 = 32;
pub const ADD_MEM_REG: u32 = 37;

pub const NEXT: u16 = 1;
pub const WRITE: u16 = 2;
pub const INDIRECT: u16 = 4;

/// Messages as bytes; and how often the device had complained before.
pub struct Raw(pub UnixStream, usize);

impl Raw {
    pub fn connect(rig: &Rig) -> Self {
        let stream = UnixStream::connect(rig.socket()).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        Self(stream, rig.complaints().len())
    }

    /// Also what front-ends negotiate that set anything up.
    pub fn negotiated(rig: &Rig) -> Self {
        let raw = Self::connect(rig);
        raw.say(GET_FEATURES, &[], &[]);
        raw.heard().unwrap();
        raw.say(SET_FEATURES, &(1_u64 << 30).to_le_bytes(), &[]);
        let protocol: u64 = 1 | 1 << 7 | 1 << 12 | 1 << 15;
        raw.say(SET_PROTOCOL_FEATURES, &protocol.to_le_bytes(), &[]);
        raw
    }

    pub fn bytes(&self, bytes: &[u8], files: &[BorrowedFd<'_>]) -> rustix::io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(64))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        if !files.is_empty() {
            assert!(ancillary.push(SendAncillaryMessage::ScmRights(files)));
        }
        let parts = [std::io::IoSlice::new(bytes)];
        sendmsg(&self.0, &parts, &mut ancillary, SendFlags::NOSIGNAL)
    }

    /// One message. A device that has hung up already does not hear it.
    pub fn say(&self, code: u32, body: &[u8], files: &[BorrowedFd<'_>]) {
        self.flagged(code, 1, body, files);
    }

    pub fn flagged(&self, code: u32, flags: u32, body: &[u8], files: &[BorrowedFd<'_>]) {
        let head = [code, flags, body.len() as u32].map(u32::to_le_bytes);
        let _ = self.bytes(&[head.as_flattened(), body].concat(), files);
    }

    /// The body of an answer; `None` when the device has hung up.
    pub fn heard(&self) -> Option<Vec<u8>> {
        let mut head = [0; 12];
        (&self.0).read_exact(&mut head).ok()?;
        let bytes = u32::from_le_bytes(*head.last_chunk().unwrap());
        let mut body = vec![0; bytes as usize];
        (&self.0).read_exact(&mut body).ok()?;
        Some(body)
    }

    /// The device hangs up and says why; it serves whoever comes next.
    pub fn ends_in(self, rig: &Rig, why: &str) {
        while self.heard().is_some() {}
        let new = || rig.complaints().split_off(self.1);
        testing::until(new, |all| all.iter().any(|one| one.contains(why)));
        super::serves(rig);
    }

    pub fn half(&self, bytes: &[u8]) {
        (&self.0).write_all(bytes).unwrap();
    }
}

/// Fields of a body, of 32 and of 64 bits.
pub fn words(fields: &[u32]) -> Vec<u8> {
    fields
        .iter()
        .flat_map(|field| field.to_le_bytes())
        .collect()
}

pub fn longs(fields: &[u64]) -> Vec<u8> {
    fields
        .iter()
        .flat_map(|field| field.to_le_bytes())
        .collect()
}

/// Descriptors of this process for the same file.
pub fn holders(file: impl AsFd) -> usize {
    let own = identity(&format!(
        "/proc/self/fd/{}",
        std::os::fd::AsRawFd::as_raw_fd(&file.as_fd())
    ));
    let all = std::fs::read_dir("/proc/self/fd").unwrap();
    all.flatten()
        .filter(|entry| identity(&entry.path().display().to_string()) == own)
        .count()
}

/// What tells files apart; of eventfds, which share an inode, their number.
fn identity(path: &str) -> Option<(u64, u64, Option<String>)> {
    use std::os::unix::fs::MetadataExt;
    let about = std::fs::metadata(path).ok()?;
    let info = std::fs::read_to_string(path.replace("/fd/", "/fdinfo/")).ok()?;
    let number = info.lines().find(|line| line.starts_with("eventfd-id"));
    Some((about.dev(), about.ino(), number.map(str::to_owned)))
}

/// Where this process maps the file.
pub fn mappings(file: impl AsFd) -> usize {
    let number = rustix::fs::fstat(&file).unwrap().st_ino.to_string();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let is_its = |line: &&str| line.split_whitespace().nth(4) == Some(&number);
    maps.lines().filter(is_its).count()
}

/// Waits until only this test holds the file, and nobody maps it.
pub fn is_let_go(file: impl AsFd) {
    testing::until(|| holders(&file), |count| *count == 1);
    testing::until(|| mappings(&file), |count| *count == 0);
}

pub fn event() -> OwnedFd {
    Event::new().unwrap().as_fd().try_clone_to_owned().unwrap()
}

/// One descriptor: address, bytes, flags, next.
pub type Descriptor = (u64, u32, u16, u16);

/// A table of descriptors at an offset of the memory.
pub fn write_table(front: &FrontEnd, at: usize, table: &[Descriptor]) {
    let mut bytes = Vec::new();
    for (address, len, flags, next) in table {
        bytes.extend(address.to_le_bytes());
        bytes.extend(len.to_le_bytes());
        bytes.extend(flags.to_le_bytes());
        bytes.extend(next.to_le_bytes());
    }
    front.memory().write(at, &bytes);
}

/// Makes an entry available whose own descriptor names a table of so many bytes.
pub fn enter_table(driver: &mut Driver, head: u16, address: u64, bytes: usize) {
    driver.put_descriptor(head, address, bytes as u32, INDIRECT, 0);
    driver.enter(head, head.into());
}
