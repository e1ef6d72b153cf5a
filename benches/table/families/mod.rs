//! The entries, a module for each concern.

mod broadcast;
mod call;
mod compile;
mod derivatives;
mod elementwise;
mod formulas;
mod functions;
mod fusion;
mod loops;
mod nearest_code;
mod pairs;
mod products;
mod reductions;
mod rows;
mod scans;
mod searches;
mod selections;
mod updates;

use crate::harness::Suite;

/// All of them.
pub fn run(suite: &mut Suite) {
    suite.family("elementwise", elementwise::entries);
    suite.family("functions", functions::entries);
    suite.family("formulas", formulas::entries);
    suite.family("broadcast", broadcast::entries);
    suite.family("reductions", reductions::entries);
    suite.family("rows", rows::entries);
    suite.family("running results", scans::entries);
    suite.family("updates", updates::entries);
    suite.family("selections", selections::entries);
    suite.family("searches", searches::entries);
    suite.family("loops", loops::entries);
    suite.family("nearest code", nearest_code::entries);
    suite.family("pairs", pairs::entries);
    suite.family("products", products::entries);
    suite.family("fusion", fusion::entries);
    suite.family("derivatives", derivatives::entries);
    suite.family("compile", compile::entries);
    suite.family("call", call::entries);
}
