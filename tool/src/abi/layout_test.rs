//! Compare the Rust structures with the C header, by asking the C compiler.

use super::layout_check::{Layout, fields};
use super::*;

#[test]
fn the_structures_match_the_c_header() {
    let Some(mut check) = Layout::of(&["shimos.h", "shimos_shared.h"]) else {
        return;
    };
    fields!(
        check,
        Info,
        "shimos_info",
        memory_min,
        memory_align,
        partitions,
        host_ok,
        capabilities,
        rt_ok,
        rt_memory_min,
        rt_memory_max,
        host_problem,
        rt_problem,
        guard_ok,
        reserved,
        guard_problem
    );
    fields!(check, ErrorText, "shimos_error", text);
    fields!(
        check,
        Create,
        "shimos_create",
        name,
        memory,
        cpus,
        cpu_count,
        flags,
        id,
        kind,
        budget_ns,
        period_ns,
        priority,
        node,
        watch,
        more_cpus,
        more_count,
        reserved
    );
    fields!(
        check,
        Load,
        "shimos_load",
        id,
        kernel_fd,
        initrd_fd,
        cmdline_len,
        cmdline
    );
    fields!(check, Target, "shimos_target", id, flags);
    fields!(
        check,
        Status,
        "shimos_status",
        id,
        flags,
        name,
        state,
        cause,
        event,
        memory,
        cpu_count,
        range_count,
        cpus,
        ranges,
        starts,
        agent,
        uptime_ns,
        boot_ns,
        silent_ns,
        busy_ns,
        host_bytes,
        kernel_bytes,
        initrd_bytes,
        kernel_version,
        cmdline,
        message,
        kind,
        faults,
        budget_ns,
        period_ns,
        priority,
        reserved,
        exits,
        watch,
        watch_rounds,
        watch_pages,
        watch_found,
        watch_nonsense,
        more_count,
        more
    );
    fields!(
        check,
        Resize,
        "shimos_resize",
        id,
        what,
        cpu,
        reserved,
        size
    );
    fields!(
        check,
        RtStatus,
        "shimos_rt_status",
        id,
        cpu,
        ran_ns,
        entered,
        masked,
        exits,
        timers,
        past,
        throttled,
        host_exits,
        moves,
        moved_ns,
        moved_max_ns
    );
    fields!(check, RtMove, "shimos_rt_move", id, cpu);
    fields!(check, HostMove, "shimos_host_move", cpu, core);
    fields!(
        check,
        HostCpu,
        "shimos_host_cpu",
        cpu,
        core,
        exits,
        moves,
        moved_ns,
        moved_max_ns,
        priority,
        lost
    );
    fields!(check, HostPriority, "shimos_host_priority", cpu, priority);
    fields!(check, HostPolicy, "shimos_host_policy", policy, flags);
    fields!(check, HostCpus, "shimos_host_cpus", count, reserved, at);
    fields!(check, RtPriority, "shimos_rt_priority", id, priority);
    fields!(
        check,
        RtVectors,
        "shimos_rt_vectors",
        id,
        cpu,
        host,
        layer,
        program
    );
    fields!(
        check,
        RtVector,
        "shimos_rt_vector_count",
        count,
        number,
        name
    );
    fields!(
        check,
        RtCheck,
        "shimos_rt_check",
        id,
        pages,
        changed,
        image_changed,
        first
    );
    fields!(
        check,
        RtLatency,
        "shimos_rt_latency",
        id,
        reserved,
        cycles_per_second,
        count,
        min,
        max,
        sum,
        past,
        buckets,
        reserved2
    );
    fields!(
        check,
        Pci,
        "shimos_pci",
        id,
        segment,
        bus,
        device,
        function,
        reserved,
        flags
    );
    fields!(
        check,
        Wait,
        "shimos_wait",
        id,
        timeout_ms,
        event,
        state,
        cause
    );
    fields!(
        check,
        Platform,
        "shimos_platform",
        id,
        conduit,
        shared,
        shared_size,
        initrd,
        initrd_size,
        distributor,
        distributor_size,
        redistributors,
        redistributors_size,
        timer,
        timer_flags,
        cpu_count,
        cpus,
        range_count,
        reserved,
        ranges
    );
    fields!(
        check,
        Describe,
        "shimos_describe",
        id,
        size,
        description,
        seed,
        start,
        entropy,
        reserved
    );
    check.value("SHIMOS_CAN_STOP_CPUS", CAN_STOP_CPUS.into());
    check.value("SHIMOS_NEEDS_DESCRIPTION", NEEDS_DESCRIPTION.into());
    check.value("SHIMOS_CONDUIT_HVC", CONDUIT_HVC.into());
    check.value("SHIMOS_CONDUIT_SMC", CONDUIT_SMC.into());
    check.value("SHIMOS_ABI_VERSION", ABI_VERSION.into());
    check.value("SHIMOS_NAME_LEN", NAME_LEN as u64);
    check.value("SHIMOS_CMDLINE_LEN", CMDLINE_LEN as u64);
    check.value("SHIMOS_MAX_CPUS", MAX_CPUS as u64);
    check.value("SHIMOS_MAX_RANGES", MAX_RANGES as u64);
    check.value("SHIMOS_CREATE_RESTART", CREATE_RESTART.into());
    check.value("SHIMOS_CREATE_PROTECTED", CREATE_PROTECTED.into());
    check.value("SHIMOS_CREATE_GUARDED", CREATE_GUARDED.into());
    check.value("SHIMOS_START_NO_AGENT", START_NO_AGENT.into());
    check.value("SHIMOS_STATUS_NEXT", STATUS_NEXT.into());
    check.value("SHIMOS_PCI_UNSAFE", PCI_UNSAFE.into());
    check.value("SHIMOS_RESIZE_ADD_CPU", RESIZE_ADD_CPU.into());
    check.value("SHIMOS_RESIZE_REMOVE_CPU", RESIZE_REMOVE_CPU.into());
    check.value("SHIMOS_KIND_LINUX", KIND_LINUX.into());
    check.value("SHIMOS_KIND_RT", KIND_RT.into());
    check.value("SHIMOS_RT_MIN_PERIOD_NS", RT_MIN_PERIOD_NS);
    check.value("SHIMOS_RT_MAX_PERIOD_NS", RT_MAX_PERIOD_NS);
    check.value("SHIMOS_RT_MIN_BUDGET_NS", RT_MIN_BUDGET_NS);
    check.value("SHIMOS_RT_MAX_BUDGET_PERCENT", RT_MAX_BUDGET_PERCENT);
    check.value("SHIMOS_RT_DEFAULT_PERIOD_NS", RT_DEFAULT_PERIOD_NS);
    check.value("SHIMOS_RT_MIN_PRIORITY", RT_MIN_PRIORITY.into());
    check.value("SHIMOS_RT_MAX_PRIORITY", RT_MAX_PRIORITY.into());
    check.value("SHIMOS_RT_LATENCY_STEPS", RT_LATENCY_STEPS as u64);
    check.value("SHIMOS_RT_LATENCY_BUCKETS", RT_LATENCY_BUCKETS as u64);
    check.value("SHIMOS_SHARED_MAGIC", SHARED_MAGIC);
    check.value("SHIMOS_SHARED_VERSION", SHARED_VERSION.into());
    check.value("SHIMOS_SHARED_SIZE", SHARED_SIZE.into());
    check.value("SHIMOS_LAST_LOG", LAST_LOG);
    check.value("SHIMOS_LAST_LOG_LEN", LAST_LOG_LEN.into());
    check.value("offsetof(struct shimos_last_log, text)", LAST_LOG_TEXT_AT);
    check.value("offsetof(struct shimos_shared, version)", SHARED_VERSION_AT);
    check.value("offsetof(struct shimos_shared, size)", SHARED_SIZE_AT);
    check.value("offsetof(struct shimos_shared, name)", SHARED_NAME_AT);
    check.compare();
}
