//! On a tree of files; `merged()` plays the kernel, which keeps what a line does not name.

use super::*;
use crate::error::tests::told;

const NEW: &str = "    MB:0=100;1=100\n    L3:0=fff;1=fff\n";

/// Two L3 caches of twelve parts, with two CPUs each.
fn machine() -> (tempfile::TempDir, System) {
    let root = tempfile::tempdir().unwrap();
    let system = System::at(root.path());
    let write = |path: &str, text: &str| {
        let path = system.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("proc/filesystems", "nodev\tsysfs\nnodev\tresctrl\n\text4\n");
    write("sys/devices/system/cpu/online", "0-3\n");
    for cpu in 0..4 {
        for (index, level, id) in [(0, 1, cpu), (3, 3, cpu / 2)] {
            let cache = format!("sys/devices/system/cpu/cpu{cpu}/cache/index{index}");
            write(&format!("{cache}/level"), &format!("{level}\n"));
            write(&format!("{cache}/id"), &format!("{id}\n"));
        }
    }
    write(
        "sys/fs/resctrl/schemata",
        "    MB:0=100;1=100\n    L3:0=fff;1=fff\n",
    );
    write("sys/fs/resctrl/info/L3/cbm_mask", "fff\n");
    write("sys/fs/resctrl/info/L3/min_cbm_bits", "1\n");
    write("sys/fs/resctrl/info/MB/min_bandwidth", "10\n");
    write("sys/fs/resctrl/info/last_cmd_status", "ok\n");
    (root, system)
}

const HALF: Share = Share {
    l3: Some(50),
    mb: None,
};

/// Begin with what a new group has, and put a line's value over it.
fn merged(file: &Path, line: &str) -> io::Result<()> {
    if !file.ends_with("schemata") {
        return fs::write(file, line);
    }
    let text = fs::read_to_string(file).unwrap_or_else(|_| NEW.into());
    let mut all = parsed(&text);
    for (what, values) in parsed(line) {
        all.entry(what).or_default().extend(values);
    }
    let of = |what: &str, value: fn(&u64) -> String| {
        let pairs = all[what].iter().map(|(id, v)| format!("{id}={}", value(v)));
        format!("    {what}:{}\n", pairs.collect::<Vec<_>>().join(";"))
    };
    let text = of("MB", |v| v.to_string()) + &of("L3", |v| format!("{v:x}"));
    fs::write(file, text)
}

fn open(system: &System, share: Share) -> Groups {
    let mut groups = Groups::open(system, share).unwrap();
    groups.write = merged;
    groups
}

/// What a group has of the L3 caches.
fn of(system: &System, group: &str) -> String {
    let text = system.read(format!("{TOP}/{group}/schemata")).unwrap();
    text.lines().last().unwrap().trim().to_string()
}

fn refusal(system: &System, share: Share) -> String {
    told(&Groups::open(system, share).err().expect("it is refused"))
}

#[test]
fn what_is_read() {
    let all = parsed("    MB:0=100;1=90\n    L3:0=7ff;1=00f\n  junk\n L2:x=1\n");
    assert_eq!(all["MB"], BTreeMap::from([(0, 100), (1, 90)]));
    assert_eq!(all["L3"], BTreeMap::from([(0, 0x7ff), (1, 0xf)]));
    assert!(all["L2"].is_empty());
}

#[test]
fn a_group_and_its_end() {
    let (_root, system) = machine();
    let groups = open(&system, HALF);
    groups.make("web", &[2, 3], HALF).unwrap().keep();
    assert_eq!(of(&system, "shimos-web"), "L3:0=fff;1=3f");
    assert_eq!(of(&system, ""), "L3:0=fff;1=fc0");
    let cpus = system.read(format!("{TOP}/shimos-web/cpus_list"));
    assert_eq!(cpus.as_deref(), Some("2,3"));
    assert_eq!(
        Groups::shown(&system, "web"),
        ["MB:0=100;1=100", "L3:0=fff;1=3f"]
    );
    assert!(Groups::shown(&system, "db").is_empty());
    groups.sweep(&["web"]);
    assert_eq!(of(&system, ""), "L3:0=fff;1=fc0");
    groups.sweep(&["db"]);
    assert_eq!(of(&system, ""), "L3:0=fff;1=fff");
    assert!(!system.path(TOP).join("shimos-web").exists());
}

#[test]
fn one_that_was_not_kept() {
    let (_root, system) = machine();
    let groups = open(&system, HALF);
    drop(groups.make("web", &[3], HALF).unwrap());
    assert_eq!(of(&system, ""), "L3:0=fff;1=fff");
    assert!(!system.path(TOP).join("shimos-web").exists());
}

#[test]
fn bandwidth() {
    let (_root, system) = machine();
    let share = Share {
        l3: None,
        mb: Some(30),
    };
    let groups = open(&system, share);
    groups.make("web", &[0], share).unwrap().keep();
    assert_eq!(Groups::shown(&system, "web")[0], "MB:0=30;1=100");
    assert_eq!(of(&system, ""), "L3:0=fff;1=fff");
    // It fills what the host may fill, and not what another has for itself.
    groups.make("db", &[1], HALF).unwrap().keep();
    assert_eq!(of(&system, "shimos-db"), "L3:0=3f;1=fff");
    assert_eq!(of(&system, "shimos-web"), "L3:0=fc0;1=fff");
    groups.remove("db");
    assert_eq!(of(&system, "shimos-web"), "L3:0=fff;1=fff");
}

#[test]
fn one_cache_each() {
    let (_root, system) = machine();
    let groups = open(&system, HALF);
    groups.make("web", &[0], HALF).unwrap().keep();
    groups.make("db", &[2], HALF).unwrap().keep();
    assert_eq!(of(&system, "shimos-web"), "L3:0=3f;1=fc0");
    assert_eq!(of(&system, "shimos-db"), "L3:0=fc0;1=3f");
    assert_eq!(of(&system, ""), "L3:0=fc0;1=fc0");
}

#[test]
fn more_cpus() {
    let (_root, system) = machine();
    let groups = open(&system, HALF);
    groups.make("web", &[2], HALF).unwrap().keep();
    groups.add("web", 3).unwrap();
    let list = system.path(TOP).join("shimos-web/cpus_list");
    assert_eq!(fs::read_to_string(&list).unwrap(), "3\n");
    groups.take_back("web");
    assert_eq!(fs::read_to_string(&list).unwrap(), "\n");
    let error = groups.add("web", 1).unwrap_err();
    assert_eq!(
        told(&error),
        "CPU 1 is at another L3 cache than those of 'web', which has a share of theirs\n    take one that is at the same"
    );
    assert_eq!(groups.add("db", 1), Ok(()), "it has none");
}

#[test]
fn what_there_is_not() {
    let (_root, system) = machine();
    let mb = |percent| Share {
        l3: None,
        mb: Some(percent),
    };
    assert!(refusal(&system, mb(5)).contains("--mb 5%: this machine leaves a CPU 10 % at least"));
    let schemata = system.path(TOP).join("schemata");
    fs::write(&schemata, "MB:0=2048\nL3CODE:0=fff\n").unwrap();
    assert!(refusal(&system, mb(30)).contains("does not count memory bandwidth in percent"));
    assert!(refusal(&system, HALF).contains("mount resctrl without its option cdp"));
    fs::write(&schemata, "L2:0=ff\n").unwrap();
    assert!(refusal(&system, mb(30)).contains("its processor cannot"));
    assert!(refusal(&system, HALF).contains("leave --l3 out"));
    fs::write(system.path("proc/filesystems"), "nodev\tsysfs\n").unwrap();
    assert!(refusal(&system, HALF).contains("has no resctrl"));
}

#[test]
fn a_cache_that_others_have() {
    let (_root, system) = machine();
    let groups = open(&system, HALF);
    let made = |share| groups.make("web", &[0], share).map(Group::keep);
    let whole = Share {
        l3: Some(100),
        mb: None,
    };
    let refused = told(&made(whole).unwrap_err());
    assert!(
        refused.contains("--l3 100%: of L3 cache 0 91 % can be had in one piece"),
        "{refused}"
    );
    assert!(
        !system.path(TOP).join("shimos-web").exists(),
        "nothing is left"
    );
    let somebodys = system.path(TOP).join("mine");
    fs::create_dir(&somebodys).unwrap();
    fs::write(somebodys.join("schemata"), "L3:0=00f;1=fff\n").unwrap();
    let refused = told(&made(HALF).unwrap_err());
    assert!(
        refused.contains("echo 'L3:0=ff0' >/sys/fs/resctrl/schemata"),
        "{refused}"
    );
}
