//! Packed positions to what a network reads: planes, token rows, legal masks.
//!
//! Each encoder fills one caller-owned slice per position, so a batch costs no
//! copy. The numbers are spelt out in docs/formats.md.

use shakmaty::{Color, Position};

use crate::error::Result;
use crate::move_code::MoveCode;
use crate::move_index::Space;
use crate::packed::{self, NO_EN_PASSANT, Packed};

pub const PLANES: usize = 18;
pub const PLANE_BYTES: usize = PLANES * 64;
pub const TOKENS: usize = 84;

/// Whose side of the board is below; its pieces come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum View {
    White,
    Black,
    Mover,
}

impl View {
    /// Whether the board is turned, given who is to move.
    pub fn flips(self, turn: Color) -> bool {
        match self {
            View::White => false,
            View::Black => true,
            View::Mover => turn == Color::Black,
        }
    }
}

fn turn(packed: &Packed) -> Color {
    Color::from_white(packed[24] & 1 == 0)
}

/// The pieces as the view has them: its own P N B R Q K, then the other side's.
#[inline]
fn boards_in_view(packed: &Packed, flip: bool) -> [u64; 12] {
    let boards = packed::piece_boards(packed);
    if !flip {
        return boards;
    }
    let mut turned = [0u64; 12];
    for (piece, board) in boards.iter().enumerate() {
        turned[(piece + 6) % 12] = board.swap_bytes();
    }
    turned
}

/// Castling rights in the view's order: own king's side, own queen's side, the other's.
fn rights_in_view(packed: &Packed, flip: bool) -> [u8; 4] {
    let bit = |n: u8| packed[24] >> n & 1;
    if flip { [bit(3), bit(4), bit(1), bit(2)] } else { [bit(1), bit(2), bit(3), bit(4)] }
}

/// Eight bits to eight bytes of 0 or 1, lowest bit first.
#[inline]
fn spread(bits: u8) -> u64 {
    let copies = u64::from(bits) * 0x0101_0101_0101_0101;
    let picked = copies & 0x8040_2010_0804_0201;
    (picked + 0x7F7F_7F7F_7F7F_7F7F) >> 7 & 0x0101_0101_0101_0101
}

/// 18 planes of 8×8 bytes: pieces, side to move, castling rights, halfmove clock (0–100).
pub fn planes(packed: &Packed, view: View, out: &mut [u8]) {
    let flip = view.flips(turn(packed));
    for (board, plane) in boards_in_view(packed, flip).iter().zip(out.chunks_exact_mut(64)) {
        for (rank, row) in board.to_le_bytes().iter().zip(plane.chunks_exact_mut(8)) {
            row.copy_from_slice(&spread(*rank).to_le_bytes());
        }
    }
    out[12 * 64..13 * 64].fill(1 - (packed[24] & 1));
    for (right, plane) in rights_in_view(packed, flip).iter().zip(out[13 * 64..17 * 64].chunks_exact_mut(64))
    {
        plane.fill(*right);
    }
    out[17 * 64..18 * 64].fill(packed[26].min(100));
}

/// 84 token values: 64 squares, turn, 4 rights, 9 en passant, repetition, clocks, 3 empty move slots.
pub fn tokens(packed: &Packed, view: View, out: &mut [i16]) {
    let flip = view.flips(turn(packed));
    out.fill(0);
    for (piece, board) in boards_in_view(packed, flip).iter().enumerate() {
        let mut rest = *board;
        while rest != 0 {
            out[rest.trailing_zeros() as usize] = piece as i16 + 1;
            rest &= rest - 1;
        }
    }
    out[64] = i16::from(packed[24] & 1);
    for (slot, right) in out[65..69].iter_mut().zip(rights_in_view(packed, flip)) {
        *slot = i16::from(right);
    }
    if packed[25] != NO_EN_PASSANT {
        out[69] = 1;
        out[70 + usize::from(packed[25] & 7)] = 1;
    }
    out[78] = i16::from(packed[27]);
    out[79] = i16::from(packed[26]);
    out[80] = u16::from_le_bytes([packed[28], packed[29]]).min(32767) as i16;
}

/// Call `each` with the index of every legal move.
fn for_each_legal(packed: &Packed, space: Space, view: View, mut each: impl FnMut(usize)) -> Result<()> {
    let position = packed::unpack(packed)?;
    let flip = if view.flips(position.turn()) { 56 | 56 << 6 } else { 0 };
    let table = space.indices();
    for m in &position.legal_moves() {
        each(usize::from(table[usize::from(MoveCode::of(*m).0 ^ flip)]));
    }
    Ok(())
}

/// One byte per index of the space: 1 where the move is legal.
pub fn legal_mask(packed: &Packed, space: Space, view: View, out: &mut [u8]) -> Result<()> {
    out.fill(0);
    for_each_legal(packed, space, view, |index| out[index] = 1)
}

/// The indices of the legal moves, in the order of their UCI strings.
pub fn legal_indices(packed: &Packed, space: Space, view: View, out: &mut Vec<i32>) -> Result<()> {
    let position = packed::unpack(packed)?;
    let flip = view.flips(position.turn());
    for m in crate::rules::legal_moves_in_uci_order(&position) {
        out.push(space.index(MoveCode::of(m), flip).expect("every legal move has a number") as i32);
    }
    Ok(())
}

/// Run `each(position, slice)` over a batch on `threads` threads; the first error wins.
pub fn batch<T: Send>(
    packed: &[Packed],
    width: usize,
    out: &mut [T],
    threads: usize,
    each: impl Fn(&Packed, &mut [T]) -> Result<()> + Sync,
) -> Result<()> {
    let run = |positions: &[Packed], out: &mut [T]| {
        positions
            .iter()
            .zip(out.chunks_exact_mut(width))
            .try_for_each(|(position, slot)| each(position, slot))
    };
    let threads = threads.clamp(1, packed.len().max(1));
    if threads == 1 {
        return run(packed, out);
    }
    let share = packed.len().div_ceil(threads);
    std::thread::scope(|scope| {
        let workers: Vec<_> = packed
            .chunks(share)
            .zip(out.chunks_mut(share * width))
            .map(|(positions, slots)| scope.spawn(|| run(positions, slots)))
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("an encoder does not panic"))
    })
}
