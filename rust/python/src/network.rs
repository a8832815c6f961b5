//! `QuantisedNetwork`: a trained network rounded to integers, written, read and asked.

use std::collections::BTreeMap;

use numpy::{IxDyn, PyArray, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tabiya_core::features::{FeatureError, FeatureSet, Pieces};
use tabiya_core::nnue::{FloatNetwork, FloatStack, Network, Scales, Shape, quantise};
use tabiya_core::{Color, encode};

use crate::arrays::{output, positions, writable};
use crate::errors::to_py;

type Floats<'py> = BTreeMap<String, PyReadonlyArray1<'py, f32>>;

/// The integers of a network file.
#[pyclass(module = "tabiya._core", frozen)]
pub struct QuantisedNetwork {
    inner: Network,
}

#[pymethods]
impl QuantisedNetwork {
    /// Read a file's bytes; what is damaged or of another kind is refused.
    #[new]
    fn new(py: Python<'_>, content: &[u8]) -> PyResult<QuantisedNetwork> {
        Ok(QuantisedNetwork { inner: py.detach(|| Network::read(content)).map_err(to_py)? })
    }

    /// Round a trained network; a weight that does not fit is refused.
    ///
    /// `first` has `biases` and `weights`, each of `stacks` has `l2_biases`, `l2_weights`, `extra_biases`,
    /// `extra_weights`, `output_biases` and `output_weights`, all flat.
    #[staticmethod]
    #[pyo3(signature = (expression, shape, scales, first, stacks))]
    fn rounded(
        py: Python<'_>,
        expression: &str,
        shape: (usize, usize, usize, usize),
        scales: (u32, u32, u32, u32),
        first: Floats<'_>,
        stacks: Vec<Floats<'_>>,
    ) -> PyResult<QuantisedNetwork> {
        let set = FeatureSet::parse(expression).map_err(|error| to_py(FeatureError::malformed(error)))?;
        let (l1, l2, extra, buckets) = shape;
        let shape = Shape { l1, l2, extra, buckets };
        let (accumulator, weight, tail, output) = scales;
        let scales = Scales { accumulator, weight, tail, output };
        let float = FloatNetwork {
            biases: taken(&first, "biases")?,
            weights: taken(&first, "weights")?,
            stacks: stacks.iter().map(stack).collect::<PyResult<_>>()?,
        };
        Ok(QuantisedNetwork { inner: py.detach(|| quantise(set, shape, scales, &float)).map_err(to_py)? })
    }

    #[getter]
    fn expression(&self) -> &str {
        self.inner.set().expression()
    }

    /// L1, L2, extra layer, buckets.
    #[getter]
    fn shape(&self) -> (usize, usize, usize, usize) {
        let shape = self.inner.shape();
        (shape.l1, shape.l2, shape.extra, shape.buckets)
    }

    /// Shifts of accumulator, weights and tail, and what an output of 1 is worth.
    #[getter]
    fn scales(&self) -> (u32, u32, u32, u32) {
        let scales = self.inner.scales();
        (scales.accumulator, scales.weight, scales.tail, scales.output)
    }

    /// The bytes of its file.
    fn content<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &py.detach(|| self.inner.write()))
    }

    /// int32 [N]: the evaluation of each position for its side to move.
    #[pyo3(signature = (packed, threads=1))]
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
        packed: PyReadonlyArray2<'py, u8>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray<i32, IxDyn>>> {
        let rows = positions(&packed)?;
        let out = output(py, None, &[rows.len()])?;
        let mut lock = writable(&out)?;
        let slots = lock.as_slice_mut()?;
        py.detach(|| {
            encode::batch(rows, 1, slots, threads, |row, slot| {
                let turn = Color::from_white(row[24] & 1 == 0);
                slot[0] = self.inner.evaluate_pieces(Pieces::from(row), turn);
                Ok(())
            })
        })
        .map_err(to_py)?;
        drop(lock);
        Ok(out)
    }
}

fn taken(floats: &Floats<'_>, name: &str) -> PyResult<Vec<f32>> {
    let array = floats.get(name).ok_or_else(|| PyValueError::new_err(format!("no {name} are given")))?;
    Ok(array.as_slice()?.to_vec())
}

fn stack(floats: &Floats<'_>) -> PyResult<FloatStack> {
    let bias = taken(floats, "output_biases")?;
    let [output_bias] = bias[..] else {
        return Err(PyValueError::new_err(format!("a network has one output bias, got {}", bias.len())));
    };
    Ok(FloatStack {
        l2_biases: taken(floats, "l2_biases")?,
        l2_weights: taken(floats, "l2_weights")?,
        extra_biases: taken(floats, "extra_biases")?,
        extra_weights: taken(floats, "extra_weights")?,
        output_bias,
        output_weights: taken(floats, "output_weights")?,
    })
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<QuantisedNetwork>()
}
