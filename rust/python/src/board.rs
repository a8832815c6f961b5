//! `Board`: a position together with the moves that led to it.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tabiya_core::game::Game;
use tabiya_core::move_code::MoveCode;
use tabiya_core::{Chess, Color, Position, Square, packed, playout, rules};

use crate::errors::to_py;
use crate::names;

/// A position together with the moves that led to it.
#[pyclass(module = "tabiya._core")]
#[derive(Clone)]
pub struct Board {
    pub game: Game,
}

impl Board {
    fn legal(&self, text: &str) -> PyResult<tabiya_core::Move> {
        rules::parse_uci(self.game.position(), text).map_err(to_py)
    }
}

#[pymethods]
impl Board {
    #[new]
    #[pyo3(signature = (fen=None))]
    fn new(fen: Option<&str>) -> PyResult<Board> {
        let start = match fen {
            None => Chess::default(),
            Some(fen) => rules::from_fen(fen).map_err(to_py)?,
        };
        Ok(Board { game: Game::new(start) })
    }

    #[staticmethod]
    fn from_packed(packed: &[u8]) -> PyResult<Board> {
        let bytes = packed.try_into().map_err(|_| {
            PyValueError::new_err(format!("a packed position has 32 bytes, got {}", packed.len()))
        })?;
        Ok(Board { game: Game::new(packed::unpack(bytes).map_err(to_py)?) })
    }

    #[getter]
    fn start_fen(&self) -> String {
        rules::to_fen(self.game.start())
    }

    #[getter]
    fn moves(&self) -> Vec<String> {
        self.game.moves().iter().map(|&m| rules::uci(m)).collect()
    }

    #[getter]
    fn white_to_move(&self) -> bool {
        self.game.position().turn() == Color::White
    }

    #[getter]
    fn ply(&self) -> usize {
        self.game.moves().len()
    }

    #[getter]
    fn halfmove_clock(&self) -> u32 {
        self.game.position().halfmoves()
    }

    #[getter]
    fn fullmove_number(&self) -> u32 {
        self.game.position().fullmoves().get()
    }

    #[getter]
    fn is_check(&self) -> bool {
        self.game.position().is_check()
    }

    fn fen(&self) -> String {
        rules::to_fen(self.game.position())
    }

    fn key(&self) -> u64 {
        self.game.key()
    }

    fn packed<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.game.packed())
    }

    fn piece_at(&self, square: &str) -> PyResult<Option<char>> {
        let square = square
            .parse::<Square>()
            .map_err(|_| PyValueError::new_err(format!("{square:?} is not a square like e4")))?;
        Ok(self.game.position().board().piece_at(square).map(|piece| piece.char()))
    }

    fn legal_moves(&self) -> Vec<String> {
        rules::legal_moves_in_uci_order(self.game.position()).into_iter().map(rules::uci).collect()
    }

    fn is_legal(&self, r#move: &str) -> bool {
        rules::parse_uci(self.game.position(), r#move).is_ok()
    }

    fn is_capture(&self, r#move: &str) -> PyResult<bool> {
        Ok(self.legal(r#move)?.is_capture())
    }

    fn push(&mut self, r#move: &str) -> PyResult<()> {
        let m = self.legal(r#move)?;
        self.game.push(m);
        Ok(())
    }

    fn pop(&mut self) -> PyResult<String> {
        self.game.pop().map(rules::uci).map_err(to_py)
    }

    fn copy(&self) -> Board {
        self.clone()
    }

    fn san(&self, r#move: &str) -> PyResult<String> {
        Ok(rules::san(self.game.position(), self.legal(r#move)?))
    }

    fn parse(&self, text: &str) -> PyResult<String> {
        rules::parse_move(self.game.position(), text).map(rules::uci).map_err(to_py)
    }

    fn repetitions(&self) -> u32 {
        self.game.repetitions()
    }

    fn repetitions_after(&self, r#move: &str) -> PyResult<u32> {
        Ok(self.game.repetitions_after(self.legal(r#move)?))
    }

    fn draws_after(&self, r#move: &str) -> PyResult<bool> {
        Ok(self.game.draws_after(self.legal(r#move)?))
    }

    #[pyo3(signature = (claim=true))]
    fn outcome(&self, claim: bool) -> Option<(&'static str, &'static str)> {
        self.game.ending(claim).map(|ending| (ending.result(), ending.reason()))
    }

    fn __repr__(&self) -> String {
        format!("Board({:?})", self.fen())
    }
}

/// Count the leaves of the legal-move tree, `depth` plies deep.
#[pyfunction]
fn perft(py: Python<'_>, fen: &str, depth: u32) -> PyResult<u64> {
    let position = rules::from_fen(fen).map_err(to_py)?;
    Ok(py.detach(|| rules::perft(&position, depth)))
}

/// The number of a legal move in a space.
#[pyfunction]
#[pyo3(signature = (board, r#move, space, view="mover"))]
fn move_to_index(board: &Board, r#move: &str, space: &str, view: &str) -> PyResult<usize> {
    let m = board.legal(r#move)?;
    let flip = names::view(view)?.flips(board.game.position().turn());
    Ok(names::space(space)?.index(MoveCode::of(m), flip).expect("every legal move has a number"))
}

/// The legal move with this number, or None.
#[pyfunction]
#[pyo3(signature = (board, index, space, view="mover"))]
fn index_to_move(board: &Board, index: usize, space: &str, view: &str) -> PyResult<Option<String>> {
    let position = board.game.position();
    let flip = names::view(view)?.flips(position.turn());
    Ok(names::space(space)?.to_move(position, index, flip).map(rules::uci))
}

/// Wins, draws and losses for the side to move of `games` random games after `move`.
#[pyfunction]
#[pyo3(signature = (board, r#move, games, seed, max_plies=400))]
fn playouts(
    py: Python<'_>,
    board: &Board,
    r#move: &str,
    games: u32,
    seed: u64,
    max_plies: u32,
) -> PyResult<(u32, u32, u32)> {
    let m = board.legal(r#move)?;
    let position = board.game.position().clone();
    Ok(py.detach(|| playout::playouts(&position, m, games, seed, max_plies)))
}

#[pyfunction]
fn code_to_uci(code: u16) -> PyResult<String> {
    let code = MoveCode(code);
    if !code.is_well_formed() {
        return Err(PyValueError::new_err(format!("{} is not the code of a move", code.0)));
    }
    Ok(code.uci().to_string())
}

#[pyfunction]
fn uci_to_code(r#move: &str) -> PyResult<u16> {
    MoveCode::parse(r#move).map(|code| code.0).map_err(to_py)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Board>()?;
    module.add_function(wrap_pyfunction!(perft, module)?)?;
    module.add_function(wrap_pyfunction!(move_to_index, module)?)?;
    module.add_function(wrap_pyfunction!(index_to_move, module)?)?;
    module.add_function(wrap_pyfunction!(playouts, module)?)?;
    module.add_function(wrap_pyfunction!(code_to_uci, module)?)?;
    module.add_function(wrap_pyfunction!(uci_to_code, module)?)
}
