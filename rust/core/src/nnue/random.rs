//! Networks of random weights: they cannot play, but they cost what a trained network of their shape costs.

use super::network::{Network, Parameters, StackParameters};
use super::shape::{Scales, Shape};
use crate::error::Result;
use crate::features::FeatureSet;
use crate::playout::Random;

/// Accumulators start around here, so that most neurons are off, as they are after training.
const USUAL_BIAS: i32 = -100;

impl Network {
    /// A network of this shape with weights that follow from `seed`.
    pub fn random(set: FeatureSet, shape: Shape, seed: u64) -> Result<Network> {
        shape.check()?;
        let mut random = Random::new(seed);
        let mut numbers = |count: usize, most: i32| -> Vec<i32> {
            (0..count).map(|_| random.below(2 * most as usize + 1) as i32 - most).collect()
        };
        // However many features are active, 16 bits hold their sum.
        let most = (30_000 / set.max_active().max(1) as i32).clamp(1, 30);
        let last = if shape.extra > 0 { shape.extra } else { shape.l2 };
        let parameters = Parameters {
            biases: numbers(shape.l1, 60).into_iter().map(|bias| (bias + USUAL_BIAS) as i16).collect(),
            weights: short(numbers(set.size() * shape.l1, most)),
            stacks: (0..shape.buckets)
                .map(|_| StackParameters {
                    l2_biases: numbers(shape.l2, 1000),
                    l2_weights: numbers(shape.l2 * 2 * shape.l1, 12).into_iter().map(|w| w as i8).collect(),
                    extra_biases: numbers(shape.extra, 100_000),
                    extra_weights: short(numbers(shape.extra * shape.l2, 300)),
                    output_bias: 0,
                    output_weights: short(numbers(last, 300)),
                })
                .collect(),
        };
        Network::new(set, shape, Scales::default(), &parameters)
    }
}

fn short(values: Vec<i32>) -> Vec<i16> {
    values.into_iter().map(|value| value as i16).collect()
}
