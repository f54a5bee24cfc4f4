// SPDX-License-Identifier: LGPL-2.1
/* Where profiles are, and reading files that are not trusted. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>
#include "topo_int.h"

#ifndef TOPO_PROFILE_DIR
#define TOPO_PROFILE_DIR "/usr/local/share/vfabric/profiles"
#endif

#define SUFFIX ".yaml"
#define MAX_NAMES 1024

/* The @i-th part of a list with colons. */
static bool list_part(const char *list, unsigned int i, char *dir, size_t size)
{
	size_t len;

	for (; i && *list; i--) {
		list += strcspn(list, ":");
		list += *list == ':';
	}
	len = strcspn(list, ":");
	if (!*list)
		return false;
	snprintf(dir, size, "%.*s", len < size ? (int)len : 0, list);
	return true;
}

/* Beside the program: as installed, or as built. */
static void near_program(const char *below, char *dir, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", dir, size - 1);
	char *slash;

	dir[len < 0 ? 0 : len] = 0;
	slash = strrchr(dir, '/');
	if (!slash || (size_t)snprintf(slash, size - (slash - dir), "/%s", below) >=
	    size - (slash - dir))
		*dir = 0;
}

static const struct places profiles = {
	.what = "profile",
	.env = "VFAB_PROFILE_PATH",
	.installed = "../share/vfabric/profiles",
	.built = "profiles",
	.fixed = TOPO_PROFILE_DIR,
};

/* The @i-th directory that may hold them; it may be "" or not be there. */
static bool place(const struct places *p, unsigned int i, char *dir, size_t size)
{
	const char *list = secure_getenv(p->env);

	if (list && *list)
		return list_part(list, i, dir, size);
	switch (i) {
	case 0:
		near_program(p->installed, dir, size);
		return true;
	case 1:
		near_program(p->built, dir, size);
		return true;
	case 2:
		snprintf(dir, size, "%s", p->fixed);
		return true;
	default:
		return false;
	}
}

int find_named(struct load *l, const struct places *p, const char *name, char *path,
	       size_t size)
{
	char dir[PATH_MAX];
	unsigned int i;

	if (!is_name(name))
		return fail(l, -ENOENT, 0,
			    "\"%s\" is no name of a %s: 'vfabctl %s list' shows them",
			    quoted(name), p->what, p->what);
	for (i = 0; place(p, i, dir, sizeof(dir)); i++)
		if (*dir && (size_t)snprintf(path, size, "%s/%s" SUFFIX, dir, name) < size &&
		    !access(path, F_OK))
			return 0;
	return fail(l, -ENOENT, 0,
		    "there is no %s \"%s\": 'vfabctl %s list' shows those that are found, %s says where else to look",
		    p->what, quoted(name), p->what, p->env);
}

int find_profile(struct load *l, const char *name, char *path, size_t size)
{
	return find_named(l, &profiles, name, path, size);
}

/* Up to a limit, so that a pipe or device may be named as well. */
static int read_all(struct load *l, int fd, char **text, size_t *len)
{
	size_t size = 64 << 10;
	char *more;
	ssize_t n;

	*len = 0;
	*text = malloc(size);
	while (*text) {
		n = read(fd, *text + *len, size - *len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(l, -errno, 0, "cannot read it: %s", strerror(errno));
		*len += n;
		if (!n)
			return 0;
		if (*len > MAX_FILE)
			return fail(l, -E2BIG, 0, "this file is larger than %u bytes", MAX_FILE);
		if (*len < size)
			continue;
		size *= 2;
		more = realloc(*text, size);
		if (!more)
			break;
		*text = more;
	}
	return fail(l, -ENOMEM, 0, "out of memory");
}

/* @text is to be freed, after a failure too. */
int read_file(struct load *l, const char *path, char **text, size_t *len)
{
	int fd, ret;

	*text = NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return fail(l, -errno, 0, "cannot open it: %s", strerror(errno));
	ret = read_all(l, fd, text, len);
	close(fd);
	return ret;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Names of one directory, after the @n that are there. */
static int add_names(const char *dir, char **names, int n)
{
	struct dirent *entry;
	size_t len;
	DIR *d;

	d = *dir ? opendir(dir) : NULL;
	if (!d)
		return n;
	while (n < MAX_NAMES && (entry = readdir(d))) {
		len = strlen(entry->d_name);
		if (len <= strlen(SUFFIX) ||
		    strcmp(entry->d_name + len - strlen(SUFFIX), SUFFIX))
			continue;
		names[n] = strndup(entry->d_name, len - strlen(SUFFIX));
		if (names[n] && !is_name(names[n]))
			free(names[n]);
		else if (names[n])
			n++;
	}
	closedir(d);
	return n;
}

int find_names(const struct places *p, char ***names)
{
	char dir[PATH_MAX];
	int n = 0, kept = 0, i;
	unsigned int d;

	*names = calloc(MAX_NAMES + 1, sizeof(**names));
	if (!*names)
		return -ENOMEM;
	for (d = 0; place(p, d, dir, sizeof(dir)); d++)
		n = add_names(dir, *names, n);
	qsort(*names, n, sizeof(**names), compare);
	for (i = 0; i < n; i++) {
		if (kept && !strcmp((*names)[kept - 1], (*names)[i]))
			free((*names)[i]);
		else
			(*names)[kept++] = (*names)[i];
	}
	(*names)[kept] = NULL;
	return kept;
}

int topo_profile_names(char ***names)
{
	return find_names(&profiles, names);
}

void topo_names_free(char **names)
{
	char **name;

	for (name = names; name && *name; name++)
		free(*name);
	free(names);
}
