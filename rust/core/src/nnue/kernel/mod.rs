//! The arithmetic, three times over: portable, AVX2, AVX-512 with VNNI; chosen when the program runs.
//!
//! Two operations carry the cost: moving an accumulator by a few rows of the
//! feature transformer, and L2 over the activations that are not zero. No sum
//! saturates on any path (a pair of products is at most 2 × 127 × 128), so all
//! paths give the same integers.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;

use super::aligned::Aligned;
use super::network::{Network, Stack};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kernel {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// Room for one evaluation, made once.
pub struct Scratch {
    /// Activations of both views.
    bytes: Aligned<u8>,
    /// Which groups of four activations are not all zero; a vector's length longer than can be needed.
    nonzero: Aligned<u32>,
    sums: Aligned<i32>,
    hidden: Aligned<i16>,
    second: Aligned<i16>,
}

impl Scratch {
    pub fn new(network: &Network) -> Scratch {
        let shape = network.shape();
        let inputs = 2 * network.width();
        Scratch {
            bytes: Aligned::zeros(inputs),
            nonzero: Aligned::zeros(inputs / 4 + 64),
            sums: Aligned::zeros(shape.l2.next_multiple_of(32)),
            hidden: Aligned::zeros(shape.l2.next_multiple_of(32)),
            second: Aligned::zeros(shape.extra.next_multiple_of(32)),
        }
    }
}

impl Kernel {
    /// The quickest that this processor has.
    pub fn best() -> Kernel {
        *Kernel::available().last().expect("the portable kernel is always there")
    }

    /// All that this processor has, the slowest first.
    pub fn available() -> Vec<Kernel> {
        #[allow(unused_mut)]
        let mut found = vec![Kernel::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
                found.push(Kernel::Avx2);
                let wide = is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vnni");
                if wide {
                    found.push(Kernel::Avx512);
                }
            }
        }
        found
    }

    pub fn name(self) -> &'static str {
        match self {
            Kernel::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => "avx512-vnni",
        }
    }

    /// `target` = `source` + the rows added − the rows removed, of a matrix with rows of that width.
    ///
    /// All three begin on cache lines and the width is a multiple of 64.
    #[inline]
    pub(super) fn update(
        self,
        source: &[i16],
        target: &mut [i16],
        rows: &[i16],
        added: &[u32],
        removed: &[u32],
    ) {
        let width = target.len();
        assert!(source.len() == width && width.is_multiple_of(64));
        let most = added.iter().chain(removed).copied().max().unwrap_or(0) as usize;
        assert!((most + 1) * width <= rows.len());
        match self {
            Kernel::Portable => portable::update(source, target, rows, added, removed),
            // SAFETY: only kernels that this processor has come here; lengths are checked above.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => unsafe { avx2::update(source, target, rows, added, removed) },
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => unsafe { avx512::update(source, target, rows, added, removed) },
        }
    }

    /// The evaluation from the two views' accumulators, the side to move's first.
    #[inline]
    pub(super) fn forward(self, stack: &Stack, us: &[i16], them: &[i16], scratch: &mut Scratch) -> i32 {
        assert!(us.len() + them.len() == stack.l2.inputs && us.len().is_multiple_of(64));
        assert!(scratch.bytes.len() == stack.l2.inputs && scratch.sums.len() >= stack.l2.outputs);
        match self {
            Kernel::Portable => portable::forward(stack, us, them, scratch),
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx2 => unsafe { avx2::forward(stack, us, them, scratch) },
            #[cfg(target_arch = "x86_64")]
            Kernel::Avx512 => unsafe { avx512::forward(stack, us, them, scratch) },
        }
    }
}
