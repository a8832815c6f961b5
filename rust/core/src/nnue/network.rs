//! A quantised network, laid out for the processor.
//!
//! Both views go through one feature transformer (int16 weights, int16
//! accumulators), a clipped ReLU to 0–127, then L2 (int8 weights, int32 sums),
//! and a short tail of int16 weights, where a few dozen products cost nothing
//! and eight bits would cost accuracy. Sizes are free: what vectors need is
//! padded with zeros, which change no sum.

use shakmaty::Color;

use super::aligned::Aligned;
use super::kernel::{Kernel, Scratch};
use super::shape::{ACTIVATION, Scales, Shape};
use crate::error::{Error, Result};
use crate::features::{FeatureSet, Pieces};

/// Evaluations stay within this, whatever a network says.
pub const LARGEST_EVALUATION: i32 = 10_000;

/// The numbers of a network in the order of the file, nothing padded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Parameters {
    /// `[l1]` and `[features][l1]`.
    pub biases: Vec<i16>,
    pub weights: Vec<i16>,
    /// One for each bucket.
    pub stacks: Vec<StackParameters>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct StackParameters {
    /// `[l2]` and `[l2][2 * l1]`: the side to move's view first.
    pub l2_biases: Vec<i32>,
    pub l2_weights: Vec<i8>,
    /// `[extra]` and `[extra][l2]`; empty where there is no extra layer.
    pub extra_biases: Vec<i32>,
    pub extra_weights: Vec<i16>,
    pub output_bias: i32,
    /// `[extra]`, or `[l2]` where there is none.
    pub output_weights: Vec<i16>,
}

pub struct Network {
    set: FeatureSet,
    shape: Shape,
    scales: Scales,
    /// L1 padded to whole vectors.
    width: usize,
    pub(super) biases: Aligned<i16>,
    pub(super) weights: Aligned<i16>,
    stacks: Vec<Stack>,
}

/// The layers behind the feature transformer.
pub struct Stack {
    pub l2: Wide,
    pub extra: Option<Dense>,
    pub output: Dense,
    pub scales: Scales,
}

/// L2: weights in groups of outputs, each group `[four inputs][outputs][4]`, as byte dot products want them.
pub struct Wide {
    /// Outputs of a group: 8, 16 or 32.
    pub group: usize,
    pub outputs: usize,
    /// Inputs of both views, padded.
    pub inputs: usize,
    pub weights: Aligned<i8>,
    pub biases: Aligned<i32>,
}

/// A small layer: `[outputs][inputs]`, the inputs padded to whole vectors.
pub struct Dense {
    pub outputs: usize,
    pub inputs: usize,
    pub weights: Aligned<i16>,
    pub biases: Vec<i32>,
}

impl Network {
    /// Lay the parameters out; refused where sizes do not fit or a sum could overflow.
    pub fn new(set: FeatureSet, shape: Shape, scales: Scales, parameters: &Parameters) -> Result<Network> {
        shape.check()?;
        scales.check()?;
        let lengths = [
            ("feature transformer biases", parameters.biases.len(), shape.l1),
            ("feature transformer weights", parameters.weights.len(), set.size() * shape.l1),
            ("sets of later layers", parameters.stacks.len(), shape.buckets),
        ];
        fitting(&lengths)?;
        check_accumulators(&set, shape.l1, parameters)?;
        let width = shape.l1.next_multiple_of(64);
        let mut biases = Aligned::zeros(width);
        biases[..shape.l1].copy_from_slice(&parameters.biases);
        let mut weights = Aligned::zeros(set.size() * width);
        for (row, given) in weights.chunks_exact_mut(width).zip(parameters.weights.chunks_exact(shape.l1)) {
            row[..shape.l1].copy_from_slice(given);
        }
        let stacks = parameters.stacks.iter().map(|stack| Stack::new(shape, scales, width, stack));
        let stacks = stacks.collect::<Result<_>>()?;
        Ok(Network { set, shape, scales, width, biases, weights, stacks })
    }

    pub fn set(&self) -> &FeatureSet {
        &self.set
    }

    pub fn shape(&self) -> Shape {
        self.shape
    }

    pub fn scales(&self) -> Scales {
        self.scales
    }

    #[inline]
    pub(super) fn width(&self) -> usize {
        self.width
    }

