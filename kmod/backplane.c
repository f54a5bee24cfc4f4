// SPDX-License-Identifier: GPL-2.0
/*
 * The device of a backplane, QEMU's ivshmem-doorbell: what binds it, maps it, and
 * takes and sends its interrupts.
 *
 * Many things use such devices. This one is bound only if its memory begins as
 * vfabswitchd made it; any other one stays as it was found. There is no modalias.
 */
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/pgtable.h>
#include <linux/slab.h>
#include "backplane_dev.h"
#include "vfabric.h"

static unsigned int vf_param_period = 500;
module_param_named(backplane_period_ms, vf_param_period, uint, 0444);
MODULE_PARM_DESC(backplane_period_ms,
		 "Milliseconds between two signs of life on a backplane, 10 to 60000 (default 500)");

static unsigned int vf_param_timeout = 10000;
module_param_named(backplane_timeout_ms, vf_param_timeout, uint, 0444);
MODULE_PARM_DESC(backplane_timeout_ms,
		 "Milliseconds without one after which other nodes expel this one, and that this one waits for them, twice the period to 600000 (default 10000)");

static LIST_HEAD(vf_bp_devices);
static DEFINE_MUTEX(vf_bp_devices_lock);

/* --- Interrupts ---------------------------------------------------------------------- */

/* To whom has joined; to anybody else it is lost. Any context. */
void vf_bp_interrupt(struct vf_bp_dev *bd, u32 node, u32 vector)
{
	u32 peer = READ_ONCE(bd->other[node].peer);

	/* iowrite32() orders the region before it */
	if (peer != VF_BP_NO_PEER)
		iowrite32(peer << 16 | vector % bd->bp.vectors, bd->regs + VF_BP_DOORBELL);
}

void vf_bp_interrupt_all(struct vf_bp_dev *bd)
{
	u32 i;

	for (i = 0; i < bd->bp.nodes; i++)
		if (i != bd->self)
			vf_bp_interrupt(bd, i, VFAB_BP_VECTOR_CHANGE);
}

static void vf_bp_queue(struct vf_bp_irq *irq)
{
	struct vf_bp_dev *bd = irq->bd;

	if (irq != &bd->irq[VFAB_BP_VECTOR_RINGS])
		queue_delayed_work(bd->queue, &bd->look, 0);
	if (irq != &bd->irq[VFAB_BP_VECTOR_CHANGE] || bd->bp.vectors == 1)
		queue_delayed_work(bd->queue, &bd->rings, 0);
}

/* Who floods is not listened to for a while; nothing is lost, as words decide */
static irqreturn_t vf_bp_irq(int line, void *data)
{
	struct vf_bp_irq *irq = data;
	unsigned long pause = vf_bp_spend(&irq->budget, VF_BP_IRQ_NS);

	irq->count++;
	vf_bp_queue(irq);
	if (pause) {
		irq->held++;
		disable_irq_nosync(line);
		queue_delayed_work(irq->bd->queue, &irq->on, pause);
	}
	return IRQ_HANDLED;
}

static void vf_bp_irq_on(struct work_struct *work)
{
	struct vf_bp_irq *irq = container_of(to_delayed_work(work), struct vf_bp_irq, on);

	enable_irq(irq->line);
	vf_bp_queue(irq);
}

static void vf_bp_free_irqs(struct vf_bp_dev *bd)
{
	u32 i;

	for (i = 0; i < VF_BP_IRQS; i++) {
		if (!bd->irq[i].requested)
			continue;
		/* The handler, and with it the last one who may hold the line back, is through */
		disable_irq(bd->irq[i].line);
		cancel_delayed_work_sync(&bd->irq[i].on);
		free_irq(bd->irq[i].line, &bd->irq[i]);
	}
	pci_free_irq_vectors(bd->pdev);
}

