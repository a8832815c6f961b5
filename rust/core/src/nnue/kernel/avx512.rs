//! 64 bytes at a time, byte dot products in one instruction.

use std::arch::x86_64::*;

use super::{Scratch, portable};
use crate::nnue::network::Stack;

/// Values of an accumulator in one register.
const LANES: usize = 32;

#[target_feature(enable = "popcnt,avx512f,avx512bw")]
pub unsafe fn update(source: &[i16], target: &mut [i16], rows: &[i16], added: &[u32], removed: &[u32]) {
    // SAFETY: the caller checked that every row lies in the matrix, and `at` + a tile in the width.
    unsafe {
        match (added, removed) {
            (&[a], &[b]) => return few(source, target, rows, [a], [b]),
            (&[a], &[b, c]) => return few(source, target, rows, [a], [b, c]),
            (&[a, b], &[c, d]) => return few(source, target, rows, [a, b], [c, d]),
            _ => {}
        }
        let width = target.len();
        let mut at = 0;
        while at + 8 * LANES <= width {
            tile::<8>(source, target, rows, added, removed, at);
            at += 8 * LANES;
        }
        while at < width {
            tile::<2>(source, target, rows, added, removed, at);
            at += 2 * LANES;
        }
    }
}

/// The moves that most moves are: a piece goes, or takes, or a few did; everything in one pass.
#[inline]
#[target_feature(enable = "popcnt,avx512f,avx512bw")]
unsafe fn few<const ADDED: usize, const REMOVED: usize>(
    source: &[i16],
    target: &mut [i16],
    rows: &[i16],
    added: [u32; ADDED],
    removed: [u32; REMOVED],
) {
    let width = target.len();
    // SAFETY: see `update`; the width is a multiple of two registers.
    unsafe {
        let row = |feature: u32| rows.as_ptr().add(feature as usize * width);
        let (added, removed) = (added.map(row), removed.map(row));
        let (from, to) = (source.as_ptr(), target.as_mut_ptr());
        let load = |start: *const i16, at: usize| _mm512_loadu_si512(start.add(at).cast());
        let mut at = 0;
        while at < width {
            for half in [at, at + LANES] {
                let mut sum = load(from, half);
                for start in added {
                    sum = _mm512_add_epi16(sum, load(start, half));
                }
                for start in removed {
                    sum = _mm512_sub_epi16(sum, load(start, half));
                }
                _mm512_storeu_si512(to.add(half).cast(), sum);
            }
            at += 2 * LANES;
        }
    }
}

/// A stretch of the accumulator that stays in registers while all rows are added.
#[inline]
#[target_feature(enable = "popcnt,avx512f,avx512bw")]
unsafe fn tile<const REGISTERS: usize>(
    source: &[i16],
    target: &mut [i16],
    rows: &[i16],
    added: &[u32],
    removed: &[u32],
    at: usize,
) {
    let width = target.len();
    // SAFETY: see `update`; whole lines of aligned memory.
    unsafe {
        let from = source.as_ptr().add(at);
        let mut sums: [__m512i; REGISTERS] =
            std::array::from_fn(|i| _mm512_loadu_si512(from.add(i * LANES).cast()));
        for &feature in added {
            let row = rows.as_ptr().add(feature as usize * width + at);
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = _mm512_add_epi16(*sum, _mm512_loadu_si512(row.add(i * LANES).cast()));
            }
        }
        for &feature in removed {
            let row = rows.as_ptr().add(feature as usize * width + at);
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum = _mm512_sub_epi16(*sum, _mm512_loadu_si512(row.add(i * LANES).cast()));
            }
        }
        let to = target.as_mut_ptr().add(at);
        for (i, sum) in sums.iter().enumerate() {
            _mm512_storeu_si512(to.add(i * LANES).cast(), *sum);
        }
    }
}

#[target_feature(enable = "popcnt,avx512f,avx512bw,avx512vl,avx512vnni")]
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
                32 => group::<2>(weights, bytes, nonzero, biases, sums),
                16 => group::<1>(weights, bytes, nonzero, biases, sums),
                _ => half_group(weights, bytes, nonzero, biases, sums),
            }
            weights = weights.add(l2.inputs * l2.group);
        }
    }
    portable::tail(stack, scratch)
}

