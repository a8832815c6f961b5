//! Feature sets: sizes, names, dead features, what a move changes, and what bad expressions answer.

use proptest::prelude::*;
use shakmaty::{Chess, Color, Position};
use tabiya_core::features::{FeatureSet, NAMED, Pieces, SUMS, batch};
use tabiya_core::playout::{Random, random_positions};
use tabiya_core::rules::from_fen;

fn set(expression: &str) -> FeatureSet {
    FeatureSet::parse(expression).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(expression: &str) -> String {
    FeatureSet::parse(expression).err().unwrap_or_else(|| panic!("{expression} is no mistake")).to_string()
}

/// Every named set, every sum of them, and expressions that reach the rest of the language.
fn expressions() -> Vec<&'static str> {
    let own = [
        "(FILE + RANK) * COLOR",
        "FILE + RANK + DIAG1_W + DIAG2_B + FILE_K + RANK_E",
        "FILE_W * FILE_B",
        "ROLE * COLOR * ROLE_D * ROLE_X",
        "BUCKET4_K * (FILE * ROLE * COLOR + RANK_N * COLOR_N)",
        "MIRRORHV(BUCKET8_K * (FILE + SQUARE) * ROLE)",
        "DFILE_E * DRANK_E + KING",
        "SQUARE_A * COLOR",
        "PIECE-PIECE[5,70-90,1000-4000,400000-420000]",
        "ALL[0-99,700] + PH",
    ];
    NAMED.iter().map(|&(name, ..)| name).chain(SUMS.iter().copied()).chain(own).collect()
}

/// Random games one after the other: each move's positions, before and after.
fn for_each_random_move(moves: usize, seed: u64, mut each: impl FnMut(&Chess, &Chess)) {
    let mut random = Random::new(seed);
    let mut position = Chess::default();
    for _ in 0..moves {
        let legal = position.legal_moves();
        if legal.is_empty() || position.halfmoves() > 60 || position.is_insufficient_material() {
            position = Chess::default();
            continue;
        }
        let mut after = position.clone();
        after.play_unchecked(legal[random.below(legal.len())]);
        each(&position, &after);
        position = after;
    }
}

fn changes_make_the_new_features_of_the_old(expression: &str, moves: usize) {
    let set = set(expression);
    let (mut added, mut removed, mut old, mut new) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for_each_random_move(moves, 11, |before, after| {
        for view in Color::ALL {
            set.active(after, view, &mut new);
            assert!(new.is_sorted_by(|a, b| a < b) && new.len() <= set.max_active(), "{expression}");
            let mut defined = Vec::new();
            set.by_definition(&Pieces::from(after), view, |feature| defined.push(feature));
            defined.sort_unstable();
            defined.dedup();
            assert_eq!(new, defined, "{expression}");
            if !set.changes(before, after, view, &mut added, &mut removed) {
                assert!(set.contexts() > 1, "{expression}");
                continue;
            }
            set.active(before, view, &mut old);
            assert!(removed.iter().all(|feature| old.contains(feature)), "{expression}");
            old.retain(|feature| !removed.contains(feature));
            old.extend(&added);
            old.sort_unstable();
            assert_eq!(old, new, "{expression}");
        }
    });
}

#[test]
fn a_move_changes_what_a_full_look_says_it_changes() {
    for expression in expressions() {
        let moves = if expression.starts_with("PIECE-") { 300 } else { 1500 };
        changes_make_the_new_features_of_the_old(expression, moves);
    }
}

#[test]
#[ignore = "a minute or more: run with --release -- --ignored"]
fn a_move_changes_what_a_full_look_says_it_changes_over_many_moves() {
    for expression in expressions() {
        changes_make_the_new_features_of_the_old(expression, 50_000);
    }
}

#[test]
fn every_named_set_has_its_size() {
    for (expression, size) in [
        ("ALL", 768),
        ("HV", 768),
        ("PIECE", 768),
        ("H", 96),
        ("V", 96),
        ("D1", 180),
        ("D2", 180),
        ("H+V", 192),
        ("D1+D2", 360),
        ("H+V+D1+D2", 552),
        ("HV+H+V", 960),
        ("HV+D1+D2", 1128),
        ("HV+H+V+D1+D2", 1320),
        ("PH", 1152),
        ("PV", 1152),
        ("HV+PH+PV", 3072),
        ("MOBILITY-BITS", 768),
        ("MOBILITY-COUNTS", 384),
        ("ATTACK-BITS", 768),
        ("ATTACK-COUNTS", 384),
        ("KING", 64),
        ("KING-ALL", 49_152),
        ("KA", 49_152),
        ("KP", 40_960),
        ("KING-BUCKETS-4", 3072),
        ("KING-BUCKETS-8", 6144),
        ("KING-BUCKETS-16", 12_288),
        ("KING-MIRRORED", 24_576),
        ("MIRROR-H", 768),
        ("MIRROR-V", 768),
        ("MIRROR-HV", 768),
        ("SYMMETRIC-H", 384),
        ("SYMMETRIC-V", 384),
        ("SYMMETRIC-HV", 192),
        ("RELATIVE-H", 1440),
        ("RELATIVE-V", 1440),
        ("RELATIVE-HV", 2700),
        ("PIECE-MOVE", 49_152),
        ("PIECE-PIECE", 589_824),
    ] {
        assert_eq!(set(expression).size(), size, "{expression}");
    }
}

