// SPDX-License-Identifier: GPL-2.0
/* Joining and leaving: this kernel takes part in IKC from one to the other. */
#include <linux/mm.h>
#include <linux/module.h>

#include "local.h"

static int ikc_attach_check(const struct ikc_area *area)
{
	if (area->magic != IKC_MAGIC) {
		pr_err("there is no IKC area where KLoader says\n");
		return -EPROTO;
	}
	if (area->version != IKC_VERSION || area->size != sizeof(*area)) {
		pr_err("the host's IKC area has version %u and %u bytes, this module knows version %u with %zu: install the same release on both sides\n",
		       area->version, area->size, IKC_VERSION, sizeof(*area));
		return -EPROTO;
	}
	return 0;
}

/* Everything that others may look at once `ready` says so. */
static void ikc_attach_announce(struct ikc_kernel *me)
{
	mutex_lock(&ikc_peers_mutex);
	WRITE_ONCE(me->page_size, PAGE_SIZE);
	if (ikc_self.number)
		ikc_area_follow();
	else
		ikc_area_use(ikc_self.heap.mapped);
	mutex_unlock(&ikc_peers_mutex);
	WRITE_ONCE(me->version, IKC_VERSION);
	/* pairs with the acquire in ikc_look_at(): all of the above holds */
	smp_store_release(&me->ready, ikc_self.life);
}

/**
 * ikc_attach_as() - ikc_attach() of a kernel that does not believe the area
 * @physical: of its first chunk
 * @number: this kernel's
 * @life: of it, not 0
 * @facts: what it believes of all kernels; NULL: the area's
 * @owner: as for ikc_attach()
 *
 * Context: may sleep.
 * Return: as ikc_attach().
 */
int ikc_attach_as(u64 physical, u32 number, u32 life, const struct ikc_facts *facts,
		  struct module *owner)
{
	struct ikc_area *area;
	void *first;
	int ret;

	if (ikc_self.area)
		return -EBUSY;
	if (number >= IKC_MAX_KERNELS || !life || life > U16_MAX)
		return -EINVAL;
	ret = ikc_area_map(physical);
	if (ret)
		return ret;
	first = ikc_self.heap.chunk[0];
	area = first + IKC_AREA_SPAN * IKC_SPAN_SIZE;
	ret = ikc_attach_check(area);
	if (ret) {
		ikc_area_unmap();
		return ret;
	}
	ikc_self.owner = owner;
	ikc_self.number = number;
	ikc_self.life = life;
	ikc_self.facts = facts ?: area->facts;
	ikc_self.ports = first + IKC_PORTS_SPAN * IKC_SPAN_SIZE;
	ikc_self.heap.owner = ikc_owner(number, life);

	/* pairs with ikc_attached() */
	smp_store_release(&ikc_self.area, area);
	ikc_look_init();
	ikc_attach_announce(ikc_entry(number));
	ret = ikc_echo_init();
	if (ret)
		pr_warn("no echo service (error %d): shimos ping will not reach this kernel\n",
			ret);
	ikc_peers_flush();
	ikc_poke_all();
	return 0;
}

int ikc_attach(u64 physical, u32 number, u32 life, struct module *owner)
{
	return ikc_attach_as(physical, number, life, NULL, owner);
}
EXPORT_SYMBOL_GPL(ikc_attach);

/* All queues and channels are closed.  May sleep. */
void ikc_detach(void)
{
	if (!ikc_self.area)
		return;
	ikc_echo_exit();
	mutex_lock(&ikc_attach_mutex);
	WRITE_ONCE(ikc_entry(ikc_self.number)->ready, 0);
	ikc_poke_all();
	ikc_look_exit();
	ikc_tx_exit();
	ikc_rx_exit();
	WRITE_ONCE(ikc_self.area, NULL);
	ikc_bells_listen(NULL);
	ikc_peers_exit();
	ikc_area_unmap();
	mutex_unlock(&ikc_attach_mutex);
}
EXPORT_SYMBOL_GPL(ikc_detach);
