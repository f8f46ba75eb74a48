// SPDX-License-Identifier: GPL-2.0
/*
 * Whose memory do packets lie in that a network device is asked to send?  Loaded on
 * the owner with device=NAME user=NUMBER: /sys/module/shimos_skb_watch/parameters
 * has how many bytes lay in the memory of kernel NUMBER and how many elsewhere, how
 * long the largest packet was, and how often packets in borrowed pages were copied by
 * anybody.
 */
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <shimos/ikc.h>

static char *device = "";
module_param(device, charp, 0);
static uint user;
module_param(user, uint, 0);

/* Approximate when several CPUs send through the same device; tests use one. */
static ulong packets, theirs, ours, largest, copies;
module_param(packets, ulong, 0644);
module_param(theirs, ulong, 0644);
module_param(ours, ulong, 0644);
module_param(largest, ulong, 0644);
module_param(copies, ulong, 0644);

static void count(const struct sk_buff *skb)
{
	int i;

	packets++;
	largest = max_t(ulong, largest, skb->len);
	ours += skb_headlen(skb);
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];
		phys_addr_t at = page_to_phys(skb_frag_page(frag)) + skb_frag_off(frag);

		if (ikc_peer_owns(user, at, skb_frag_size(frag)))
			theirs += skb_frag_size(frag);
		else
			ours += skb_frag_size(frag);
	}
}

/* dev_hard_start_xmit(skb, dev, txq, ret): what the driver is given in the end. */
static int sending(struct kprobe *p, struct pt_regs *regs)
{
	const struct net_device *dev = (void *)regs_get_kernel_argument(regs, 1);
	const struct sk_buff *skb;

	if (strcmp(dev->name, device))
		return 0;
	for (skb = (void *)regs_get_kernel_argument(regs, 0); skb; skb = skb->next)
		count(skb);
	return 0;
}

static int copying(struct kprobe *p, struct pt_regs *regs)
{
	copies++;
	return 0;
}

static struct kprobe probes[] = {
	{ .symbol_name = "dev_hard_start_xmit", .pre_handler = sending },
	{ .symbol_name = "skb_copy_ubufs", .pre_handler = copying },
};

static int __init watch_init(void)
{
	struct kprobe *list[] = { &probes[0], &probes[1] };

	return register_kprobes(list, ARRAY_SIZE(list));
}

static void __exit watch_exit(void)
{
	struct kprobe *list[] = { &probes[0], &probes[1] };

	unregister_kprobes(list, ARRAY_SIZE(list));
}

module_init(watch_init);
module_exit(watch_exit);
MODULE_DESCRIPTION("SHIMOS tests: where packets lie that a network device sends");
MODULE_LICENSE("GPL");
