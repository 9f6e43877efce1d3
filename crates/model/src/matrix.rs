//! Square tables labelled by CPU.

use crate::CpuId;

/// A square table labelled by CPU. Rows are initiators, columns responders. A symmetric table stores one value per
/// unordered pair, with the row after the column in matrix order.
#[derive(Debug, Clone, PartialEq)]
pub struct Matrix<T> {
    cpus: Vec<CpuId>,
    symmetric: bool,
    cells: Vec<T>,
}

impl<T> Matrix<T> {
    /// A directed matrix (N × N values with the diagonal), filled by `(row, column)` position.
    pub fn directed(cpus: Vec<CpuId>, mut cell: impl FnMut(usize, usize) -> T) -> Matrix<T> {
        let n = cpus.len();
        let cells = (0..n * n).map(|index| cell(index / n, index % n)).collect();
        Matrix { cpus, symmetric: false, cells }
    }

    /// A symmetric matrix (N(N−1)/2 values, no diagonal), filled by `(row, column)` position with `row > column`.
    pub fn symmetric(cpus: Vec<CpuId>, mut cell: impl FnMut(usize, usize) -> T) -> Matrix<T> {
        let n = cpus.len();
        let mut cells = Vec::with_capacity(n * n.saturating_sub(1) / 2);
        for row in 0..n {
            for column in 0..row {
                cells.push(cell(row, column));
            }
        }
        Matrix { cpus, symmetric: true, cells }
    }

    /// The symmetric matrix of values in storage order: row by row, `column` below `row`.
    ///
    /// # Panics
    /// If there are not N(N−1)/2 values.
    pub fn of_symmetric(cpus: Vec<CpuId>, cells: Vec<T>) -> Matrix<T> {
        assert_eq!(cells.len(), cpus.len() * cpus.len().saturating_sub(1) / 2, "one value for each pair");
        Matrix { cpus, symmetric: true, cells }
    }

    /// The CPUs in matrix order.
    pub fn cpus(&self) -> &[CpuId] {
        &self.cpus
    }

    /// The number of CPUs.
    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    /// Whether the matrix has no CPU.
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// Whether one value represents both directions.
    pub fn is_symmetric(&self) -> bool {
        self.symmetric
    }

    /// The value at a position; `None` outside the table and on the diagonal of a symmetric table.
    ///
    /// ```
    /// # use coretalk_model::{CpuId, Matrix};
    /// let matrix = Matrix::symmetric(vec![CpuId(0), CpuId(4), CpuId(8)], |row, column| 10 * row + column);
    /// assert_eq!(matrix.get(2, 1), Some(&21));
    /// assert_eq!(matrix.get(1, 2), Some(&21));
    /// assert_eq!(matrix.get(1, 1), None);
    /// ```
    pub fn get(&self, row: usize, column: usize) -> Option<&T> {
        self.index(row, column).map(|index| &self.cells[index])
    }

    /// The mutable value at a position.
    pub fn get_mut(&mut self, row: usize, column: usize) -> Option<&mut T> {
        self.index(row, column).map(|index| &mut self.cells[index])
    }

    /// Every stored value with its position, in storage order (row by row).
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, &T)> {
        let positions: Box<dyn Iterator<Item = (usize, usize)>> = if self.symmetric {
            Box::new((0..self.len()).flat_map(|row| (0..row).map(move |column| (row, column))))
        } else {
            let n = self.len();
            Box::new((0..n).flat_map(move |row| (0..n).map(move |column| (row, column))))
        };
        positions.zip(&self.cells).map(|((row, column), cell)| (row, column, cell))
    }

    /// Converts every value.
    pub fn map<U>(&self, mut to: impl FnMut(&T) -> U) -> Matrix<U> {
        Matrix {
            cpus: self.cpus.clone(),
            symmetric: self.symmetric,
            cells: self.cells.iter().map(&mut to).collect(),
        }
    }

    /// The table with its CPUs in this order, without unknown CPUs.
    ///
    /// ```
    /// # use coretalk_model::{CpuId, Matrix};
    /// let matrix = Matrix::directed(vec![CpuId(0), CpuId(4), CpuId(1)], |row, column| 10 * row + column);
    /// let by_id = matrix.in_order(&[CpuId(0), CpuId(1), CpuId(4)]);
    /// assert_eq!(by_id.get(1, 2), Some(&21));
    /// ```
    pub fn in_order(&self, cpus: &[CpuId]) -> Matrix<T>
    where
        T: Clone,
    {
        let (cpus, at): (Vec<CpuId>, Vec<usize>) =
            cpus.iter().filter_map(|&cpu| Some((cpu, self.position(cpu)?))).unzip();
        let (n, symmetric) = (cpus.len(), self.symmetric);
        let positions =
            (0..n).flat_map(|row| (0..if symmetric { row } else { n }).map(move |column| (row, column)));
        let cells = positions.filter_map(|(row, column)| self.get(at[row], at[column]).cloned()).collect();
        Matrix { cpus, symmetric, cells }
    }

    /// The table with its CPUs sorted by id.
    pub fn by_id(&self) -> Matrix<T>
    where
        T: Clone,
    {
        let mut cpus = self.cpus.clone();
        cpus.sort_unstable();
        self.in_order(&cpus)
    }

    /// The position of a CPU in matrix order.
    pub fn position(&self, cpu: CpuId) -> Option<usize> {
        // Nearly all machines number their CPUs without gaps. Maps look up two CPUs for each of half a million pairs.
        let usual = cpu.index();
        if self.cpus.get(usual) == Some(&cpu) {
            return Some(usual);
        }
        self.cpus.iter().position(|&known| known == cpu)
    }

    fn index(&self, row: usize, column: usize) -> Option<usize> {
        let n = self.len();
        if row >= n || column >= n {
            return None;
        }
        if !self.symmetric {
            return Some(row * n + column);
        }
        let (high, low) = (row.max(column), row.min(column));
        (high != low).then(|| high * (high - 1) / 2 + low)
    }
}