static int vf_bp_request_irqs(struct vf_bp_dev *bd)
{
	int i, ret, n;

	n = pci_alloc_irq_vectors(bd->pdev, 1, min_t(u32, VF_BP_IRQS, bd->bp.vectors),
				  PCI_IRQ_MSIX);
	if (n < 0)
		return n;
	for (i = 0; i < n; i++) {
		struct vf_bp_irq *irq = &bd->irq[i];

		irq->bd = bd;
		irq->budget = (struct vf_bp_budget){ VF_BP_SHARE, VF_BP_MOST_MS };
		irq->line = pci_irq_vector(bd->pdev, i);
		INIT_DELAYED_WORK(&irq->on, vf_bp_irq_on);
		ret = request_irq(irq->line, vf_bp_irq, 0, "vfabric", irq);
		if (ret)
			goto err;
		irq->requested = true;
	}
	return 0;
err:
	vf_bp_free_irqs(bd);
	return ret;
}

/* --- References ------------------------------------------------------------------------ */

static void vf_bp_free(struct kref *ref)
{
	struct vf_bp_dev *bd = container_of(ref, struct vf_bp_dev, ref);

	vf_bp_mem_exit(bd);
	vf_bp_slot_exit(bd);
	if (bd->regs)
		pci_iounmap(bd->pdev, bd->regs);
	if (bd->bp.base)
		memunmap(bd->bp.base);
	pci_dev_put(bd->pdev);
	mutex_destroy(&bd->lock);
	kvfree(bd);
}

/* One more reference, of somebody who has one or is called by the carrier */
void vf_backplane_hold(struct vf_bp_dev *bd)
{
	kref_get(&bd->ref);
}

/* Any context that may sleep */
void vf_backplane_put(struct vf_bp_dev *bd)
{
	kref_put(&bd->ref, vf_bp_free);
}

/* Backplanes belong to the initial network namespace. */
static bool vf_bp_visible(const struct net *net)
{
	return net == &init_net || vf_netns_shared();
}

/**
 * vf_backplane_get - find a backplane that this kernel is a node of
 * @net: who asks
 * @name: of it
 *
 * Return: to be given back with vf_backplane_put(), or NULL. It may be fenced, or
 * end at any moment: its calls then say so.
 */
struct vf_bp_dev *vf_backplane_get(struct net *net, const char *name)
{
	struct vf_bp_dev *bd, *found = NULL;

	mutex_lock(&vf_bp_devices_lock);
	list_for_each_entry(bd, &vf_bp_devices, list)
		if (vf_bp_visible(net) && !strcmp(bd->bp.name, name)) {
			kref_get(&bd->ref);
			found = bd;
		}
	mutex_unlock(&vf_bp_devices_lock);
	return found;
}

/* Backplane number @index of those that @net sees, with a reference; NULL after the last */
struct vf_bp_dev *vf_bp_nth(struct net *net, unsigned long index)
{
	struct vf_bp_dev *bd, *found = NULL;

	mutex_lock(&vf_bp_devices_lock);
	list_for_each_entry(bd, &vf_bp_devices, list)
		if (vf_bp_visible(net) && !index--) {
			kref_get(&bd->ref);
			found = bd;
			break;
		}
	mutex_unlock(&vf_bp_devices_lock);
	return found;
}

/* What was found right when it was bound; never changes */
const struct vf_bp *vf_backplane_bp(const struct vf_bp_dev *bd)
{
	return &bd->bp;
}

/* This kernel's number on it; never changes */
u32 vf_backplane_node(const struct vf_bp_dev *bd)
{
	return bd->self;
}

/* For mirror.c: its own of this backplane, from vf_mirror_begin() to vf_mirror_end() */
void vf_backplane_set_mirror(struct vf_bp_dev *bd, void *mirror)
{
	bd->mirror = mirror;
}

void *vf_backplane_mirror(const struct vf_bp_dev *bd)
{
	return bd->mirror;
}

/* --- Binding --------------------------------------------------------------------------- */

/* With what type was it mapped? Write-back was asked for; an MTRR may say otherwise. */
static bool vf_bp_is_cached(void *base)
{
#ifdef CONFIG_X86
	unsigned int level;
	pte_t *pte = lookup_address((unsigned long)base, &level);

	return pte && !(pte_flags(*pte) & (_PAGE_PCD | _PAGE_PWT));
#else
	return true;
#endif
}

