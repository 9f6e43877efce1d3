//! [`Message`]: a payload made by the producer and read by the consumer.

use super::flag_slot::{FlagSlot, Flagged, Word};

/// A message that carries a number. The reader detects lost, doubled and damaged messages.
pub trait Message: Send + Sized + 'static {
    /// Maximum length in bytes, for queues that carry only bytes.
    const MAX_BYTES: usize;

    /// Slot type in queues whose slots mark themselves as full.
    type Slot: FlagSlot<Self>;

    /// Makes a message. This is the producer's work.
    fn make(value: u64) -> Self;

    /// Reads the number; `None` if the message is damaged. This is the consumer's work.
    fn read(self) -> Option<u64>;

    /// Passes the message as bytes, for queues that carry only bytes.
    fn with_bytes<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R;

    /// Restores the message from its bytes; `None` if they are invalid.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

impl Message for u64 {
    const MAX_BYTES: usize = 8;
    type Slot = Word;

    #[inline(always)]
    fn make(value: u64) -> u64 {
        value
    }

    #[inline(always)]
    fn read(self) -> Option<u64> {
        Some(self)
    }

    fn with_bytes<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
        read(&self.to_ne_bytes())
    }

    fn from_bytes(bytes: &[u8]) -> Option<u64> {
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    }
}

/// A plain block of `8 × WORDS` bytes that is copied in and out. The producer writes all of it, and the consumer reads
/// it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block<const WORDS: usize>([u64; WORDS]);

impl<const WORDS: usize> Message for Block<WORDS> {
    const MAX_BYTES: usize = 8 * WORDS;
    type Slot = Flagged<Block<WORDS>>;

    #[inline(always)]
    fn make(value: u64) -> Block<WORDS> {
        Block(std::array::from_fn(|index| value.wrapping_add(index as u64)))
    }

    #[inline(always)]
    fn read(self) -> Option<u64> {
        let value = self.0[0];
        // Any difference sets a bit. This takes one pass over the block, without a branch for each word.
        let words = self.0.iter().enumerate();
        let difference =
            words.fold(0, |difference, (index, word)| difference | (word ^ value.wrapping_add(index as u64)));
        (difference == 0).then_some(value)
    }

    fn with_bytes<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
        read(self.0.map(u64::to_ne_bytes).as_flattened())
    }

    fn from_bytes(bytes: &[u8]) -> Option<Block<WORDS>> {
        let (words, rest) = bytes.as_chunks::<8>();
        let words: &[[u8; 8]; WORDS] = words.try_into().ok()?;
        rest.is_empty().then(|| Block(words.map(u64::from_ne_bytes)))
    }
}

/// Text on the heap. The producer allocates and formats it; the consumer parses and frees it on another CPU.
impl Message for String {
    const MAX_BYTES: usize = 20;
    type Slot = Flagged<String>;

    #[inline(always)]
    fn make(value: u64) -> String {
        value.to_string()
    }

    #[inline(always)]
    fn read(self) -> Option<u64> {
        self.parse().ok()
    }

    fn with_bytes<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
        read(self.as_bytes())
    }

    fn from_bytes(bytes: &[u8]) -> Option<String> {
        String::from_utf8(bytes.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_keeps_numbers<M: Message>() {
        for value in [0, 1, 9_999_999_999, u64::MAX] {
            assert_eq!(M::make(value).read(), Some(value));
            let carried = M::make(value).with_bytes(|bytes| {
                assert!(bytes.len() <= M::MAX_BYTES, "{bytes:?}");
                M::from_bytes(bytes)
            });
            assert_eq!(carried.and_then(M::read), Some(value));
        }
    }

    #[test]
    fn every_message_keeps_its_number() {
        assert_keeps_numbers::<u64>();
        assert_keeps_numbers::<Block<2>>();
        assert_keeps_numbers::<Block<128>>();
        assert_keeps_numbers::<String>();
    }

    #[test]
    fn a_damaged_message_is_noticed() {
        let mut block = Block::<8>::make(7);
        block.0[5] ^= 1;
        assert_eq!(block.read(), None);
        assert_eq!("12x".to_owned().read(), None);
        assert!(u64::from_bytes(&[0; 7]).is_none() && Block::<2>::from_bytes(&[0; 15]).is_none());
    }
}
