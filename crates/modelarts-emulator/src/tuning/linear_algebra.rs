//! Cholesky's factor of a matrix, and the normal distribution.

/// A lower triangle L with L·Lᵀ equal to a matrix.
pub(super) struct Cholesky(Vec<Vec<f64>>);

impl Cholesky {
    /// Of a symmetric matrix; none if it is not positive definite.
    pub(super) fn of(size: usize, matrix: impl Fn(usize, usize) -> f64) -> Option<Self> {
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(size);
        for row in 0..size {
            let mut line: Vec<f64> = Vec::with_capacity(row + 1);
            for column in 0..=row {
                let above = rows.get(column).unwrap_or(&line);
                let done: f64 = line.iter().zip(above).map(|(a, b)| a * b).sum();
                let rest = matrix(row, column) - done;
                line.push(match row == column {
                    true if rest > 0.0 => rest.sqrt(),
                    true => return None,
                    false => rest / above[column],
                });
            }
            rows.push(line);
        }
        Some(Self(rows))
    }

    /// x with L·x equal to `right`.
    pub(super) fn solve(&self, right: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = Vec::with_capacity(right.len());
        for (row, right) in self.0.iter().zip(right) {
            let done: f64 = row.iter().zip(&x).map(|(a, b)| a * b).sum();
            x.push((right - done) / row[x.len()]);
        }
        x
    }

    /// x with Lᵀ·x equal to `right`.
    pub(super) fn solve_transposed(&self, right: &[f64]) -> Vec<f64> {
        let mut x = right.to_vec();
        for row in (0..x.len()).rev() {
            x[row] /= self.0[row][row];
            for column in 0..row {
                x[column] -= self.0[row][column] * x[row];
            }
        }
        x
    }

    /// Half the logarithm of the matrix's determinant.
    pub(super) fn half_log_determinant(&self) -> f64 {
        self.0
            .iter()
            .enumerate()
            .map(|(at, row)| row[at].ln())
            .sum()
    }
}

/// The density of the normal distribution.
pub(super) fn normal_density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
}

/// How much of the normal distribution lies below, to seven digits: Abramowitz and Stegun 26.2.17.
pub(super) fn normal_distribution(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x.abs());
    let factors = [
        0.319_381_530,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let sum = factors
        .iter()
        .rev()
        .fold(0.0, |sum, factor| t * (factor + sum));
    let above = normal_density(x) * sum;
    if x > 0.0 { 1.0 - above } else { above }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_solved() {
        let matrix = [[4.0, 2.0, 0.6], [2.0, 5.0, 1.5], [0.6, 1.5, 3.0]];
        let triangle = Cholesky::of(3, |row, column| matrix[row][column]).unwrap();
        let x = triangle.solve_transposed(&triangle.solve(&[1.0, 2.0, 3.0]));
        for (row, right) in matrix.iter().zip([1.0, 2.0, 3.0]) {
            let left: f64 = row.iter().zip(&x).map(|(a, b)| a * b).sum();
            assert!((left - right).abs() < 1e-12, "{left} {right}");
        }
        // 4·(5·3 - 1.5²) - 2·(2·3 - 1.5·0.6) + 0.6·(2·1.5 - 5·0.6)
        let determinant = (2.0 * triangle.half_log_determinant()).exp();
        assert!((determinant - 40.8).abs() < 1e-9, "{determinant}");
        assert!(Cholesky::of(2, |_, _| 1.0).is_none());
    }

    #[test]
    fn the_normal_distribution_has_its_known_values() {
        for (x, expected) in [(0.0, 0.5), (1.0, 0.841_344_7), (-1.96, 0.024_997_9)] {
            assert!(
                (normal_distribution(x) - expected).abs() < 1e-6,
                "{x}: {}",
                normal_distribution(x)
            );
        }
        assert!((normal_density(0.0) - 0.398_942_3).abs() < 1e-7);
    }
}
