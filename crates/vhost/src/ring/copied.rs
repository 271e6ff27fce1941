//! Requests whose bytes are copied, by way of the lane's slab.

use crypto::Operation;
use engine::{Call, RegionId, SessionId, Span};
use wire::virtio_crypto as virtio;
use wire::virtio_crypto::{HEADER_BYTES, Header, Opcode};

use crate::chain::Piece;
use crate::counters::Refusal;

use super::{
    CopiedOut, IV_BYTES, Refused, Ring, SMALL_BYTES, Taken, bytes, copy_in, submit, total,
};

impl Ring {
    /// Numbers of a few hundred bytes, copied both ways. What needs a private key is not
    /// offered: one of 2048 bits is longer than the 1024 bytes that QEMU's message has.
    pub(super) fn submit_public_key(
        &mut self,
        taken: &mut Taken,
        header: &Header,
        session: SessionId,
    ) -> Result<(), Refused> {
        let refuse = |why, status| Err(Refused::Message(why, status));
        let operation = match header.opcode {
            Opcode::AkcipherEncrypt => Operation::Encrypt,
            Opcode::AkcipherVerify => Operation::Verify,
            _ => return refuse(Refusal::Header, virtio::Status::NotSupported),
        };
        let (source, destination) = (bytes(header.source_bytes), bytes(header.destination_bytes));
        if source > SMALL_BYTES || destination > SMALL_BYTES {
            return refuse(Refusal::Lengths, virtio::Status::BadMessage);
        }
        let row = self.row();
        let mut buffer = [0; 2 * SMALL_BYTES];
        let memory = &self.parts.memory;
        // To be verified: the signature, then the digest, both to read.
        let is_verify = operation == Operation::Verify;
        let read = source + if is_verify { destination } else { 0 };
        let written = if is_verify { 0 } else { destination };
        let writable = &self.chain.writable;
        if !copy_in(
            memory,
            &self.chain.readable,
            HEADER_BYTES,
            &mut buffer[..read],
        ) || total(writable) <= written
        {
            return refuse(Refusal::Short, virtio::Status::BadMessage);
        }
        let copied = self.lane.write(RegionId::SLAB, row, &buffer[..read]);
        copied.expect("the slab has a row for each entry");
        let (first, second) = (
            Span::slab(row, source),
            Span::slab(
                row + if is_verify { source } else { SMALL_BYTES },
                destination,
            ),
        );
        let (source, destination, tag) = if is_verify {
            (second, Span::EMPTY, first)
        } else {
            (first, second, Span::EMPTY)
        };
        taken.written = header.destination_bytes + 1;
        if is_verify {
            taken.written = 1;
        } else {
            taken.copied_out = Some(CopiedOut {
                slab: row + SMALL_BYTES,
                pieces: first_bytes(writable, written),
            });
        }
        let list = |span: Span| Vec::from_iter((span.len > 0).then_some(span));
        let (source, destination) = (list(source), list(destination));
        let call = Call {
            session,
            operation,
            source: &source,
            destination: &destination,
            iv: [0; IV_BYTES],
            aad: Span::EMPTY,
            tag,
        };
        submit(&mut self.lane, &call, self.first + self.taken.len() as u64)
    }

    /// A place in the slab that no entry in flight uses.
    fn row(&self) -> usize {
        let depth = self.lane.config().depth;
        usize::from(self.parts.queue.next()) % depth.next_power_of_two() * 2 * SMALL_BYTES
    }

    pub(super) fn copy_out(&self, out: &CopiedOut) {
        let mut at = out.slab;
        for piece in &out.pieces {
            let mut bytes = vec![0; piece.bytes];
            let (place, span) = (piece.place, Span::slab(at, piece.bytes));
            let read = self.lane.read(span, &mut bytes);
            read.expect("the slab has a row for each entry");
            let mapping = self.parts.memory.mapping(place.region);
            let put = mapping.write(place.offset, &bytes);
            put.expect("the chain's bytes lie in the memory");
            at += piece.bytes;
        }
    }
}

fn first_bytes(pieces: &[Piece], bytes: usize) -> Vec<Piece> {
    let mut left = bytes;
    let of = |piece: &Piece| {
        let bytes = left.min(piece.bytes);
        left -= bytes;
        let place = piece.place;
        (bytes > 0).then_some(Piece { place, bytes })
    };
    pieces.iter().filter_map(of).collect()
}
