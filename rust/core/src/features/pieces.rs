//! Where the pieces stand, in one cache line: all that a feature set ever looks at.
//!
//! Eight bitboards are enough to tell two positions apart square by square, so
//! a change is found by comparing placements: nothing needs to know which move
//! was made, and a null move, several moves at once or a jump to another line
//! are no special cases.

use shakmaty::{Bitboard, Chess, Color, Piece, Position, Role, Square, attacks};

use crate::packed::{self, Packed};

/// Role and colour in one number: `2 * role + colour`, roles P N B R Q K from 0.
pub type Kind = u8;
pub const KINDS: usize = 12;
pub const OWN_KING: Kind = 10;
pub const OTHER_KING: Kind = 11;

/// A piece of a kind on a square.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Standing {
    pub kind: Kind,
    pub square: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, align(64))]
pub struct Pieces {
    /// P N B R Q K of both colours.
    pub roles: [u64; 6],
    /// White's, Black's; in a view its own and the other side's.
    pub colors: [u64; 2],
}

impl From<&Chess> for Pieces {
    #[inline]
    fn from(position: &Chess) -> Pieces {
        let board = position.board();
        let bits = |b: Bitboard| u64::from(b);
        Pieces {
            roles: [
                bits(board.pawns()),
                bits(board.knights()),
                bits(board.bishops()),
                bits(board.rooks()),
                bits(board.queens()),
                bits(board.kings()),
            ],
            colors: [bits(board.white()), bits(board.black())],
        }
    }
}

impl From<&Packed> for Pieces {
    /// Nibbles that name no piece are left out.
    #[inline]
    fn from(packed: &Packed) -> Pieces {
        let boards = packed::piece_boards(packed);
        let mut pieces = Pieces::NONE;
        for (role, both) in pieces.roles.iter_mut().enumerate() {
            *both = boards[role] | boards[role + 6];
        }
        pieces.colors = [boards[..6].iter().fold(0, |a, b| a | b), boards[6..].iter().fold(0, |a, b| a | b)];
        pieces
    }
}

impl Pieces {
    pub const NONE: Pieces = Pieces { roles: [0; 6], colors: [0; 2] };

    #[inline]
    pub fn occupied(&self) -> u64 {
        self.colors[0] | self.colors[1]
    }

    #[inline]
    pub fn count(&self) -> usize {
        self.occupied().count_ones() as usize
    }

    /// The kind on an occupied square.
    #[inline]
    pub fn kind_at(&self, square: u8) -> Kind {
        let bit = |board: u64| (board >> square & 1) as u8;
        let role = bit(self.roles[1])
            + 2 * bit(self.roles[2])
            + 3 * bit(self.roles[3])
            + 4 * bit(self.roles[4])
            + 5 * bit(self.roles[5]);
        2 * role + bit(self.colors[1])
    }

    /// The squares of one kind.
    #[inline]
    pub fn of_kind(&self, kind: Kind) -> u64 {
        self.roles[usize::from(kind >> 1)] & self.colors[usize::from(kind & 1)]
    }

    /// The square of a side's king; a1 where there is none, which only damaged bytes can say.
    #[inline]
    pub fn king(&self, side: usize) -> u8 {
        ((self.roles[5] & self.colors[side]).trailing_zeros() & 63) as u8
    }

    /// The board as `color` sees it: its own pieces are the first colour, its back rank is rank 1.
    #[inline]
    pub fn seen_by(&self, color: Color) -> Pieces {
        match color {
            Color::White => *self,
            Color::Black => Pieces {
                roles: self.roles.map(u64::swap_bytes),
                colors: [self.colors[1].swap_bytes(), self.colors[0].swap_bytes()],
            },
        }
    }

