//! The words by which Python names views and move spaces.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tabiya_core::encode::View;
use tabiya_core::move_index::Space;

pub fn view(name: &str) -> PyResult<View> {
    match name {
        "white" => Ok(View::White),
        "black" => Ok(View::Black),
        "mover" => Ok(View::Mover),
        _ => Err(PyValueError::new_err(format!("a view is 'white', 'black' or 'mover', not {name:?}"))),
    }
}

pub fn space(name: &str) -> PyResult<Space> {
    match name {
        "planes" => Ok(Space::Planes),
        "uci" => Ok(Space::Uci),
        "fromto" => Ok(Space::FromTo),
        _ => Err(PyValueError::new_err(format!("a move space is 'planes', 'uci' or 'fromto', not {name:?}"))),
    }
}