#[test]
fn the_index_of_a_tuple_goes_by_strides() {
    let position = from_fen("4k3/8/8/4R3/8/8/8/6K1 b - - 0 1").unwrap();
    let mut active = Vec::new();
    set("ALL").active(&position, Color::White, &mut active);
    // SQUARE * 12 + ROLE * 2 + COLOR for Kg1, Re5, ke8.
    assert_eq!(active, [6 * 12 + 10, 36 * 12 + 6, 60 * 12 + 11]);
    set("ALL").active(&position, Color::Black, &mut active);
    // Seen by Black e8 is e1, and its own king is the first colour.
    assert_eq!(active, [4 * 12 + 10, 28 * 12 + 7, 62 * 12 + 11]);
    set("COLOR * (FILE + RANK)").active(&position, Color::White, &mut active);
    // Strides of a sum: White's e, g, 1, 5, then Black's e and 8.
    assert_eq!(active, [4, 6, 8, 8 + 4, 16 + 4, 16 + 8 + 7]);
}

#[test]
fn a_feature_is_active_where_some_piece_has_all_its_values() {
    let position = from_fen("7k/p1r5/8/8/8/8/P1N5/3K4 w - - 0 1").unwrap();
    let mut active = Vec::new();
    let names = |expression: &str, active: &mut Vec<u32>| {
        let set = set(expression);
        set.active(&position, Color::White, active);
        active.iter().map(|&feature| set.name(feature as usize)).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(
        names("FILE * COLOR", &mut active),
        "white piece on the a-file; black piece on the a-file; white piece on the c-file; \
         black piece on the c-file; white piece on the d-file; black piece on the h-file"
    );
    assert_eq!(
        names("FILE * ROLE", &mut active),
        "any pawn on the a-file; any knight on the c-file; any rook on the c-file; any king on the d-file; \
         any king on the h-file"
    );
}

#[test]
fn a_feature_tells_its_name() {
    for (expression, index, name) in [
        ("ALL", 36 * 12 + 6, "white rook on e5"),
        ("FILE*RANK*ROLE*COLOR", 36 * 12 + 6, "white rook on e5"),
        ("KING-ALL", 6 * 768 + 36 * 12 + 6, "white rook on e5, white king on g1"),
        ("H+V", 96 + 4 * 12 + 1, "black pawn on rank 5"),
        ("D1", 7 * 12 + 8, "white queen on the diagonal a1-h8"),
        ("D1", 8 * 12 + 8, "white queen on the diagonal b1-h7"),
        ("D2", 12 + 4, "white bishop on the diagonal a2-b1"),
        ("D2", 13 * 12 + 4, "white bishop on the diagonal g8-h7"),
        ("PH", 2 * 144 + 6 * 12 + 1, "white rook on rank 3, next to the right a black pawn"),
        ("MOBILITY-BITS", 36 * 12 + 3, "black knight, can go to e5"),
        ("MOBILITY-COUNTS", 5 * 12 + 2, "white knight with 5 squares to go to"),
        ("MIRROR-H", 36 * 12 + 6, "white rook on e5, in the mirror"),
        ("RELATIVE-HV", (9 * 15 + 6) * 12, "white pawn 2 files right of the king 1 rank below the king"),
        ("SYMMETRIC-H", 12 * 8 + 11, "black king on the b- or g-file on rank 1"),
        ("PIECE-PIECE", (36 * 12 + 6) * 768 + 1, "white rook on e5, black pawn on a1"),
        ("ALL[7,438]", 1, "white rook on e5"),
    ] {
        assert_eq!(set(expression).name(index), name, "{expression} {index}");
    }
}

#[test]
fn names_are_told_apart() {
    for expression in ["ALL", "HV+PH", "D1+D2", "KING-BUCKETS-4", "RELATIVE-HV", "MOBILITY-COUNTS"] {
        let set = set(expression);
        let names: std::collections::HashSet<String> = (0..set.size()).map(|i| set.name(i)).collect();
        assert_eq!(names.len(), set.size(), "{expression}");
    }
}

#[test]
fn pawns_on_the_first_and_last_rank_are_dead_in_all() {
    let all = set("ALL");
    let dead: Vec<String> =
        (0..768).zip(all.dead()).filter(|(_, dead)| *dead).map(|(i, _)| all.name(i)).collect();
    assert_eq!(dead.len(), 32);
    assert!(dead.iter().all(|name| name.contains("pawn") && (name.ends_with('1') || name.ends_with('8'))));
}

#[test]
fn dead_features_are_counted_by_the_rules() {
    let dead = |expression: &str| set(expression).dead().into_iter().filter(|&dead| dead).count();
    assert_eq!(dead("FILE * ROLE * COLOR"), 0);
    assert_eq!(dead("RANK * ROLE * COLOR"), 4);
    assert_eq!(dead("DIAG1 * ROLE * COLOR"), 4); // a lone corner square holds no pawn
    // Of 768 for one king: 32 pawns, 63 own kings, 9 on the king's square (no pawn there twice), its
    // neighbours and its own square for the other king.
    let of_king: usize = (0..64)
        .map(|king: i32| {
            let (file, rank) = (king % 8, king / 8);
            let near = |x: i32| 3 - i32::from(x == 0) - i32::from(x == 7);
            let pieces = if (1..7).contains(&rank) { 10 } else { 8 };
            (32 + 63 + pieces + near(file) * near(rank)) as usize
        })
        .sum();
    assert_eq!(dead("KING-ALL"), of_king);
    // Pairs of the 736 that live, but for two kinds on one square, a king twice and kings that touch.
    let living = 736 * 736 - (48 * 12 * 11 + 16 * 10 * 9) - 2 * 64 * 63 - 2 * 420;
    assert_eq!(dead("PIECE-PIECE"), 589_824 - living);
}

#[test]
fn no_dead_feature_is_ever_active() {
    let positions = random_positions(400, 5, 120);
    for expression in expressions() {
        let set = set(expression);
        let dead = set.dead();
        let views = batch(&positions, &set, 1).unwrap();
        for &feature in views.mover.indices.iter().chain(&views.other.indices) {
            assert!(!dead[feature as usize], "{expression}: {}", set.name(feature as usize));
        }
    }
}

#[test]
fn a_batch_holds_the_active_features_of_both_views() {
    let positions = random_positions(300, 9, 150);
    for expression in ["ALL", "HV+H+V", "KING-ALL", "ALL+MOBILITY-BITS", "PIECE-PIECE[100-5000]"] {
        let set = set(expression);
        let views = batch(&positions, &set, 3).unwrap();
        assert_eq!(views, batch(&positions, &set, 1).unwrap());
        let mut active = Vec::new();
        for (row, packed) in positions.iter().enumerate() {
            let turn = Color::from_white(packed[24] & 1 == 0);
            for (view, sparse) in [(turn, &views.mover), (turn.other(), &views.other)] {
                let range = sparse.offsets[row] as usize..sparse.offsets[row + 1] as usize;
                let mut found = sparse.indices[range].to_vec();
                found.sort_unstable();
                set.active(Pieces::from(packed), view, &mut active);
                assert_eq!(found, active, "{expression}");
            }
        }
    }
    assert_eq!(batch(&[], &set("ALL"), 4).unwrap().mover.offsets, [0]);
}

#[test]
fn any_bytes_make_a_batch() {
    let mut random = Random::new(3);
    let noise: Vec<[u8; 32]> = (0..200).map(|_| std::array::from_fn(|_| random.draw() as u8)).collect();
    for expression in expressions() {
        let views = batch(&noise, &set(expression), 2).unwrap();
        assert_eq!(views.mover.offsets.len(), 201, "{expression}");
    }
}

#[test]
fn the_top_features_are_a_set_of_their_own() {
    let all = set("PIECE-PIECE");
    let mut worth = vec![0.0; all.size()];
    let wanted = [3usize, 4, 5, 9000, 400_000];
    for (at, &feature) in wanted.iter().enumerate() {
        worth[feature] = 5.0 - at as f64;
    }
    let top = all.top(&worth, 5).unwrap();
    assert_eq!((top.size(), top.expression()), (5, "(PIECE-PIECE)[3-5,9000,400000]"));
    assert_eq!(top.name(3), all.name(9000));
}

#[test]
fn only_a_king_that_changes_its_region_asks_for_a_refresh() {
    let (mut added, mut removed) = (Vec::new(), Vec::new());
    let before = from_fen("4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1").unwrap();
    let castled = from_fen("4k3/8/8/8/8/8/8/R4RK1 b - - 1 1").unwrap();
    let mut updated =
        |expression: &str, view| set(expression).changes(&before, &castled, view, &mut added, &mut removed);
    assert!(updated("ALL", Color::White));
    assert!(!updated("KING-ALL", Color::White));
    assert!(updated("KING-ALL", Color::Black));
    assert!(!updated("KING-BUCKETS-4", Color::White));
    assert!(updated("MIRROR-H", Color::White));
    assert_eq!((added, removed).0.len(), 2);
}

#[test]
fn a_mistake_is_named_with_its_place() {
    for (expression, sentence) in [
        ("", "expected a block, a named set or '(', found the end at character 1"),
        ("SQUARE*FIEL", "unknown block or set \"FIEL\", did you mean FILE? at character 8"),
        ("SQUARE*ZZZZZZ", "unknown block or set \"ZZZZZZ\", expected a block such as FILE"),
        ("SQUARE*", "found the end at character 8"),
        ("SQUARE ROLE", "expected '+', '*' or the end, found 'R' at character 8"),
        ("(FILE + RANK", "expected '+', '*' or ')', found the end at character 13"),
        ("FILE)", "expected '+', '*' or the end, found ')' at character 5"),
        ("FILE_Z", "expected a subject (P, Q, W, B, N, K, E, R, U, D, X, M, A), found 'Z' at character 6"),
        ("FILE_", "found the end at character 6"),
        ("ROLE_M", "ROLE reads a piece, but M is a square at character 1"),
        ("KING-ALL_Q", "KING-ALL cannot speak of Q"),
        ("ALL_M", "ALL cannot speak of M"),
        ("MIRRORH ALL", "expected '(' after MIRRORH, found 'A' at character 9"),
        ("MIRRORH(PH)", "MIRRORH cannot hold the neighbours"),
        ("ALL[5,3]", "expected the numbers in ascending order, each once at character 7"),
        ("ALL[768]", "expected numbers below 768, found 768 at character 5"),
        ("ALL[]", "expected the number of a feature, found ']' at character 5"),
        ("ALL[1", "expected ',', '-' or ']', found the end"),
        ("ALL[99999999999]", "expected the number of a feature, found 99999999999"),
        ("ALL[1][0]", "expected '+', '*' or the end, found '['"),
        ("(ALL[1]+H)[0]", "a subset of a subset"),
        ("ALL[1]*FILE", "a subset [...] can be added, not multiplied at character 1"),
        ("PIECE-PIECE*SQUARE_K", "37748736 features, and at most 16777216"),
        ("FILE_P*FILE_W*FILE_B*FILE_Q", "a product of the subjects P, W, B, Q: at most three"),
    ] {
        let answer = refusal(expression);
        assert!(answer.contains(sentence), "{expression}: {answer}");
        assert!(answer.contains("of the feature expression"), "{answer}");
    }
}

#[test]
fn brackets_without_end_are_refused_and_not_followed() {
    assert!(refusal(&"(".repeat(100_000)).contains("brackets nest at most 32 deep"));
    assert!(refusal(&format!("FILE{}", "*FILE".repeat(5000))).contains("at most 16777216"));
    assert!(refusal(&format!("FILE{}", "+FILE".repeat(5000))).contains("at most 64 products"));
    assert!(refusal(&["(FOLDFILE+FOLDRANK)"; 7].join("*")).contains("at most 64 products"));
}

#[test]
fn the_signs_of_print_mean_the_same() {
    assert_eq!(set("(file ⊕ rank) × role × color").size(), 192);
}

/// Text that looks like an expression often enough to reach every branch.
fn almost_expression() -> impl Strategy<Value = String> {
    let words = [
        "FILE",
        "SQUARE",
        "ROLE",
        "COLOR",
        "MOVES",
        "ALL",
        "PH",
        "KING-ALL",
        "MIRRORH",
        "MIRRORHV(",
        "_",
        "_K",
        "_M",
        "_N",
        "_R",
        "+",
        "*",
        "×",
        "⊕",
        "(",
        ")",
        "[",
        "]",
        "[0-3]",
        "7",
        "-",
        ",",
        " ",
        "é",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..12).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_a_set_or_a_refusal(text in almost_expression()) {
        match FeatureSet::parse(&text) {
            Err(error) => prop_assert!(error.place <= text.chars().count() + 1),
            Ok(set) => {
                let mut active = Vec::new();
                set.active(&Chess::default(), Color::White, &mut active);
                prop_assert!(active.iter().all(|&feature| (feature as usize) < set.size()));
                prop_assert!(!set.name(set.size() - 1).is_empty());
            }
        }
    }
}
