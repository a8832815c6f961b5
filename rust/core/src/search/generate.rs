//! Moves of a search board: noisy ones first, quiet ones only when asked for, legality one move at a time.
//!
//! Most nodes are left after one or two moves. So moves are made pseudo-legal
//! in two batches, and whether a move leaves the king in check is asked only
//! when its turn comes.

use arrayvec::ArrayVec;
use shakmaty::attacks::{
    aligned, between, bishop_attacks, king_attacks, knight_attacks, pawn_attacks, queen_attacks, rook_attacks,
};
use shakmaty::{Bitboard, Color, File, Rank, Role, Square};

use super::board::{BLACK_LONG, BLACK_SHORT, Board, WHITE_LONG, WHITE_SHORT, castling_rook};
use super::piece::{BISHOP, KING, KNIGHT, PAWN, QUEEN, ROOK, side};
use crate::move_code::MoveCode;

/// A move and what the ordering thinks of it.
#[derive(Clone, Copy)]
pub struct Scored {
    pub code: MoveCode,
    pub score: i32,
}

/// No chess position has more than 218 moves; positions with nine queens and the like fit as well.
pub type MoveList = ArrayVec<Scored, 256>;

/// No move: a1a1 stands for it in tables.
pub const NO_MOVE: MoveCode = MoveCode(0);

/// What a castling needs.
struct Castling {
    right: u8,
    from: Square,
    to: Square,
    /// Squares that must be empty.
    between: Bitboard,
    /// Squares that the king crosses or reaches.
    path: [Square; 2],
}

const fn castling(right: u8, from: Square, to: Square, between: u64, path: [Square; 2]) -> Castling {
    Castling { right, from, to, between: Bitboard(between), path }
}

/// By side, short and long.
static CASTLINGS: [[Castling; 2]; 2] = [
    [
        castling(WHITE_SHORT, Square::E1, Square::G1, 0x60, [Square::F1, Square::G1]),
        castling(WHITE_LONG, Square::E1, Square::C1, 0x0E, [Square::D1, Square::C1]),
    ],
    [
        castling(BLACK_SHORT, Square::E8, Square::G8, 0x60 << 56, [Square::F8, Square::G8]),
        castling(BLACK_LONG, Square::E8, Square::C8, 0x0E << 56, [Square::D8, Square::C8]),
    ],
];

#[inline]
fn push(list: &mut MoveList, from: Square, to: Square) {
    add(list, MoveCode(u16::from(from) | u16::from(to) << 6));
}

/// A list that is full keeps what it has: only an unreachable position has so many moves.
#[inline]
fn add(list: &mut MoveList, code: MoveCode) {
    let _ = list.try_push(Scored { code, score: 0 });
}

impl Board {
    /// Where a piece other than a pawn on `from` attacks.
    #[inline]
    pub fn piece_attacks(&self, role: usize, from: Square, occupied: Bitboard) -> Bitboard {
        match role {
            KNIGHT => knight_attacks(from),
            BISHOP => bishop_attacks(from, occupied),
            ROOK => rook_attacks(from, occupied),
            QUEEN => queen_attacks(from, occupied),
            _ => king_attacks(from),
        }
    }

    /// Every square that the other side attacks.
    pub fn threats(&self) -> Bitboard {
        let (them, occupied) = (!self.turn, self.occupied());
        let pawns = self.of(them, PAWN).0;
        let (not_a, not_h) = (!Bitboard::from_file(File::A).0, !Bitboard::from_file(File::H).0);
        let mut threats = Bitboard(match them {
            Color::White => (pawns & not_a) << 7 | (pawns & not_h) << 9,
            Color::Black => (pawns & not_a) >> 9 | (pawns & not_h) >> 7,
        });
        for role in [KNIGHT, BISHOP, ROOK, QUEEN] {
            for from in self.of(them, role) {
                threats |= self.piece_attacks(role, from, occupied);
            }
        }
        threats | king_attacks(self.king(them))
    }

    /// Where a move other than the king's may end: anywhere, or what answers a single check.
    fn targets(&self) -> Bitboard {
        match self.checkers.first() {
            None => Bitboard::FULL,
            Some(_) if self.checkers.more_than_one() => Bitboard::EMPTY,
            Some(checker) => between(self.king(self.turn), checker) | Bitboard::from(checker),
        }
    }

