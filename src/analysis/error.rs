//! Errors of the analysis: which argument, what it was, and what to do about it.

use thiserror::Error;

/// Why an analysis could not be carried out.
///
/// ```
/// use membrane::analysis::{AnalysisError, Standard};
///
/// let error = Standard { keys: 10, bits: 0, hashes: 4 }.false_positive_rate().unwrap_err();
/// assert!(matches!(error, AnalysisError::OutOfRange { argument: "bits", .. }));
/// assert!(error.to_string().starts_with("bits = 0"));
/// ```
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum AnalysisError {
    /// An argument is outside the range in which the question has a meaning.
    #[error("{argument} = {value} is not {range}: {remedy}")]
    OutOfRange {
        /// The argument's name, as in the source.
        argument: &'static str,
        /// Its value.
        value: f64,
        /// The values it may have.
        range: &'static str,
        /// What to change.
        remedy: &'static str,
    },
    /// The arguments are legal one by one, and yet contradict each other.
    #[error("{argument} = {value} has no solution, as {reason}: {remedy}")]
    NoSolution {
        /// The argument that should give way.
        argument: &'static str,
        /// Its value.
        value: f64,
        /// What it contradicts.
        reason: &'static str,
        /// What to change.
        remedy: &'static str,
    },
}

/// The result `Err(OutOfRange)` unless `holds`.
pub(super) fn require(
    holds: bool,
    argument: &'static str,
    value: f64,
    range: &'static str,
    remedy: &'static str,
) -> super::Result<()> {
    if holds { Ok(()) } else { Err(AnalysisError::OutOfRange { argument, value, range, remedy }) }
}
