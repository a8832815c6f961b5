//! A network as a file: a header that says everything, the numbers, a checksum.
//!
//! All numbers are little-endian.
//!
//! ```text
//! 0    "TABIYANN"
//! 8    u32 format version, 1
//! 12   u32 bytes of the feature expression        16  u32 features
//! 20   u32 L1    24  u32 L2    28  u32 extra layer, 0: none    32  u32 buckets
//! 36   u32 accumulator shift   40  u32 weight shift   44  u32 tail shift   48  u32 output scale
//! 52   the feature expression, UTF-8
//!      i16 biases [L1], i16 weights [features][L1]; then for each bucket
//!      i32 L2 biases [L2], i8 L2 weights [L2][2 * L1],
//!      i32 extra biases [extra], i16 extra weights [extra][L2],
//!      i32 output bias, i16 output weights [extra or L2]
//! end  u32 CRC-32 of all bytes before
//! ```

use super::network::{Network, Parameters, StackParameters};
use super::shape::{Scales, Shape};
use crate::error::{Error, Result};
use crate::features::{FeatureError, FeatureSet};

const MAGIC: &[u8; 8] = b"TABIYANN";
const VERSION: u32 = 1;
const HEADER: usize = 52;

impl Network {
    /// Read a network; bytes that are not one, or not whole, are refused.
    pub fn read(bytes: &[u8]) -> Result<Network> {
        let refused = |text: String| Err(Error::Malformed(text));
        if !bytes.starts_with(&MAGIC[..bytes.len().min(8)]) || bytes.is_empty() {
            return refused("not a Tabiya network: it does not begin with TABIYANN".into());
        }
        if bytes.len() < HEADER + 4 {
            return refused(format!("the network is cut short: {} bytes, less than its header", bytes.len()));
        }
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        if word(8) != VERSION {
            return refused(format!(
                "a network of format version {}; this program reads version {VERSION}",
                word(8)
            ));
        }
        let (body, stored) = bytes.split_at(bytes.len() - 4);
        let size = |at: usize| word(at) as usize;
        let shape = Shape { l1: size(20), l2: size(24), extra: size(28), buckets: size(32) };
        let scales = Scales { accumulator: word(36), weight: word(40), tail: word(44), output: word(48) };
        let (text, features) = (size(12), size(16));
        let wanted = length(shape, text, features);
        if wanted != bytes.len() as u128 {
            let (have, fault) =
                (bytes.len(), if wanted > bytes.len() as u128 { "cut short" } else { "too long" });
            return refused(format!("the network is {fault}: {have} bytes, its header asks for {wanted}"));
        }
        let found = checksum(body);
        let stored = u32::from_le_bytes(stored.try_into().expect("4 bytes"));
        if found != stored {
            return refused(format!(
                "the network is damaged: its checksum is {stored:08x}, its bytes give {found:08x}"
            ));
        }
        shape.check()?;
        scales.check()?;
        let mut reader = Reader { rest: &body[HEADER..] };
        let Ok(expression) = std::str::from_utf8(reader.take(text)) else {
            return refused("the network's feature expression is not text".into());
        };
        let set = FeatureSet::parse(expression).map_err(FeatureError::malformed)?;
        if set.size() != features {
            let size = set.size();
            return refused(format!("the network has {features} features, but {expression:?} are {size}"));
        }
        Network::new(set, shape, scales, &reader.parameters(shape, features))
    }

    /// The bytes of its file.
    pub fn write(&self) -> Vec<u8> {
        let (shape, scales) = (self.shape(), self.scales());
        let expression = self.set().expression().as_bytes();
        let mut bytes = MAGIC.to_vec();
        let sizes = [shape.l1, shape.l2, shape.extra, shape.buckets].map(|size| size as u32);
        let shifts = [scales.accumulator, scales.weight, scales.tail, scales.output];
        let words = [VERSION, expression.len() as u32, self.set().size() as u32];
        for word in words.into_iter().chain(sizes).chain(shifts) {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(expression);
        let parameters = self.parameters();
        let short =
            |bytes: &mut Vec<u8>, values: &[i16]| bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        let long =
            |bytes: &mut Vec<u8>, values: &[i32]| bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        short(&mut bytes, &parameters.biases);
        short(&mut bytes, &parameters.weights);
        for stack in &parameters.stacks {
            long(&mut bytes, &stack.l2_biases);
            bytes.extend(stack.l2_weights.iter().map(|&weight| weight as u8));
            long(&mut bytes, &stack.extra_biases);
            short(&mut bytes, &stack.extra_weights);
            long(&mut bytes, &[stack.output_bias]);
            short(&mut bytes, &stack.output_weights);
        }
        let sum = checksum(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// The bytes a file of this header has; wide enough for whatever a header says.
fn length(shape: Shape, text: usize, features: usize) -> u128 {
    let [l1, l2, extra, buckets] = [shape.l1, shape.l2, shape.extra, shape.buckets].map(|size| size as u128);
    let last = if extra > 0 { extra } else { l2 };
    let first = 2 * l1 * (1 + features as u128);
    let stack = 4 * l2 + l2 * 2 * l1 + 4 * extra + 2 * extra * l2 + 4 + 2 * last;
    HEADER as u128 + text as u128 + first + buckets * stack + 4
}

/// Takes the numbers off the front; the length was checked before.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn short(&mut self, count: usize) -> Vec<i16> {
        self.take(2 * count).as_chunks().0.iter().map(|&two| i16::from_le_bytes(two)).collect()
    }

    fn long(&mut self, count: usize) -> Vec<i32> {
        self.take(4 * count).as_chunks().0.iter().map(|&four| i32::from_le_bytes(four)).collect()
    }

    fn parameters(&mut self, shape: Shape, features: usize) -> Parameters {
        let Shape { l1, l2, extra, buckets } = shape;
        Parameters {
            biases: self.short(l1),
            weights: self.short(features * l1),
            stacks: (0..buckets)
                .map(|_| StackParameters {
                    l2_biases: self.long(l2),
                    l2_weights: self.take(l2 * 2 * l1).iter().map(|&byte| byte as i8).collect(),
                    extra_biases: self.long(extra),
                    extra_weights: self.short(extra * l2),
                    output_bias: self.long(1)[0],
                    output_weights: self.short(if extra > 0 { extra } else { l2 }),
                })
                .collect(),
        }
    }
}