    pub fn standing(&self) -> impl Iterator<Item = Standing> + '_ {
        squares(self.occupied()).map(|square| Standing { kind: self.kind_at(square), square })
    }

    /// The squares that differ: what stood there and what stands there now.
    #[inline]
    pub fn difference(before: &Pieces, after: &Pieces, removed: &mut Changes, added: &mut Changes) {
        removed.clear();
        added.clear();
        let mut changed = (before.colors[0] ^ after.colors[0]) | (before.colors[1] ^ after.colors[1]);
        for (a, b) in before.roles.iter().zip(&after.roles) {
            changed |= a ^ b;
        }
        let (stood, stands) = (before.occupied(), after.occupied());
        while changed != 0 {
            let square = changed.trailing_zeros() as u8;
            changed &= changed - 1;
            if stood >> square & 1 != 0 {
                removed.push(Standing { kind: before.kind_at(square), square });
            }
            if stands >> square & 1 != 0 {
                added.push(Standing { kind: after.kind_at(square), square });
            }
        }
    }

    /// The squares that the piece attacks or defends.
    #[inline]
    pub fn attacked_from(&self, piece: Standing) -> u64 {
        attacked(piece, self.occupied())
    }

    /// The squares the piece can go to, its king's safety apart: no castling, no en passant.
    #[inline]
    pub fn reached_from(&self, piece: Standing) -> u64 {
        let own = self.colors[usize::from(piece.kind & 1)];
        if piece.kind > 1 {
            return self.attacked_from(piece) & !own;
        }
        let captures = self.attacked_from(piece) & self.colors[usize::from(piece.kind ^ 1)];
        captures | pushes(piece, self.occupied())
    }
}

/// One or two steps forward for a pawn, as far as the way is free.
#[inline]
pub fn pushes(pawn: Standing, occupied: u64) -> u64 {
    let here = 1u64 << pawn.square;
    if pawn.kind == 0 {
        let one = here << 8 & !occupied;
        one | (one & 0xFF_0000) << 8 & !occupied
    } else {
        let one = here >> 8 & !occupied;
        one | (one & 0xFF00_0000_0000) >> 8 & !occupied
    }
}

/// The squares a piece attacks on a board where these are occupied.
#[inline]
pub fn attacked(piece: Standing, occupied: u64) -> u64 {
    let role = Role::ALL[usize::from(piece.kind >> 1)];
    let color = if piece.kind & 1 == 0 { Color::White } else { Color::Black };
    let square = Square::new(u32::from(piece.square));
    attacks::attacks(square, Piece { color, role }, Bitboard(occupied)).into()
}

/// The squares of a bitboard in ascending order.
#[inline]
pub fn squares(mut board: u64) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        (board != 0).then(|| {
            let square = board.trailing_zeros() as u8;
            board &= board - 1;
            square
        })
    })
}

/// A short list without allocation: at most one entry per square.
#[derive(Clone)]
pub struct Changes {
    entries: [Standing; 64],
    length: usize,
}

impl Default for Changes {
    fn default() -> Changes {
        Changes { entries: [Standing { kind: 0, square: 0 }; 64], length: 0 }
    }
}

impl Changes {
    #[inline]
    pub fn clear(&mut self) {
        self.length = 0;
    }

    #[inline]
    pub fn push(&mut self, entry: Standing) {
        self.entries[self.length] = entry;
        self.length += 1;
    }

    #[inline]
    pub fn as_slice(&self) -> &[Standing] {
        &self.entries[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::from_fen;

    #[test]
    fn a_view_turns_the_board_and_swaps_the_colours() {
        let position = from_fen("4k3/8/8/8/8/8/3P4/4K2R w K - 0 1").unwrap();
        let seen = Pieces::from(&position).seen_by(Color::Black);
        let found: Vec<_> = seen.standing().map(|s| (s.kind, s.square)).collect();
        assert_eq!(found, [(OWN_KING, 4), (1, 51), (OTHER_KING, 60), (7, 63)]);
    }

    #[test]
    fn packed_bytes_and_a_position_give_the_same_pieces() {
        let position =
            from_fen("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1").unwrap();
        assert_eq!(Pieces::from(&packed::pack(&position, 0)), Pieces::from(&position));
    }

    #[test]
    fn a_pawn_steps_once_or_twice_and_captures_only_what_is_there() {
        let position = from_fen("4k3/8/8/8/p7/1p6/P1P5/4K3 w - - 0 1").unwrap();
        let pieces = Pieces::from(&position);
        let reached = |square| pieces.reached_from(Standing { kind: 0, square });
        assert_eq!(squares(reached(8)).collect::<Vec<_>>(), [16, 17]); // a2: a3 and xb3, a4 is taken
        assert_eq!(squares(reached(10)).collect::<Vec<_>>(), [17, 18, 26]); // c2: xb3, c3, c4
    }
}