static int vf_bp_refused(struct pci_dev *pdev, int err)
{
	if (err == -EPROTONOSUPPORT)
		pci_notice(pdev, "not bound: a backplane of another version: use the vfabswitchd of this module's version\n");
	else if (err == -EBADMSG)
		pci_notice(pdev, "not bound: a backplane whose header is damaged: restart vfabswitchd and this VM\n");
	return -ENODEV;
}

static int vf_bp_find_self(struct vf_bp_dev *bd)
{
	struct vfab_bp_peer peer;
	int tries, node;

	bd->peer = ioread32(bd->regs + VF_BP_IVPOSITION);
	/* vfabswitchd may be writing its table again */
	for (tries = 0; tries < 20; tries++) {
		node = vf_bp_find_peer(&bd->bp, bd->peer, &peer);
		if (node >= 0)
			break;
		msleep(20);
	}
	if (node < 0) {
		pci_notice(bd->pdev, "not bound: vfabswitchd's table does not have peer %u of backplane %s\n",
			   bd->peer, bd->bp.name);
		return -ENODEV;
	}
	bd->self = node;
	return 0;
}

static int vf_bp_list(struct vf_bp_dev *bd)
{
	struct vf_bp_dev *other;
	int ret = 0;

	mutex_lock(&vf_bp_devices_lock);
	list_for_each_entry(other, &vf_bp_devices, list)
		if (!strcmp(other->bp.name, bd->bp.name))
			ret = -EEXIST;
	if (!ret)
		list_add_tail(&bd->list, &vf_bp_devices);
	mutex_unlock(&vf_bp_devices_lock);
	if (ret)
		pci_notice(bd->pdev, "not bound: this VM is on another backplane %s already: give one of them another name\n",
			   bd->bp.name);
	return ret;
}

static void vf_bp_unlist(struct vf_bp_dev *bd)
{
	mutex_lock(&vf_bp_devices_lock);
	list_del(&bd->list);
	mutex_unlock(&vf_bp_devices_lock);
}

static void vf_bp_hello(const struct vf_bp_dev *bd)
{
	pci_info(bd->pdev, "node %u of backplane %s: %u nodes, %llu MiB each\n", bd->self,
		 bd->bp.name, bd->bp.nodes, bd->bp.data_size >> 20);
	if (!bd->cached)
		pci_notice(bd->pdev, "its memory is mapped uncached, which is slow where there is no emulation: give the backplane 2G or more (vfabswitchd --size), so that it lies above 4 GiB\n");
}

/* The device is a backplane, and enabled: join it */
static int vf_bp_join(struct vf_bp_dev *bd)
{
	int ret;

	ret = vf_bp_find_self(bd);
	if (ret)
		return ret;
	bd->queue = alloc_workqueue("vfabric-%s", WQ_UNBOUND | WQ_HIGHPRI, 0, bd->bp.name);
	if (!bd->queue)
		return -ENOMEM;
	ret = vf_bp_slot_init(bd) ?: vf_bp_mem_init(bd);
	if (ret)
		goto err_queue;
	pci_set_master(bd->pdev);
	ret = vf_bp_request_irqs(bd);
	if (ret)
		goto err_queue;
	ret = vf_bp_list(bd);
	if (ret)
		goto err_irqs;
	vf_bp_hello(bd);
	ret = vf_bp_start(bd);
	if (!ret)
		return 0;
	vf_bp_unlist(bd);
err_irqs:
	vf_bp_free_irqs(bd);
err_queue:
	vf_bp_cancel(bd);	/* what interrupts queued */
	destroy_workqueue(bd->queue);
	return ret;
}

/* Map the memory, once and with one type, and look what it is */
static int vf_bp_open_device(struct vf_bp_dev *bd)
{
	resource_size_t bytes = pci_resource_len(bd->pdev, 2);
	void *base;
	int ret;

	bd->start = pci_resource_start(bd->pdev, 2);
	if (!bytes || !(pci_resource_flags(bd->pdev, 2) & IORESOURCE_MEM))
		return -ENODEV;
	base = memremap(bd->start, bytes, MEMREMAP_WB);
	if (!base)
		return -ENOMEM;
	ret = vf_bp_open(&bd->bp, base, bytes);
	if (ret) {
		memunmap(base);
		bd->bp.base = NULL;
		return vf_bp_refused(bd->pdev, ret);
	}
	bd->cached = vf_bp_is_cached(base);
	return 0;
}

