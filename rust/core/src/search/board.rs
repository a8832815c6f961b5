//! The position as the search sees it: bitboards, a mailbox and keys, small enough to copy for every move.
//!
//! The rules of the project are shakmaty's. A search makes and takes back a
//! million moves a second and asks each position for its key, its checkers and
//! its pins, so it keeps a board of its own that carries these along; perft
//! holds the two equal. Attack tables are shakmaty's.

use shakmaty::attacks::{between, bishop_attacks, king_attacks, knight_attacks, pawn_attacks, rook_attacks};
use shakmaty::{Bitboard, CastlingSide, Chess, Color, EnPassantMode, Move, Position, Square};

use super::piece::{BISHOP, KING, KNIGHT, PAWN, Piece, QUEEN, ROOK, number_of, role_of, side};
use super::zobrist;
use crate::move_code::MoveCode;

pub const WHITE_SHORT: u8 = 1;
pub const WHITE_LONG: u8 = 2;
pub const BLACK_SHORT: u8 = 4;
pub const BLACK_LONG: u8 = 8;

/// What stays of the castling rights when a piece leaves or reaches a square.
static RIGHTS_KEPT: [u8; 64] = {
    let mut kept = [15; 64];
    kept[0] = 15 & !WHITE_LONG;
    kept[4] = 15 & !(WHITE_LONG | WHITE_SHORT);
    kept[7] = 15 & !WHITE_SHORT;
    kept[56] = 15 & !BLACK_LONG;
    kept[60] = 15 & !(BLACK_LONG | BLACK_SHORT);
    kept[63] = 15 & !BLACK_SHORT;
    kept
};

#[derive(Clone, Copy)]
pub struct Board {
    by_role: [Bitboard; 6],
    by_color: [Bitboard; 2],
    squares: [Piece; 64],
    /// Everything that makes two positions the same for repetition.
    pub key: u64,
    /// The pawns alone.
    pub pawn_key: u64,
    /// The other pieces, by colour.
    pub piece_keys: [u64; 2],
    /// Pieces that give check to the side to move.
    pub checkers: Bitboard,
    /// Pieces of the side to move that shield their king from a slider.
    pub pinned: Bitboard,
    pub turn: Color,
    pub castling: u8,
    /// Set only while an en passant capture is legal.
    pub en_passant: Option<Square>,
    /// Plies since a capture or pawn move, for the fifty-move rule.
    pub halfmoves: u16,
    /// Plies since the last move that cannot be repeated across: irreversible or null.
    pub reversible: u16,
}

impl Board {
    pub fn new(position: &Chess) -> Board {
        let mut board = Board {
            by_role: [Bitboard::EMPTY; 6],
            by_color: [Bitboard::EMPTY; 2],
            squares: [Piece::EMPTY; 64],
            key: 0,
            pawn_key: 0,
            piece_keys: [0; 2],
            checkers: Bitboard::EMPTY,
            pinned: Bitboard::EMPTY,
            turn: position.turn(),
            castling: 0,
            en_passant: position.ep_square(EnPassantMode::Legal),
            halfmoves: position.halfmoves().min(1000) as u16,
            reversible: position.halfmoves().min(1000) as u16,
        };
        for (square, piece) in position.board().iter() {
            board.put(Piece::new(piece.color, number_of(piece.role)), square);
        }
        let rights = [
            (Color::White, CastlingSide::KingSide, WHITE_SHORT),
            (Color::White, CastlingSide::QueenSide, WHITE_LONG),
            (Color::Black, CastlingSide::KingSide, BLACK_SHORT),
            (Color::Black, CastlingSide::QueenSide, BLACK_LONG),
        ];
        for (color, wing, bit) in rights {
            if position.castles().has(color, wing) {
                board.castling |= bit;
            }
        }
        board.key ^= zobrist::castling(board.castling);
        if let Some(square) = board.en_passant {
            board.key ^= zobrist::en_passant(square);
        }
        if board.turn == Color::Black {
            board.key ^= zobrist::turn();
        }
        board.find_checkers_and_pins();
        board
    }

    #[inline]
    pub fn role(&self, role: usize) -> Bitboard {
        self.by_role[role]
    }

    /// Pawns to kings, of both colours.
    #[inline]
    pub fn roles(&self) -> [Bitboard; 6] {
        self.by_role
    }

