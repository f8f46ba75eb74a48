/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parameters that a user may not give a partition's kernel, and why: KLoader sets
 * them itself, or they would undo what containment relies on.  A dash counts as an
 * underscore.  KLoader includes this list, and the tool reads it: one row a line.
 */
REFUSED("crash_kexec_post_notifiers", "KLoader sets it, so that a panic stops all of its CPUs")
REFUSED("panic", "a panic must wait for KLoader")
REFUSED("panic_timeout", "a panic must wait for KLoader")
REFUSED("sysctl.kernel.panic", "a panic must wait for KLoader")
REFUSED("crashkernel", "a crash kernel would run without containment; use `shimos dump`")
REFUSED("acpi", "its device tree is what tells it what belongs to it")
REFUSED("efi", "the firmware belongs to the host")
REFUSED("noefi", "the firmware belongs to the host")
REFUSED("earlycon", "the serial ports belong to the host")
REFUSED("mem", "KLoader gives its memory; use --memory")
REFUSED("maxcpus", "KLoader chooses its CPUs; use --cpus or --cpuset")
REFUSED("nr_cpus", "KLoader chooses its CPUs; use --cpus or --cpuset")
REFUSED("possible_cpus", "KLoader chooses its CPUs; use --cpus or --cpuset")
REFUSED("nosmp", "KLoader chooses its CPUs; use --cpus or --cpuset")
REFUSED("irqchip.gicv3_pseudo_nmi", "the interrupt controller is set up by the host")
REFUSED("irqchip.gicv3_nolpi", "the interrupt controller is set up by the host")
REFUSED("bootconfig", "it would add parameters that nobody has checked")
REFUSED("shimos.start", "KLoader counts the starts")
