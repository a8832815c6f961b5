//! `Games`: many games played in step.

use numpy::{Ix2, PyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use tabiya_core::{games, rules};

use crate::arrays::packed_array;
use crate::errors::to_py;

/// Many games played in step; one that has ended leaves the rows of all answers.
#[pyclass(module = "tabiya._core")]
pub struct Games {
    games: games::Games,
    count: usize,
    threads: usize,
}

#[pymethods]
impl Games {
    #[new]
    #[pyo3(signature = (fens, max_plies=400, threads=1))]
    fn new(fens: Vec<String>, max_plies: usize, threads: usize) -> PyResult<Games> {
        let starts = fens.iter().map(|fen| rules::from_fen(fen)).collect::<Result<_, _>>().map_err(to_py)?;
        Ok(Games { games: games::Games::new(starts, max_plies), count: fens.len(), threads })
    }

    fn __len__(&self) -> usize {
        self.count
    }

    /// Numbers of the games still going.
    #[getter]
    fn live<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.games.live().iter().map(|&number| number as i64))
    }

    /// uint8 [live, 32], repetitions counted.
    fn packed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray<u8, Ix2>>> {
        packed_array(py, &py.detach(|| self.games.packed()))
    }

    /// uint8 [live, width]: 1 where that legal move brings a position of the game back or ends fifty quiet moves.
    fn repeating<'py>(&self, py: Python<'py>, width: usize) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let rows = py.detach(|| self.games.repeating(width, self.threads));
        PyArray1::from_vec(py, rows).reshape([self.games.live().len(), width])
    }

    /// Play the move with this number, in the order of UCI strings, in each live game.
    fn push(&mut self, py: Python<'_>, slots: PyReadonlyArray1<'_, i16>) -> PyResult<()> {
        let slots = slots.as_slice()?;
        py.detach(|| self.games.push(slots)).map_err(to_py)
    }

    fn moves(&self, game: usize) -> PyResult<Vec<String>> {
        let found = self.games.game(game).ok_or_else(|| self.no_game(game))?;
        Ok(found.moves().iter().map(|&m| rules::uci(m)).collect())
    }

    fn result(&self, game: usize) -> PyResult<(&'static str, &'static str)> {
        self.games.result(game).ok_or_else(|| self.no_game(game))
    }
}

impl Games {
    fn no_game(&self, game: usize) -> PyErr {
        PyIndexError::new_err(format!("there are {} games, not number {game}", self.count))
    }
}