    fn pieces_to(&self, targets: Bitboard, king_targets: Bitboard, list: &mut MoveList) {
        let (us, occupied) = (self.turn, self.occupied());
        if targets.any() {
            for role in [KNIGHT, BISHOP, ROOK, QUEEN] {
                for from in self.of(us, role) {
                    for to in self.piece_attacks(role, from, occupied) & targets {
                        push(list, from, to);
                    }
                }
            }
        }
        let king = self.king(us);
        for to in king_attacks(king) & king_targets {
            push(list, king, to);
        }
    }

    /// Captures, and promotions to a queen.
    pub fn noisy_moves(&self, list: &mut MoveList) {
        let us = self.turn;
        let theirs = self.color(!us);
        let targets = self.targets();
        let pawns = self.of(us, PAWN);
        let last = last_rank(us);
        for from in pawns {
            for to in pawn_attacks(us, from) & theirs & targets {
                if last.contains(to) {
                    promotions(list, from, to, &ALL_PROMOTIONS)
                } else {
                    push(list, from, to)
                }
            }
        }
        if let Some(to) = self.en_passant {
            for from in pawn_attacks(!us, to) & pawns {
                push(list, from, to);
            }
        }
        let steps = forward(us, pawns) & last & !self.occupied() & targets;
        for to in steps {
            promotions(list, back(us, to), to, &[Role::Queen]);
        }
        self.pieces_to(theirs & targets, theirs, list);
    }

    /// Everything that `noisy_moves` leaves out.
    pub fn quiet_moves(&self, list: &mut MoveList) {
        let us = self.turn;
        let empty = !self.occupied();
        let targets = self.targets();
        let last = last_rank(us);
        let steps = forward(us, self.of(us, PAWN)) & empty;
        for to in steps & targets & last {
            promotions(list, back(us, to), to, &[Role::Knight, Role::Rook, Role::Bishop]);
        }
        for to in steps & targets & !last {
            push(list, back(us, to), to);
        }
        let third = if us == Color::White { Rank::Third } else { Rank::Sixth };
        for to in forward(us, steps & Bitboard::from_rank(third)) & empty & targets {
            push(list, back(us, back(us, to)), to);
        }
        self.pieces_to(empty & targets, empty, list);
        if !self.in_check() {
            for castling in &CASTLINGS[side(us)] {
                if self.may_castle(castling) {
                    push(list, castling.from, castling.to);
                }
            }
        }
    }

    fn may_castle(&self, castling: &Castling) -> bool {
        let occupied = self.occupied();
        let theirs = self.color(!self.turn);
        self.castling & castling.right != 0
            && (occupied & castling.between).is_empty()
            && castling.path.iter().all(|&square| (self.attackers(square, occupied) & theirs).is_empty())
    }

    /// Whether a pseudo-legal move is legal.
    pub fn is_legal(&self, m: MoveCode) -> bool {
        let (us, from, to) = (self.turn, m.from(), m.to());
        let king = self.king(us);
        if from == king {
            if castling_rook(from, to).is_some() {
                return true; // its path was asked when the move was made
            }
            let occupied = self.occupied() ^ Bitboard::from(king);
            return (self.attackers(to, occupied) & self.color(!us)).is_empty();
        }
        if self.en_passant == Some(to) && self.at(from).role() == PAWN {
            return self.en_passant_is_safe(from, to);
        }
        if self.in_check() && !self.targets().contains(to) {
            return false;
        }
        !self.pinned.contains(from) || aligned(king, from, to)
    }

    /// Whether any sixteen bits, from a table that may hold another position's move, are a pseudo-legal move.
    pub fn is_pseudo_legal(&self, m: MoveCode) -> bool {
        let (us, from, to) = (self.turn, m.from(), m.to());
        let piece = self.at(from);
        if !piece.is(us) || self.at(to).is(us) || !m.is_well_formed() {
            return false;
        }
        let role = piece.role();
        if role == PAWN {
            return self.pawn_may(m);
        }
        if m.promotion().is_some() {
            return false;
        }
        if role == KING && castling_rook(from, to).is_some() {
            return !self.in_check()
                && CASTLINGS[side(us)]
                    .iter()
                    .any(|castling| (castling.from, castling.to) == (from, to) && self.may_castle(castling));
        }
        self.piece_attacks(role, from, self.occupied()).contains(to)
    }