static int vf_bp_bind(struct vf_bp_dev *bd)
{
	int ret;

	ret = vf_bp_open_device(bd);
	if (ret)
		return ret;
	ret = pci_request_regions(bd->pdev, "vfabric");
	if (ret)
		return ret;
	bd->regs = pci_iomap(bd->pdev, 0, 0);
	ret = bd->regs ? vf_bp_join(bd) : -ENOMEM;
	if (ret)
		pci_release_regions(bd->pdev);
	return ret;
}

static struct vf_bp_dev *vf_bp_alloc(struct pci_dev *pdev)
{
	struct vf_bp_dev *bd = kvzalloc(sizeof(*bd), GFP_KERNEL);

	if (!bd)
		return NULL;
	kref_init(&bd->ref);
	mutex_init(&bd->lock);
	spin_lock_init(&bd->ring_lock);
	init_waitqueue_head(&bd->wq);
	bd->period_ms = vf_param_period;
	bd->timeout_ms = vf_param_timeout;
	bd->pdev = pci_dev_get(pdev);
	vf_bp_node_init(bd);
	return bd;
}

/* A device that is not ours is left as it was: nothing written, and not enabled */
static int vf_bp_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct vf_bp_dev *bd;
	u16 command;
	int ret;

	/* Offsets of windows are multiples of 4096; less than a page cannot be mapped alone */
	if (pdev->revision < 1 || PAGE_SIZE != 4096)
		return -ENODEV;
	bd = vf_bp_alloc(pdev);
	if (!bd)
		return -ENOMEM;
	pci_read_config_word(pdev, PCI_COMMAND, &command);
	ret = pci_enable_device_mem(pdev);
	if (ret)
		goto put;
	ret = vf_bp_bind(bd);
	if (!ret) {
		pci_set_drvdata(pdev, bd);
		return 0;
	}
	pci_disable_device(pdev);
	pci_write_config_word(pdev, PCI_COMMAND, command);
put:
	vf_backplane_put(bd);
	return ret;
}

static void vf_bp_remove(struct pci_dev *pdev)
{
	struct vf_bp_dev *bd = pci_get_drvdata(pdev);

	vf_bp_unlist(bd);
	vf_bp_leave(bd);
	vf_bp_free_irqs(bd);
	vf_bp_cancel(bd);	/* what the last interrupts queued */
	destroy_workqueue(bd->queue);
	pci_release_regions(pdev);
	pci_disable_device(pdev);
	vf_backplane_put(bd);
}

/* The others need not wait for a timeout when this machine is switched off */
static void vf_bp_shutdown(struct pci_dev *pdev)
{
	vf_bp_leave(pci_get_drvdata(pdev));
}

/* In no MODULE_DEVICE_TABLE: whoever wants a backplane loads the module */
static const struct pci_device_id vf_bp_ids[] = {
	{ PCI_DEVICE(PCI_VENDOR_ID_REDHAT_QUMRANET, 0x1110) },
	{ }
};

static struct pci_driver vf_bp_driver = {
	.name = "vfabric",
	.id_table = vf_bp_ids,
	.probe = vf_bp_probe,
	.remove = vf_bp_remove,
	.shutdown = vf_bp_shutdown,
};

int vf_backplane_init(void)
{
	if (vf_param_period < 10 || vf_param_period > 60000 ||
	    vf_param_timeout < 2 * vf_param_period || vf_param_timeout > 600000) {
		pr_err("vfabric: backplane_period_ms is 10 to 60000, backplane_timeout_ms twice that to 600000\n");
		return -EINVAL;
	}
	return pci_register_driver(&vf_bp_driver);
}

void vf_backplane_exit(void)
{
	pci_unregister_driver(&vf_bp_driver);
}
