// SPDX-License-Identifier: LGPL-2.1
/* Device files of the kernel fabric are found by what people call domains. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "vfab_int.h"

/* No such file: which command makes it? */
static int missing(const char *path)
{
	unsigned int id, part, ch;

	switch (sscanf(path, VFAB_DEV_DIR "/%u.%u.%u", &id, &part, &ch)) {
	case 3:
		return vfabi_fail(ENOENT,
				  "%s does not exist: 'vfabctl channel create dom%u/part%u %u' makes it, once there is such a partition ('vfabctl partition show')",
				  path, id, part, ch);
	case 2:
		return vfabi_fail(ENOENT,
				  "%s does not exist: 'vfabctl partition create dom%u %u' makes it, or 'vfabctl partition activate dom%u/part%u' in a domain whose partitions are fixed",
				  path, id, part, id, part);
	default:
		return vfabi_fail(ENOENT,
				  "%s does not exist: 'vfabctl domain show' lists the domains that do; in one without a partition 0, 'vfabctl partition create' or 'activate' makes it",
				  path);
	}
}

/* Not for the caller: which command gives it to him? */
static int closed(const char *path)
{
	unsigned int id, part, ch;
	bool channel = sscanf(path, VFAB_DEV_DIR "/%u.%u.%u", &id, &part, &ch) == 3;

	return vfabi_fail(EACCES,
			  "%s: not yours to open: run as root, let root chmod or chgrp the file, or give it away by --user, --group or --mode of 'vfabctl %s create'",
			  path, channel ? "channel" : "domain");
}

static int open_path(const char *path, struct vfab_info *info)
{
	int fd, ret;

	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		switch (errno) {
		case EACCES:
		case EPERM:
			return closed(path);
		case ENOENT:
			if (access(VFAB_DEV_DIR, F_OK))
				return vfabi_fail(ENOENT, VFAB_DEV_DIR
						  " does not exist: load the module ('modprobe vfabric') and create a domain ('vfabctl domain create'), or the first partition of one that has none ('vfabctl partition create'); 'vfabrun --memfd' needs none of them");
			return missing(path);
		default:
			ret = errno;
			return vfabi_fail(ret, "%s: %s", path, strerror(ret));
		}
	if (ioctl(fd, VFAB_IOC_INFO, info)) {
		ret = errno;
		close(fd);
		if (ret == ENODEV)
			return vfabi_fail(ENODEV, "%s: its domain has been deleted", path);
		return vfabi_fail(ret, "%s: not a vfabric device", path);
	}
	if (info->abi != VFAB_ABI) {
		close(fd);
		return vfabi_fail(EOPNOTSUPP,
				  "%s: the module speaks version %u of the device interface, this library %u: install both from one source",
				  path, info->abi, VFAB_ABI);
	}
	return fd;
}

/*
 * "7", "dom7", and either with ".partition" or ".partition.channel": the
 * file's name, or NULL.
 */
static const char *file_of(const char *domain)
{
	const char *p = domain;

	if (!strncmp(p, "dom", 3))
		p += 3;
	if (p[strspn(p, "0123456789.")] || !isdigit((unsigned char)*p))
		return NULL;
	return p;
}

/* Does a device file's name end so? "1" of a partition, "1.3" of a channel, "" */
static bool is_of_partition(const char *file, const char *partition)
{
	const char *dot = strchr(file, '.');

	return *partition ? dot && !strcmp(dot + 1, partition) : !dot;
}

static int any_device(const struct dirent *d)
{
	return isdigit((unsigned char)*d->d_name);
}

/*
 * The file of a partition or channel ("1", "1.3"; "": the default partition) of
 * the domain of that name, or of the only one where @name is NULL.
 */
static int scan(const char *name, const char *partition, char *path, size_t len,
		struct vfab_info *info)
{
	const char *kind = strchr(partition, '.') ? "channel" : "partition";
	int i, all, n = 0, fd = -1, closed = 0;
	struct dirent **list;