    fn pawn_may(&self, m: MoveCode) -> bool {
        let (us, from, to) = (self.turn, m.from(), m.to());
        if last_rank(us).contains(to) != m.promotion().is_some() {
            return false;
        }
        if pawn_attacks(us, from).contains(to) {
            return !self.at(to).is_empty() || self.en_passant == Some(to);
        }
        let empty = !self.occupied();
        let step = forward(us, Bitboard::from(from)) & empty;
        let third = if us == Color::White { Rank::Third } else { Rank::Sixth };
        let leap = forward(us, step & Bitboard::from_rank(third)) & empty;
        (step | leap).contains(to)
    }

    /// Captures, en passant and promotions to a queen: what `noisy_moves` makes.
    #[inline]
    pub fn is_noisy(&self, m: MoveCode) -> bool {
        !self.at(m.to()).is_empty()
            || m.promotion() == Some(Role::Queen)
            || (self.en_passant == Some(m.to()) && self.at(m.from()).role() == PAWN)
    }

    /// The role that a move takes, 6 if none.
    #[inline]
    pub fn victim(&self, m: MoveCode) -> usize {
        let role = self.at(m.to()).role();
        if role == 6 && self.en_passant == Some(m.to()) && self.at(m.from()).role() == PAWN {
            return PAWN;
        }
        role
    }

    /// Every legal move, in no particular order.
    pub fn legal_moves(&self) -> MoveList {
        let mut list = MoveList::new();
        self.noisy_moves(&mut list);
        self.quiet_moves(&mut list);
        list.retain(|scored| self.is_legal(scored.code));
        list
    }

    pub fn has_legal_move(&self) -> bool {
        !self.legal_moves().is_empty()
    }

    /// Count the leaves of the legal-move tree, `depth` plies deep.
    pub fn perft(&self, depth: u32) -> u64 {
        if depth == 0 {
            return 1;
        }
        let moves = self.legal_moves();
        if depth == 1 {
            return moves.len() as u64;
        }
        moves.iter().map(|scored| self.after(scored.code).perft(depth - 1)).sum()
    }
}

const ALL_PROMOTIONS: [Role; 4] = [Role::Queen, Role::Knight, Role::Rook, Role::Bishop];

#[inline]
fn promotions(list: &mut MoveList, from: Square, to: Square, roles: &[Role]) {
    for &role in roles {
        add(list, MoveCode::new(from, to, Some(role)));
    }
}

fn last_rank(color: Color) -> Bitboard {
    Bitboard::from_rank(if color == Color::White { Rank::Eighth } else { Rank::First })
}

#[inline]
fn forward(color: Color, pawns: Bitboard) -> Bitboard {
    if color == Color::White { Bitboard(pawns.0 << 8) } else { Bitboard(pawns.0 >> 8) }
}

/// The square one step back for a pawn of that colour.
#[inline]
fn back(color: Color, square: Square) -> Square {
    let index = square.to_u32();
    Square::new(if color == Color::White { index.wrapping_sub(8) } else { index + 8 } & 63)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;

    /// Positions that exercise every rule, with leaf counts known from many programs.
    const KNOWN: [(&str, u32, u64); 6] = [
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", 4, 197_281),
        ("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1", 4, 4_085_603),
        ("8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1", 5, 674_624),
        ("r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1", 4, 422_333),
        ("rnbq1k1r/pp1Pbppp/2p5/8/2B5/8/PPP1NnPP/RNBQK2R w KQ - 1 8", 4, 2_103_487),
        ("r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10", 4, 3_894_594),
    ];

    #[test]
    fn threats_are_the_squares_with_an_attacker() {
        for (fen, _, _) in KNOWN {
            let board = Board::new(&rules::from_fen(fen).unwrap());
            let threats = board.threats();
            for square in Square::ALL {
                let attacked = (board.attackers(square, board.occupied()) & board.color(!board.turn)).any();
                assert_eq!(threats.contains(square), attacked, "{square} in {fen}");
            }
        }
    }

    #[test]
    fn perft_gives_the_known_counts() {
        for (fen, depth, leaves) in KNOWN {
            let board = Board::new(&rules::from_fen(fen).unwrap());
            assert_eq!(board.perft(depth), leaves, "{fen}");
        }
    }
}
