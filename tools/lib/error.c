// SPDX-License-Identifier: LGPL-2.1
/* Errors as sentences. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "vfab_int.h"

static __thread struct {
	int err;
	char text[384];
} last;

int vfabi_fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(last.text, sizeof(last.text), fmt, ap);
	va_end(ap);
	last.err = err;
	return -err;
}

static const struct {
	int err;
	const char *text;
} sentences[] = {
	{ ENOTTY,
	  "this kernel's vfabric module does not know the call, or the file is no vfabric device: load the module that belongs to this library"
	},
	{ E2BIG,
	  "this kernel's vfabric module is older than the program: load the module that belongs to this library"
	},
	{ EOPNOTSUPP,
	  "this kernel's vfabric module does not know the flag or value: load the module that belongs to this library"
	},
	{ EINVAL, "an argument is out of range, or misaligned" },
	{ EFAULT, "an argument points to memory that is not mapped" },
	{ ENODEV,
	  "the endpoint, its partition or its domain has ended: open it again (see 'vfabctl domain show')"
	},
	{ ENOTCONN, "the file is not attached yet: vfab_open() attaches" },
	{ EALREADY, "the file is attached already: open another one for another endpoint" },
	{ EBUSY, "another process holds the rank: 'vfabctl endpoint show' tells which" },
	{ EACCES,
	  "the rank is not in this partition, or more access was asked for than the window gives: see 'vfabctl partition show'"
	},
	{ EPERM,
	  "the rank is in another channel of the partition: open the file of its channel (see 'vfabctl endpoint show' and 'vfabctl channel show')"
	},
	{ ENOENT, "no such window: the handle or tag is unknown, or was freed" },
	{ EEXIST, "the endpoint has a window of this tag already: free it, or take another tag" },
	{ EHOSTUNREACH,
	  "no route leads to the rank, or nobody is attached there: see 'vfabctl route trace'"
	},
	{ EDQUOT,
	  "a memory limit of the domain, endpoint or user is reached: see 'vfabctl domain show' and 'vfabctl system show'"
	},
	{ ENOSPC, "the file has used up its imports of that rank: open another endpoint" },
	{ ENOMEM, "out of memory, of the machine or of the memory cgroup" },
	{ ETIMEDOUT, "the time is up" },
	{ EINTR, "a signal arrived" },
	{ ENOTUNIQ, "there are several domains: name one, by VFAB_DOMAIN for example" },
	{ ECONNRESET,
	  "a rank of the group was lost: vfab_comm_lost_rank() tells which; make a group of the others"
	},
	{ EAGAIN,
	  "not ready, the endpoint's fabric state is IN_PROGRESS: try again later ('vfabctl endpoint show' tells the state)"
	},
};

const char *vfabi_errno(int err)
{
	size_t i;

	for (i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
		if (sentences[i].err == err)
			return sentences[i].text;
	return strerror(err);
}

int vfabi_fail_lost(const struct vfab_ep *ep, uint32_t rank)
{
	if (ep->ops != &vfabi_device)
		return vfabi_fail(EHOSTUNREACH,
				  "rank %u was lost: its process ended, or gave the rank up", rank);
	return vfabi_fail(EHOSTUNREACH,
			  "rank %u was lost: see 'vfabctl endpoint show dom%u/ep%u'",
			  rank, ep->info.domain, rank);
}

int vfabi_fail_ended(const struct vfab_ep *ep)
{
	if (ep->ops != &vfabi_device)
		return vfabi_fail(ENODEV,
				  "the endpoint has ended: the process that opened it did, or closed the library's files");
	return vfabi_fail(ENODEV, "%s", vfabi_errno(ENODEV));
}

int vfabi_fail_tag(const struct vfab_ep *ep, uint64_t tag)
{
	return vfabi_fail(EEXIST,
			  "rank %u has a window of tag %llu already: free it, or take another tag",
			  ep->info.rank, (unsigned long long)tag);
}

int vfabi_fail_no_tag(int err, uint32_t rank, uint64_t tag)
{
	return vfabi_fail(err, "rank %u has no window of tag %llu%s", rank,
			  (unsigned long long)tag, err == ENOENT ? "" : " yet");
}

const char *vfab_strerror(int err)
{
	if (err < 0)
		err = -err;
	return err && err == last.err ? last.text : vfabi_errno(err);
}
