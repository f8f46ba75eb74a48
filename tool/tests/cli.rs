//! The binary itself: exit codes and where the words go.
#![allow(clippy::unwrap_used)]

use std::io::Read;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn shimos(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_shimos"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn wrong_usage_is_2() {
    for args in [
        &[][..],
        &["frob"],
        &["run"],
        &["run", "web", "--cpus", "2-3"],
        &["run", "web", "--cpuset", "3-2"],
        &["run", "ctl", "--share-cpus", "1", "--cpus", "2"],
        &["run", "ctl", "--share-cpus", "1", "--budget", "99%"],
        &["run", "web", "--cpus", "1", "--budget", "40%"],
        &["stop"],
        &["dump", "web"],
        &["attach", "web"],
        &["attach", "web", "--disk", "a,rw"],
        &["detach", "web"],
        &["trust"],
        &["rt", "latency"],
    ] {
        let output = shimos(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
        assert!(!output.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn wrong_usage_before_a_program_is_125() {
    for args in [
        &["trust", "run"][..],
        &["-v", "trust", "run"],
        &["trust", "run", "--frob", "ls"],
    ] {
        let output = shimos(args);
        assert_eq!(output.status.code(), Some(125), "{args:?}");
        assert!(!output.stderr.is_empty(), "{args:?}");
    }
    assert_eq!(shimos(&["trust", "run", "--help"]).status.code(), Some(0));
    assert_eq!(shimos(&["trust", "frob", "run"]).status.code(), Some(2));
}

#[test]
fn help_is_0_and_names_the_exit_codes() {
    let output = shimos(&["--help"]);
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("Exit codes:"), "{text}");
    assert!(text.contains("doctor"), "{text}");
}

#[test]
fn without_kloader_it_is_1_with_one_line_of_why() {
    if Path::new("/dev/shimos").exists() {
        return;
    }
    for args in [
        &["ls"][..],
        &["show", "web"],
        &["run", "web", "--cpus", "1", "--memory", "1G"],
        &["rm", "web"],
        &["rt"],
        &["rt", "latency", "ctl"],
        &["top", "--once"],
    ] {
        let output = shimos(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with("shimos: "), "{text}");
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}

#[test]
fn without_ikc_it_is_1_with_one_line_of_why() {
    if Path::new("/dev/ikc").exists() {
        return;
    }
    for args in [
        &["ping", "web"][..],
        &["perf", "web"],
        &["ikc", "--json"],
        &["attach", "web", "--net", "p2p"],
    ] {
        let output = shimos(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.starts_with("shimos: there is no /dev/ikc"), "{text}");
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn without_a_back_end_it_is_1_with_one_line_of_why() {
    if Path::new("/dev/shimos-devices").exists() {
        return;
    }
    for args in [&["devices"][..], &["detach", "web", "--id", "1"]] {
        let output = shimos(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn without_kernel_mode_it_says_why_in_one_line() {
    if Path::new("/sys/module/shimos_kml").exists() {
        return;
    }
    if std::env::consts::ARCH != "x86_64" {
        for (args, code) in [
            (&["trust", "run", "sh"][..], 125),
            (&["trust", "status"], 1),
        ] {
            let output = shimos(args);
            assert_eq!(output.status.code(), Some(code), "{args:?}");
            let text = String::from_utf8(output.stderr).unwrap();
            assert!(text.contains("for x86-64 only"), "{text}");
        }
        return;
    }
    for (args, code, word) in [
        (&["trust", "run", "sh"][..], 125, "shimos_kml is not loaded"),
        (
            &["trust", "run", "--", "/bin/sh"],
            125,
            "modprobe shimos_kml",
        ),
        (&["trust", "run", "no-such-program"], 127, "no program"),
        (&["trust", "run", "/etc/passwd"], 126, "not executable"),
    ] {
        let output = shimos(args);
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(
            text.starts_with("shimos: ") && text.contains(word),
            "{text}"
        );
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(output.stdout.is_empty());
    }
    let output = shimos(&["trust", "status", "--json"]);
    assert!(output.status.success(), "that is an answer");
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(status["loaded"], false);
}

#[test]
fn doctor_is_json_or_text_and_never_more_than_1() {
    let output = shimos(&["doctor", "--json"]);
    assert!(output.status.code().unwrap() <= 1);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    assert!(checks.len() > 8);
    let ok = checks.iter().all(|c| c["verdict"] != "fail");
    assert_eq!(report["ok"], ok);
    assert_eq!(output.status.success(), ok);
    let section = &report["kernel_mode"];
    assert!(section["checks"].as_array().unwrap().len() > 2);
    assert!(section["possible"].is_boolean());
    assert!(!shimos(&["doctor"]).stdout.is_empty());
}

#[test]
fn completions_and_man_pages() {
    for shell in ["bash", "zsh", "fish"] {
        let output = shimos(&["completions", shell]);
        assert!(output.status.success());
        assert!(String::from_utf8(output.stdout).unwrap().contains("shimos"));
    }
    let work = tempfile::tempdir().unwrap();
    let directory = work.path().join("man");
    assert!(
        shimos(&["man", directory.to_str().unwrap()])
            .status
            .success()
    );
    assert!(directory.join("shimos.1").exists());
    assert!(directory.join("shimos-run.1").exists());
    assert!(directory.join("shimos-rt.1").exists());
    assert!(directory.join("shimos-rt-latency.1").exists());
    assert!(directory.join("shimos-trust-run.1").exists());
    let output = shimos(&["man", "/proc/nowhere"]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_shimos"))
        .args(["completions", "zsh"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut text = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(text, "");
}

#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_shimos"))
        .args(["completions", "bash"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("No space left"), "{text}");
}
