//! Kinds that need not be measured, since another tells the same.

use crate::{Algorithm, Kind, Operation};

/// The kind that is measured for `kind`: a key of 192 bits has rounds between
/// those of its neighbours, counter mode is the same both ways, and packets cost what their
/// text does.
pub(super) fn stand_in(kind: Kind) -> Kind {
    let algorithm = match kind.algorithm {
        Algorithm::Aes192Ecb => Algorithm::Aes256Ecb,
        Algorithm::Aes192Cbc => Algorithm::Aes256Cbc,
        Algorithm::Aes192Ctr => Algorithm::Aes256Ctr,
        Algorithm::Aes192Gcm => Algorithm::Aes256Gcm,
        Algorithm::Packets(packets) => packets.aead(),
        other => other,
    };
    let operation = match algorithm {
        Algorithm::Aes128Ctr | Algorithm::Aes256Ctr => Operation::Encrypt,
        _ => kind.operation,
    };
    Kind::new(algorithm, operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stand_in_has_the_same_shape_and_stands_for_itself() {
        for kind in Kind::all() {
            let measured = stand_in(kind);
            assert_eq!(stand_in(measured), measured);
            assert!(
                measured
                    .algorithm
                    .operations()
                    .contains(&measured.operation)
            );
            assert_eq!(measured.algorithm.is_aead(), kind.algorithm.is_aead());
        }
    }
}
