use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

use super::values::{CpuList, detach_key};
use super::*;
use crate::partition::OnReboot;
use crate::units::budget::Budget;
use clap::CommandFactory;

fn parse(line: &str) -> Result<Cli, String> {
    Cli::try_parse_from(line.split(' ')).map_err(|e| e.to_string())
}

#[test]
fn clap_is_content() {
    Cli::command().debug_assert();
}

/// What every command prints with `--help`, as a page: a change of an option shows in a review.
#[test]
fn help_of_all_commands() {
    let mut cli = Cli::command().term_width(100);
    cli.build();
    let mut page = String::from(REFERENCE_HEAD);
    write_help(&mut cli, &mut page);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/reference.md");
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        fs::write(&file, &page).unwrap();
    }
    let known = fs::read_to_string(&file).unwrap();
    assert!(
        page == known,
        "docs/reference.md is not what --help says: INSTA_UPDATE=always cargo test writes it"
    );
}

const REFERENCE_HEAD: &str = "\
# Reference of the commands

What `--help` says of each command; [commands.md](commands.md) is shorter.
The tool's unit tests compare this page with the tool, and write it with `INSTA_UPDATE=always`.
";

fn write_help(command: &mut clap::Command, to: &mut String) {
    let name = command.get_bin_name().unwrap_or("shimos").to_string();
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    to.push_str(&format!("\n## {name}\n\n```\n{}\n```\n", lines.join("\n")));
    for below in command.get_subcommands_mut() {
        // It prints the same.
        if below.get_name() != "help" {
            write_help(below, to);
        }
    }
}

#[test]
fn run_in_full() {
    let cli =
        parse("shimos run web --cpuset 2-3 --memory 1G --cmdline -x --on-reboot restart").unwrap();
    let Command::WithKLoader(WithKLoader::Run(run)) = cli.command else {
        panic!()
    };
    assert_eq!((run.cpus, run.cpuset), (None, Some(CpuList(vec![2, 3]))));
    assert_eq!(run.memory, Some(1 << 30));
    assert_eq!(run.on_reboot, Some(OnReboot::Restart));
    assert_eq!(run.timeout, Duration::from_secs(60));
    assert!(run.share.wanted().is_empty());
}

#[test]
fn a_shared_cpu_goes_with_little() {
    let line = "shimos run ctl --share-cpus 1 --memory 8M --kernel control.elf";
    let cli = parse(&format!("{line} --no-agent")).unwrap();
    let Command::WithKLoader(WithKLoader::Run(run)) = cli.command else {
        panic!()
    };
    assert_eq!(run.share_cpus, Some(CpuList(vec![1])));
    assert_eq!((run.budget, run.protected), (None, false));
    for more in [
        "--cpus 2",
        "--cpuset 2",
        "--initrd i",
        "--cmdline quiet",
        "--pci 01:00.0",
        "--disk a",
        "--net br0",
    ] {
        let error = parse(&format!("{line} {more}")).unwrap_err();
        assert!(error.contains("cannot be used with"), "{more}: {error}");
        let option = more.split(' ').next().unwrap();
        assert!(error.contains(option), "{more}: {error}");
    }
}

#[test]
fn shared_cpus_and_what_their_programs_meet() {
    let rt = |line: &str| match parse(line).unwrap().command {
        Command::WithKLoader(WithKLoader::Rt(rt)) => rt,
        _ => panic!("{line}"),
    };
    let all = rt("shimos rt --json");
    assert!(all.list.json && all.more.is_none());
    let one = rt("shimos rt latency ctl --histogram ctl.svg --table");
    let Some(RtMore::Latency(latency)) = one.more else {
        panic!()
    };
    assert_eq!(latency.name, "ctl");
    assert_eq!(latency.histogram, Picture::new("ctl.svg".into()).ok());
    assert!(latency.table && !latency.json);
}

