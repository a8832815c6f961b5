//! The transposition table: what is known of positions met before, shared by all threads without locks.
//!
//! An entry is two words, the data and the key mixed with the data. A thread
//! that reads one word of one writer and one of another finds a key that does
//! not fit and sees nothing; a move that comes from here is still checked
//! before it is played, as two positions may share a key.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

use super::generate::NO_MOVE;
use super::large_pages::{Large, Zero};
use crate::move_code::MoveCode;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// Only a move or an evaluation is known.
    None,
    /// The true score is at most this.
    Upper,
    /// The true score is at least this.
    Lower,
    Exact,
}

impl Bound {
    fn from_bits(bits: u64) -> Bound {
        match bits & 3 {
            1 => Bound::Upper,
            2 => Bound::Lower,
            3 => Bound::Exact,
            _ => Bound::None,
        }
    }

    /// Whether a score with this bound decides a window that it lies above (`true`) or below (`false`).
    #[inline]
    pub fn decides(self, above: bool) -> bool {
        self == Bound::Exact || self == if above { Bound::Lower } else { Bound::Upper }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    pub code: MoveCode,
    /// Mates counted from this position.
    pub score: i32,
    /// The evaluation before any search, or `score::UNKNOWN` in check.
    pub evaluation: i32,
    pub depth: i32,
    pub bound: Bound,
    /// The position stood, or once stood, on a principal variation.
    pub on_pv: bool,
}

/// Depth is stored with this much added, so that quiescence may lie below zero.
const DEPTH_OFFSET: i32 = 8;
/// Ages count modulo 32.
const AGES: u8 = 32;
const SLOTS: usize = 4;

impl Entry {
    /// move 16 | score 16 | evaluation 16 | depth 8 | age 5, on_pv 1, bound 2
    fn pack(&self, age: u8) -> u64 {
        u64::from(self.code.0)
            | u64::from(self.score as i16 as u16) << 16
            | u64::from(self.evaluation as i16 as u16) << 32
            | u64::from((self.depth + DEPTH_OFFSET).clamp(0, 255) as u8) << 48
            | (u64::from(age & (AGES - 1)) << 3 | u64::from(self.on_pv) << 2 | self.bound as u64) << 56
    }

    fn unpack(data: u64) -> Entry {
        Entry {
            code: MoveCode(data as u16),
            score: i32::from((data >> 16) as u16 as i16),
            evaluation: i32::from((data >> 32) as u16 as i16),
            depth: i32::from((data >> 48) as u8) - DEPTH_OFFSET,
            bound: Bound::from_bits(data >> 56),
            on_pv: data >> 58 & 1 == 1,
        }
    }
}

#[derive(Default)]
struct Slot {
    check: AtomicU64,
    data: AtomicU64,
}

#[derive(Default)]
#[repr(align(64))]
struct Bucket([Slot; SLOTS]);

// SAFETY: atomic integers, of which zero is a value.
unsafe impl Zero for Bucket {}

pub struct Table {
    buckets: Large<Bucket>,
    age: AtomicU8,
}

impl Table {
    /// A table of about so many mebibytes, at least one bucket.
    pub fn new(mebibytes: usize) -> Table {
        Table::with_buckets((mebibytes << 20) / size_of::<Bucket>())
    }

    fn with_buckets(count: usize) -> Table {
        Table { buckets: Large::zeros(count), age: AtomicU8::new(0) }
    }

    pub fn clear(&mut self) {
        for bucket in self.buckets.iter_mut() {
            *bucket = Bucket::default();
        }
        self.age = AtomicU8::new(0);
    }

    /// A new search begins: what earlier ones left becomes easier to replace.
    pub fn grow_older(&self) {
        self.age.store((self.age.load(Relaxed) + 1) % AGES, Relaxed);
    }

    #[inline]
    fn bucket(&self, key: u64) -> &Bucket {
        let index = (u128::from(key) * self.buckets.len() as u128) >> 64;
        &self.buckets[index as usize]
    }

    /// Ask the memory for an entry that will soon be read.
    #[inline]
    pub fn prefetch(&self, key: u64) {
        #[cfg(target_arch = "x86_64")]
        // Safety: a prefetch reads nothing, and the address lies inside the table.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(self.bucket(key)).cast());
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = key;
    }

    pub fn probe(&self, key: u64) -> Option<Entry> {
        for slot in &self.bucket(key).0 {
            let data = slot.data.load(Relaxed);
            if slot.check.load(Relaxed) ^ data == key && data != 0 {
                return Some(Entry::unpack(data));
            }
        }
        None
    }

