//! Batches of packed positions to numpy arrays.

use numpy::{IxDyn, PyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use tabiya_core::encode::{self, PLANE_BYTES, PLANES, TOKENS};
use tabiya_core::move_code::MoveCode;
use tabiya_core::{forcing, move_index, packed as pack, playout, rules, successors as succ};

use crate::arrays::{output, packed_array, positions, writable};
use crate::errors::to_py;
use crate::names;

type Lines<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<u16>>);
type Bytes<'py> = Bound<'py, PyArray<u8, IxDyn>>;

/// uint8 [N, 18, 8, 8].
#[pyfunction]
#[pyo3(signature = (packed, view="mover", out=None, threads=1))]
fn encode_planes<'py>(
    py: Python<'py>,
    packed: PyReadonlyArray2<'py, u8>,
    view: &str,
    out: Option<Bytes<'py>>,
    threads: usize,
) -> PyResult<Bytes<'py>> {
    let (rows, view) = (positions(&packed)?, names::view(view)?);
    let out = output(py, out, &[rows.len(), PLANES, 8, 8])?;
    let mut lock = writable(&out)?;
    let slots = lock.as_slice_mut()?;
    py.detach(|| {
        encode::batch(rows, PLANE_BYTES, slots, threads, |row, slot| {
            encode::planes(row, view, slot);
            Ok(())
        })
    })
    .map_err(to_py)?;
    drop(lock);
    Ok(out)
}

/// int16 [N, 84].
#[pyfunction]
#[pyo3(signature = (packed, view="white", out=None, threads=1))]
fn encode_tokens<'py>(
    py: Python<'py>,
    packed: PyReadonlyArray2<'py, u8>,
    view: &str,
    out: Option<Bound<'py, PyArray<i16, IxDyn>>>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray<i16, IxDyn>>> {
    let (rows, view) = (positions(&packed)?, names::view(view)?);
    let out = output(py, out, &[rows.len(), TOKENS])?;
    let mut lock = writable(&out)?;
    let slots = lock.as_slice_mut()?;
    py.detach(|| {
        encode::batch(rows, TOKENS, slots, threads, |row, slot| {
            encode::tokens(row, view, slot);
            Ok(())
        })
    })
    .map_err(to_py)?;
    drop(lock);
    Ok(out)
}

/// uint8 [N, size of the space], 1 where the move is legal.
#[pyfunction]
#[pyo3(signature = (packed, space, view="mover", out=None, threads=1))]
fn legal_mask<'py>(
    py: Python<'py>,
    packed: PyReadonlyArray2<'py, u8>,
    space: &str,
    view: &str,
    out: Option<Bytes<'py>>,
    threads: usize,
) -> PyResult<Bytes<'py>> {
    let (rows, space, view) = (positions(&packed)?, names::space(space)?, names::view(view)?);
    let out = output(py, out, &[rows.len(), space.size()])?;
    let mut lock = writable(&out)?;
    let slots = lock.as_slice_mut()?;
    py.detach(|| {
        encode::batch(rows, space.size(), slots, threads, |row, slot| {
            encode::legal_mask(row, space, view, slot)
        })
    })
    .map_err(to_py)?;
    drop(lock);
    Ok(out)
}

type Ragged<'py, T> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<T>>);

/// Offsets [N + 1] and the legal moves' numbers, in the order of their UCI strings.
#[pyfunction]
#[pyo3(signature = (packed, space, view="mover"))]
fn legal_indices<'py>(
    py: Python<'py>,
    packed: PyReadonlyArray2<'py, u8>,
    space: &str,
    view: &str,
) -> PyResult<Ragged<'py, i32>> {
    let (rows, space, view) = (positions(&packed)?, names::space(space)?, names::view(view)?);
    let (offsets, indices) = py
        .detach(|| {
            let (mut offsets, mut indices) = (vec![0i64], Vec::with_capacity(rows.len() * 32));
            for row in rows {
                encode::legal_indices(row, space, view, &mut indices)?;
                offsets.push(indices.len() as i64);
            }
            Ok((offsets, indices))
        })
        .map_err(to_py)?;
    Ok((PyArray1::from_vec(py, offsets), PyArray1::from_vec(py, indices)))
}

