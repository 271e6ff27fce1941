//! Three by three, symmetric.
#![expect(
    clippy::needless_range_loop,
    reason = "rows and columns are named by their number, as the books do"
)]

pub(super) type Matrix = [[f64; 3]; 3];

pub(super) type Vector = [f64; 3];

pub(super) type Support = [bool; 3];

/// Every choice of unknowns but none at all, the largest first.
pub(super) const SUPPORTS: [Support; 7] = [
    [true, true, true],
    [true, true, false],
    [true, false, true],
    [false, true, true],
    [true, false, false],
    [false, true, false],
    [false, false, true],
];

/// Solves `matrix · x = right` among the unknowns of `support`; the others are
/// 0. By Gauss, without pivoting: the matrix is positive definite, its
/// diagonal 1, and its condition was checked.
pub(super) fn solve(matrix: &Matrix, right: &Vector, support: Support) -> Vector {
    let mut a = *matrix;
    let mut b = *right;
    for i in 0..3 {
        if !support[i] {
            for j in 0..3 {
                a[i][j] = 0.0;
                a[j][i] = 0.0;
            }
            a[i][i] = 1.0;
            b[i] = 0.0;
        }
    }
    for pivot in 0..3 {
        for row in pivot + 1..3 {
            let factor = a[row][pivot] / a[pivot][pivot];
            for column in pivot..3 {
                a[row][column] -= factor * a[pivot][column];
            }
            b[row] -= factor * b[pivot];
        }
    }
    let mut x = [0.0; 3];
    for row in (0..3).rev() {
        let known: f64 = (row + 1..3).map(|column| a[row][column] * x[column]).sum();
        x[row] = (b[row] - known) / a[row][row];
    }
    x
}

pub(super) fn inverse(matrix: &Matrix) -> Matrix {
    let mut columns = [[0.0; 3]; 3];
    for (place, column) in columns.iter_mut().enumerate() {
        let mut unit = [0.0; 3];
        unit[place] = 1.0;
        *column = solve(matrix, &unit, [true; 3]);
    }
    columns
}

pub(super) fn dot(left: &Vector, right: &Vector) -> f64 {
    left.iter().zip(right).map(|(l, r)| l * r).sum()
}

pub(super) fn form(matrix: &Matrix, vector: &Vector) -> f64 {
    matrix
        .iter()
        .zip(vector)
        .map(|(row, value)| value * dot(row, vector))
        .sum()
}

/// Eigenvalues with their vectors, smallest first, by Jacobi's rotations
/// (Golub and Van Loan, "Matrix computations", section 8.5): three by three
/// they converge in a few sweeps.
pub(super) fn eigen(matrix: &Matrix) -> [(f64, Vector); 3] {
    const SWEEPS: usize = 30;
    let mut a = *matrix;
    let mut vectors = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for _ in 0..SWEEPS {
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            rotate(&mut a, &mut vectors, p, q);
        }
    }
    let mut pairs = [0, 1, 2].map(|i| (a[i][i], vectors.map(|row| row[i])));
    pairs.sort_by(|left, right| left.0.total_cmp(&right.0));
    pairs
}

/// Makes `a[p][q]` zero; gathers the rotation in `vectors`.
fn rotate(a: &mut Matrix, vectors: &mut Matrix, p: usize, q: usize) {
    if a[p][q] == 0.0 {
        return;
    }
    let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
    let tangent = theta.signum() / (theta.abs() + theta.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    let sine = tangent * cosine;
    for row in a.iter_mut().chain(vectors.iter_mut()) {
        (row[p], row[q]) = (
            cosine * row[p] - sine * row[q],
            sine * row[p] + cosine * row[q],
        );
    }
    for column in 0..3 {
        (a[p][column], a[q][column]) = (
            cosine * a[p][column] - sine * a[q][column],
            sine * a[p][column] + cosine * a[q][column],
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Matrix = [[1.0, 0.5, 0.2], [0.5, 1.0, 0.3], [0.2, 0.3, 1.0]];

    #[test]
    fn solves_what_it_multiplied() {
        let x = [1.0, -2.0, 3.0];
        let right = A.map(|row| dot(&row, &x));
        let found = solve(&A, &right, [true; 3]);
        assert!(found.iter().zip(x).all(|(f, x)| (f - x).abs() < 1e-12));
        let two = solve(&A, &[1.0, 9.0, 0.2], [true, false, true]);
        assert!((two[0] - 1.0).abs() < 1e-12 && two[1] == 0.0 && two[2].abs() < 1e-12);
    }

    #[test]
    fn an_inverse_undoes() {
        let inverse = inverse(&A);
        for i in 0..3 {
            for j in 0..3 {
                let product: f64 = (0..3).map(|k| A[i][k] * inverse[k][j]).sum();
                assert!((product - f64::from(u8::from(i == j))).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn eigenvectors_are_only_stretched() {
        let pairs = eigen(&A);
        for (value, vector) in pairs {
            for (row, entry) in A.iter().zip(vector) {
                assert!((dot(row, &vector) - value * entry).abs() < 1e-12);
            }
            assert!((form(&A, &vector) - value).abs() < 1e-12);
        }
        assert!(pairs[0].0 <= pairs[1].0 && pairs[1].0 <= pairs[2].0);
        assert!((pairs.iter().map(|pair| pair.0).sum::<f64>() - 3.0).abs() < 1e-12);
        assert!(eigen(&[[1.0; 3]; 3])[0].0.abs() < 1e-12);
    }
}
