//! The smallest words of the language: what a block reads, and of which subject.

/// What a block reads of its subject; the number of its values is its size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Block {
    File,
    Rank,
    /// The diagonals that run like a1–h8: file − rank + 7.
    Diag1,
    /// The diagonals that run like a8–h1: file + rank.
    Diag2,
    Square,
    Role,
    Color,
    /// Files and ranks folded in the middle: distance to the nearer edge.
    FoldFile,
    FoldRank,
    /// Files and ranks counted from the own king.
    RelativeFile,
    RelativeRank,
    /// Regions of the board made for the own king, coarse to fine.
    Bucket4,
    Bucket8,
    Bucket16,
    /// Half a board: ranks and folded files.
    Bucket32,
    /// How many squares the pieces of the subject's role and colour can go to; at most 31.
    Moves,
    /// How many squares they attack or defend; at most 31.
    Attacks,
}

pub const BLOCKS: [(&str, Block, u32); 17] = [
    ("FILE", Block::File, 8),
    ("RANK", Block::Rank, 8),
    ("DIAG1", Block::Diag1, 15),
    ("DIAG2", Block::Diag2, 15),
    ("SQUARE", Block::Square, 64),
    ("ROLE", Block::Role, 6),
    ("COLOR", Block::Color, 2),
    ("FOLDFILE", Block::FoldFile, 4),
    ("FOLDRANK", Block::FoldRank, 4),
    ("DFILE", Block::RelativeFile, 15),
    ("DRANK", Block::RelativeRank, 15),
    ("BUCKET4", Block::Bucket4, 4),
    ("BUCKET8", Block::Bucket8, 8),
    ("BUCKET16", Block::Bucket16, 16),
    ("BUCKET32", Block::Bucket32, 32),
    ("MOVES", Block::Moves, COUNTS),
    ("ATTACKS", Block::Attacks, COUNTS),
];

/// Values of a counting block, 0 to 31; higher counts stay at 31.
pub const COUNTS: u32 = 32;

impl Block {
    pub fn find(name: &str) -> Option<Block> {
        BLOCKS.iter().find(|(known, ..)| *known == name).map(|&(_, block, _)| block)
    }

    pub fn counts(self) -> bool {
        matches!(self, Block::Moves | Block::Attacks)
    }

    pub fn relative(self) -> bool {
        matches!(self, Block::RelativeFile | Block::RelativeRank)
    }

    /// Whether the block needs a piece; the others read a square only.
    pub fn needs_piece(self) -> bool {
        matches!(self, Block::Role | Block::Color | Block::Moves | Block::Attacks)
    }

    /// The value of a square, given the own king's.
    #[inline]
    pub fn of_square(self, square: u8, king: u8) -> u32 {
        let (file, rank) = (u32::from(square & 7), u32::from(square >> 3));
        let folded = file.min(7 - file);
        match self {
            Block::File => file,
            Block::Rank => rank,
            Block::Diag1 => file + 7 - rank,
            Block::Diag2 => file + rank,
            Block::Square => u32::from(square),
            Block::FoldFile => folded,
            Block::FoldRank => rank.min(7 - rank),
            Block::RelativeFile => file + 7 - u32::from(king & 7),
            Block::RelativeRank => rank + 7 - u32::from(king >> 3),
            Block::Bucket4 => match (rank, file) {
                (0, 0..=2) => 0,
                (0, 3..=4) => 1,
                (0, _) => 2,
                _ => 3,
            },
            Block::Bucket8 => match rank {
                0 => file / 2,
                1 => 4 + file / 4,
                2..=3 => 6,
                _ => 7,
            },
            Block::Bucket16 => match rank {
                0 => file,
                1 => 8 + file / 2,
                2 => 12 + file / 4,
                3 => 14,
                _ => 15,
            },
            Block::Bucket32 => rank * 4 + folded,
            Block::Role | Block::Color | Block::Moves | Block::Attacks => {
                unreachable!("{self:?} reads a piece, not a square")
            }
        }
    }
}

/// Whom a block speaks of. A set reads the board as one side sees it; that side is "white".
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub enum Subject {
    /// The own king and the other one.
    King,
    OtherKing,
    /// Any piece; any piece of White, of Black; any piece but the kings; any second piece.
    Any,
    White,
    Black,
    NoKing,
    Second,
    /// The next piece to the right, up, up-right and down-right of P.
    Right,
    Up,
    UpRight,
    DownRight,
    /// Any square that P can go to; any that P attacks or defends.
    Goal,
    Target,
}