/// int16 [N, width]: the legal moves' numbers in the order of their UCI strings, then −1.
///
/// Moves past `width` are left out; no position of a real game has 128.
#[pyfunction]
#[pyo3(signature = (packed, space, view="mover", width=128, threads=1))]
fn legal_rows<'py>(
    py: Python<'py>,
    packed: PyReadonlyArray2<'py, u8>,
    space: &str,
    view: &str,
    width: usize,
    threads: usize,
) -> PyResult<Bound<'py, PyArray<i16, IxDyn>>> {
    let (rows, space, view) = (positions(&packed)?, names::space(space)?, names::view(view)?);
    let out = output(py, None, &[rows.len(), width])?;
    let mut lock = writable(&out)?;
    let slots = lock.as_slice_mut()?;
    py.detach(|| {
        encode::batch(rows, width, slots, threads, |row, slot| {
            let mut indices = Vec::with_capacity(64);
            encode::legal_indices(row, space, view, &mut indices)?;
            slot.fill(-1);
            for (slot, index) in slot.iter_mut().zip(indices) {
                *slot = index as i16;
            }
            Ok(())
        })
    })
    .map_err(to_py)?;
    drop(lock);
    Ok(out)
}

/// The number of one move code per position; −1 where the space has none.
#[pyfunction]
#[pyo3(signature = (packed, moves, space, view="mover"))]
fn move_indices<'py>(
    py: Python<'py>,
    packed: PyReadonlyArray2<'py, u8>,
    moves: PyReadonlyArray1<'py, u16>,
    space: &str,
    view: &str,
) -> PyResult<Bound<'py, PyArray1<i32>>> {
    let (rows, space, view) = (positions(&packed)?, names::space(space)?, names::view(view)?);
    let codes = moves.as_slice()?;
    if codes.len() != rows.len() {
        return Err(PyValueError::new_err(format!("{} positions but {} moves", rows.len(), codes.len())));
    }
    let indices = rows
        .iter()
        .zip(codes)
        .map(|(row, &code)| {
            let turn = tabiya_core::Color::from_white(row[24] & 1 == 0);
            space.index(MoveCode(code), view.flips(turn)).map_or(-1, |index| index as i32)
        })
        .collect();
    Ok(PyArray1::from_vec(py, indices))
}

/// One 64-bit key per position: pieces, side, rights, legal en passant.
#[pyfunction]
fn position_keys<'py>(
    py: Python<'py>,
    packed: PyReadonlyArray2<'py, u8>,
) -> PyResult<Bound<'py, PyArray1<u64>>> {
    let rows = positions(&packed)?;
    Ok(PyArray1::from_vec(py, rows.iter().map(pack::key).collect()))
}

type Successors<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<u8>>, Bound<'py, PyArray1<u16>>);

/// Offsets [N + 1], the positions after every legal move, and those moves, in the order of UCI strings.
#[pyfunction]
#[pyo3(signature = (packed, threads=1))]
fn successors<'py>(
    py: Python<'py>,
    packed: PyReadonlyArray2<'py, u8>,
    threads: usize,
) -> PyResult<Successors<'py>> {
    let rows = positions(&packed)?;
    let found = py.detach(|| succ::successors(rows, threads)).map_err(to_py)?;
    Ok((
        PyArray1::from_vec(py, found.offsets),
        packed_array(py, &found.after)?,
        PyArray1::from_vec(py, found.moves.iter().map(|code| code.0).collect()),
    ))
}

