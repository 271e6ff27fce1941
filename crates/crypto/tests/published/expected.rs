//! How a job may end.

use std::fmt;

use lockgate_crypto::{Algorithm, Operation, Status};

#[derive(Clone, PartialEq, Eq)]
pub struct Outcome {
    pub status: Status,
    pub destination: Vec<u8>,
    pub tag: Vec<u8>,
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?}, destination {:02x?}",
            self.status, self.destination
        )?;
        write!(f, ", tag {:02x?}", self.tag)
    }
}

#[derive(Clone, Debug)]
pub enum Expected {
    /// Done, with these bytes, and this tag where the job has one.
    Done {
        destination: Vec<u8>,
        tag: Vec<u8>,
    },
    /// Done; the first bytes of the result are these: a truncated code.
    BeginsWith(Vec<u8>),
    BeginsNotWith(Vec<u8>),
    NoPadding,
    /// Refused with this status after work: the destination is zeros, the
    /// tag as it was.
    Refused(Status),
    BadLength,
}

impl Expected {
    pub fn bytes(destination: &[u8]) -> Self {
        Self::Done {
            destination: destination.to_vec(),
            tag: Vec::new(),
        }
    }

    /// A signature of another length than the key's is no job at all.
    pub fn of_signature(algorithm: Algorithm, signature: &[u8], is_right: bool) -> Self {
        let fits = signature.len() == algorithm.tag_bytes(Operation::Verify);
        match (fits, is_right) {
            (true, true) => Self::Done {
                destination: Vec::new(),
                tag: signature.to_vec(),
            },
            (true, false) => Self::Refused(Status::AuthenticationFailed),
            (false, false) => Self::BadLength,
            (false, true) => panic!("{} bytes for {algorithm} are right?", signature.len()),
        }
    }

    /// Whether `outcome` is as it must be, when `tag` was there before.
    pub fn allows(&self, outcome: &Outcome, tag: &[u8]) -> bool {
        let is_done = outcome.status == Status::Ok;
        let text = &outcome.destination;
        match self {
            Self::Done { destination, tag } => {
                is_done && text == destination && outcome.tag == *tag
            }
            Self::BeginsWith(bytes) => is_done && text.starts_with(bytes),
            Self::BeginsNotWith(bytes) => is_done && !text.starts_with(bytes),
            Self::NoPadding => is_done && !is_padded(text),
            Self::Refused(status) => {
                let is_zero = text.iter().all(|&byte| byte == 0);
                outcome.status == *status && is_zero && outcome.tag == tag
            }
            Self::BadLength => outcome.status == Status::BadLength && outcome.tag == tag,
        }
    }
}

/// PKCS#7 padding to blocks of 16 bytes (RFC 5652 §6.3).
pub fn pad(text: &[u8]) -> Vec<u8> {
    let more = 16 - text.len() % 16;
    let byte = u8::try_from(more).expect("at most 16");
    [text, &vec![byte; more]].concat()
}

fn is_padded(text: &[u8]) -> bool {
    let Some(&last) = text.last() else {
        return false;
    };
    let bytes = usize::from(last);
    let is_length = (1..=16).contains(&bytes) && bytes <= text.len();
    is_length && text[text.len() - bytes..].iter().all(|&byte| byte == last)
}

#[test]
fn padding_is_what_pad_adds() {
    assert!((0..40).all(|bytes| is_padded(&pad(&vec![0x42; bytes]))));
    let wrong: [&[u8]; 5] = [&[], &[0], &[17; 32], &[2], &[2, 3, 3]];
    assert!(!wrong.into_iter().any(is_padded));
}
