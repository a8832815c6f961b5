//! `FeatureSet`: what a network sees of positions, one or millions; and which positions are quiet.

use numpy::{IxDyn, PyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use tabiya_core::features::{self, FeatureError, NAMED, Pieces, Sparse, table};
use tabiya_core::packed::Packed;
use tabiya_core::{Color, quiet as calm};

use crate::arrays::{output, positions, writable};
use crate::errors::to_py;
use crate::names;

type Numbers<'py, T> = Bound<'py, PyArray<T, IxDyn>>;
type Ragged<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>);

/// A set of features, read from its expression or its name.
#[pyclass(module = "tabiya._core", frozen)]
pub struct FeatureSet {
    pub inner: features::FeatureSet,
}

#[pymethods]
impl FeatureSet {
    #[new]
    fn new(expression: &str) -> PyResult<FeatureSet> {
        let inner =
            features::FeatureSet::parse(expression).map_err(|error| to_py(FeatureError::malformed(error)))?;
        Ok(FeatureSet { inner })
    }

    /// Name, expression and meaning of each named set.
    #[staticmethod]
    fn named() -> Vec<(&'static str, &'static str, &'static str)> {
        NAMED.to_vec()
    }

    #[getter]
    fn expression(&self) -> &str {
        self.inner.expression()
    }

    #[getter]
    fn size(&self) -> usize {
        self.inner.size()
    }

    #[getter]
    fn max_active(&self) -> usize {
        self.inner.max_active()
    }

    fn name(&self, index: usize) -> PyResult<String> {
        let size = self.inner.size();
        if index >= size {
            return Err(PyIndexError::new_err(format!("feature {index} of a set of {size}")));
        }
        Ok(self.inner.name(index))
    }

    /// bool [size]: which features no position can make active.
    fn dead<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        PyArray1::from_vec(py, self.inner.dead())
    }

    /// The features that are worth most, as a set of their own.
    fn top(&self, worth: PyReadonlyArray1<'_, f64>, count: usize) -> PyResult<FeatureSet> {
        let inner = self.inner.top(worth.as_slice()?, count);
        Ok(FeatureSet { inner: inner.map_err(|error| to_py(FeatureError::malformed(error)))? })
    }

    /// The active features of one packed position, ascending.
    #[pyo3(signature = (packed, view="mover"))]
    fn active(&self, packed: &[u8], view: &str) -> PyResult<Vec<u32>> {
        let row: &Packed = packed.try_into().map_err(|_| {
            PyValueError::new_err(format!("a packed position has 32 bytes, got {}", packed.len()))
        })?;
        let turn = Color::from_white(row[24] & 1 == 0);
        // A view that turns the board for White is Black's.
        let view = Color::from_white(!names::view(view)?.flips(turn));
        let mut active = Vec::new();
        self.inner.active(Pieces::from(row), view, &mut active);
        Ok(active)
    }

    /// Offsets [N + 1] and features for the mover's view, then the other's.
    #[pyo3(signature = (packed, threads=1))]
    fn batch<'py>(
        &self,
        py: Python<'py>,
        packed: PyReadonlyArray2<'py, u8>,
        threads: usize,
    ) -> PyResult<(Ragged<'py>, Ragged<'py>)> {
        let rows = positions(&packed)?;
        let views = py.detach(|| features::batch(rows, &self.inner, threads)).map_err(to_py)?;
        let given = |side: Sparse| -> Ragged<'py> {
            (PyArray1::from_vec(py, side.offsets), PyArray1::from_vec(py, side.indices))
        };
        Ok((given(views.mover), given(views.other)))
    }

    /// The most features that any of these positions has active in one view.
    #[pyo3(signature = (packed, threads=1))]
    fn most_active(
        &self,
        py: Python<'_>,
        packed: PyReadonlyArray2<'_, u8>,
        threads: usize,
    ) -> PyResult<usize> {
        let rows = positions(&packed)?;
        Ok(py.detach(|| table::most_active(rows, &self.inner, threads)))
    }

    /// uint16 [N, 2, width]: the mover's view and the other's, filled up with the set's size.
    #[pyo3(signature = (packed, width, threads=1))]
    fn rows<'py>(
        &self,
        py: Python<'py>,
        packed: PyReadonlyArray2<'py, u8>,
        width: usize,
        threads: usize,
    ) -> PyResult<Numbers<'py, u16>> {
        self.table(py, &packed, width, threads)
    }

    /// The same as int32, for sets of more than 65,535 features.
    #[pyo3(signature = (packed, width, threads=1))]
    fn wide_rows<'py>(
        &self,
        py: Python<'py>,
        packed: PyReadonlyArray2<'py, u8>,
        width: usize,
        threads: usize,
    ) -> PyResult<Numbers<'py, i32>> {
        self.table(py, &packed, width, threads)
    }
}

impl FeatureSet {
    fn table<'py, T: table::Number + numpy::Element>(
        &self,
        py: Python<'py>,
        packed: &PyReadonlyArray2<'py, u8>,
        width: usize,
        threads: usize,
    ) -> PyResult<Numbers<'py, T>> {
        let rows = positions(packed)?;
        let out = output(py, None, &[rows.len(), 2, width])?;
        let mut lock = writable(&out)?;
        let slots = lock.as_slice_mut()?;
        py.detach(|| table::fill(rows, &self.inner, width, slots, threads)).map_err(to_py)?;
        drop(lock);
        Ok(out)
    }
}

/// bool [N]: no check, and the best move is no capture or promotion; where it is 0, none of them wins.
#[pyfunction]
#[pyo3(signature = (packed, best=None, threads=1))]
fn quiet<'py>(
    py: Python<'py>,
    packed: PyReadonlyArray2<'py, u8>,
    best: Option<PyReadonlyArray1<'py, u16>>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let rows = positions(&packed)?;
    let codes = best.as_ref().map(|codes| codes.as_slice()).transpose()?;
    if let Some(codes) = codes.filter(|codes| codes.len() != rows.len()) {
        return Err(PyValueError::new_err(format!("{} positions but {} moves", rows.len(), codes.len())));
    }
    let found = py.detach(|| calm::quiet(rows, codes, threads)).map_err(to_py)?;
    Ok(PyArray1::from_vec(py, found))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<FeatureSet>()?;
    module.add_function(wrap_pyfunction!(quiet, module)?)
}
