//! From the trained network's real numbers to integers: the one place that rounds.
//!
//! Where a path drops bits, half of what is dropped is added to the bias, so
//! that dropping is rounding and the errors stay centred.

use super::network::{Network, Parameters, StackParameters};
use super::shape::{Scales, Shape};
use crate::error::{Error, Result};
use crate::features::FeatureSet;

/// A network as it was trained; the layouts are those of `Parameters`.
#[derive(Clone, Debug, Default)]
pub struct FloatNetwork {
    pub biases: Vec<f32>,
    pub weights: Vec<f32>,
    pub stacks: Vec<FloatStack>,
}

#[derive(Clone, Debug, Default)]
pub struct FloatStack {
    pub l2_biases: Vec<f32>,
    pub l2_weights: Vec<f32>,
    pub extra_biases: Vec<f32>,
    pub extra_weights: Vec<f32>,
    pub output_bias: f32,
    pub output_weights: Vec<f32>,
}

/// Round a trained network; a weight that does not fit its type is refused, not clipped.
pub fn quantise(set: FeatureSet, shape: Shape, scales: Scales, float: &FloatNetwork) -> Result<Network> {
    shape.check()?;
    scales.check()?;
    let first = f64::from(scales.accumulator_one());
    let weight = f64::from(1 << scales.weight);
    let hidden = f64::from(scales.hidden_one());
    let tail = f64::from(1 << scales.tail);
    let half = |shift: u32| f64::from((1 << shift) / 2);
    let stack = |stack: &FloatStack| -> Result<StackParameters> {
        Ok(StackParameters {
            l2_biases: rounded("L2 bias", &stack.l2_biases, hidden, 0.0)?,
            l2_weights: rounded("L2 weight", &stack.l2_weights, weight, 0.0)?,
            extra_biases: rounded("extra layer bias", &stack.extra_biases, hidden * tail, half(scales.tail))?,
            extra_weights: rounded("extra layer weight", &stack.extra_weights, tail, 0.0)?,
            output_bias: rounded("output bias", &[stack.output_bias], hidden * tail, 0.0)?[0],
            output_weights: rounded("output weight", &stack.output_weights, tail, 0.0)?,
        })
    };
    let parameters = Parameters {
        biases: rounded("feature transformer bias", &float.biases, first, half(scales.accumulator))?,
        weights: rounded("feature transformer weight", &float.weights, first, 0.0)?,
        stacks: float.stacks.iter().map(stack).collect::<Result<_>>()?,
    };
    Network::new(set, shape, scales, &parameters)
}

/// An integer of this type that says its own limits; the lowest value is left out, so that signs are even.
trait Integer: Copy {
    const MOST: i32;
    fn from_i32(value: i32) -> Self;
}

macro_rules! integer {
    ($kind:ty) => {
        impl Integer for $kind {
            const MOST: i32 = <$kind>::MAX as i32;
            fn from_i32(value: i32) -> $kind {
                value as $kind
            }
        }
    };
}

integer!(i8);
integer!(i16);
integer!(i32);

fn rounded<T: Integer>(name: &str, values: &[f32], scale: f64, extra: f64) -> Result<Vec<T>> {
    let most = f64::from(T::MOST);
    let one = |&value: &f32| {
        let scaled = (f64::from(value) * scale).round() + extra;
        // Written so that a NaN is refused too.
        if scaled.abs() <= most {
            return Ok(T::from_i32(scaled as i32));
        }
        let limit = most / scale;
        Err(Error::Malformed(format!("a {name} of {value} does not fit: clip it to ±{limit:.3} in training")))
    };
    values.iter().map(one).collect()
}
