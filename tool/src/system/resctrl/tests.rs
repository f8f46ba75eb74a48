//! On a tree of files; the kernel that merges what is written is played by `merge()`.

use super::*;
use crate::error::tests::told;

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

/// A file keeps the last line only that was written; the kernel keeps what it does not name.
fn of(system: &System, group: &str) -> String {
    system.read(format!("{TOP}/{group}/schemata")).unwrap()
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
    let groups = Groups::open(&system, HALF).unwrap();
    groups.make("web", &[2, 3], HALF).unwrap().keep();
    assert_eq!(of(&system, "shimos-web"), "L3:1=3f");
    assert_eq!(of(&system, ""), "L3:1=fc0");
    let cpus = system.read(format!("{TOP}/shimos-web/cpus_list"));
    assert_eq!(cpus.as_deref(), Some("2,3"));
    assert_eq!(Groups::shown(&system, "web"), ["L3:1=3f"]);
    assert!(Groups::shown(&system, "db").is_empty());
    groups.sweep(&["web"]);
    assert_eq!(of(&system, ""), "L3:1=fc0");
    groups.sweep(&["db"]);
    assert_eq!(of(&system, ""), "L3:1=fff");
    assert!(!system.path(TOP).join("shimos-web").exists());
}

#[test]
fn one_that_was_not_kept() {
    let (_root, system) = machine();
    let groups = Groups::open(&system, HALF).unwrap();
    drop(groups.make("web", &[3], HALF).unwrap());
    assert_eq!(of(&system, ""), "L3:1=fff");
    assert!(!system.path(TOP).join("shimos-web").exists());
}

#[test]
fn bandwidth() {
    let (_root, system) = machine();
    let share = Share {
        l3: None,
        mb: Some(30),
    };
    let groups = Groups::open(&system, share).unwrap();
    groups.make("web", &[0], share).unwrap().keep();
    assert_eq!(of(&system, "shimos-web"), "MB:0=30");
    assert!(of(&system, "").contains("MB:0=100"));
}

#[test]
fn more_cpus() {
    let (_root, system) = machine();
    let groups = Groups::open(&system, HALF).unwrap();
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
    let groups = Groups::open(&system, HALF).unwrap();
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