/// Offsets [N + 1] and moves: of each position its quickest mate by checks that leave at most `replies` replies.
#[pyfunction]
#[pyo3(signature = (packed, longest, replies=1, threads=1))]
fn forced_mates<'py>(
    py: Python<'py>,
    packed: PyReadonlyArray2<'py, u8>,
    longest: usize,
    replies: usize,
    threads: usize,
) -> PyResult<Lines<'py>> {
    let rows = positions(&packed)?;
    let narrow = forcing::Narrow { longest, replies };
    let lines = py.detach(|| forcing::forced_mates(rows, narrow, threads)).map_err(to_py)?;
    let mut offsets = vec![0];
    offsets.extend(lines.iter().scan(0, |end, line| {
        *end += line.len() as i64;
        Some(*end)
    }));
    let moves = lines.iter().flatten().map(|code| code.0).collect();
    Ok((PyArray1::from_vec(py, offsets), PyArray1::from_vec(py, moves)))
}

/// uint8 [N]: 0 the game goes on, 1 the side to move is mated, 2 drawn by stalemate or material.
#[pyfunction]
#[pyo3(signature = (packed, threads=1))]
fn states<'py>(py: Python<'py>, packed: PyReadonlyArray2<'py, u8>, threads: usize) -> PyResult<Bytes<'py>> {
    let rows = positions(&packed)?;
    let out = output(py, None, &[rows.len()])?;
    let mut lock = writable(&out)?;
    let slots = lock.as_slice_mut()?;
    py.detach(|| {
        encode::batch(rows, 1, slots, threads, |row, slot| {
            slot[0] = succ::state(row)? as u8;
            Ok(())
        })
    })
    .map_err(to_py)?;
    drop(lock);
    Ok(out)
}

/// uint8 [N, 32] from FENs; the error names the first bad one.
#[pyfunction]
fn pack_fens<'py>(py: Python<'py>, fens: Vec<String>) -> PyResult<Bound<'py, PyArray2<u8>>> {
    let rows = py
        .detach(|| {
            fens.iter().map(|fen| Ok(pack::pack(&rules::from_fen(fen)?, 0))).collect::<Result<Vec<_>, _>>()
        })
        .map_err(to_py)?;
    packed_array(py, &rows)
}

#[pyfunction]
fn unpack_fens(py: Python<'_>, packed: PyReadonlyArray2<'_, u8>) -> PyResult<Vec<String>> {
    let rows = positions(&packed)?;
    py.detach(|| rows.iter().map(|row| Ok(rules::to_fen(&pack::unpack(row)?))).collect::<Result<Vec<_>, _>>())
        .map_err(to_py)
}

/// Positions from random games that are not over, uint8 [count, 32].
#[pyfunction]
#[pyo3(signature = (count, seed, max_plies=200))]
fn random_positions<'py>(
    py: Python<'py>,
    count: usize,
    seed: u64,
    max_plies: u32,
) -> PyResult<Bound<'py, PyArray2<u8>>> {
    let rows = py.detach(|| playout::random_positions(count, seed, max_plies));
    packed_array(py, &rows)
}

#[pyfunction]
fn space_size(space: &str) -> PyResult<usize> {
    Ok(names::space(space)?.size())
}

/// The 1968 UCI strings in the order of their numbers.
#[pyfunction]
fn uci_moves() -> Vec<String> {
    move_index::uci_strings()
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(encode_planes, module)?)?;
    module.add_function(wrap_pyfunction!(encode_tokens, module)?)?;
    module.add_function(wrap_pyfunction!(legal_mask, module)?)?;
    module.add_function(wrap_pyfunction!(legal_indices, module)?)?;
    module.add_function(wrap_pyfunction!(legal_rows, module)?)?;
    module.add_function(wrap_pyfunction!(move_indices, module)?)?;
    module.add_function(wrap_pyfunction!(position_keys, module)?)?;
    module.add_function(wrap_pyfunction!(successors, module)?)?;
    module.add_function(wrap_pyfunction!(forced_mates, module)?)?;
    module.add_function(wrap_pyfunction!(states, module)?)?;
    module.add_function(wrap_pyfunction!(pack_fens, module)?)?;
    module.add_function(wrap_pyfunction!(unpack_fens, module)?)?;
    module.add_function(wrap_pyfunction!(random_positions, module)?)?;
    module.add_function(wrap_pyfunction!(space_size, module)?)?;
    module.add_function(wrap_pyfunction!(uci_moves, module)?)
}
