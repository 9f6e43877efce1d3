//! [`Shapes`]: which kernels on which homes a trial timed. A run has few different ones, its file names each once.

use coretalk_model::{Hint, Home, KernelId, Protocol};
use std::collections::HashMap;

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