    /// White's pieces and Black's.
    #[inline]
    pub fn colors(&self) -> [Bitboard; 2] {
        self.by_color
    }

    #[inline]
    pub fn color(&self, color: Color) -> Bitboard {
        self.by_color[side(color)]
    }

    #[inline]
    pub fn of(&self, color: Color, role: usize) -> Bitboard {
        self.by_role[role] & self.by_color[side(color)]
    }

    #[inline]
    pub fn occupied(&self) -> Bitboard {
        self.by_color[0] | self.by_color[1]
    }

    #[inline]
    pub fn at(&self, square: Square) -> Piece {
        self.squares[square.to_usize()]
    }

    #[inline]
    pub fn king(&self, color: Color) -> Square {
        self.of(color, KING).first().expect("both sides have a king")
    }

    #[inline]
    pub fn in_check(&self) -> bool {
        self.checkers.any()
    }

    /// Whether the side has more than king and pawns.
    #[inline]
    pub fn has_pieces(&self, color: Color) -> bool {
        (self.color(color) & !(self.by_role[PAWN] | self.by_role[KING])).any()
    }

    /// Neither side can ever mate: bare kings, or one minor piece in all.
    pub fn is_dead(&self) -> bool {
        self.occupied().count() <= 3
            && (self.by_role[PAWN] | self.by_role[ROOK] | self.by_role[QUEEN]).is_empty()
    }

    /// Pieces of both colours that attack a square through the given occupation.
    #[inline]
    pub fn attackers(&self, square: Square, occupied: Bitboard) -> Bitboard {
        let straight = self.by_role[ROOK] | self.by_role[QUEEN];
        let diagonal = self.by_role[BISHOP] | self.by_role[QUEEN];
        (pawn_attacks(Color::Black, square) & self.of(Color::White, PAWN))
            | (pawn_attacks(Color::White, square) & self.of(Color::Black, PAWN))
            | (knight_attacks(square) & self.by_role[KNIGHT])
            | (king_attacks(square) & self.by_role[KING])
            | (rook_attacks(square, occupied) & straight)
            | (bishop_attacks(square, occupied) & diagonal)
    }

    #[inline]
    fn toggle(&mut self, piece: Piece, square: Square) {
        let number = zobrist::piece(piece, square);
        let color = side(piece.color());
        self.by_role[piece.role()].toggle(square);
        self.by_color[color].toggle(square);
        self.key ^= number;
        if piece.role() == PAWN {
            self.pawn_key ^= number;
        } else {
            self.piece_keys[color] ^= number;
        }
    }

    #[inline]
    fn put(&mut self, piece: Piece, square: Square) {
        self.toggle(piece, square);
        self.squares[square.to_usize()] = piece;
    }

    #[inline]
    fn take(&mut self, square: Square) {
        self.toggle(self.at(square), square);
        self.squares[square.to_usize()] = Piece::EMPTY;
    }

    /// The board after a legal move.
    pub fn after(&self, m: MoveCode) -> Board {
        let mut next = *self;
        let (us, from, to) = (self.turn, m.from(), m.to());
        let piece = self.at(from);
        if let Some(square) = self.en_passant {
            next.key ^= zobrist::en_passant(square);
            next.en_passant = None;
        }
        next.halfmoves += 1;
        next.reversible += 1;
        if !self.at(to).is_empty() {
            next.take(to);
            next.halfmoves = 0;
            next.reversible = 0;
        }
        next.take(from);
        let mut passed = None;
        match piece.role() {
            PAWN => {
                next.halfmoves = 0;
                next.reversible = 0;
                let placed = m.promotion().map_or(piece, |role| Piece::new(us, number_of(role)));
                next.put(placed, to);
                if self.en_passant == Some(to) {
                    next.take(behind(to));
                } else if from.to_usize() ^ to.to_usize() == 16 {
                    passed = Some(behind(to));
                }
            }
            KING => {
                next.put(piece, to);
                if let Some((rook_from, rook_to)) = castling_rook(from, to) {
                    next.take(rook_from);
                    next.put(Piece::new(us, ROOK), rook_to);
                }
            }
            _ => next.put(piece, to),
        }
        let kept = self.castling & RIGHTS_KEPT[from.to_usize()] & RIGHTS_KEPT[to.to_usize()];
        if kept != self.castling {
            next.key ^= zobrist::castling(self.castling) ^ zobrist::castling(kept);
            next.castling = kept;
            next.reversible = 0;
        }
        next.turn = !us;
        next.key ^= zobrist::turn();
        next.find_checkers_and_pins();
        if let Some(square) = passed {
            next.allow_en_passant(square);
        }
        next
    }

