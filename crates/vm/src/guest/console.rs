//! What the guest's serial console and QEMU itself have printed: the last of
//! it, bounded, and the line with which a kernel panics.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use sys::plain::plain;

/// Bytes of a console that are kept.
pub const CONSOLE_BYTES_MAX: usize = 256 * 1024;

const TAIL_BYTES: usize = 2048;

const LINE_BYTES_MAX: usize = 1024;

const PANIC: &str = "Kernel panic - not syncing";

/// The last [`CONSOLE_BYTES_MAX`] bytes of an endless output.
#[derive(Debug, Default)]
pub(super) struct Console {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    kept: VecDeque<u8>,
    line: Vec<u8>,
    panic: Option<String>,
}

impl Console {
    pub(super) fn push(&self, bytes: &[u8]) {
        let mut state = self.state();
        let newest = &bytes[bytes.len().saturating_sub(CONSOLE_BYTES_MAX)..];
        let excess = (state.kept.len() + newest.len()).saturating_sub(CONSOLE_BYTES_MAX);
        state.kept.drain(..excess);
        state.kept.extend(newest);
        bytes.iter().for_each(|&byte| state.watch(byte));
    }

    pub(super) fn text(&self) -> String {
        let mut state = self.state();
        String::from_utf8_lossy(state.kept.make_contiguous()).into_owned()
    }

    pub(super) fn tail(&self) -> String {
        let mut state = self.state();
        let kept = state.kept.make_contiguous();
        let tail = &kept[kept.len().saturating_sub(TAIL_BYTES)..];
        plain(tail)
    }

    pub(super) fn panic(&self) -> Option<String> {
        self.state().panic.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn watch(&mut self, byte: u8) {
        if byte != b'\n' && self.line.len() < LINE_BYTES_MAX {
            self.line.push(byte);
            return;
        }
        if self.panic.is_none() {
            let line = String::from_utf8_lossy(&self.line);
            self.panic = line.find(PANIC).map(|at| plain(line[at..].as_bytes()));
        }
        self.line.clear();
    }
}

pub(super) fn follow(
    name: &str,
    mut source: impl Read + Send + 'static,
    console: Arc<Console>,
    printed: impl Fn(&Console) + Send + 'static,
) -> std::io::Result<JoinHandle<()>> {
    let read = move || {
        let mut piece = vec![0; 16 * 1024];
        loop {
            match source.read(&mut piece) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => return,
                Ok(bytes) => {
                    console.push(&piece[..bytes]);
                    printed(&console);
                }
            }
        }
    };
    thread::Builder::new().name(name.to_owned()).spawn(read)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_last_is_kept_and_all_is_counted() {
        let console = Console::default();
        for _ in 0..5 {
            console.push(&[b'a'; 100_000]);
        }
        console.push(b"end");
        assert_eq!(console.text().len(), CONSOLE_BYTES_MAX);
        assert!(console.text().ends_with("aend"));
        console.push(&vec![b'b'; CONSOLE_BYTES_MAX + 9]);
        assert!(console.text().bytes().all(|byte| byte == b'b'));
    }

    #[test]
    fn a_panic_in_pieces_is_seen() {
        let console = Console::default();
        for piece in [
            "[ 1.0] Kernel pa",
            "nic - not syncing: sysrq",
            " triggered\r\nmore",
        ] {
            assert_eq!(console.panic(), None);
            console.push(piece.as_bytes());
        }
        let line = console.panic().unwrap();
        assert_eq!(line, "Kernel panic - not syncing: sysrq triggered");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn pieces_do_not_matter(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3000), 0..20)) {
            let (whole, piecewise) = (Console::default(), Console::default());
            whole.push(&pieces.concat());
            pieces.iter().for_each(|piece| piecewise.push(piece));
            prop_assert_eq!(whole.text(), piecewise.text());
            prop_assert_eq!(whole.panic(), piecewise.panic());
        }
    }
}