    #[inline]
    pub(super) fn stack(&self, pieces: &Pieces) -> &Stack {
        &self.stacks[self.shape.bucket(pieces.count())]
    }

    /// The parameters as they were given.
    pub fn parameters(&self) -> Parameters {
        let l1 = self.shape.l1;
        Parameters {
            biases: self.biases[..l1].to_vec(),
            weights: self.weights.chunks_exact(self.width).flat_map(|row| row[..l1].to_vec()).collect(),
            stacks: self.stacks.iter().map(|stack| stack.parameters(self.shape, self.width)).collect(),
        }
    }

    /// The accumulator of one view, summed up from nothing: `[l1]`.
    pub fn accumulator(&self, pieces: impl Into<Pieces>, view: Color) -> Vec<i16> {
        let mut padded = self.sum_from_nothing(&pieces.into(), view);
        padded.truncate(self.shape.l1);
        padded
    }

    fn sum_from_nothing(&self, pieces: &Pieces, view: Color) -> Vec<i16> {
        let mut active = Vec::new();
        self.set.active(*pieces, view, &mut active);
        let mut sum = self.biases.to_vec();
        for feature in active {
            let row = &self.weights[feature as usize * self.width..][..self.width];
            sum.iter_mut().zip(row).for_each(|(sum, weight)| *sum = sum.wrapping_add(*weight));
        }
        sum
    }

    /// The evaluation for `turn` from nothing, on the portable path: what every quicker way must equal.
    pub fn evaluate_pieces(&self, pieces: impl Into<Pieces>, turn: Color) -> i32 {
        let pieces = pieces.into();
        let us = self.sum_from_nothing(&pieces, turn);
        let them = self.sum_from_nothing(&pieces, turn.other());
        let mut scratch = Scratch::new(self);
        Kernel::Portable.forward(self.stack(&pieces), &us, &them, &mut scratch)
    }

    /// The same of a position, for its side to move.
    pub fn evaluate_full(&self, position: &shakmaty::Chess) -> i32 {
        self.evaluate_pieces(position, shakmaty::Position::turn(position))
    }
}

impl Stack {
    fn new(shape: Shape, scales: Scales, width: usize, given: &StackParameters) -> Result<Stack> {
        let last = if shape.extra > 0 { shape.extra } else { shape.l2 };
        fitting(&[
            ("L2 biases", given.l2_biases.len(), shape.l2),
            ("L2 weights", given.l2_weights.len(), shape.l2 * 2 * shape.l1),
            ("extra layer biases", given.extra_biases.len(), shape.extra),
            ("extra layer weights", given.extra_weights.len(), shape.extra * shape.l2),
            ("output weights", given.output_weights.len(), last),
        ])?;
        let extra = (shape.extra > 0)
            .then(|| {
                Dense::new("the extra layer", shape.l2, &given.extra_biases, &given.extra_weights, scales)
            })
            .transpose()?;
        let output = Dense::new("the output", last, &[given.output_bias], &given.output_weights, scales)?;
        Ok(Stack { l2: Wide::new(shape, width, given)?, extra, output, scales })
    }

    fn parameters(&self, shape: Shape, width: usize) -> StackParameters {
        let mut l2_weights = Vec::with_capacity(shape.l2 * 2 * shape.l1);
        for output in 0..shape.l2 {
            for view in 0..2 {
                l2_weights
                    .extend((0..shape.l1).map(|i| self.l2.weights[self.l2.place(output, view * width + i)]));
            }
        }
        let plain = |dense: &Dense, inputs: usize| -> Vec<i16> {
            dense.weights.chunks_exact(dense.inputs).flat_map(|row| row[..inputs].to_vec()).collect()
        };
        StackParameters {
            l2_biases: self.l2.biases[..shape.l2].to_vec(),
            l2_weights,
            extra_biases: self.extra.as_ref().map_or(Vec::new(), |extra| extra.biases.clone()),
            extra_weights: self.extra.as_ref().map_or(Vec::new(), |extra| plain(extra, shape.l2)),
            output_bias: self.output.biases[0],
            output_weights: plain(&self.output, if shape.extra > 0 { shape.extra } else { shape.l2 }),
        }
    }
}

