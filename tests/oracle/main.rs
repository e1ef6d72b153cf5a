//! Random graphs: compiled code computes what the interpreter does, bit by bit, whatever the loops.
//!
//! ```text
//! Recipe ──build──▶ expression ──interpret──▶ want ─┐
//!  (shrinks)            └──compile × run──▶ got ────┴─ compare     per sizes, CPU level, threads and layouts
//! ```
//!
//! The cases are the same in every run, a quarter of them with `BROADLOOM_LEVEL`. `PROPTEST_CASES` changes their number,
//! `PROPTEST_RNG_SEED` chooses others. A failure is shrunk and prints the graph, its loops, and the element that
//! differs. Should machine code crash, the last graph is in `oracle-last-case.txt` in the directory `tmp` of the target
//! directory.

mod arrays;
mod build;
mod check;
mod chunks;
mod coverage;
mod derived;
mod idioms;
mod known;
mod loops;
mod recipe;
mod repeat;
mod selected;
mod substitute;
mod table;

use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Cases of a run that does not ask for another number.
const CASES: u32 = 1100;

/// Always the same cases, unless the environment asks for others.
fn config() -> Config {
    let mut config = Config { failure_persistence: None, max_shrink_time: 60_000, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        // The ordinary run compares code for the lesser levels as well, so one as on a lesser CPU adds little.
        let is_lesser = std::env::var_os("BROADLOOM_LEVEL").is_some();
        config.cases = if is_lesser { CASES / 4 } else { CASES };
    }
    if config.rng_seed == RngSeed::Random {
        // Its cases reach every form of loop.
        config.rng_seed = RngSeed::Fixed(2029);
    }
    config
}

/// Checks each graph of a run; the smallest that fails is printed with its recipe.
fn each_graph(config: Config, check: impl Fn(&build::Built, &recipe::Recipe) -> Result<(), String>) {
    let result = TestRunner::new(config)
        .run(&recipe::recipe(), |recipe| check(&build::build(&recipe), &recipe).map_err(TestCaseError::fail));
    match result {
        Ok(()) => {}
        Err(TestError::Fail(reason, recipe)) => panic!("{}\n{recipe:?}", reason.message()),
        Err(TestError::Abort(reason)) => panic!("{}", reason.message()),
    }
}

/// Whether the cases reach every form of loop is known as soon as all have run.
#[test]
fn compiled_code_computes_what_the_interpreter_does() {
    let reached = RefCell::new(BTreeMap::new());
    let config = config();
    let cases = config.cases;
    each_graph(config, |built, recipe| {
        coverage::count(built, &mut reached.borrow_mut());
        check::check(built, &recipe.sizes, recipe.seed)
    });
    let reached = reached.into_inner();
    let missing: Vec<String> =
        coverage::required().into_iter().filter(|form| !reached.contains_key(form)).collect();
    if std::env::var_os("SHOW").is_some() {
        eprintln!("{reached:#?}");
    }
    // Fewer cases need not reach everything.
    assert!(cases < CASES || missing.is_empty(), "never reached: {missing:#?}");
}

/// Each graph in one way only, so that many can run: docs/trust.md has the runs on record.
///
/// ```text
/// PROPTEST_CASES=50000 PROPTEST_RNG_SEED=1 cargo test --release --test oracle many_graphs -- --ignored
/// ```
#[test]
#[ignore = "takes minutes in release"]
fn many_graphs_each_in_one_way() {
    each_graph(config(), |built, recipe| check::check_in_one_way(built, &recipe.sizes, recipe.seed));
}

#[test]
fn a_graph_is_compiled_to_the_same_code_again() {
    let mut config = config();
    config.cases = (config.cases / 6).max(1);
    config.rng_seed = RngSeed::Fixed(17);
    each_graph(config, |built, _| repeat::check(built));
}

