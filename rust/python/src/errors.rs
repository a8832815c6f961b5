//! The core's errors as Python exceptions: the one place that maps them.

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use tabiya_core::Error;

create_exception!(
    tabiya._core,
    IllegalError,
    PyValueError,
    "The rules of chess forbid what well-formed text says."
);
create_exception!(
    tabiya._core,
    TeacherError,
    PyRuntimeError,
    "The teacher engine is missing, died, hung or answered nonsense."
);

pub fn to_py(error: Error) -> PyErr {
    match error {
        Error::Malformed(text) => PyValueError::new_err(text),
        Error::Illegal(text) => IllegalError::new_err(text),
        Error::Teacher(text) => TeacherError::new_err(text),
        Error::Io(error, path) => match error.raw_os_error() {
            Some(code) => {
                let text = error.to_string();
                let text = text.split(" (os error").next().unwrap_or(&text).to_string();
                PyOSError::new_err((code, text, path))
            }
            None => PyValueError::new_err(format!("{path} is damaged or cut short: {error}")),
        },
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("IllegalError", py.get_type::<IllegalError>())?;
    module.add("TeacherError", py.get_type::<TeacherError>())
}
