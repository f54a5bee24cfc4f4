// SPDX-License-Identifier: LGPL-2.1
/* The memfd transport: the file is made, found and checked. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "memfd.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL	8U
#endif

int vfab_memfd_create(uint32_t world)
{
	struct head h = { .magic = MAGIC, .version = VERSION, .world = world };
	struct vfab_view v = {
		.abi = VFAB_ABI, .world = world, .rank = VFAB_RANK_ANY, .loss = 1
	};
	struct vfab_peer p = { .state = VFAB_PEER_VACANT, .paths = 1 };
	uint32_t i;
	int fd, ret;

	if (!world || world > VFAB_MAX_WORLD)
		return vfabi_fail(EINVAL, "a world of %u ranks: 1 to %u are possible", world,
				  VFAB_MAX_WORLD);
	h.page = sysconf(_SC_PAGESIZE);
	if (getrandom(h.uuid, sizeof(h.uuid), 0) != sizeof(h.uuid))
		return vfabi_fail(EIO, "there are no random bytes");
	/* Linux 6.3 asks that it be said that nothing is to be executed there */
	fd = memfd_create("vfabric", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("vfabric", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return vfabi_fail(errno, "a memfd: %s", strerror(errno));
	ret = ftruncate(fd, slice_at(world, world));
	if (!ret)
		ret = pwrite(fd, &h, sizeof(h), 0) != sizeof(h) ||
		      pwrite(fd, &v, sizeof(v), VIEW) != sizeof(v);
	for (i = 0; i < world && !ret; i++)
		ret = pwrite(fd, &p, sizeof(p), VIEW + sizeof(v) + i * sizeof(p)) != sizeof(p);
	/* Nobody can truncate what others have mapped */
	if (!ret)
		ret = fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	if (!ret)
		return fd;
	ret = ret < 0 ? errno : EIO;
	close(fd);
	return vfabi_fail(ret, "a memfd of %u ranks: %s", world, strerror(ret));
}

static int check_file(int fd, const char *path, struct vfab_info *info)
{
	struct head h;
	struct stat s;

	if (fstat(fd, &s) || !S_ISREG(s.st_mode) ||
	    pread(fd, &h, sizeof(h), 0) != sizeof(h) || h.magic != MAGIC)
		return vfabi_fail(ENOTTY,
				  "%s: not a file of the memfd transport: 'vfabrun --memfd' makes one",
				  path);
	if (h.version != VERSION)
		return vfabi_fail(EOPNOTSUPP,
				  "%s: its layout is of version %u, this library's of %u: all ranks need one library",
				  path, h.version, VERSION);
	if (!h.world || h.world > VFAB_MAX_WORLD || h.page != (uint64_t)sysconf(_SC_PAGESIZE))
		return vfabi_fail(EINVAL, "%s: its header is damaged: start the job again", path);
	if ((uint64_t)s.st_size != slice_at(h.world, h.world))
		return vfabi_fail(EINVAL,
				  "%s: %lld bytes, and %llu belong to %u ranks: it was truncated, start the job again",
				  path, (long long)s.st_size,
				  (unsigned long long)slice_at(h.world, h.world), h.world);
	*info = (struct vfab_info) {
		.abi = VFAB_ABI, .world = h.world, .planes = 1, .rank = VFAB_RANK_ANY,
		.vectors = VFAB_VECTORS, .view_bytes = places_at(h.world) - VIEW,
		.view_cookie = VIEW, .window_max = WINDOW_MAX, .name = "memfd",
		.channel = VFAB_CHANNEL_NONE, .node = VFAB_NODE_NONE, .nodes = 1,
	};
	memcpy(info->uuid, h.uuid, sizeof(h.uuid));
	return 0;
}

/* "memfd:3", "memfd:/proc/77/fd/3"; "memfd": the one of the environment */
int memfd_find(const char *domain, char *path, size_t len, struct vfab_info *info)
{
	const char *env = getenv("VFAB_DOMAIN");
	const char *what = strchr(domain, ':');
	int fd, ret;

	if (!what && env && !strncmp(env, "memfd:", 6))
		what = strchr(domain = env, ':');
	if (!what || !*++what)
		return vfabi_fail(ENOENT,
				  "\"%s\" names no memfd: start the ranks by 'vfabrun --memfd'",
				  domain);
	if ((size_t)snprintf(path, len, "%s%s", what[strspn(what, "0123456789")] ? "" :
			     "/proc/self/fd/", what) >= len)
		return vfabi_fail(ENAMETOOLONG, "\"%s\" is too long a path", domain);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return vfabi_fail(errno,
				  "%s: %s%s", path, strerror(errno), errno != ENOENT ? "" :
				  ": has vfabrun ended, or was the file not inherited?");
	ret = check_file(fd, path, info);
	if (ret) {
		close(fd);
		return ret;
	}
	snprintf(path, len, "%s", domain);
	return fd;
}
