//! A coloured piece, or none, in one byte: what the mailbox of a search board holds.

use shakmaty::{Color, Role};

pub const PAWN: usize = 0;
pub const KNIGHT: usize = 1;
pub const BISHOP: usize = 2;
pub const ROOK: usize = 3;
pub const QUEEN: usize = 4;
pub const KING: usize = 5;

/// White's pawn to king are 0 to 5, Black's 6 to 11, an empty square is 12.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece(u8);

impl Piece {
    pub const EMPTY: Piece = Piece(12);
    /// Pieces of both colours and the empty square.
    pub const KINDS: usize = 13;

    #[inline]
    pub fn new(color: Color, role: usize) -> Piece {
        Piece((side(color) * 6 + role) as u8)
    }

    #[inline]
    pub fn index(self) -> usize {
        // The mask tells the compiler that no table of sixteen can be left.
        usize::from(self.0 & 15)
    }

    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 12
    }

    /// Pawn 0 to king 5; 6 on an empty square, so that tables of seven may be asked without a branch.
    #[inline]
    pub fn role(self) -> usize {
        const ROLES: [u8; 16] = [0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 6, 6, 6, 6];
        usize::from(ROLES[self.index()])
    }

    /// The colour of a piece; meaningless on an empty square.
    #[inline]
    pub fn color(self) -> Color {
        if self.0 < 6 { Color::White } else { Color::Black }
    }

    #[inline]
    pub fn is(self, color: Color) -> bool {
        !self.is_empty() && self.color() == color
    }
}

/// White 0, Black 1.
#[inline]
pub fn side(color: Color) -> usize {
    match color {
        Color::White => 0,
        Color::Black => 1,
    }
}

/// The rules library's word for a role of ours; none for the empty square.
pub fn role_of(role: usize) -> Option<Role> {
    [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen, Role::King].get(role).copied()
}

/// Our number for a role of the rules library.
#[inline]
pub fn number_of(role: Role) -> usize {
    role as usize - 1
}
