//! One job over memory that the caller owns: the safe way in.

#![allow(unsafe_code, reason = "turns slices into segments")]

use crate::{Backend, Job, Key, Kind, Segment, Segments, Status};

pub enum Data<'b> {
    InPlace(&'b mut [u8]),
    Apart {
        source: &'b [u8],
        /// Output, of the length that the kind gives: see [`Job`].
        destination: &'b mut [u8],
    },
}

impl<'b> Data<'b> {
    pub fn apart(source: &'b [u8], destination: &'b mut [u8]) -> Self {
        Self::Apart {
            source,
            destination,
        }
    }
}

/// The parts of one job; what each kind takes is in the table at [`Job`].
pub struct Slices<'b> {
    pub iv: [u8; 16],
    pub aad: &'b [u8],
    pub data: Data<'b>,
    pub tag: &'b mut [u8],
}

impl<'b> Slices<'b> {
    /// For a kind that takes no IV, additional data or tag.
    pub fn plain(data: Data<'b>) -> Self {
        Self {
            iv: [0; 16],
            aad: &[],
            data,
            tag: &mut [],
        }
    }
}

/// Runs one job of `kind` to its end, with a key that `backend` made.
pub fn process_slices(
    backend: &dyn Backend,
    key: &dyn Key,
    kind: Kind,
    slices: Slices<'_>,
) -> Status {
    let Slices { iv, aad, data, tag } = slices;
    let (source, destination) = match data {
        Data::InPlace(both) => {
            let both = segment_mut(both);
            (both, both)
        }
        Data::Apart {
            source,
            destination,
        } => (segment(source), segment_mut(destination)),
    };
    let job = Job {
        key,
        source: Segments::one(source),
        destination: Segments::one(destination),
        iv,
        aad: segment(aad),
        tag: segment_mut(tag),
    };
    let mut status = [Status::BackendFailed];
    // SAFETY: every segment comes from a slice that is borrowed until this
    // function returns, mutably where any kind writes: destination and tag.
    unsafe { backend.process(kind, &[job], &mut status) };
    status[0]
}

/// A segment that is only read: no kind writes its source or additional data.
fn segment(slice: &[u8]) -> Segment {
    Segment::new(slice.as_ptr().cast_mut(), slice.len())
}

fn segment_mut(slice: &mut [u8]) -> Segment {
    Segment::new(slice.as_mut_ptr(), slice.len())
}
