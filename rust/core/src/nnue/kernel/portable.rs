//! Plain loops that any processor runs: the definition of the arithmetic.
//!
//! The tail behind L2 is written once, here, and inlined into the vector paths,
//! where the compiler makes vector code of it.

use super::Scratch;
use crate::nnue::network::{Dense, LARGEST_EVALUATION, Stack};
use crate::nnue::shape::ACTIVATION;

pub fn update(source: &[i16], target: &mut [i16], rows: &[i16], added: &[u32], removed: &[u32]) {
    let width = target.len();
    target.copy_from_slice(source);
    for &feature in added {
        let row = &rows[feature as usize * width..][..width];
        target.iter_mut().zip(row).for_each(|(sum, weight)| *sum = sum.wrapping_add(*weight));
    }
    for &feature in removed {
        let row = &rows[feature as usize * width..][..width];
        target.iter_mut().zip(row).for_each(|(sum, weight)| *sum = sum.wrapping_sub(*weight));
    }
}

pub fn forward(stack: &Stack, us: &[i16], them: &[i16], scratch: &mut Scratch) -> i32 {
    let shift = stack.scales.accumulator;
    for (byte, &sum) in scratch.bytes.iter_mut().zip(us.iter().chain(them)) {
        *byte = i32::from(sum >> shift).clamp(0, ACTIVATION) as u8;
    }
    let l2 = &stack.l2;
    let sums = &mut scratch.sums[..l2.outputs];
    sums.copy_from_slice(&l2.biases);
    let groups = l2.weights.chunks_exact(l2.inputs * l2.group);
    for (weights, sums) in groups.zip(sums.chunks_exact_mut(l2.group)) {
        match l2.group {
            32 => group::<32>(weights, &scratch.bytes, sums),
            16 => group::<16>(weights, &scratch.bytes, sums),
            _ => group::<8>(weights, &scratch.bytes, sums),
        }
    }
    tail(stack, scratch)
}

/// Sums of a group of outputs, four inputs at a time.
fn group<const OUTPUTS: usize>(weights: &[i8], bytes: &[u8], sums: &mut [i32]) {
    let mut totals = [0i32; OUTPUTS];
    for (four, weights) in bytes.chunks_exact(4).zip(weights.chunks_exact(4 * OUTPUTS)) {
        if four == [0; 4] {
            continue;
        }
        let [a, b, c, d] = [four[0], four[1], four[2], four[3]].map(i32::from);
        for (total, weights) in totals.iter_mut().zip(weights.as_chunks::<4>().0) {
            let [p, q, r, s] = weights.map(i32::from);
            *total += a * p + b * q + c * r + d * s;
        }
    }
    sums.iter_mut().zip(totals).for_each(|(sum, total)| *sum += total);
}

/// From L2's sums to the evaluation.
#[inline(always)]
pub fn tail(stack: &Stack, scratch: &mut Scratch) -> i32 {
    let one = stack.scales.hidden_one();
    let Scratch { sums, hidden, second, .. } = scratch;
    for (hidden, &sum) in hidden.iter_mut().zip(&sums[..stack.l2.outputs]) {
        *hidden = sum.clamp(0, one) as i16;
    }
    let last = match &stack.extra {
        None => &hidden[..],
        Some(extra) => {
            for (neuron, second) in second.iter_mut().enumerate().take(extra.outputs) {
                *second = (sum(extra, neuron, hidden) >> stack.scales.tail).clamp(0, one) as i16;
            }
            &second[..]
        }
    };
    let output = i64::from(sum(&stack.output, 0, last)) * i64::from(stack.scales.output);
    let whole = i64::from(one) << stack.scales.tail;
    let rounded = (2 * output + whole).div_euclid(2 * whole);
    rounded.clamp(-i64::from(LARGEST_EVALUATION), i64::from(LARGEST_EVALUATION)) as i32
}

#[inline(always)]
fn sum(layer: &Dense, neuron: usize, inputs: &[i16]) -> i32 {
    let weights = &layer.weights[neuron * layer.inputs..][..layer.inputs];
    let mut sums = [0i32; 32];
    for (weights, inputs) in weights.chunks_exact(32).zip(inputs.chunks_exact(32)) {
        for ((sum, weight), input) in sums.iter_mut().zip(weights).zip(inputs) {
            *sum += i32::from(*weight) * i32::from(*input);
        }
    }
    layer.biases[neuron] + sums.iter().sum::<i32>()
}
