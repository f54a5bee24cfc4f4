// SPDX-License-Identifier: LGPL-2.1
/* Endpoints are taken and given up, on whichever transport. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "vfab_int.h"

/*
 * "memfd:..." or "memfd", "backplane:..."; anything else, or nothing, is of the kernel
 * fabric.
 */
static const struct vfab_ops *transport(const char **domain)
{
	if (!*domain)
		*domain = getenv("VFAB_DOMAIN");
	if (*domain && !**domain)
		*domain = NULL;
	if (*domain && !strncmp(*domain, "backplane:", 10))
		return &vfabi_coop;
	if (!*domain || strncmp(*domain, "memfd", 5) || ((*domain)[5] && (*domain)[5] != ':'))
		return &vfabi_device;
	return &vfabi_memfd;
}

int vfab_find(const char *domain, char *path, size_t len, struct vfab_info *info)
{
	const struct vfab_ops *ops = transport(&domain);
	char p[PATH_MAX];
	struct vfab_info i;
	int fd;

	fd = ops->find(domain, p, sizeof(p), &i);
	if (fd < 0)
		return fd;
	close(fd);
	if (path) {
		if (strlen(p) >= len)
			return vfabi_fail(ENAMETOOLONG, "%s does not fit", p);
		strcpy(path, p);
	}
	if (info)
		*info = i;
	return 0;
}

int vfab_open(struct vfab_ep **out, const char *domain, uint32_t rank)
{
	char path[PATH_MAX];
	struct vfab_ep *ep;
	uint32_t n;
	int ret, how;

	how = vfabi_env_wait();
	if (how < 0)
		return how;
	if (rank == VFAB_RANK_ENV) {
		ret = vfab_env_job(&rank, NULL, &n);
		if (ret)
			return ret;
	}
	ep = calloc(1, sizeof(*ep));
	if (!ep)
		return vfabi_fail(ENOMEM, "out of memory");
	pthread_mutex_init(&ep->lock, NULL);
	pthread_mutex_init(&ep->renewing, NULL);
	ep->page = sysconf(_SC_PAGESIZE);
	ep->ops = transport(&domain);
	ret = ep->ops->find(domain, path, sizeof(path), &ep->info);
	ep->fd = ret;
	if (ret < 0)
		goto free;
	vfabi_wait_init(ep, how);
	ret = ep->ops->attach(ep, path, rank);
	if (ret)
		goto close;
	ret = vfabi_bells_init(ep);
	if (ret)
		goto detach;
	*out = ep;
	return 0;
detach:
	ep->ops->detach(ep);
	free(ep->bells);
close:
	close(ep->fd);
free:
	pthread_mutex_destroy(&ep->renewing);
	pthread_mutex_destroy(&ep->lock);
	free(ep);
	return ret;
}

void vfab_close(struct vfab_ep *ep)
{
	size_t i;

	if (!ep)
		return;
	for (i = 0; i < sizeof(ep->tombs) / sizeof(ep->tombs[0]); i++)
		if (ep->tombs[i].mem.addr)
			vfabi_unmap(ep, &ep->tombs[i].mem);
	vfabi_counts_unmap(ep);
	ep->ops->detach(ep);
	free(ep->bells);
	free(ep->regions);
	close(ep->fd);
	pthread_mutex_destroy(&ep->renewing);
	pthread_mutex_destroy(&ep->lock);
	free(ep);
}

const struct vfab_info *vfab_info(const struct vfab_ep *ep)
{
	return &ep->info;
}

int vfab_fd(const struct vfab_ep *ep)
{
	return ep->ops == &vfabi_device ? ep->fd : -1;
}