    pub fn store(&self, key: u64, mut entry: Entry) {
        let age = self.age.load(Relaxed);
        let mut worst = (i32::MAX, 0);
        let slots = &self.bucket(key).0;
        for (index, slot) in slots.iter().enumerate() {
            let data = slot.data.load(Relaxed);
            let same = slot.check.load(Relaxed) ^ data == key;
            if data == 0 || same {
                if same && data != 0 && !keep_newer(&mut entry, data, age) {
                    return;
                }
                worst = (0, index);
                break;
            }
            let worth = i32::from((data >> 48) as u8) - 8 * i32::from(years(data, age));
            if worth < worst.0 {
                worst = (worth, index);
            }
        }
        let data = entry.pack(age);
        slots[worst.1].data.store(data, Relaxed);
        slots[worst.1].check.store(key ^ data, Relaxed);
    }

    /// How full the table is with this search's entries, in thousandths.
    pub fn fullness(&self) -> u32 {
        let age = self.age.load(Relaxed);
        let sample = self.buckets.len().min(1000 / SLOTS);
        let used = self.buckets[..sample]
            .iter()
            .flat_map(|bucket| &bucket.0)
            .filter(|slot| {
                let data = slot.data.load(Relaxed);
                data != 0 && years(data, age) == 0
            })
            .count();
        (used * 1000 / (sample * SLOTS)) as u32
    }
}

/// How many searches ago an entry was written.
#[inline]
fn years(data: u64, age: u8) -> u8 {
    age.wrapping_sub((data >> 59) as u8) % AGES
}

/// Whether a new entry replaces one of the same position; a known move outlives an entry without one.
fn keep_newer(entry: &mut Entry, data: u64, age: u8) -> bool {
    let old = Entry::unpack(data);
    if entry.code == NO_MOVE {
        entry.code = old.code;
    }
    let fresher = years(data, age) > 0;
    entry.bound == Bound::Exact || fresher || entry.depth + 4 + 2 * i32::from(entry.on_pv) > old.depth
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::score::{MATE, UNKNOWN};

    fn entry(depth: i32) -> Entry {
        Entry {
            code: MoveCode(796),
            score: -31_999,
            evaluation: UNKNOWN,
            depth,
            bound: Bound::Lower,
            on_pv: true,
        }
    }

    #[test]
    fn an_entry_comes_back_as_it_was_stored() {
        let table = Table::new(1);
        for (key, score, depth) in [(1_u64, MATE, 0), (u64::MAX, -MATE, 120), (1 << 63, 17, -2)] {
            let stored = Entry { score, ..entry(depth) };
            table.store(key, stored);
            assert_eq!(table.probe(key), Some(stored));
        }
        assert_eq!(table.probe(77), None);
    }

    #[test]
    fn positions_that_share_a_bucket_are_kept_apart() {
        let table = Table::with_buckets(1);
        for key in 1..=4_u64 {
            table.store(key, entry(key as i32));
        }
        for key in 1..=4_u64 {
            assert_eq!(table.probe(key).unwrap().depth, key as i32);
        }
        table.store(5, entry(5));
        assert_eq!(table.probe(1), None, "the shallowest made room");
        assert_eq!(table.probe(5).unwrap().depth, 5);
    }

    #[test]
    fn age_makes_room_before_depth_does() {
        let table = Table::with_buckets(1);
        table.store(1, entry(20));
        (0..4).for_each(|_| table.grow_older());
        for key in 2..=4_u64 {
            table.store(key, entry(3));
        }
        table.store(5, entry(1));
        assert_eq!(table.probe(1), None);
        assert_eq!(table.probe(2).unwrap().depth, 3);
    }

    #[test]
    fn a_torn_entry_is_not_seen() {
        let table = Table::with_buckets(1);
        table.store(9, entry(9));
        let slot = &table.buckets[0].0[0];
        slot.data.store(Entry { score: 12, ..entry(9) }.pack(0), Relaxed);
        assert_eq!(table.probe(9), None);
    }

    #[test]
    fn a_known_move_outlives_an_entry_without_one() {
        let table = Table::new(1);
        table.store(3, entry(4));
        table.store(3, Entry { code: NO_MOVE, bound: Bound::Exact, ..entry(6) });
        assert_eq!(table.probe(3).unwrap().code, MoveCode(796));
        assert_eq!(table.probe(3).unwrap().depth, 6);
    }
}