impl Wide {
    fn new(shape: Shape, width: usize, given: &StackParameters) -> Result<Wide> {
        let group = if shape.l2 <= 8 { 8 } else { shape.l2.next_multiple_of(16).min(32) };
        let outputs = shape.l2.next_multiple_of(group);
        let mut biases = Aligned::zeros(outputs);
        biases[..shape.l2].copy_from_slice(&given.l2_biases);
        let inputs = 2 * width;
        let mut wide = Wide { group, outputs, inputs, weights: Aligned::zeros(outputs * inputs), biases };
        for (output, row) in given.l2_weights.chunks_exact(2 * shape.l1).enumerate() {
            let sum: i64 = row.iter().map(|&weight| i64::from(weight).abs()).sum();
            within("L2", output, sum * i64::from(ACTIVATION), given.l2_biases[output])?;
            for (at, &weight) in row.iter().enumerate() {
                let place = wide.place(output, at / shape.l1 * width + at % shape.l1);
                wide.weights[place] = weight;
            }
        }
        Ok(wide)
    }

    /// Where the weight from a padded input to an output lies.
    fn place(&self, output: usize, input: usize) -> usize {
        let (group, lane) = (output / self.group, output % self.group);
        (group * self.inputs + input / 4 * 4) * self.group + lane * 4 + input % 4
    }
}

impl Dense {
    fn new(name: &str, inputs: usize, biases: &[i32], weights: &[i16], scales: Scales) -> Result<Dense> {
        let padded = inputs.next_multiple_of(32);
        let mut laid = Aligned::zeros(biases.len() * padded);
        for (at, (row, given)) in laid.chunks_exact_mut(padded).zip(weights.chunks_exact(inputs)).enumerate()
        {
            let sum: i64 = given.iter().map(|&weight| i64::from(weight).abs()).sum();
            within(name, at, sum * i64::from(scales.hidden_one()), biases[at])?;
            row[..inputs].copy_from_slice(given);
        }
        Ok(Dense { outputs: biases.len(), inputs: padded, weights: laid, biases: biases.to_vec() })
    }
}

/// The first of the lengths that is not as it should be.
fn fitting(lengths: &[(&str, usize, usize)]) -> Result<()> {
    match lengths.iter().find(|(_, given, wanted)| given != wanted) {
        None => Ok(()),
        Some((name, given, wanted)) => {
            Err(Error::Malformed(format!("a network of this shape has {wanted} {name}, not {given}")))
        }
    }
}

/// The largest sum that inputs can make must fit 32 bits.
fn within(layer: &str, neuron: usize, weights: i64, bias: i32) -> Result<()> {
    let most = weights + i64::from(bias).abs();
    if most <= i64::from(i32::MAX) {
        return Ok(());
    }
    Err(Error::Malformed(format!("neuron {neuron} of {layer} could reach {most}, more than 32 bits hold")))
}

/// However many features are active, no accumulator may leave 16 bits.
fn check_accumulators(set: &FeatureSet, l1: usize, parameters: &Parameters) -> Result<()> {
    let active = set.max_active();
    let mut largest = vec![0u16; l1];
    for row in parameters.weights.chunks_exact(l1) {
        largest.iter_mut().zip(row).for_each(|(most, weight)| *most = (*most).max(weight.unsigned_abs()));
    }
    let limit = i64::from(i16::MAX);
    for (neuron, (&most, &bias)) in largest.iter().zip(&parameters.biases).enumerate() {
        if i64::from(most) * active as i64 + i64::from(bias).abs() <= limit {
            continue;
        }
        // The coarse bound fails: take the weights that could really come together.
        let mut column: Vec<i64> =
            parameters.weights.iter().skip(neuron).step_by(l1).map(|&weight| i64::from(weight)).collect();
        column.sort_unstable();
        let up: i64 = column.iter().rev().take(active).filter(|&&weight| weight > 0).sum();
        let down: i64 = column.iter().take(active).filter(|&&weight| weight < 0).sum();
        let bias = i64::from(bias);
        if bias + up > limit || bias + down < -limit {
            let reach = (bias + up).max(-(bias + down));
            return Err(Error::Malformed(format!(
                "accumulator {neuron} could reach {reach} with {active} features active, more than 16 bits \
                 hold: clip the first layer's weights in training or lower its scale"
            )));
        }
    }
    Ok(())
}