#[test]
fn chunks_of_rows_give_the_same_bits() {
    let tally = RefCell::default();
    let mut config = config();
    config.cases *= 2;
    let cases = config.cases;
    config.rng_seed = RngSeed::Fixed(41);
    each_graph(config, |built, recipe| {
        chunks::check(built, &recipe.sizes, recipe.seed, &mut tally.borrow_mut())
    });
    let tally: chunks::Tally = tally.into_inner();
    let reached =
        [tally.cut, tally.several_passes, tally.by_blocks, tally.tails, tally.reduced, 2 * tally.best];
    // Fewer cases need not reach everything.
    assert!(cases < 2 * CASES || reached.iter().all(|count| *count >= 20), "{tally:#?}");
}

/// Derivatives are ordinary graphs; no graph of floats is without them.
#[test]
fn derivatives_of_graphs_compute_what_the_interpreter_does() {
    let mut config = config();
    config.cases /= 2;
    let cases = config.cases;
    config.rng_seed = RngSeed::Fixed(45);
    let (derived, tally) = (RefCell::new(0), RefCell::default());
    each_graph(config, |_, recipe| {
        let Some(built) = derived::derived(build::build(recipe), recipe.seed)? else { return Ok(()) };
        *derived.borrow_mut() += 1;
        chunks::check(&built, &recipe.sizes, recipe.seed, &mut tally.borrow_mut())?;
        check::check_in_one_way(&built, &recipe.sizes, recipe.seed)
    });
    let derived = derived.into_inner();
    assert!(2 * derived >= cases, "{derived} of {cases} graphs have floats");
}

#[test]
fn loops_compute_what_the_interpreter_does() {
    let mut config = config();
    config.cases /= 2;
    config.rng_seed = RngSeed::Fixed(44);
    let (cases, derived) = (config.cases, RefCell::new(0));
    let result = TestRunner::new(config).run(&recipe::recipe(), |recipe| {
        let built = loops::build(&recipe);
        check::check_in_one_way(&built, &recipe.sizes, recipe.seed).map_err(TestCaseError::fail)?;
        // Only what steps along a size can be derived backwards.
        let Ok(Some(built)) = derived::derived(built, recipe.seed) else { return Ok(()) };
        *derived.borrow_mut() += 1;
        check::check_in_one_way(&built, &recipe.sizes, recipe.seed).map_err(TestCaseError::fail)
    });
    if let Err(TestError::Fail(reason, recipe)) = result {
        panic!("{}\n{recipe:?}", reason.message());
    }
    let derived = derived.into_inner();
    assert!(5 * derived >= cases, "{derived} of {cases} graphs are derived");
}

/// Masks select elements, and computed numbers are sizes, among all else.
#[test]
fn sizes_that_data_decide_are_those_of_the_interpreter() {
    let mut config = config();
    config.rng_seed = RngSeed::Fixed(46);
    let (cases, decided, tally) = (config.cases, RefCell::new(0), RefCell::<chunks::Tally>::default());
    let result = TestRunner::new(config).run(&recipe::recipe(), |recipe| {
        let built = selected::build(&recipe);
        let graph = built.graph.finish(built.named_outputs());
        *decided.borrow_mut() += u32::from(graph.is_ok_and(|graph| graph.has_decided_sizes()));
        let cut = chunks::check(&built, &recipe.sizes, recipe.seed, &mut tally.borrow_mut());
        cut.map_err(TestCaseError::fail)?;
        check::check_in_one_way(&built, &recipe.sizes, recipe.seed).map_err(TestCaseError::fail)
    });
    if let Err(TestError::Fail(reason, recipe)) = result {
        panic!("{}\n{recipe:?}", reason.message());
    }
    let decided = decided.into_inner();
    assert!(3 * decided >= cases, "{decided} of {cases} graphs have sizes that the data decide");
    let tally = tally.into_inner();
    assert!(cases < CASES || tally.decided >= 20, "{tally:#?}");
}

#[test]
fn numbers_in_place_of_symbols_change_nothing() {
    let mut config = config();
    config.cases /= 4;
    config.rng_seed = RngSeed::Fixed(77);
    each_graph(config, |built, recipe| check::check_substituted(built, &recipe.sizes, recipe.seed));
}