    /// The board after passing, which only a side out of check may do.
    pub fn after_null(&self) -> Board {
        let mut next = *self;
        if let Some(square) = self.en_passant {
            next.key ^= zobrist::en_passant(square);
            next.en_passant = None;
        }
        next.halfmoves += 1;
        next.reversible = 0;
        next.turn = !self.turn;
        next.key ^= zobrist::turn();
        next.find_checkers_and_pins();
        next
    }

    /// The key that a move will lead to, near enough to fetch its table entry early.
    #[inline]
    pub fn key_after(&self, m: MoveCode) -> u64 {
        let piece = self.at(m.from());
        let moved = zobrist::piece(piece, m.from()) ^ zobrist::piece(piece, m.to());
        self.key ^ moved ^ zobrist::piece(self.at(m.to()), m.to()) ^ zobrist::turn()
    }

    fn find_checkers_and_pins(&mut self) {
        let (us, them) = (self.turn, !self.turn);
        let king = self.king(us);
        let theirs = self.color(them);
        let occupied = self.occupied();
        let straight = (self.by_role[ROOK] | self.by_role[QUEEN]) & theirs;
        let diagonal = (self.by_role[BISHOP] | self.by_role[QUEEN]) & theirs;
        self.checkers = ((pawn_attacks(us, king) & self.by_role[PAWN])
            | (knight_attacks(king) & self.by_role[KNIGHT]))
            & theirs;
        self.pinned = Bitboard::EMPTY;
        // Sliders that would see the king on a board without our pieces.
        let snipers = (rook_attacks(king, theirs) & straight) | (bishop_attacks(king, theirs) & diagonal);
        for sniper in snipers {
            let shield = between(king, sniper) & occupied;
            if shield.is_empty() {
                self.checkers.add(sniper);
            } else if !shield.more_than_one() {
                self.pinned.add(shield);
            }
        }
    }

    /// Keep the en passant square only if some capture there is legal, so that equal positions have equal keys.
    fn allow_en_passant(&mut self, square: Square) {
        let candidates = pawn_attacks(!self.turn, square) & self.of(self.turn, PAWN);
        if candidates.into_iter().any(|from| self.en_passant_is_safe(from, square)) {
            self.en_passant = Some(square);
            self.key ^= zobrist::en_passant(square);
        }
    }

    /// Whether our king stands out of every check once the pawn has taken in passing.
    pub fn en_passant_is_safe(&self, from: Square, to: Square) -> bool {
        let victim = behind(to);
        let occupied = (self.occupied() ^ Bitboard::from(from) ^ Bitboard::from(victim)) | Bitboard::from(to);
        let attackers = self.attackers(self.king(self.turn), occupied) & self.color(!self.turn);
        attackers.without(victim).is_empty()
    }

    /// The rules library's word for a legal move here.
    pub fn to_shakmaty(&self, m: MoveCode) -> Move {
        let (from, to) = (m.from(), m.to());
        let role = role_of(self.at(from).role()).expect("a move starts at a piece");
        match self.at(from).role() {
            KING => {
                if let Some((rook, _)) = castling_rook(from, to) {
                    return Move::Castle { king: from, rook };
                }
            }
            PAWN if self.en_passant == Some(to) => return Move::EnPassant { from, to },
            _ => {}
        }
        Move::Normal { role, from, capture: role_of(self.at(to).role()), to, promotion: m.promotion() }
    }
}

/// The square behind a pawn that stands on rank 4 or 5, seen from its side; its own inverse for en passant.
#[inline]
fn behind(square: Square) -> Square {
    Square::new(square.to_u32() ^ 8)
}

/// Where the rook comes from and goes to if this king move is castling.
#[inline]
pub fn castling_rook(from: Square, to: Square) -> Option<(Square, Square)> {
    match (from, to) {
        (Square::E1, Square::G1) => Some((Square::H1, Square::F1)),
        (Square::E1, Square::C1) => Some((Square::A1, Square::D1)),
        (Square::E8, Square::G8) => Some((Square::H8, Square::F8)),
        (Square::E8, Square::C8) => Some((Square::A8, Square::D8)),
        _ => None,
    }
}
