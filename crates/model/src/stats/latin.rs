//! Orders in which treatments take turns.
//!
//! Drift (clock, temperature, neighbours) must not affect one treatment more than another. In a Latin square each
//! treatment has each position once. In a balanced square (Williams 1949) each treatment also follows every other
//! equally often. For two treatments, this is A B B A.

use super::Key;

/// The rows of a balanced Latin square: as many as treatments for an even number, twice as many for an odd number.
///
/// ```
/// # use coretalk_model::stats::latin::balanced_square;
/// assert_eq!(balanced_square(2), [[0, 1], [1, 0]]);
/// ```
pub fn balanced_square(treatments: usize) -> Vec<Vec<usize>> {
    let zigzag = (0..treatments).map(|i| match i {
        0 => 0,
        i if i % 2 == 1 => i.div_ceil(2),
        i => treatments - i / 2,
    });
    let first: Vec<usize> = zigzag.collect();
    let shifted = |by: usize| first.iter().map(|&treatment| (treatment + by) % treatments).collect();
    let mut rows: Vec<Vec<usize>> = (0..treatments).map(shifted).collect();
    if treatments % 2 == 1 && treatments > 1 {
        // In an odd square, even and odd distances are not equally frequent. Its mirror image balances them.
        let mirrored: Vec<Vec<usize>> = rows.iter().map(|row| row.iter().rev().copied().collect()).collect();
        rows.extend(mirrored);
    }
    rows
}

/// The order of one repetition, counted from 0: a row of a square, reshuffled after as many repetitions as rows.
pub fn turn(treatments: usize, repetition: u32, key: Key) -> Vec<usize> {
    let mut rows = balanced_square(treatments);
    if rows.is_empty() {
        return Vec::new();
    }
    let block = u64::from(repetition) / rows.len() as u64;
    let position = repetition as usize % rows.len();
    let key = key.with(block);
    let mut names: Vec<usize> = (0..treatments).collect();
    key.with(0).shuffle(&mut names);
    key.with(1).shuffle(&mut rows);
    rows.swap_remove(position).into_iter().map(|treatment| names[treatment]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn treatments_have_each_position_and_follow_each_other_equally_often() {
        for n in 2..9 {
            let rows = balanced_square(n);
            let times = rows.len() / n;
            for treatment in 0..n {
                for position in 0..n {
                    let found = rows.iter().filter(|row| row[position] == treatment).count();
                    assert_eq!(found, times, "{treatment} at {position} of {n}");
                }
                for other in (0..n).filter(|&other| other != treatment) {
                    let follows = |row: &&Vec<usize>| row.windows(2).any(|two| two == [treatment, other]);
                    let found = rows.iter().filter(follows).count();
                    assert_eq!(found, times, "{other} after {treatment} of {n}");
                }
            }
        }
        assert_eq!((balanced_square(1), balanced_square(0).len()), (vec![vec![0]], 0));
    }

    #[test]
    fn two_treatments_alternate_as_a_b_b_a_and_the_seed_selects_the_first() {
        let orders =
            |seed: u64| (0..40).map(|row| turn(2, row, Key::from_words(&[seed]))).collect::<Vec<_>>();
        let rows = orders(1);
        assert!(rows.chunks(2).all(|block| block[0][0] == block[1][1] && block[0][0] != block[1][0]));
        let begins = rows.chunks(2).filter(|block| block[0][0] == 0).count();
        assert!((3..=17).contains(&begins), "{begins} of 20");
        assert_eq!(rows, orders(1));
        assert_ne!(rows, orders(2));
    }

    #[test]
    fn a_block_holds_the_rows_of_one_square() {
        let mut rows: Vec<Vec<usize>> = (0..4).map(|row| turn(4, row, Key::from_words(&[3]))).collect();
        for position in 0..4 {
            let mut found: Vec<usize> = rows.iter().map(|row| row[position]).collect();
            found.sort_unstable();
            assert_eq!(found, [0, 1, 2, 3]);
        }
        rows.dedup();
        assert_eq!(rows.len(), 4);
    }
}
