//! 32 bytes at a time; a byte dot product is two multiplications and an addition.

use std::arch::x86_64::*;

use super::{Scratch, portable};
use crate::nnue::network::Stack;

/// Values of an accumulator in one register.
const LANES: usize = 16;

#[target_feature(enable = "popcnt,avx2")]
pub unsafe fn update(source: &[i16], target: &mut [i16], rows: &[i16], added: &[u32], removed: &[u32]) {
    let width = target.len();
    let mut at = 0;
    // SAFETY: the caller checked that every row lies in the matrix, and `at` + a tile in the width.
    unsafe {
        while at + 8 * LANES <= width {
            tile::<8>(source, target, rows, added, removed, at);
            at += 8 * LANES;
        }
        while at < width {
            tile::<4>(source, target, rows, added, removed, at);
            at += 4 * LANES;
        }
    }
}

/// A stretch of the accumulator that stays in registers while all rows are added.
#[inline]
#[target_feature(enable = "popcnt,avx2")]
unsafe fn tile<const REGISTERS: usize>(
    source: &[i16],
    target: &mut [i16],
    rows: &[i16],
    added: &[u32],
    removed: &[u32],
    at: usize,
) {
    let width = target.len();
    // SAFETY: see `update`.
    unsafe {
        let from = source.as_ptr().add(at);
        let mut sums: [__m256i; REGISTERS] =
            std::array::from_fn(|i| _mm256_loadu_si256(from.add(i * LANES).cast()));
        for &feature in added {
            let row = rows.as_ptr().add(feature as usize * width + at);
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = _mm256_add_epi16(*sum, _mm256_loadu_si256(row.add(i * LANES).cast()));
            }
        }
        for &feature in removed {
            let row = rows.as_ptr().add(feature as usize * width + at);
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = _mm256_sub_epi16(*sum, _mm256_loadu_si256(row.add(i * LANES).cast()));
            }
        }
        let to = target.as_mut_ptr().add(at);
        for (i, sum) in sums.iter().enumerate() {
            _mm256_storeu_si256(to.add(i * LANES).cast(), *sum);
        }
    }
}

#[target_feature(enable = "popcnt,avx2")]
pub unsafe fn forward(stack: &Stack, us: &[i16], them: &[i16], scratch: &mut Scratch) -> i32 {
    // SAFETY: the caller checked the lengths; `nonzero` has a vector's length to spare.
    unsafe {
        let count = activate(stack.scales.accumulator, us, them, scratch);
        let l2 = &stack.l2;
        let mut weights = l2.weights.as_ptr();
        let groups = l2.biases.chunks_exact(l2.group).zip(scratch.sums.chunks_exact_mut(l2.group));
        let (bytes, nonzero) = (scratch.bytes.as_ptr(), &scratch.nonzero[..count]);
        for (biases, sums) in groups {
            match l2.group {
                32 => group::<4>(weights, bytes, nonzero, biases, sums),
                16 => group::<2>(weights, bytes, nonzero, biases, sums),
                _ => group::<1>(weights, bytes, nonzero, biases, sums),
            }
            weights = weights.add(l2.inputs * l2.group);
        }
    }
    portable::tail(stack, scratch)
}

/// For each of 256 patterns of eight fours, the places of those that are set.
static PLACES: [[u32; 8]; 256] = {
    let mut places = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut bit, mut count) = (0, 0);
        while bit < 8 {
            if mask >> bit & 1 != 0 {
                places[mask][count] = bit;
                count += 1;
            }
            bit += 1;
        }
        mask += 1;
    }
    places
};

/// Accumulators to bytes, and the list of the fours that are not zero; its length comes back.
#[inline]
#[target_feature(enable = "popcnt,avx2")]
unsafe fn activate(shift: u32, us: &[i16], them: &[i16], scratch: &mut Scratch) -> usize {
    let shift = _mm_cvtsi32_si128(shift as i32);
    let zero = _mm256_setzero_si256();
    let mut first = 0;
    let mut count = 0;
    let mut bytes = scratch.bytes.as_mut_ptr();
    let nonzero = scratch.nonzero.as_mut_ptr();
    for view in [us, them] {
        for thirty_two in view.chunks_exact(32) {
            // SAFETY: 32 values are read, 32 bytes of as many as there are values written, and the
            // list is longer by 8 than there are fours.
            unsafe {
                let low = _mm256_loadu_si256(thirty_two.as_ptr().cast());
                let high = _mm256_loadu_si256(thirty_two.as_ptr().add(LANES).cast());
                let low = _mm256_max_epi16(_mm256_sra_epi16(low, shift), zero);
                let high = _mm256_max_epi16(_mm256_sra_epi16(high, shift), zero);
                // Packing works within 128-bit lanes; the permutation puts the quarters in order again.
                let packed = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(low, high));
                _mm256_storeu_si256(bytes.cast(), packed);
                bytes = bytes.add(32);
                // No byte is above 127, so a four is positive as a number or all zero.
                let set = _mm256_cmpgt_epi32(packed, zero);
                let mask = _mm256_movemask_ps(_mm256_castsi256_ps(set)) as usize;
                let places = _mm256_loadu_si256(PLACES[mask].as_ptr().cast());
                let numbers = _mm256_add_epi32(places, _mm256_set1_epi32(first));
                _mm256_storeu_si256(nonzero.add(count).cast(), numbers);
                count += mask.count_ones() as usize;
                first += 8;
            }
        }
    }
    count
}

/// Sums of 8 × `VECTORS` outputs, four inputs' worth of weights at a time.
#[inline]
#[target_feature(enable = "popcnt,avx2")]
unsafe fn group<const VECTORS: usize>(
    weights: *const i8,
    bytes: *const u8,
    nonzero: &[u32],
    biases: &[i32],
    sums: &mut [i32],
) {
    // SAFETY: the list holds fours below `inputs / 4`; the group has as many rows of weights.
    unsafe {
        let ones = _mm256_set1_epi16(1);
        let mut totals = [_mm256_setzero_si256(); VECTORS];
        for &four in nonzero {
            let four = four as usize;
            let input = _mm256_set1_epi32(bytes.cast::<i32>().add(four).read_unaligned());
            let row = weights.add(four * VECTORS * 32);
            for (i, total) in totals.iter_mut().enumerate() {
                let pairs = _mm256_maddubs_epi16(input, _mm256_loadu_si256(row.add(i * 32).cast()));
                *total = _mm256_add_epi32(*total, _mm256_madd_epi16(pairs, ones));
            }
        }
        for (i, total) in totals.iter().enumerate() {
            let bias = _mm256_loadu_si256(biases.as_ptr().add(i * 8).cast());
            _mm256_storeu_si256(sums.as_mut_ptr().add(i * 8).cast(), _mm256_add_epi32(bias, *total));
        }
    }
}