#[test]
fn a_budget() {
    let line = "shimos run ctl --memory 8M --budget 40%/10ms";
    let budget = Budget {
        budget_ns: 4_000_000,
        period_ns: 10_000_000,
    };
    for more in ["--share-cpus 1", "--file ctl.toml"] {
        let cli = parse(&format!("{line} {more}")).unwrap();
        let Command::WithKLoader(WithKLoader::Run(run)) = cli.command else {
            panic!()
        };
        assert_eq!(run.budget, Some(budget), "{more}");
    }
    let error = parse(&format!("{line} --cpus 2")).unwrap_err();
    assert!(error.contains("cannot be used with"), "{error}");
}

#[test]
fn protection_is_for_a_shared_cpu() {
    let line = "shimos run ctl --memory 8M --protected";
    let error = parse(&format!("{line} --cpus 2")).unwrap_err();
    assert!(error.contains("cannot be used with"), "{error}");
    let Command::WithKLoader(WithKLoader::Run(run)) =
        parse(&format!("{line} --share-cpus 1")).unwrap().command
    else {
        panic!()
    };
    assert!(run.protected);
}

#[test]
fn guarding_is_for_cpus_of_its_own() {
    let line = "shimos run web --memory 1G --guarded";
    let error = parse(&format!("{line} --share-cpus 1")).unwrap_err();
    assert!(error.contains("cannot be used with"), "{error}");
    let Command::WithKLoader(WithKLoader::Run(run)) =
        parse(&format!("{line} --cpus 2")).unwrap().command
    else {
        panic!()
    };
    assert!(run.guarded && !run.protected);
}

#[test]
fn devices() {
    let cli = parse("shimos run web --disk /dev/vdb --disk a.img,ro --net br0").unwrap();
    let Command::WithKLoader(WithKLoader::Run(run)) = cli.command else {
        panic!()
    };
    let wanted = run.share.wanted();
    assert_eq!((wanted.disks.len(), wanted.nets.len()), (2, 1));
    assert!(parse("shimos top --batch -i 0.5 --sort doorbells").is_ok());
    assert!(parse("shimos attach web --disk a --net p2p").is_ok());
    assert!(parse("shimos detach web --id 3 --force").is_ok());
}

#[test]
fn what_follows_a_program_is_its_own() {
    for line in [
        "shimos trust run ls -l --json -v",
        "shimos trust run -- ls -l --json -v",
    ] {
        let cli = parse(line).unwrap();
        let Command::WithoutKLoader(WithoutKLoader::Trust(Trust::Run(run))) = cli.command else {
            panic!()
        };
        assert_eq!(run.command, ["ls", "-l", "--json", "-v"]);
        assert!(!cli.verbose);
    }
    assert!(parse("shimos trust status --json").is_ok());
}

