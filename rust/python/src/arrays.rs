//! numpy arrays of packed positions as slices, without copies.

use numpy::{
    Element, Ix2, IxDyn, PyArray, PyArrayMethods, PyReadonlyArray2, PyReadwriteArrayDyn,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tabiya_core::packed::{BYTES, Packed};

/// The rows of an [N, 32] array.
pub fn positions<'a>(array: &'a PyReadonlyArray2<'_, u8>) -> PyResult<&'a [Packed]> {
    if array.shape()[1] != BYTES {
        return Err(PyValueError::new_err(format!(
            "packed positions have shape [N, 32], got {:?}",
            array.shape()
        )));
    }
    let bytes = array.as_slice().map_err(|_| {
        PyValueError::new_err("packed positions must be contiguous: use numpy.ascontiguousarray")
    })?;
    Ok(bytes.as_chunks::<BYTES>().0)
}

/// Owned rows as an [N, 32] array.
pub fn packed_array<'py>(py: Python<'py>, rows: &[Packed]) -> PyResult<Bound<'py, PyArray<u8, Ix2>>> {
    let flat = PyArray::from_slice(py, rows.as_flattened());
    flat.reshape([rows.len(), BYTES])
}

/// The array to fill: the caller's, if its shape is right, or a new one of zeros.
pub fn output<'py, T: Element>(
    py: Python<'py>,
    given: Option<Bound<'py, PyArray<T, IxDyn>>>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArray<T, IxDyn>>> {
    match given {
        None => Ok(PyArray::zeros(py, IxDyn(shape), false)),
        Some(array) if array.shape() == shape && array.is_c_contiguous() => Ok(array),
        Some(array) => Err(PyValueError::new_err(format!(
            "out must be a contiguous array of shape {shape:?}, got {:?}",
            array.shape()
        ))),
    }
}

/// Borrow the output for writing; an array that is read-only or in use is refused.
pub fn writable<'py, T: Element>(
    array: &Bound<'py, PyArray<T, IxDyn>>,
) -> PyResult<PyReadwriteArrayDyn<'py, T>> {
    array.try_readwrite().map_err(|error| PyValueError::new_err(format!("out is not writable: {error}")))
}
