/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One source for Debian's kernels from 6.1 to 7.3: each difference is a small
 * inline named for what it does.
 */
#ifndef VFABRIC_COMPAT_H
#define VFABRIC_COMPAT_H

#include <linux/version.h>
#include <linux/device.h>
#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/shmem_fs.h>
#include <net/genetlink.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#include <linux/pfn_t.h>
#endif

static inline void vf_vma_set_flags(struct vm_area_struct *vma,
				    unsigned long set, unsigned long clear)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags |= set;
	vma->vm_flags &= ~clear;
#endif
}

/* Drop what the fault handler was called with; @vmf->vma is gone afterwards. */
static inline void vf_fault_unlock(struct vm_fault *vmf)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	release_fault_lock(vmf);
#else
	mmap_read_unlock(vmf->vma->vm_mm);
#endif
}

static inline void vf_eventfd_signal(struct eventfd_ctx *ctx)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	eventfd_signal(ctx);
#else
	eventfd_signal(ctx, 1);
#endif
}

static inline struct class *vf_class_create(const char *name)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	return class_create(name);
#else
	return class_create(THIS_MODULE, name);
#endif
}

/* The device argument of struct device_type.devnode became const in 6.2. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define VF_DEVNODE_CONST const
#else
#define VF_DEVNODE_CONST
#endif

/*
 * 2 MiB entries in a VM_PFNMAP mapping: 6.1 never calls ->huge_fault for one,
 * and its gup and KVM cannot walk such an entry.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0) && \
	defined(CONFIG_ARCH_SUPPORTS_PMD_PFNMAP)
#define VF_HUGE_FAULT 1

static inline vm_fault_t vf_insert_pmd(struct vm_fault *vmf, unsigned long pfn)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
	pfn_t entry = __pfn_to_pfn_t(pfn, 0);
#else
	unsigned long entry = pfn;
#endif

	return vmf_insert_pfn_pmd(vmf, entry, vmf->flags & FAULT_FLAG_WRITE);
}
#endif

/* A file of @mnt, a tmpfs, that is linked nowhere. */
static inline struct file *vf_shmem_file(struct vfsmount *mnt,
					 const char *name, loff_t size)
{
#ifdef EMPTY_VMA_FLAGS	/* 7.0: flags are a type of their own */
	return shmem_file_setup_with_mnt(mnt, name, size, EMPTY_VMA_FLAGS);
#else
	return shmem_file_setup_with_mnt(mnt, name, size, 0);
#endif
}

/* A sentence with a number in it; where an extack has no room for one, without */
#ifdef NETLINK_MAX_FMTMSG_LEN	/* 6.2 */
#define vf_extack_number(extack, text, number) \
	NL_SET_ERR_MSG_FMT(extack, text ": %u", number)
#else
#define vf_extack_number(extack, text, number) \
	do { (void)(number); NL_SET_ERR_MSG(extack, text); } while (0)
#endif

/* What pre_doit and post_doit of a genetlink family are told of the command */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define vf_genl_op genl_split_ops
#else
#define vf_genl_op genl_ops
#endif

/* The parsed attributes of a dump request. */
static inline struct nlattr **vf_dump_attrs(struct netlink_callback *cb)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	return (struct nlattr **)genl_dumpit_info(cb)->info.attrs;
#else
	return genl_dumpit_info(cb)->attrs;
#endif
}

#endif
