//! What a guest sends to its host, in any pieces.
//!
//! The first byte says how long pieces are, the second how much a payload may
//! have; the rest is the stream.

use vm::protocol::{Decoder, Frame, FrameError, HEADER_BYTES_MAX};

/// Decodes the stream in pieces and in one, holding no more than allowed;
/// whatever decodes must encode to the same bytes.
pub fn vm_frames(data: &[u8]) {
    let [piece, room, stream @ ..] = data else {
        return;
    };
    let room = usize::from(*room) * 16;
    let piecewise = decode(stream, usize::from(*piece) + 1, room);
    let at_once = decode(stream, usize::MAX, room);
    assert_eq!(piecewise, at_once, "pieces make no difference");
    let mut again = Vec::new();
    for frame in &at_once.0 {
        frame.encode(&mut again);
    }
    assert!(stream.starts_with(&again), "a frame has one spelling");
    if let Some(error) = at_once.1 {
        assert!(!error.to_string().is_empty());
    } else {
        let rest = stream.len() - again.len();
        assert!(rest < HEADER_BYTES_MAX + room, "a whole frame was left");
    }
}

fn decode(stream: &[u8], piece: usize, room: usize) -> (Vec<Frame>, Option<FrameError>) {
    let mut decoder = Decoder::new(room);
    let mut frames = Vec::new();
    for mut bytes in stream.chunks(piece) {
        loop {
            match decoder.next(&mut bytes) {
                Ok(Some(frame)) => frames.push(frame),
                Ok(None) => break,
                Err(error) => {
                    assert_eq!(decoder.next(&mut bytes), Err(FrameError::Broken));
                    return (frames, Some(error));
                }
            }
            assert!(decoder.bytes_held() <= HEADER_BYTES_MAX + room);
        }
        assert!(bytes.is_empty(), "what is not taken is lost");
        assert!(decoder.bytes_held() <= HEADER_BYTES_MAX + room);
    }
    (frames, None)
}
