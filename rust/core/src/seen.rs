//! How often each position was met: a flat table of 64-bit keys with a count.
//!
//! Seventy-five million positions fit in about a gigabyte, which a general
//! hash map would double.

pub struct Seen {
    keys: Vec<u64>,
    counts: Vec<u8>,
    used: usize,
}

impl Default for Seen {
    fn default() -> Self {
        Seen { keys: vec![0; 1 << 16], counts: vec![0; 1 << 16], used: 0 }
    }
}

impl Seen {
    /// Count one more meeting with `key`; how often it was met before (at most 255).
    pub fn meet(&mut self, key: u64) -> u8 {
        if self.used * 4 > self.keys.len() * 3 {
            self.grow();
        }
        let slot = self.slot(key);
        let before = self.counts[slot];
        if before == 0 {
            self.keys[slot] = key;
            self.used += 1;
        }
        self.counts[slot] = before.saturating_add(1);
        before
    }

    pub fn len(&self) -> usize {
        self.used
    }

    pub fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// The slot that holds `key` or the empty one where it belongs.
    fn slot(&self, key: u64) -> usize {
        let mask = self.keys.len() - 1;
        let mut slot = key as usize & mask;
        while self.counts[slot] != 0 && self.keys[slot] != key {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let size = self.keys.len() * 2;
        let keys = std::mem::replace(&mut self.keys, vec![0; size]);
        let counts = std::mem::replace(&mut self.counts, vec![0; size]);
        for (key, count) in keys.into_iter().zip(counts) {
            if count != 0 {
                let slot = self.slot(key);
                self.keys[slot] = key;
                self.counts[slot] = count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_counted_through_growth() {
        let mut seen = Seen::default();
        for key in 0..200_000u64 {
            assert_eq!(seen.meet(crate::packed::mix(key)), 0);
        }
        assert_eq!(seen.meet(crate::packed::mix(7)), 1);
        assert_eq!(seen.meet(crate::packed::mix(7)), 2);
        assert_eq!(seen.len(), 200_000);
    }
}