/// Accumulators to bytes, and the list of the fours that are not zero; its length comes back.
#[inline]
#[target_feature(enable = "popcnt,avx512f,avx512bw")]
unsafe fn activate(shift: u32, us: &[i16], them: &[i16], scratch: &mut Scratch) -> usize {
    let shift = _mm_cvtsi32_si128(shift as i32);
    let zero = _mm512_setzero_si512();
    // Packing works within 128-bit lanes; this puts the quarters in order again.
    let order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    let mut numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    let mut count = 0;
    let mut bytes = scratch.bytes.as_mut_ptr();
    let nonzero = scratch.nonzero.as_mut_ptr();
    for view in [us, them] {
        for sixty_four in view.chunks_exact(64) {
            // SAFETY: 64 values are read, 64 bytes of as many as there are values written, and the
            // list is 16 entries longer than there are fours.
            unsafe {
                let low = _mm512_loadu_si512(sixty_four.as_ptr().cast());
                let high = _mm512_loadu_si512(sixty_four.as_ptr().add(LANES).cast());
                let low = _mm512_max_epi16(_mm512_sra_epi16(low, shift), zero);
                let high = _mm512_max_epi16(_mm512_sra_epi16(high, shift), zero);
                let packed = _mm512_permutexvar_epi64(order, _mm512_packs_epi16(low, high));
                _mm512_storeu_si512(bytes.cast(), packed);
                bytes = bytes.add(64);
                let mask = _mm512_test_epi32_mask(packed, packed);
                _mm512_storeu_si512(nonzero.add(count).cast(), _mm512_maskz_compress_epi32(mask, numbers));
                count += mask.count_ones() as usize;
                numbers = _mm512_add_epi32(numbers, _mm512_set1_epi32(16));
            }
        }
    }
    count
}

/// Sums of 16 × `VECTORS` outputs; four inputs' worth of weights at a time, four such in flight.
#[inline]
#[target_feature(enable = "popcnt,avx512f,avx512bw,avx512vnni")]
unsafe fn group<const VECTORS: usize>(
    weights: *const i8,
    bytes: *const u8,
    nonzero: &[u32],
    biases: &[i32],
    sums: &mut [i32],
) {
    // SAFETY: the list holds fours below `inputs / 4`; the group has as many rows of weights.
    unsafe {
        let zero = _mm512_setzero_si512();
        let mut flights = [[zero; VECTORS]; 4];
        let step = |flight: &mut [__m512i; VECTORS], four: u32| {
            let four = four as usize;
            let input = _mm512_set1_epi32(bytes.cast::<i32>().add(four).read_unaligned());
            let row = weights.add(four * VECTORS * 64);
            for (i, sum) in flight.iter_mut().enumerate() {
                *sum = _mm512_dpbusd_epi32(*sum, input, _mm512_loadu_si512(row.add(i * 64).cast()));
            }
        };
        let (quads, rest) = nonzero.as_chunks::<4>();
        for quad in quads {
            for (flight, &four) in flights.iter_mut().zip(quad) {
                step(flight, four);
            }
        }
        for &four in rest {
            step(&mut flights[0], four);
        }
        let [first, second, third, fourth] = flights;
        for i in 0..VECTORS {
            let bias = _mm512_loadu_si512(biases.as_ptr().add(i * 16).cast());
            let pairs = _mm512_add_epi32(
                _mm512_add_epi32(first[i], second[i]),
                _mm512_add_epi32(third[i], fourth[i]),
            );
            _mm512_storeu_si512(sums.as_mut_ptr().add(i * 16).cast(), _mm512_add_epi32(bias, pairs));
        }
    }
}

/// Eight outputs, in half a register.
#[inline]
#[target_feature(enable = "popcnt,avx512f,avx512bw,avx512vl,avx512vnni")]
unsafe fn half_group(
    weights: *const i8,
    bytes: *const u8,
    nonzero: &[u32],
    biases: &[i32],
    sums: &mut [i32],
) {
    // SAFETY: as in `group`.
    unsafe {
        let mut flights = [_mm256_setzero_si256(); 4];
        let step = |sum: &mut __m256i, four: u32| {
            let four = four as usize;
            let input = _mm256_set1_epi32(bytes.cast::<i32>().add(four).read_unaligned());
            *sum = _mm256_dpbusd_epi32(*sum, input, _mm256_loadu_si256(weights.add(four * 32).cast()));
        };
        let (quads, rest) = nonzero.as_chunks::<4>();
        for quad in quads {
            for (flight, &four) in flights.iter_mut().zip(quad) {
                step(flight, four);
            }
        }
        for &four in rest {
            step(&mut flights[0], four);
        }
        let [a, b, c, d] = flights;
        let all = _mm256_add_epi32(_mm256_add_epi32(a, b), _mm256_add_epi32(c, d));
        let all = _mm256_add_epi32(all, _mm256_loadu_si256(biases.as_ptr().cast()));
        _mm256_storeu_si256(sums.as_mut_ptr().cast(), all);
    }
}
