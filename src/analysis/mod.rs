//! What a filter will do, before it is built: exact false positive rates, load
//! distributions, accesses per operation and the sizes that make them best.
//!
//! | question | where |
//! |---|---|
//! | rate of a standard filter, on average and for keys with colliding hashes | [`standard`] |
//! | rate of a partitioned or hybrid filter (one memory per part) | [`partitioned`] |
//! | weak spots and rate with double hashing | [`double_hashing`] |
//! | how often filters of disjoint sets do not show it | [`overlap`] |
//! | how many keys meet in one block | [`load`] |
//! | rate of a blocked filter, standard or partitioned inside the block | [`blocked`] |
//! | rate of Bloom-g (g words per key) | [`bloom_g`] |
//! | loads, overflow, accesses and rate of the balanced filter SINGLE | [`balanced`] |
//! | the same with several choices per key | [`sequential`], [`multilevel`] |
//! | how long the overflow list gets, and with what probability | [`listed`] |
//! | rate, overflow and bits per key of TinySet | [`tinyset`] |
//! | lower bound `P_LB`, solving for h, p, q and subtable sizes, optimality region | [`optimal`] |
//! | balls into bins, which all of them rest on | [`occupancy`] |
//!
//! All functions treat hash values as independent and uniform. No result is a
//! difference of large numbers: sums have positive terms only, or are integrals whose
//! integrand peaks at the result. The relative error against exact arithmetic is at most
//! 1e-9; over the tested parameters it stays below 1e-13. Rates below about 1e-290 lose
//! precision and end in zero, since `f64` does.
//!
//! That is the error of computing a formula. Three results are formulas for a limit or an
//! approximation, whose own error is stated with them: SEQUENTIAL and multilevel hold for
//! many blocks, [`BloomG::independent_rate`] and [`BloomG::survey_rate`] simplify, and so does
//! everything called approximate or paper.
//!
//! # Example
//!
//! How many false positives does it cost to put all bits of a key into one 256-bit block?
//!
//! ```
//! use membrane::analysis::{Blocked, InBlock, Standard};
//!
//! let keys = 1 << 16;
//! let blocks = 1 << 12; // 16 bits per key
//! let spread = Standard { keys, bits: blocks * 256, hashes: 11 }.false_positive_rate()?;
//! let blocked = Blocked { keys, blocks, hashes: 11, in_block: InBlock::Standard { bits: 256 } }
//!     .false_positive_rate()?;
//! assert!(spread < 0.00046 && blocked > 0.0014);
//! # Ok::<(), membrane::analysis::AnalysisError>(())
//! ```

pub mod balanced;
pub mod blocked;
pub mod bloom_g;
pub mod double_hashing;
mod error;
pub mod listed;
pub mod load;
pub mod multilevel;
pub mod occupancy;
pub mod optimal;
pub mod overlap;
pub mod partitioned;
pub mod sequential;
pub mod standard;
pub mod tinyset;

pub use balanced::{Balance, Threshold, single};
pub use blocked::{Blocked, InBlock};
pub use bloom_g::BloomG;
pub use double_hashing::{DoublePartitioned, DoubleStandard};
pub use error::AnalysisError;
pub use listed::Listed;
pub use load::LoadDistribution;
pub use multilevel::Multilevel;
pub use optimal::{AccessProblem, Levels, LowerBound};
pub use overlap::Overlap;
pub use partitioned::{Hybrid, Partitioned};
pub use sequential::Sequential;
pub use standard::Standard;
pub use tinyset::{Reading, TinySet};

/// What the functions of this module return.
pub type Result<T> = std::result::Result<T, AnalysisError>;
