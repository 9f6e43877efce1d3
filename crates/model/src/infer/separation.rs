//! [`Separation`]: how often a cell of one kind is faster than one of another.

/// Share of cells that may be disturbed. Disturbance only slows down, so that these may lie anywhere above.
const BAD_CELLS: f64 = 0.05;

/// So many of these cells may be disturbed, but for one time in twenty (normal approximation of the binomial); none of
/// fewer than five.
pub(super) fn forgiven(cells: f64) -> f64 {
    (BAD_CELLS * cells + 1.645 * (cells * BAD_CELLS * (1.0 - BAD_CELLS)).sqrt()).floor()
}

/// Counts of two kinds of cells by bin, to say how often one of the first is faster than one of the second: the
/// statistic of Mann and Whitney (1947) divided by the number of pairs, ties counted half.
pub(super) struct Separation {
    inside: Vec<u32>,
    outside: Vec<u32>,
    highest: usize,
}

impl Separation {
    pub fn new() -> Separation {
        Separation { inside: Vec::new(), outside: Vec::new(), highest: 0 }
    }

    pub fn clear(&mut self) {
        let end = self.end();
        self.inside[..end].fill(0);
        self.outside[..end].fill(0);
        self.highest = 0;
    }

    pub fn inside(&mut self, bin: u16) {
        self.reach(bin);
        self.inside[usize::from(bin)] += 1;
    }

    pub fn outside(&mut self, bin: u16) {
        self.reach(bin);
        self.outside[usize::from(bin)] += 1;
    }

    fn reach(&mut self, bin: u16) {
        let bin = usize::from(bin);
        if bin >= self.inside.len() {
            self.inside.resize(bin + 1, 0);
            self.outside.resize(bin + 1, 0);
        }
        self.highest = self.highest.max(bin);
    }

    /// The share; `None` where one kind has no cell. The slowest cells of the inside are left out, as many as may
    /// be disturbed.
    pub fn share(&self) -> Option<f64> {
        let total: u32 = self.inside[..self.end()].iter().sum();
        let kept = f64::from(total) - forgiven(f64::from(total));
        let (mut faster, mut inside_so_far, mut all_outside) = (0.0, 0.0, 0.0);
        for (&inside, &outside) in self.inside.iter().zip(&self.outside).take(self.end()) {
            let (inside, outside) = (f64::from(inside).min(kept - inside_so_far), f64::from(outside));
            faster += outside * (inside_so_far + inside / 2.0);
            inside_so_far += inside;
            all_outside += outside;
        }
        let pairs = inside_so_far * all_outside;
        (pairs > 0.0).then(|| faster / pairs)
    }

    fn end(&self) -> usize {
        (self.highest + 1).min(self.inside.len())
    }
}
