//! The efficiently updated network: a quantised evaluation that follows a search move by move.
//!
//! `Network` is the weights, `Accumulators` one thread's view of a line of
//! play. Every path through the arithmetic gives the same integers: the
//! portable one, AVX2 and AVX-512 with VNNI, updated or from nothing.

mod accumulators;
mod aligned;
mod file;
mod kernel;
mod network;
mod quantise;
mod random;
mod shape;
pub mod usage;

pub use accumulators::Accumulators;
pub use kernel::Kernel;
pub use network::{LARGEST_EVALUATION, Network, Parameters, StackParameters};
pub use quantise::{FloatNetwork, FloatStack, quantise};
pub use shape::{Scales, Shape};