#[test]
fn bad_usage_says_what_is_wrong() {
    for (line, word) in [
        ("shimos run", "NAME"),
        ("shimos run a/b", "letters"),
        ("shimos run web --cpuset 3-2", "backwards"),
        ("shimos run web --cpus 2-3", "write --cpuset 2-3"),
        ("shimos run web --cpus 1,3", "write --cpuset 1,3"),
        ("shimos run web --cpus 0", "at least one"),
        ("shimos run web --cpus two", "no number of CPUs"),
        (
            "shimos run web --cpus 2 --cpuset 2-3",
            "cannot be used with",
        ),
        ("shimos run web --memory 1X", "unit"),
        ("shimos run ctl --share-cpus 3-2", "backwards"),
        ("shimos run ctl --budget 40", "no budget: write 40%/10ms"),
        ("shimos run ctl --budget 96%", "at most 95%"),
        ("shimos run ctl --budget 40%/2s", "at most 1 s"),
        ("shimos run web --timeout x", "no time"),
        ("shimos run web --pci eth0", "no PCI address"),
        ("shimos stop", "NAME"),
        ("shimos frob", "frob"),
        ("shimos run web --disk a,rw", "'rw' is no option"),
        ("shimos attach web", "--disk"),
        ("shimos attach --disk a", "NAME"),
        ("shimos attach web --net br0,mtu=1", "mtu=1"),
        ("shimos detach web", "--disk"),
        ("shimos detach web --id 1 --net a", "cannot be used with"),
        ("shimos ping", "NAME"),
        ("shimos ping web -c 0", "0 is not in"),
        ("shimos ping web -i -1", "-1"),
        ("shimos perf web -s 1X", "unit"),
        ("shimos console web --detach-key abc", "one character"),
        ("shimos rt latency", "NAME"),
        ("shimos rt latency ctl --histogram", "FILE.svg|FILE.png"),
        ("shimos rt latency ctl --histogram a.jpg", "in .svg or .png"),
        ("shimos rt latency ctl --histogram svg", "in .svg or .png"),
        (
            "shimos rt latency ctl --table --json",
            "cannot be used with",
        ),
        ("shimos rt --json latency ctl", "latency"),
        ("shimos run -f web.toml", "'--file'"),
        ("shimos logs -f web", "'--follow (-F)'"),
        ("shimos logs web -f", "'--follow (-F)'"),
        ("shimos perf -t 1 web", "'--time'"),
        ("shimos ls -q --json", "cannot be used with"),
        ("shimos run host", "cannot be called 'host'"),
        ("shimos start", "NAME"),
        ("shimos wait", "NAME"),
        ("shimos trust", "status"),
        ("shimos trust run", "PROGRAM"),
        ("shimos trust run --frob ls", "--frob"),
    ] {
        let error = parse(line).unwrap_err();
        assert!(error.contains(word), "{line}: {error}");
    }
}

/// The long options that each short one stands for, in all commands below.
fn short_options(command: &clap::Command, found: &mut BTreeMap<char, BTreeSet<String>>) {
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        if let Some(short) = arg.get_short() {
            let long = arg.get_long().unwrap_or_default().to_string();
            found.entry(short).or_default().insert(long);
        }
    }
    for command in command.get_subcommands() {
        short_options(command, found);
    }
}

#[test]
fn a_short_option_has_one_meaning() {
    let mut found = BTreeMap::new();
    short_options(&Cli::command(), &mut found);
    for (short, longs) in &found {
        assert_eq!(longs.len(), 1, "-{short}: {longs:?}");
    }
    for short in "Fcfinqt".chars() {
        assert!(found.contains_key(&short), "-{short}");
    }
}

#[test]
fn usual_short_options() {
    for line in [
        "shimos rm -f web db",
        "shimos restart -f web",
        "shimos detach -f web --id 1",
        "shimos dump -f web -o core",
        "shimos stop -t 5 web",
        "shimos wait -t 5 web",
        "shimos start -t 5 web",
        "shimos ls -q",
        "shimos logs -F -n 5 web",
    ] {
        assert!(parse(line).is_ok(), "{line}");
    }
}

#[test]
fn pictures() {
    for (file, format) in [
        ("a.svg", Format::Svg),
        ("/tmp/a.b/c.d.png", Format::Png),
        ("A.PNG", Format::Png),
    ] {
        let found = Picture::new(file.into()).unwrap();
        assert_eq!(
            (found.format, found.file.to_str()),
            (format, Some(file)),
            "{file}"
        );
    }
    for file in ["", "a", ".png", "a.png/b", "a.pngx", "a.svg."] {
        assert!(Picture::new(file.into()).is_err(), "{file}");
    }
}

#[test]
fn detach_keys() {
    assert_eq!(detach_key("^]"), Ok(DetachKey(Some(0x1d))));
    assert_eq!(detach_key("^a"), Ok(DetachKey(Some(1))));
    assert_eq!(detach_key("~"), Ok(DetachKey(Some(b'~'))));
    assert_eq!(detach_key("none"), Ok(DetachKey(None)));
    assert_eq!(DetachKey(Some(0x1d)).shown().unwrap(), "Ctrl-]");
}
