//! Bugs put into the RTL on purpose.

use membrane::cosim::{Design, Job, Opt, Outcome};

use super::tools;

/// A bug: a text of a file that is there exactly once, and what it becomes.
pub struct Bug {
    pub name: &'static str,
    pub file: &'static str,
    pub from: &'static str,
    pub to: &'static str,
}

impl Bug {
    /// The core of a job with this bug.
    pub fn design(&self, job: &Job) -> Design {
        let file = job.core.rtl().iter().find(|file| file.name == self.file).expect("a file of the core");
        assert_eq!(
            file.text.matches(self.from).count(),
            1,
            "{}: the text to break is not there once",
            self.name
        );
        job.design().expect("legal").with_source(self.file, &file.text.replace(self.from, self.to))
    }
}

/// The job finds nothing in the core as it is, and each of the bugs.
pub fn assert_all_found(job: &Job, bugs: &[Bug]) {
    let run = |name: &str, design: &Design| {
        let outcome = job.run(&tools(), design, Opt::Quick, None, &mut |_| {});
        outcome.unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    if let Outcome::Different(failure) = run("unbroken", &job.design().expect("legal")) {
        panic!("{}", failure.describe(job));
    }
    let mut missed = Vec::new();
    for bug in bugs {
        match run(bug.name, &bug.design(job)) {
            Outcome::Different(failure) => println!("{}: {}", bug.name, failure.short),
            Outcome::Equal(_) => missed.push(bug.name),
        }
    }
    assert!(missed.is_empty(), "not noticed: {missed:?}");
}
