//! What the doctor finds: one line each.

use serde::Serialize;

/// How bad what was found is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Ok,
    Warn,
    Fail,
}

/// One line of the doctor's.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    pub name: &'static str,
    pub verdict: Verdict,
    /// What was found.
    pub found: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// A parameter of the host's kernel that mends it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<&'static str>,
}

impl Check {
    /// Make a line about what is as it should be.
    pub fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Check {
            name,
            verdict: Verdict::Ok,
            found: found.into(),
            fix: None,
            parameter: None,
        }
    }

    /// Make a line about what partitions can do without, and how to mend it.
    pub fn warn(name: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Check {
            verdict: Verdict::Warn,
            fix: Some(fix.into()),
            ..Check::ok(name, found)
        }
    }

    /// Say that a parameter of the host's kernel mends it.
    pub fn parameter(self, parameter: &'static str) -> Self {
        Check {
            parameter: Some(parameter),
            ..self
        }
    }

    /// Make a line about what partitions need, and how to mend it.
    pub fn fail(name: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Check {
            verdict: Verdict::Fail,
            ..Check::warn(name, found, fix)
        }
    }
}

/// Count the lines that have this verdict.
pub fn count(checks: &[Check], verdict: Verdict) -> usize {
    checks.iter().filter(|c| c.verdict == verdict).count()
}

/// Write a line for each, and one for what to do about it.
pub fn lines(checks: &[Check]) -> Vec<String> {
    let width = checks.iter().map(|c| c.name.len()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for check in checks {
        let verdict = match check.verdict {
            Verdict::Ok => "ok",
            Verdict::Warn => "warn",
            Verdict::Fail => "FAIL",
        };
        lines.push(format!(
            "{verdict:<4}  {:<width$}  {}",
            check.name, check.found
        ));
        if let Some(fix) = &check.fix {
            lines.push(format!("      {:<width$}  -> {fix}", ""));
        }
    }
    lines
}