	all = scandir(VFAB_DEV_DIR, &list, any_device, versionsort);
	if (all < 0) {
		fd = open_path(VFAB_DEV_DIR "/", info);
		if (fd != -EISDIR)
			return fd;
		/* It was made meanwhile */
		all = scandir(VFAB_DEV_DIR, &list, any_device, versionsort);
		if (all < 0)
			return fd;
		fd = -1;
	}
	for (i = 0; i < all; i++)
		n += is_of_partition(list[i]->d_name, partition);
	for (i = 0; i < all && fd < 0; i++) {
		if (!is_of_partition(list[i]->d_name, partition) || (!name && n > 1))
			continue;
		snprintf(path, len, VFAB_DEV_DIR "/%s", list[i]->d_name);
		fd = open_path(path, info);
		if (fd == -EACCES)
			closed++;
		if (fd >= 0 && name && strcmp(name, info->name)) {
			close(fd);
			fd = -1;
		}
	}
	for (i = 0; i < all; i++)
		free(list[i]);
	free(list);
	if (fd >= 0 || (!name && n == 1))
		return fd;
	if (!name && n)
		return vfabi_fail(ENOTUNIQ,
				  "there are %d domains: name one, by VFAB_DOMAIN for example ('vfabctl domain show' lists them)",
				  n);
	if (!name)
		return vfabi_fail(ENOENT,
				  "there is no domain with a partition 0: make one ('vfabctl domain create', or 'vfabctl partition create'), or name a partition, as in VFAB_DOMAIN=0.1");
	if (closed)
		return vfabi_fail(EACCES,
				  "no domain \"%s\" among those you may open, and %d that you may not: try as root",
				  name, closed);
	if (*partition)
		return vfabi_fail(ENOENT,
				  "there is no domain \"%s\" with a %s %s: 'vfabctl %s show' lists them",
				  name, kind, partition, kind);
	return vfabi_fail(ENOENT,
			  "there is no domain \"%s\", or it has no partition 0: 'vfabctl domain show' lists them, 'vfabctl partition create' or 'activate' makes the partition",
			  name);
}

/*
 * "rack/part1", "rack/part1/ch3", of which @rest is from the slash on: is it one?
 * Then @name receives "rack" and @file "1" or "1.3", as is_of_partition() has it.
 */
static bool is_address(const char *domain, const char *rest, char name[PATH_MAX],
		       char file[40])
{
	char part[16], channel[16] = "";
	int end = 0;

	if (sscanf(rest, "/part%15[0-9]%n/ch%15[0-9]%n", part, &end, channel, &end) < 1 ||
	    rest[end] || rest == domain || *domain == '.')
		return false;
	snprintf(name, PATH_MAX, "%.*s", (int)(rest - domain), domain);
	snprintf(file, 40, "%s%s%s", part, *channel ? "." : "", channel);
	if (!strcmp(file, "0"))
		*file = 0;
	return true;
}

static int find_address(const char *name, const char *file, char *path, size_t len,
			struct vfab_info *info)
{
	if (!file_of(name))
		return scan(name, file, path, len, info);
	snprintf(path, len, VFAB_DEV_DIR "/%s%s%s", file_of(name), *file ? "." : "", file);
	return open_path(path, info);
}

/* "rack", "rack.1", "rack.1.3": a name may itself end so, and comes first. */
static int find_name(const char *domain, char *path, size_t len,
		     struct vfab_info *info)
{
	const char *end = domain + strlen(domain), *p;
	char name[PATH_MAX];
	int fd, dots;

	for (dots = 0;; dots++) {
		snprintf(name, sizeof(name), "%.*s", (int)(end - domain), domain);
		fd = scan(name, *end ? end + 1 : "", path, len, info);
		for (p = end; p > domain && isdigit((unsigned char)p[-1]);)
			p--;
		if (fd >= 0 || dots == 2 || p == end || p < domain + 2 || p[-1] != '.')
			return fd;
		end = p - 1;
	}
}

int vfabi_device_find(const char *domain, char *path, size_t len,
		      struct vfab_info *info)
{
	char name[PATH_MAX], partition[40];
	const char *slash, *file;

	if (!domain)
		return scan(NULL, "", path, len, info);
	if (strlen(domain) >= len - sizeof(VFAB_DEV_DIR))
		return vfabi_fail(ENAMETOOLONG, "\"%s\" is too long a path", domain);
	slash = strchr(domain, '/');
	file = file_of(domain);
	if (!slash && !file)
		return find_name(domain, path, len, info);
	if (slash && is_address(domain, slash, name, partition))
		return find_address(name, partition, path, len, info);
	snprintf(path, len, "%s%s", file ? VFAB_DEV_DIR "/" : "", file ? file : domain);
	return open_path(path, info);
}
