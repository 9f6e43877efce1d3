use std::collections::BTreeMap;

/// Values with an index of one byte. Further values are stored by place.
#[derive(Debug, Clone)]
pub(super) struct Interned<P, T> {
    values: Vec<T>,
    rare: BTreeMap<P, T>,
}

const RARE: u8 = u8::MAX;

impl<P: Ord, T: Copy + Default + PartialEq> Interned<P, T> {
    pub fn index(&mut self, value: T, place: impl FnOnce() -> P) -> u8 {
        if let Some(index) = self.values.iter().position(|known| *known == value) {
            return index as u8;
        }
        if self.values.len() == usize::from(RARE) {
            self.rare.insert(place(), value);
            return RARE;
        }
        self.values.push(value);
        self.values.len() as u8 - 1
    }

    pub fn get(&self, index: u8, place: impl FnOnce() -> P) -> T {
        match self.values.get(usize::from(index)) {
            Some(value) => *value,
            None => self.rare.get(&place()).copied().unwrap_or_default(),
        }
    }
}

impl<P, T> Default for Interned<P, T> {
    fn default() -> Interned<P, T> {
        Interned { values: Vec::new(), rare: BTreeMap::new() }
    }
}
