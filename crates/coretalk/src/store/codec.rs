//! The binary columns of a run file. Every blob begins with a version byte and is described in docs/format/run-file.md.
//!
//! Encoding is **exact**: every float keeps its bits, so that [`analyse`] says the same about a run that has just
//! ended and about its file read back. What makes blobs small is that neighbours resemble each other: cells and
//! clocks are stored as differences, kernels and homes once per file as a [`Shapes`] entry, raw ticks as
//! Rice-coded residuals (within 0.2 bit of the entropy of their noise, see `ticks`). Where ticks are kept, what a trial
//! says is not: the reader reduces them as the session did, and the writer has made sure that nothing else comes out.
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

/// Where differences of core clocks begin: any value of the usual size would do.
const CLOCK_START_GHZ: f32 = 3.0;

/// The kernels of a trial with the homes of their lines, in the order of execution.
pub type Shape = Vec<(KernelId, Home)>;

/// Every shape of a run file by its number.
#[derive(Debug, Clone, Default)]
pub struct Shapes {
    by_number: Vec<Shape>,
    numbers: HashMap<Shape, u32>,
    /// The shape that was asked for last: four million visits of a large machine ask for one, and find it known.
    asked: Shape,
    /// How many of them the file already has.
    stored: usize,
}

impl Shapes {
    /// The shapes that a file has.
    pub fn stored(by_number: Vec<Shape>) -> Shapes {
        let numbers =
            by_number.iter().enumerate().map(|(number, shape)| (shape.clone(), number as u32)).collect();
        Shapes { stored: by_number.len(), by_number, numbers, asked: Shape::new() }
    }

    /// The number of a shape; an unknown one gets the next.
    pub fn number(&mut self, spans: impl Iterator<Item = (KernelId, Home)>) -> u32 {
        self.asked.clear();
        self.asked.extend(spans);
        if let Some(&number) = self.numbers.get(&self.asked) {
            return number;
        }
        let number = self.by_number.len() as u32;
        self.by_number.push(self.asked.clone());
        self.numbers.insert(self.asked.clone(), number);
        number
    }

    /// The shape with a number.
    pub fn get(&self, number: u32) -> Option<&Shape> {
        self.by_number.get(number as usize)
    }

    /// The shapes that the file does not have yet, with their numbers.
    pub fn fresh(&self) -> impl Iterator<Item = (u32, &Shape)> {
        self.by_number.iter().enumerate().skip(self.stored).map(|(number, shape)| (number as u32, shape))
    }

    /// The fresh ones are in the file now.
    pub fn keep_fresh(&mut self) {
        self.stored = self.by_number.len();
    }

    /// The fresh ones did not reach the file.
    pub fn drop_fresh(&mut self) {
        for shape in self.by_number.drain(self.stored..) {
            self.numbers.remove(&shape);
        }
    }
}

/// The kernel of a name. Our own names are static, so that a million visits of a large machine share them.
pub fn kernel(name: String) -> KernelId {
    let own = Protocol::ALL
        .into_iter()
        .flat_map(|protocol| [KernelId::of(protocol, Hint::None), KernelId::of(protocol, Hint::Pause)])
        .find(|own| own.as_str() == name);
    own.unwrap_or_else(|| KernelId(name.into()))
}