pub const SUBJECTS: [(char, Subject, &str); 13] = [
    ('P', Subject::Any, "any piece"),
    ('Q', Subject::Second, "any second piece"),
    ('W', Subject::White, "any white piece"),
    ('B', Subject::Black, "any black piece"),
    ('N', Subject::NoKing, "any piece but the kings"),
    ('K', Subject::King, "the white king"),
    ('E', Subject::OtherKing, "the black king"),
    ('R', Subject::Right, "the next piece to the right of P"),
    ('U', Subject::Up, "the next piece up from P"),
    ('D', Subject::UpRight, "the next piece up and right of P"),
    ('X', Subject::DownRight, "the next piece down and right of P"),
    ('M', Subject::Goal, "a square that P can go to"),
    ('A', Subject::Target, "a square that P attacks or defends"),
];

impl Subject {
    pub fn find(letter: char) -> Option<Subject> {
        SUBJECTS.iter().find(|(known, ..)| *known == letter).map(|&(_, subject, _)| subject)
    }

    pub fn letter(self) -> char {
        SUBJECTS.iter().find(|(_, known, _)| *known == self).expect("every subject has a letter").0
    }

    /// Whether the subject is found from P rather than by itself.
    pub fn follows_piece(self) -> bool {
        self >= Subject::Right
    }

    /// Whether it is a square, where a piece may or may not stand.
    pub fn is_square(self) -> bool {
        self >= Subject::Goal
    }

    /// Whether a piece of this kind can be the subject.
    #[inline]
    pub fn allows(self, kind: u8) -> bool {
        match self {
            Subject::King => kind == 10,
            Subject::OtherKing => kind == 11,
            Subject::White => kind & 1 == 0,
            Subject::Black => kind & 1 == 1,
            Subject::NoKing => kind < 10,
            _ => true,
        }
    }

    /// At most so many on one board of 32 pieces.
    pub fn most(self) -> usize {
        match self {
            Subject::Any | Subject::Second => 32,
            Subject::White | Subject::Black => 31,
            Subject::NoKing => 30,
            Subject::Goal | Subject::Target => 27,
            _ => 1,
        }
    }

    /// File and rank steps towards the next piece, for the subjects that are one.
    pub fn step(self) -> Option<(i8, i8)> {
        match self {
            Subject::Right => Some((1, 0)),
            Subject::Up => Some((0, 1)),
            Subject::UpRight => Some((1, 1)),
            Subject::DownRight => Some((1, -1)),
            _ => None,
        }
    }
}

/// Turning the board so that the own king stands on files e–h, on ranks 1–4, or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Mirror {
    pub files: bool,
    pub ranks: bool,
}

impl Mirror {
    pub const NONE: Mirror = Mirror { files: false, ranks: false };

    /// What to exclusive-or a square with, given the own king's.
    #[inline]
    pub fn turn(self, king: u8) -> u8 {
        let files = if self.files && king & 7 < 4 { 7 } else { 0 };
        let ranks = if self.ranks && king >= 32 { 56 } else { 0 };
        files | ranks
    }
}

/// A block of a subject, in a mirror or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Atom {
    pub block: Block,
    pub subject: Subject,
    pub mirror: Mirror,
}

impl Atom {
    /// The number of its values.
    pub fn size(self) -> u32 {
        if self.block == Block::Role && self.subject == Subject::NoKing {
            return 5;
        }
        BLOCKS.iter().find(|(_, block, _)| *block == self.block).expect("every block is listed").2
    }

    /// Whether its value depends on where the own king stands, beside its subject.
    pub fn looks_at_king(self) -> bool {
        self.block.relative() || (self.mirror != Mirror::NONE && !self.block.needs_piece())
    }

    /// The value for a subject of this kind on this square; counts are not for here.
    #[inline]
    pub fn value(self, kind: u8, square: u8, king: u8) -> u32 {
        match self.block {
            Block::Role => u32::from(kind >> 1),
            Block::Color => u32::from(kind & 1),
            block => {
                let turn = self.mirror.turn(king);
                block.of_square(square ^ turn, king ^ turn)
            }
        }
    }
}
