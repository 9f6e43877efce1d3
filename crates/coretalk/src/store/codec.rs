//! Binary columns of a run file. Every blob begins with a version byte. Encodings: docs/format/run-file.md.
//!
//! Encoding is **exact**: every float keeps its bits, so [`analyse`] returns the same result for a run and its file.
//! Blobs are small because neighbouring values are similar. Cells and clocks are stored as differences. Kernels and
//! NUMA nodes are stored once per file, as [`Shapes`]. Raw ticks are Rice-coded. A trial with raw ticks stores no
//! summary if the reader can compute the same summary from the ticks. The writer checks this.
//!
//! [`analyse`]: coretalk_model::latency::analyse()

mod bytes;
mod histograms;
mod recordings;
mod ticks;
mod trials;

pub(super) use bytes::{Damage, Events, MAX_PS, checksum};
pub(super) use histograms::{decode_histograms, encode_histograms};
pub(super) use recordings::{decode_recordings, encode_recordings};
pub(super) use trials::{decode_trials, encode_trials};

use coretalk_model::{Hint, Home, KernelId, Protocol};
use std::collections::HashMap;

/// Typical frequency, from which the first core clock is stored as a difference.
const CLOCK_START_GHZ: f32 = 3.0;

/// Kernels of a trial with the NUMA nodes of their lines, in the order of execution.
pub type Shape = Vec<(KernelId, Home)>;

#[derive(Debug, Clone, Default)]
pub struct Shapes {
    by_number: Vec<Shape>,
    numbers: HashMap<Shape, u32>,
    /// Buffer for lookups, reused because a large machine makes four million.
    lookup: Shape,
    /// Number of shapes in the file.
    stored: usize,
}

impl Shapes {
    pub fn stored(by_number: Vec<Shape>) -> Shapes {
        let numbers =
            by_number.iter().enumerate().map(|(number, shape)| (shape.clone(), number as u32)).collect();
        Shapes { stored: by_number.len(), by_number, numbers, lookup: Shape::new() }
    }

    /// Returns the number of a shape; an unknown shape gets the next number.
    pub fn number(&mut self, spans: impl Iterator<Item = (KernelId, Home)>) -> u32 {
        self.lookup.clear();
        self.lookup.extend(spans);
        if let Some(&number) = self.numbers.get(&self.lookup) {
            return number;
        }
        let number = self.by_number.len() as u32;
        self.by_number.push(self.lookup.clone());
        self.numbers.insert(self.lookup.clone(), number);
        number
    }

    pub fn get(&self, number: u32) -> Option<&Shape> {
        self.by_number.get(number as usize)
    }

    /// Returns the shapes that are not yet in the file, with their numbers.
    pub fn fresh(&self) -> impl Iterator<Item = (u32, &Shape)> {
        self.by_number.iter().enumerate().skip(self.stored).map(|(number, shape)| (number as u32, shape))
    }

    pub fn keep_fresh(&mut self) {
        self.stored = self.by_number.len();
    }

    /// Discards the fresh shapes, because they did not reach the file.
    pub fn drop_fresh(&mut self) {
        for shape in self.by_number.drain(self.stored..) {
            self.numbers.remove(&shape);
        }
    }
}

/// Converts a name to a kernel. Millions of visits share the static string of a known name.
pub fn kernel(name: String) -> KernelId {
    let known = Protocol::ALL
        .into_iter()
        .flat_map(|protocol| [KernelId::new(protocol, Hint::None), KernelId::new(protocol, Hint::Pause)])
        .find(|known| known.as_str() == name);
    known.unwrap_or_else(|| KernelId(name.into()))
}
