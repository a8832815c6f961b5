//! How large a network is and how its numbers are scaled: what a file's header says.

use crate::error::{Error, Result};

/// Sizes of the layers: two views of L1, then L2, an extra layer or none, and one output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// Neurons of the feature transformer, for each view.
    pub l1: usize,
    pub l2: usize,
    /// Neurons of one more layer between L2 and the output; 0: there is none.
    pub extra: usize,
    /// How many sets of later layers there are; the number of pieces chooses one.
    pub buckets: usize,
}

impl Shape {
    pub fn check(&self) -> Result<()> {
        let limits = [
            ("L1", self.l1, 1, 8192),
            ("L2", self.l2, 1, 1024),
            ("the extra layer", self.extra, 0, 1024),
            ("the number of output buckets", self.buckets, 1, 32),
        ];
        for (name, size, least, most) in limits {
            if !(least..=most).contains(&size) {
                return Err(Error::Malformed(format!(
                    "{name} of a network is {least} to {most}, not {size}"
                )));
            }
        }
        Ok(())
    }

    /// The layers that a position of so many pieces goes through.
    #[inline]
    pub fn bucket(&self, pieces: usize) -> usize {
        (pieces.saturating_sub(1) * self.buckets / 32).min(self.buckets - 1)
    }
}

/// An activation of 1.0 after the feature transformer.
pub const ACTIVATION: i32 = 127;

/// What 1.0 is in integers, layer by layer; all but the last are powers of two.
///
/// The accumulators hold 127 × 2^`accumulator` for 1.0. L2's weights hold
/// 2^`weight`, so its neurons are worth 127 × 2^`weight` and stay as they are:
/// no bits are dropped after L2. The layers behind it hold 2^`tail`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scales {
    pub accumulator: u32,
    pub weight: u32,
    pub tail: u32,
    /// What the network's output 1.0 is in the units of an evaluation.
    pub output: u32,
}

impl Default for Scales {
    fn default() -> Scales {
        Scales { accumulator: 0, weight: 6, tail: 10, output: 600 }
    }
}

impl Scales {
    pub fn check(&self) -> Result<()> {
        let limits = [
            ("accumulator shift", self.accumulator, 0, 6),
            ("weight shift", self.weight, 0, 8),
            ("tail shift", self.tail, 0, 14),
            ("output scale", self.output, 1, 1_000_000),
        ];
        for (name, value, least, most) in limits {
            if !(least..=most).contains(&value) {
                return Err(Error::Malformed(format!(
                    "the {name} of a network is {least} to {most}, not {value}"
                )));
            }
        }
        Ok(())
    }

    /// The accumulators' 1.0.
    pub fn accumulator_one(&self) -> i32 {
        ACTIVATION << self.accumulator
    }

    /// L2's 1.0, which is also its largest activation.
    #[inline]
    pub fn hidden_one(&self) -> i32 {
        ACTIVATION << self.weight
    }
}
