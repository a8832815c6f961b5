//! The named sets: names for expressions, and nothing that an expression could not say.

/// Name, expression, and what it is in a few words.
pub const NAMED: &[(&str, &str, &str)] = &[
    ("ALL", "SQUARE*ROLE*COLOR", "every piece on its square"),
    ("PIECE", "SQUARE*ROLE*COLOR", "another name of ALL"),
    ("HV", "SQUARE*ROLE*COLOR", "another name of ALL: both axes at once"),
    ("H", "FILE*ROLE*COLOR", "files alone: no vertical information"),
    ("V", "RANK*ROLE*COLOR", "ranks alone: no horizontal information"),
    ("D1", "DIAG1*ROLE*COLOR", "the diagonals like a1-h8"),
    ("D2", "DIAG2*ROLE*COLOR", "the diagonals like a8-h1"),
    ("PH", "RANK*ROLE*COLOR*ROLE_R*COLOR_R", "neighbours along a rank"),
    ("PV", "FILE*ROLE*COLOR*ROLE_U*COLOR_U", "neighbours along a file"),
    ("MOBILITY-BITS", "SQUARE_M*ROLE*COLOR", "squares that pieces of a kind can go to"),
    ("MOBILITY-COUNTS", "MOVES*ROLE*COLOR", "how many such squares"),
    ("ATTACK-BITS", "SQUARE_A*ROLE*COLOR", "squares that pieces of a kind attack or defend"),
    ("ATTACK-COUNTS", "ATTACKS*ROLE*COLOR", "how many such squares"),
    ("KING", "SQUARE_K", "the own king's square"),
    ("KING-ALL", "SQUARE_K*ALL", "ALL for each square of the own king"),
    ("KA", "SQUARE_K*ALL", "another name of KING-ALL"),
    ("KP", "SQUARE_K*SQUARE_N*ROLE_N*COLOR_N", "KING-ALL without the kings as pieces"),
    ("KING-BUCKETS-4", "BUCKET4_K*ALL", "ALL for each of 4 regions of the own king"),
    ("KING-BUCKETS-8", "BUCKET8_K*ALL", "the same for 8 regions"),
    ("KING-BUCKETS-16", "BUCKET16_K*ALL", "the same for 16 regions"),
    ("KING-MIRRORED", "MIRRORH(BUCKET32_K*ALL)", "KING-ALL with the own king always on files e to h"),
    ("MIRROR-H", "MIRRORH(ALL)", "ALL, turned so that the own king is on files e to h"),
    ("MIRROR-V", "MIRRORV(ALL)", "ALL, turned so that the own king is on ranks 1 to 4"),
    ("MIRROR-HV", "MIRRORHV(ALL)", "both"),
    ("SYMMETRIC-H", "FOLDFILE*RANK*ROLE*COLOR", "ALL with a file and its mirror image as one"),
    ("SYMMETRIC-V", "FILE*FOLDRANK*ROLE*COLOR", "ALL with a rank and its mirror image as one"),
    ("SYMMETRIC-HV", "FOLDFILE*FOLDRANK*ROLE*COLOR", "both"),
    ("RELATIVE-H", "DFILE*RANK*ROLE*COLOR", "files counted from the own king"),
    ("RELATIVE-V", "FILE*DRANK*ROLE*COLOR", "ranks counted from the own king"),
    ("RELATIVE-HV", "DFILE*DRANK*ROLE*COLOR", "both"),
    ("PIECE-MOVE", "ALL*SQUARE_M", "every piece with every square it can go to"),
    ("PIECE-PIECE", "ALL*ALL_Q", "every pair of pieces; choose from it with [...]"),
];

/// The sums that experiments compare, each an expression of the names above.
pub const SUMS: &[&str] = &[
    "H+V",
    "D1+D2",
    "H+V+D1+D2",
    "HV+H+V",
    "HV+D1+D2",
    "HV+H+V+D1+D2",
    "HV+PH",
    "HV+PV",
    "HV+PH+PV",
    "ALL+MOBILITY-BITS",
    "ALL+MOBILITY-COUNTS",
    "ALL+ATTACK-BITS",
    "ALL+ATTACK-COUNTS",
];

pub fn find(name: &str) -> Option<&'static str> {
    NAMED.iter().find(|(known, ..)| *known == name).map(|&(_, expression, _)| expression)
}
