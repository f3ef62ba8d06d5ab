//! What the stimulus of `make sim` reaches.
//!
//! * [`Points`]: lines, branches and toggles of the RTL, counted by Verilator and merged by
//!   source line over all runs.
//! * [`Waivers`]: points that cannot be reached, each with its reason.
//! * [`Crossings`]: functional coverage of the stimulus.

mod functional;
mod points;
mod waivers;

pub use functional::Crossings;
pub use points::{Kind, Point, Points, Tally};
pub use waivers::{Waiver, Waivers};
