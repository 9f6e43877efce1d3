//! [`CpuId`] and [`CpuSet`]: logical CPUs and sets of them.

use crate::excerpt::excerpt;
use std::fmt;

/// One logical CPU with its number in the system (hwloc: a PU).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(transparent))]
pub struct CpuId(pub u32);

impl CpuId {
    /// The id as an index into tables up to the highest id.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for CpuId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Maximum id: 2²⁰ − 1, sixteen times more than any known kernel allows. `0-4294967295` would need half a gigabyte.
pub const MAX_CPU: u32 = (1 << 20) - 1;

/// Syntax error in a CPU list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CpuSetError {
    /// A part between commas is not a number, a range or a range with a stride.
    #[error("read `{part}` as a CPU number or range (expected for example `0-3,8` or `0-14/2`)")]
    Syntax {
        /// The offending part of the list.
        part: String,
    },
    /// A range such as `7-4`.
    #[error("read the range `{part}`: it ends before it starts")]
    Backwards {
        /// The offending part of the list.
        part: String,
    },
    /// An id above [`MAX_CPU`].
    #[error("read CPU {id}: the highest id is {MAX_CPU}")]
    TooHigh {
        /// The id as typed.
        id: u64,
    },
}

/// An ordered set of CPUs. Parses and prints the kernel's list notation.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct CpuSet {
    /// CPU `i` is bit `i % 64` of word `i / 64`. The last word is never zero.
    words: Vec<u64>,
}

impl CpuSet {
    /// The empty set.
    pub fn new() -> CpuSet {
        CpuSet::default()
    }

    /// Parses the kernel's list notation: `0-3,8` is five CPUs, `10-14/2` is 10, 12 and 14. An empty list is the empty
    /// set, as the kernel prints it for `isolated`.
    ///
    /// # Errors
    /// [`CpuSetError`] with the invalid part.
    ///
    /// ```
    /// # use coretalk_model::CpuSet;
    /// assert_eq!(CpuSet::from_list("0-3,8").unwrap().len(), 5);
    /// assert_eq!(CpuSet::from_list("10-14/2").unwrap().to_string(), "10,12,14");
    /// assert!(CpuSet::from_list("7-4").is_err());
    /// ```
    pub fn from_list(list: &str) -> Result<CpuSet, CpuSetError> {
        let mut set = CpuSet::new();
        if list.trim().is_empty() {
            return Ok(set);
        }
        for part in list.trim().split(',') {
            let (low, high, stride) = parse_range(part.trim())?;
            if stride == 1 {
                set.insert_all(low, high);
            } else {
                (low..=high).step_by(stride as usize).for_each(|id| _ = set.insert(CpuId(id)));
            }
        }
        Ok(set)
    }

    /// A line of a file may name a million CPUs, so whole words are set.
    fn insert_all(&mut self, low: u32, high: u32) {
        let [first, last] = [low, high].map(|id| id as usize / 64);
        self.words.resize(self.words.len().max(last + 1), 0);
        self.words[first..=last].iter_mut().enumerate().for_each(|(index, word)| {
            let from = if index == 0 { u64::MAX << (low % 64) } else { u64::MAX };
            let to = if first + index == last { u64::MAX >> (63 - high % 64) } else { u64::MAX };
            *word |= from & to;
        });
    }

    /// Adds a CPU; returns whether it was new.
    pub fn insert(&mut self, cpu: CpuId) -> bool {
        let (word, bit) = (cpu.index() / 64, 1u64 << (cpu.index() % 64));
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        let is_new = self.words[word] & bit == 0;
        self.words[word] |= bit;
        is_new
    }

    /// Whether the CPU is in the set.
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.words.get(cpu.index() / 64).is_some_and(|word| word >> (cpu.index() % 64) & 1 == 1)
    }

    /// The number of CPUs.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether there is no CPU in the set.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// `CPU 3` or `CPUs 0-3`, for sentences.
    pub fn named(&self) -> String {
        format!("{} {self}", if self.len() == 1 { "CPU" } else { "CPUs" })
    }

    /// The CPU with the lowest id.
    pub fn first(&self) -> Option<CpuId> {
        self.iter().next()
    }

    /// The CPU with the highest id.
    pub fn last(&self) -> Option<CpuId> {
        let word = *self.words.last()?;
        Some(CpuId((self.words.len() * 64 - 1) as u32 - word.leading_zeros()))
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut remaining_bits = word;
            std::iter::from_fn(move || {
                if remaining_bits == 0 {
                    return None;
                }
                let bit = remaining_bits.trailing_zeros();
                remaining_bits &= remaining_bits - 1;
                Some(CpuId(index as u32 * 64 + bit))
            })
        })
    }

    /// The CPUs in both sets.
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        self.combine(other, |a, b| a & b)
    }

    /// The CPUs in either set.
    pub fn union(&self, other: &CpuSet) -> CpuSet {
        self.combine(other, |a, b| a | b)
    }

    /// The CPUs in this set that are not in the other.
    pub fn difference(&self, other: &CpuSet) -> CpuSet {
        self.combine(other, |a, b| a & !b)
    }

    /// Whether every CPU of this set is in the other.
    pub fn is_subset(&self, other: &CpuSet) -> bool {
        self.difference(other).is_empty()
    }

    /// The bits as 64-bit words up to the highest id. CPU 0 is the lowest bit of the first word.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The set with these bits: the inverse of [`words`](CpuSet::words).
    pub fn from_words(mut words: Vec<u64>) -> CpuSet {
        while words.last() == Some(&0) {
            words.pop();
        }
        CpuSet { words }
    }

    fn combine(&self, other: &CpuSet, operation: impl Fn(u64, u64) -> u64) -> CpuSet {
        let length = self.words.len().max(other.words.len());
        let word = |set: &CpuSet, index: usize| set.words.get(index).copied().unwrap_or(0);
        CpuSet::from_words(
            (0..length).map(|index| operation(word(self, index), word(other, index))).collect(),
        )
    }
}

