//! Where the back-ends are compared: sizes and numbers of requests, and what
//! lies between them.

/// Bytes of a request, at which the back-ends are compared.
pub const SIZES_BYTES: [usize; 4] = [64, 512, 4096, 16_384];

/// Requests at hand, at which they are compared.
pub const JOBS: [usize; 4] = [1, 4, 12, 32];

pub(super) const CELLS: usize = SIZES_BYTES.len() * JOBS.len();

/// The cell that stands for requests of `bytes`, of which `jobs` are at hand:
/// the size nearest by ratio, and the largest number that is not above.
pub(super) fn cell(bytes: usize, jobs: usize) -> usize {
    let size = SIZES_BYTES
        .windows(2)
        .take_while(|pair| is_nearer_to_second(bytes, pair[0], pair[1]))
        .count();
    let number = JOBS
        .iter()
        .skip(1)
        .take_while(|&&least| jobs >= least)
        .count();
    size * JOBS.len() + number
}

fn is_nearer_to_second(bytes: usize, first: usize, second: usize) -> bool {
    bytes.saturating_mul(bytes) > first * second
}

pub(super) fn place(cell: usize) -> (usize, usize) {
    (SIZES_BYTES[cell / JOBS.len()], JOBS[cell % JOBS.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_stands_for_its_own_place() {
        for index in 0..CELLS {
            let (bytes, jobs) = place(index);
            assert_eq!(cell(bytes, jobs), index);
        }
    }

    #[test]
    fn places_between_go_to_the_nearest_size_and_the_number_below() {
        let at = |bytes, jobs| place(cell(bytes, jobs));
        assert_eq!(at(0, 0), (64, 1));
        assert_eq!(at(181, 3), (64, 1));
        assert_eq!(at(182, 4), (512, 4));
        assert_eq!(at(8192, 11), (4096, 4));
        assert_eq!(at(8193, 12), (16_384, 12));
        assert_eq!(at(usize::MAX, usize::MAX), (16_384, 32));
    }
}