fn parse_range(part: &str) -> Result<(u32, u32, u32), CpuSetError> {
    let syntax = || CpuSetError::Syntax { part: excerpt(part) };
    let number = |text: &str| -> Result<u32, CpuSetError> {
        // `parse` also accepts a leading plus sign.
        if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
            return Err(syntax());
        }
        let id = text.parse::<u64>().map_err(|_| CpuSetError::TooHigh { id: u64::MAX })?;
        u32::try_from(id).ok().filter(|&id| id <= MAX_CPU).ok_or(CpuSetError::TooHigh { id })
    };
    let (range, stride) = match part.split_once('/') {
        Some((range, stride)) => (range, number(stride)?),
        None => (part, 1),
    };
    let (low, high) = match range.split_once('-') {
        Some((low, high)) => (number(low)?, number(high)?),
        None if part.contains('/') => return Err(syntax()),
        None => (number(range)?, number(range)?),
    };
    if high < low {
        return Err(CpuSetError::Backwards { part: excerpt(part) });
    }
    if stride == 0 {
        return Err(syntax());
    }
    Ok((low, high, stride))
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().map(|cpu| cpu.0).peekable();
        let mut first = true;
        while let Some(low) = cpus.next() {
            let mut high = low;
            while let Some(next) = cpus.next_if(|next| next - high == 1) {
                high = next;
            }
            let comma = if first { "" } else { "," };
            first = false;
            match high - low {
                0 => write!(f, "{comma}{low}")?,
                1 => write!(f, "{comma}{low},{high}")?,
                _ => write!(f, "{comma}{low}-{high}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

impl FromIterator<CpuId> for CpuSet {
    fn from_iter<I: IntoIterator<Item = CpuId>>(cpus: I) -> CpuSet {
        let mut set = CpuSet::new();
        for cpu in cpus {
            set.insert(cpu);
        }
        set
    }
}

impl std::str::FromStr for CpuSet {
    type Err = CpuSetError;
    fn from_str(list: &str) -> Result<CpuSet, CpuSetError> {
        CpuSet::from_list(list)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for CpuSet {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Rejects ids above [`MAX_CPU`], because tables are as long as the highest id.
#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for CpuId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<CpuId, D::Error> {
        let id = <u32 as serde::Deserialize>::deserialize(deserializer)?;
        let too_high = || serde::de::Error::custom(CpuSetError::TooHigh { id: id.into() });
        (id <= MAX_CPU).then_some(CpuId(id)).ok_or_else(too_high)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for CpuSet {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<CpuSet, D::Error> {
        let list = <String as serde::Deserialize>::deserialize(deserializer)?;
        CpuSet::from_list(&list).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    #[test]
    fn kernel_lists_are_parsed_and_printed() {
        for (typed, printed) in [
            ("0-3,8", "0-3,8"),
            ("8,0-3", "0-3,8"),
            ("", ""),
            ("5", "5"),
            ("0,1", "0,1"),
            ("0-14/7", "0,7,14"),
            ("1023-1025", "1023-1025"),
            (" 0-1 , 4\n", "0,1,4"),
            ("0-63,64-127,190-193", "0-127,190-193"),
            ("63-64", "63,64"),
            ("0-1048575,5", "0-1048575"),
        ] {
            assert_eq!(set(typed).to_string(), printed, "from {typed:?}");
        }
    }

    #[test]
    fn invalid_lists_are_rejected() {
        for typed in
            ["x", "1,,2", "-1", "3-", "+3", "7-4", "0-8/0", "5/2", "1048576", "99999999999999999999", "0x3"]
        {
            assert!(CpuSet::from_list(typed).is_err(), "{typed:?} was accepted");
        }
    }

    #[test]
    fn an_emptied_set_equals_a_new_one() {
        let one = set("130").difference(&set("130"));
        assert_eq!(one, CpuSet::new());
        assert!(one.is_empty() && one.last().is_none());
    }

    proptest! {
        #[test]
        fn printing_and_reading_agree(ids in proptest::collection::vec(0u32..2000, 0..60)) {
            let some: CpuSet = ids.iter().map(|&id| CpuId(id)).collect();
            prop_assert_eq!(set(&some.to_string()), some);
        }

        #[test]
        fn difference_and_intersection_partition(a in proptest::collection::vec(0u32..300, 0..40), b in proptest::collection::vec(0u32..300, 0..40)) {
            let (a, b): (CpuSet, CpuSet) = (a.into_iter().map(CpuId).collect(), b.into_iter().map(CpuId).collect());
            prop_assert_eq!(a.difference(&b).union(&a.intersection(&b)), a.clone());
            prop_assert_eq!(a.difference(&b).len() + a.intersection(&b).len(), a.len());
            prop_assert_eq!(a.last(), a.iter().last());
        }
    }
}
