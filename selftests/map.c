// SPDX-License-Identifier: GPL-2.0
/*
 * map: a window in a process's address space is plain memory: which bytes are
 * seen where, what may be done with the mapping, what may not, and how many
 * faults it takes. One test for each line of the table in uapi.rst, and for
 * each way in which other drivers got this wrong.
 *
 *	build/selftests/map
 *	build/selftests/map -r map.first_touch_in_the_middle
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include "kselftest_harness.h"
#include "vft.h"

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP	4
#endif

/* two 2 MiB pages, half of another, three pages */
#define PAGES	(512 + 512 + 256 + 3UL)
#define SIZE	(PAGES * VFT_PAGE)

/*
 * "win" is read-write for peers, "ro" is a window whose peers may only read.
 * Every page of win holds its own number, in its first and in its last word.
 */
FIXTURE(map) {
	struct vft_domain dom;
	int owner, peer;
	uint64_t win, ro;
	uint64_t cookie, ro_cookie;	/* the peer's imports, VFT_RW and VFT_R */
};

static uint64_t *page_of(void *base, size_t page)
{
	return (uint64_t *)((char *)base + page * VFT_PAGE);
}

FIXTURE_SETUP(map)
{
	void *p;
	size_t i;

	ASSERT_EQ(0, vft_domain_create(&self->dom, 3, NULL));
	self->owner = vft_join(&self->dom, 0);
	ASSERT_LE(0, self->owner);
	self->peer = vft_join(&self->dom, 1);
	ASSERT_LE(0, self->peer);
	ASSERT_EQ(0, vft_alloc(self->owner, SIZE, 1, VFT_RW, &self->win));
	ASSERT_EQ(0, vft_alloc(self->owner, 4 * VFT_PAGE, 2, VFT_R, &self->ro));
	p = vft_import_map(self->owner, self->win, SIZE, VFT_RW, 0);
	ASSERT_NE(NULL, p);
	for (i = 0; i < PAGES; i++)
		page_of(p, i)[0] = page_of(p, i)[511] = i;
	munmap(p, SIZE);
	p = vft_import_map(self->owner, self->ro, 4 * VFT_PAGE, VFT_RW, 0);
	ASSERT_NE(NULL, p);
	for (i = 0; i < 4; i++)
		page_of(p, i)[0] = i;
	munmap(p, 4 * VFT_PAGE);
	ASSERT_EQ(0, vft_import(self->peer, self->win, VFT_RW, 0, &self->cookie));
	ASSERT_EQ(0, vft_import(self->peer, self->ro, VFT_R, 0, &self->ro_cookie));
}

FIXTURE_TEARDOWN_PARENT(map)
{
	EXPECT_EQ(0, vft_domain_end(&self->dom));
}

/* An address range without neighbours, for MAP_FIXED inside it */
static char *room(size_t size)
{
	char *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static char *aligned_room(size_t size, size_t align)
{
	char *p = room(size + align);

	return p ? (char *)(((uintptr_t)p + align - 1) & ~(align - 1)) : NULL;
}

/* Is every page at @p the page of the window that it should be? */
static size_t wrong_pages(void *p, size_t first, size_t count)
{
	size_t i, n = 0;

	for (i = 0; i < count; i++)
		n += page_of(p, i)[0] != first + i || page_of(p, i)[511] != first + i;
	return n;
}

/* --- bytes --------------------------------------------------------------- */

TEST_F(map, bytes_across_processes)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	pid_t pid;
	size_t i;

	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
	pid = vft_fork();
	if (!pid) {
		/* another file, another rank, another mapping */
		int fd = vft_join(&self->dom, 2);
		char *q = vft_import_map(fd, self->win, SIZE, VFT_RW, 0);

		if (!q || wrong_pages(q, 0, PAGES))
			_exit(1);
		for (i = 0; i < PAGES; i++)
			page_of(q, i)[1] = ~i;
		_exit(0);
	}
	EXPECT_EQ(0, vft_wait_pid(pid, 10000));
	for (i = 0; i < PAGES; i++)
		EXPECT_EQ(~i, page_of(p, i)[1]);
}

TEST_F(map, atomics_across_processes)
{
	_Atomic uint64_t *p = (void *)vft_map(self->peer, self->cookie, VFT_PAGE,
					      PROT_READ | PROT_WRITE);
	uint64_t before;
	pid_t pid[2];
	int i, k;

	ASSERT_NE(NULL, p);
	before = p[8];
	for (i = 0; i < 2; i++) {
		pid[i] = vft_fork();
		if (pid[i])
			continue;
		for (k = 0; k < 100000; k++)
			atomic_fetch_add(&p[8], 1);
		_exit(0);
	}
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, vft_wait_pid(pid[i], 20000));
	EXPECT_EQ(before + 200000, p[8]);
}

/* The first touch decides what is mapped: it must not shift the pages. */
TEST_F(map, first_touch_in_the_middle)
{
	const size_t first[] = { 300, 511, 512, 1, 1023, 1024, 1200, PAGES - 1 };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(first); i++) {
		char *p = aligned_room(SIZE, VFT_HUGE);

		ASSERT_NE(NULL, p);
		ASSERT_EQ(p, mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				  self->peer, self->cookie));
		EXPECT_EQ(first[i], page_of(p, first[i])[0]);
		/* a store first, in the next 2 MiB */
		page_of(p, (first[i] + 512) % PAGES)[2] = 7;
		EXPECT_EQ(0, wrong_pages(p, 0, PAGES)) {
			TH_LOG("after first touch of page %zu", first[i]);
		}
		munmap(p, SIZE);
	}
}

/* Address and offset aligned alike, differently, and not at all */
TEST_F(map, misaligned_addresses_and_offsets)
{
	const size_t at[] = { 0, 1, 255, 511, 512, 513 };
	const size_t from[] = { 0, 1, 255, 511, 512, 513, 1024 };
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(at); i++)
		for (k = 0; k < ARRAY_SIZE(from); k++) {
			size_t count = PAGES - from[k];
			char *base = aligned_room((PAGES + 600) * VFT_PAGE, VFT_HUGE);
			char *p = base + at[i] * VFT_PAGE;

			ASSERT_NE(NULL, base);
			ASSERT_EQ(p, mmap(p, count * VFT_PAGE, PROT_READ, MAP_SHARED | MAP_FIXED,
					  self->peer, self->cookie + from[k] * VFT_PAGE));
			/* touch the last first: by pages, then by what is possible */
			EXPECT_EQ(PAGES - 1, page_of(p, count - 1)[0]);
			EXPECT_EQ(0, wrong_pages(p, from[k], count)) {
				TH_LOG("address + %zu pages, offset %zu pages", at[i], from[k]);
			}
			munmap(base, (PAGES + 600) * VFT_PAGE);
		}
}

/* --- bounds --------------------------------------------------------------- */

static int try_map(int fd, uint64_t offset, size_t size, int prot, int flags)
{
	long p = syscall(SYS_mmap, NULL, size, prot, flags, fd, offset);

	if (p == -1)
		return -errno;
	munmap((void *)p, size);
	return 0;
}

TEST_F(map, beyond_the_end)
{
	const uint64_t c = self->cookie;

	EXPECT_EQ(0, try_map(self->peer, c, SIZE, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(self->peer, c, SIZE + 1, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(self->peer, c, SIZE + VFT_PAGE, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(self->peer, c + SIZE, VFT_PAGE, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(self->peer, c + SIZE - VFT_PAGE, 2 * VFT_PAGE, PROT_READ,
				   MAP_SHARED));
	EXPECT_EQ(0, try_map(self->peer, c + SIZE - VFT_PAGE, VFT_PAGE, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(self->peer, c + VFT_PAGE, SIZE, PROT_READ, MAP_SHARED));
	/* nor before its beginning, which is 0 for the first import from rank 0 */
	EXPECT_EQ(-EINVAL, try_map(self->peer, self->ro_cookie - VFT_PAGE, 2 * VFT_PAGE, PROT_READ,
				   MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(self->peer, c + 1, VFT_PAGE, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(self->owner, c + (64ULL << 30), VFT_PAGE, PROT_READ,
				   MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(self->peer, c, 0, PROT_READ, MAP_SHARED));
}

/* Sums of offset and size that wrap round */
TEST_F(map, offsets_near_the_ends_of_the_numbers)
{
	const uint64_t offsets[] = {
		1ULL << 63, (1ULL << 63) - VFT_PAGE, (1ULL << 63) + self->cookie,
		-VFT_PAGE, -2 * VFT_PAGE, -VFT_HUGE, 1ULL << 62, (1ULL << 62) - VFT_PAGE,
		1ULL << 52, 1ULL << 45, (1ULL << 45) - VFT_PAGE, -SIZE,
	};
	const size_t sizes[] = { VFT_PAGE, 2 * VFT_PAGE, SIZE, VFT_HUGE };
	size_t i, k;

	for (i = 0; i < ARRAY_SIZE(offsets); i++)
		for (k = 0; k < ARRAY_SIZE(sizes); k++) {
			int ret;

			/* an offset may happen to be one of ours, of the view say */
			if (offsets[i] == self->cookie)
				continue;
			ret = try_map(self->peer, offsets[i], sizes[k],
				      PROT_READ | PROT_WRITE, MAP_SHARED);
			EXPECT_EQ(true, ret == -EINVAL || ret == -EOVERFLOW || ret == -EACCES) {
				TH_LOG("offset %llx, size %zx: %d",
				       (unsigned long long)offsets[i], sizes[k], ret);
			}
		}
	/* sizes that wrap */
	EXPECT_NE(0, try_map(self->peer, self->cookie, -VFT_PAGE, PROT_READ, MAP_SHARED));
	EXPECT_NE(0, try_map(self->peer, self->cookie, 1UL << 46, PROT_READ, MAP_SHARED));
}

TEST_F(map, last_page_and_split_tail)
{
	char *base = room(SIZE + 2 * VFT_PAGE);
	char *p = base + VFT_PAGE;
	char *last = p + SIZE - VFT_PAGE;

	ASSERT_EQ(p, mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			  self->peer, self->cookie));
	EXPECT_EQ(0, vft_store(last + VFT_PAGE - 8, 5));
	EXPECT_EQ(SIGSEGV, vft_touch(p + SIZE));
	EXPECT_EQ(SIGSEGV, vft_touch(p - 8));
	/* the tail as a VMA of its own, then a hole before it */
	ASSERT_EQ(0, mprotect(last, VFT_PAGE, PROT_READ));
	EXPECT_EQ(PAGES - 1, page_of(last, 0)[0]);
	EXPECT_EQ(SIGSEGV, vft_store(last, 1));
	ASSERT_EQ(0, munmap(last - VFT_PAGE, VFT_PAGE));
	EXPECT_EQ(SIGSEGV, vft_touch(last - VFT_PAGE));
	EXPECT_EQ(5, page_of(last, 0)[511]);
	ASSERT_EQ(0, munmap(p + 600 * VFT_PAGE, 100 * VFT_PAGE));
	EXPECT_EQ(0, wrong_pages(p, 0, 600));
	EXPECT_EQ(700, page_of(p, 700)[0]);
}

/* --- rights --------------------------------------------------------------- */

TEST_F(map, private_is_einval)
{
	const int prots[] = {
		PROT_NONE, PROT_READ, PROT_WRITE, PROT_READ | PROT_WRITE,
		PROT_READ | PROT_WRITE | PROT_EXEC,
	};
	const uint64_t cookies[] = { self->cookie, self->ro_cookie, 0 };
	struct vfab_info info;
	size_t i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; k < ARRAY_SIZE(prots); k++)
			EXPECT_EQ(-EINVAL, try_map(self->peer, cookies[i], VFT_PAGE, prots[k],
						   MAP_PRIVATE));
	ASSERT_EQ(0, ioctl(self->peer, VFAB_IOC_INFO, &info));
	EXPECT_EQ(-EINVAL, try_map(self->peer, info.view_cookie, info.view_bytes, PROT_READ,
				   MAP_PRIVATE));
}

TEST_F(map, executable_is_refused)
{
	char *p = vft_map(self->peer, self->cookie, VFT_PAGE, PROT_READ | PROT_WRITE);
	int ret;

	ret = try_map(self->peer, self->cookie, VFT_PAGE, PROT_READ | PROT_EXEC, MAP_SHARED);
	EXPECT_EQ(true, ret == -EACCES || ret == -EPERM) {
		TH_LOG("mmap(PROT_EXEC): %d", ret);
	}
	EXPECT_EQ(-1, mprotect(p, VFT_PAGE, PROT_READ | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(p, VFT_PAGE, PROT_READ | PROT_WRITE | PROT_EXEC));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(map, read_only_import_stays_so)
{
	char *p = vft_map(self->peer, self->ro_cookie, 4 * VFT_PAGE, PROT_READ);
	uint64_t word = 99;
	int mem, pipes[2];

	ASSERT_NE(NULL, p);
	EXPECT_EQ(3, page_of(p, 3)[0]);
	EXPECT_EQ(-EACCES, try_map(self->peer, self->ro_cookie, VFT_PAGE,
				   PROT_READ | PROT_WRITE, MAP_SHARED));
	EXPECT_EQ(-EACCES, try_map(self->peer, self->ro_cookie, VFT_PAGE, PROT_WRITE, MAP_SHARED));
	EXPECT_EQ(SIGSEGV, vft_store(p, 1));
	EXPECT_EQ(-1, mprotect(p, VFT_PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(p, 4 * VFT_PAGE, PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	/* a way round page protections */
	mem = open("/proc/self/mem", O_RDWR);
	ASSERT_LE(0, mem);
	EXPECT_EQ(-1, pwrite(mem, &word, sizeof(word), (off_t)(uintptr_t)p));
	/* and the kernel as a deputy */
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(8, write(pipes[1], &word, 8));
	EXPECT_EQ(-1, read(pipes[0], p, 8));
	EXPECT_EQ(EFAULT, errno);
	/* moved, it is still the same */
	p = mremap(p, 4 * VFT_PAGE, 4 * VFT_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		   room(8 * VFT_PAGE));
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(SIGSEGV, vft_store(p, 1));
	EXPECT_EQ(-1, mprotect(p, VFT_PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, page_of(p, 0)[0]);
}

/* An import for reading of a window that others may write */
TEST_F(map, import_for_reading_of_a_writable_window)
{
	uint64_t cookie;
	char *p;

	ASSERT_EQ(0, vft_import(self->peer, self->win, VFT_R, 0, &cookie));
	EXPECT_EQ(-EACCES, try_map(self->peer, cookie, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED));
	p = vft_map(self->peer, cookie, SIZE, PROT_READ);
	ASSERT_NE(NULL, p);
	/* also where 2 MiB pages are */
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
	EXPECT_EQ(SIGSEGV, vft_store(p, 1));
	EXPECT_EQ(SIGSEGV, vft_store(p + 300 * VFT_PAGE, 1));
	EXPECT_EQ(-1, mprotect(p, SIZE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
}

/* Mapped for reading under an import for writing: what mprotect() may give */
TEST_F(map, protection_can_be_raised_to_what_the_import_gives)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ);

	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, vft_touch(p));
	EXPECT_EQ(SIGSEGV, vft_store(p, 1));
	ASSERT_EQ(0, mprotect(p, SIZE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, vft_store(p + 8, 1));
	EXPECT_EQ(0, vft_store(p + 700 * VFT_PAGE + 8, 1));
	ASSERT_EQ(0, mprotect(p, SIZE, PROT_READ));
	EXPECT_EQ(SIGSEGV, vft_store(p + 8, 2));
	ASSERT_EQ(0, mprotect(p, SIZE, PROT_NONE));
	EXPECT_EQ(SIGSEGV, vft_touch(p));
	ASSERT_EQ(0, mprotect(p, SIZE, PROT_READ));
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
}

/* Whoever joins can be written to and can write: the file says so. */
TEST_F(map, file_must_be_opened_for_both)
{
	EXPECT_EQ(-1, open(vft_path(&self->dom, 0), O_RDONLY | O_CLOEXEC));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, open(vft_path(&self->dom, 0), O_WRONLY | O_CLOEXEC));
	EXPECT_EQ(EACCES, errno);
}

TEST_F(map, view_is_read_only)
{
	struct vfab_info info;
	char *p;

	ASSERT_EQ(0, ioctl(self->peer, VFAB_IOC_INFO, &info));
	EXPECT_EQ(-EACCES, try_map(self->peer, info.view_cookie, info.view_bytes,
				   PROT_READ | PROT_WRITE, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(self->peer, info.view_cookie, info.view_bytes + VFT_PAGE,
				   PROT_READ, MAP_SHARED));
	EXPECT_EQ(-EINVAL, try_map(self->peer, info.view_cookie + info.view_bytes, VFT_PAGE,
				   PROT_READ, MAP_SHARED));
	p = vft_map(self->peer, info.view_cookie, info.view_bytes, PROT_READ);
	ASSERT_NE(NULL, p);
	EXPECT_EQ(-1, mprotect(p, VFT_PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(SIGSEGV, vft_store(p, 0));
}

TEST_F(map, cookie_of_another_file)
{
	uint64_t cookie;
	int fd = vft_join(&self->dom, 2);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EINVAL, try_map(fd, self->cookie, VFT_PAGE, PROT_READ, MAP_SHARED));
	ASSERT_EQ(0, vft_import(fd, self->ro, VFT_R, 0, &cookie));
	/* the same number may name another window there, and only that */
	if (cookie == self->cookie)
		EXPECT_EQ(-EINVAL, try_map(fd, cookie, SIZE, PROT_READ, MAP_SHARED));
}

/* --- mremap, munmap, fork ------------------------------------------------- */

TEST_F(map, mremap)
{
	char *p = vft_map(self->peer, self->cookie, 600 * VFT_PAGE, PROT_READ | PROT_WRITE);
	char *to = room(PAGES * VFT_PAGE), *q;

	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, wrong_pages(p, 0, 600));
	/* growing would reach pages that mmap() did not check */
	EXPECT_EQ(MAP_FAILED, mremap(p, 600 * VFT_PAGE, 601 * VFT_PAGE, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap(p, 600 * VFT_PAGE, (PAGES + 1) * VFT_PAGE, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap(p, 600 * VFT_PAGE, 601 * VFT_PAGE, 0));
	/* an old size of 0 asks for a second mapping */
	EXPECT_EQ(MAP_FAILED, mremap(p, 0, 600 * VFT_PAGE, MREMAP_MAYMOVE));
	EXPECT_EQ(MAP_FAILED, mremap(p, 0, (PAGES + 1) * VFT_PAGE, MREMAP_MAYMOVE));
	EXPECT_EQ(0, wrong_pages(p, 0, 600));

	/* moving is plain, to another alignment too */
	q = mremap(p, 600 * VFT_PAGE, 600 * VFT_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		   to + 3 * VFT_PAGE);
	ASSERT_EQ(to + 3 * VFT_PAGE, q);
	EXPECT_EQ(SIGSEGV, vft_touch(p));
	EXPECT_EQ(0, wrong_pages(q, 0, 600));
	/* a part of it */
	p = mremap(q + 550 * VFT_PAGE, 50 * VFT_PAGE, 50 * VFT_PAGE,
		   MREMAP_MAYMOVE | MREMAP_FIXED, to + 700 * VFT_PAGE);
	ASSERT_EQ(to + 700 * VFT_PAGE, p);
	EXPECT_EQ(0, wrong_pages(p, 550, 50));
	EXPECT_EQ(0, wrong_pages(q, 0, 550));
	/* shrinking as well */
	EXPECT_EQ(q, mremap(q, 550 * VFT_PAGE, 100 * VFT_PAGE, 0));
	EXPECT_EQ(0, wrong_pages(q, 0, 100));
	EXPECT_EQ(SIGSEGV, vft_touch(q + 100 * VFT_PAGE));
	/* all of it ends with the window */
	ASSERT_EQ(0, vft_free(self->owner, self->win));
	EXPECT_EQ(SIGBUS, vft_touch(q));
	EXPECT_EQ(SIGBUS, vft_touch(q + 99 * VFT_PAGE));
	EXPECT_EQ(SIGBUS, vft_touch(p + 49 * VFT_PAGE));
}

TEST_F(map, mremap_dontunmap)
{
	char *p = vft_map(self->peer, self->cookie, 600 * VFT_PAGE, PROT_READ | PROT_WRITE);
	char *q;

	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, wrong_pages(p, 0, 600));
	q = mremap(p, 600 * VFT_PAGE, 600 * VFT_PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, 0);
	/* older kernels refuse it; where it works, both are under control */
	EXPECT_EQ(0, wrong_pages(q == MAP_FAILED ? p : q, 0, 600));
	ASSERT_EQ(0, vft_free(self->owner, self->win));
	EXPECT_EQ(SIGBUS, vft_touch(p));
	EXPECT_EQ(SIGBUS, vft_touch(p + 599 * VFT_PAGE));
	if (q != MAP_FAILED) {
		EXPECT_EQ(SIGBUS, vft_touch(q));
		EXPECT_EQ(SIGBUS, vft_touch(q + 599 * VFT_PAGE));
	}
}

TEST_F(map, adjacent_imports_are_not_merged)
{
	uint64_t a, b, first, second;
	char *base = aligned_room(2 * VFT_HUGE, VFT_HUGE);

	ASSERT_EQ(0, vft_alloc(self->owner, VFT_HUGE, 0, VFT_RW, &a));
	ASSERT_EQ(0, vft_alloc(self->owner, VFT_HUGE, 0, VFT_RW, &b));
	ASSERT_EQ(0, vft_import(self->peer, a, VFT_RW, 0, &first));
	ASSERT_EQ(0, vft_import(self->peer, b, VFT_RW, 0, &second));
	/* consecutive offsets at consecutive addresses, if cookies are so */
	ASSERT_EQ(base, mmap(base, VFT_HUGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			     self->peer, first));
	ASSERT_EQ(base + VFT_HUGE, mmap(base + VFT_HUGE, VFT_HUGE, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_FIXED, self->peer, second));
	*page_of(base, 511) = 1;
	*page_of(base, 512) = 2;
	/* one mapping cannot cover both */
	EXPECT_EQ(-EINVAL, try_map(self->peer, first, 2 * VFT_HUGE, PROT_READ, MAP_SHARED));
	ASSERT_EQ(0, vft_free(self->owner, a));
	EXPECT_EQ(SIGBUS, vft_touch(page_of(base, 511)));
	EXPECT_EQ(2, *page_of(base, 512));
	ASSERT_EQ(0, vft_release(self->peer, second));
	EXPECT_EQ(SIGBUS, vft_touch(page_of(base, 512)));
}

TEST_F(map, fork_shares_the_mapping)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	pid_t pid;

	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, vft_touch(p));
	pid = vft_fork();
	if (!pid) {
		/* what the parent touched, and what it did not */
		if (wrong_pages(p, 0, PAGES))
			_exit(1);
		page_of(p, 3)[1] = 33;
		page_of(p, 900)[1] = 44;
		munmap(p, SIZE / 2 & ~(VFT_PAGE - 1));
		_exit(0);
	}
	EXPECT_EQ(0, vft_wait_pid(pid, 10000));
	EXPECT_EQ(33, page_of(p, 3)[1]);
	EXPECT_EQ(44, page_of(p, 900)[1]);
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
}

/* --- release -------------------------------------------------------------- */

TEST_F(map, released_cookie_is_dead_for_good)
{
	enum { N = 2000 };
	static uint64_t seen[N];
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	size_t i, k;

	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
	ASSERT_EQ(0, vft_release(self->peer, self->cookie));
	/* mappings that are left raise SIGBUS */
	for (i = 0; i < PAGES; i += 100)
		EXPECT_EQ(SIGBUS, vft_touch(page_of(p, i)));
	for (i = 0; i < N; i++) {
		ASSERT_EQ(0, vft_import(self->peer, self->ro, VFT_R, 0, &seen[i]));
		if (i % 2)
			ASSERT_EQ(0, vft_release(self->peer, seen[i]));
		/* nothing that was given out before overlaps this one */
		ASSERT_EQ(true, seen[i] >= self->cookie + SIZE ||
			  seen[i] + VFT_HUGE <= self->cookie);
		for (k = 0; k < i; k++)
			ASSERT_NE(seen[k], seen[i]);
	}
	EXPECT_EQ(-EINVAL, try_map(self->peer, self->cookie, VFT_PAGE, PROT_READ, MAP_SHARED));
	EXPECT_EQ(-ENOENT, vft_release(self->peer, self->cookie));
	for (i = 0; i < N; i++)
		EXPECT_EQ(i % 2 ? -EINVAL : 0, try_map(self->peer, seen[i], VFT_PAGE, PROT_READ,
						       MAP_SHARED));
	/* nor do the old mappings come to life by any of this */
	EXPECT_EQ(SIGBUS, vft_touch(p));
}

/* --- what else one can do to a mapping ------------------------------------ */

/* The table in uapi.rst: what each advice answers. The bytes stay in any case. */
static const struct {
	const char *name;
	int advice;
	int err;
} advices[] = {
	{ "MADV_NORMAL", 0, 0 }, { "MADV_RANDOM", 1, 0 }, { "MADV_SEQUENTIAL", 2, 0 },
	{ "MADV_WILLNEED", 3, 0 }, { "MADV_DONTNEED", 4, EINVAL }, { "MADV_FREE", 8, EINVAL },
	{ "MADV_REMOVE", 9, ENODEV }, { "MADV_MERGEABLE", 12, 0 }, { "MADV_UNMERGEABLE", 13, 0 },
	{ "MADV_HUGEPAGE", 14, 0 }, { "MADV_NOHUGEPAGE", 15, 0 }, { "MADV_DONTDUMP", 16, 0 },
	{ "MADV_DODUMP", 17, EINVAL }, { "MADV_WIPEONFORK", 18, EINVAL },
	{ "MADV_KEEPONFORK", 19, 0 }, { "MADV_COLD", 20, EINVAL }, { "MADV_PAGEOUT", 21, EINVAL },
	{ "MADV_POPULATE_READ", 22, EINVAL }, { "MADV_POPULATE_WRITE", 23, EINVAL },
	{ "MADV_DONTNEED_LOCKED", 24, EINVAL }, { "MADV_COLLAPSE", 25, EINVAL },
	{ "MADV_HWPOISON", 100, EFAULT }, { "MADV_SOFT_OFFLINE", 101, EFAULT },
};

TEST_F(map, advice_changes_no_bytes)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	size_t i;

	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
	for (i = 0; i < ARRAY_SIZE(advices); i++) {
		errno = 0;
		EXPECT_EQ(advices[i].err ? -1 : 0,
			  madvise(p + VFT_PAGE, 100 * VFT_PAGE, advices[i].advice)) {
			TH_LOG("%s: %s", advices[i].name, strerror(errno));
		}
		EXPECT_EQ(advices[i].err, errno) {
			TH_LOG("%s: %s", advices[i].name, strerror(errno));
		}
		EXPECT_EQ(0, wrong_pages(p, 0, PAGES)) {
			TH_LOG("after %s", advices[i].name);
		}
	}
}

TEST_F(map, works_madv_dontfork)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	pid_t pid;
	int ret;

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, madvise(p, SIZE, MADV_DONTFORK));
	pid = vft_fork();
	if (!pid)
		_exit(vft_touch(p));
	EXPECT_EQ(SIGSEGV << 8, vft_wait_pid(pid, 5000));
	ret = madvise(p, SIZE, MADV_DOFORK);
	if (ret && vft_kernel() > 612) {	/* for no mapping of this kind any more */
		EXPECT_EQ(EINVAL, errno);
		return;
	}
	ASSERT_EQ(0, ret);
	pid = vft_fork();
	if (!pid)
		_exit(vft_touch(p) || wrong_pages(p, 0, PAGES));
	EXPECT_EQ(0, vft_wait_pid(pid, 5000));
}

TEST_F(map, file_cannot_be_truncated_or_punched)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	struct stat before, after;

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, fstat(self->peer, &before));
	EXPECT_EQ(-1, ftruncate(self->peer, 0));
	EXPECT_EQ(-1, ftruncate(self->peer, 1 << 20));
	EXPECT_EQ(-1, fallocate(self->peer, 0, 0, 1 << 20));
	/* FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE */
	EXPECT_EQ(-1, fallocate(self->peer, 3, self->cookie, 1 << 20));
	ASSERT_EQ(0, fstat(self->peer, &after));
	EXPECT_EQ(before.st_size, after.st_size);
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
}

TEST_F(map, works_mlock_msync_mincore)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	unsigned char vec[PAGES];

	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, mlock(p, SIZE));
	EXPECT_EQ(0, munlock(p, SIZE));
	EXPECT_EQ(0, msync(p, SIZE, MS_SYNC));
	mincore(p, SIZE, vec);
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
	p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE | MAP_LOCKED,
		 self->peer, self->cookie);
	ASSERT_NE(MAP_FAILED, p);
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
}

/* Walks over page tables by the kernel, with 2 MiB and 4 KiB entries in them */
TEST_F(map, works_proc_maps_smaps_pagemap)
{
	static const char * const files[] = {
		"/proc/self/maps", "/proc/self/smaps", "/proc/self/smaps_rollup",
		"/proc/self/numa_maps",
	};
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	static char buf[65536];
	uint64_t entry;
	size_t i;
	int fd;

	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
	for (i = 0; i < ARRAY_SIZE(files); i++) {
		fd = open(files[i], O_RDONLY);
		while (fd >= 0 && read(fd, buf, sizeof(buf)) > 0)
			;
		close(fd);
	}
	fd = open("/proc/self/pagemap", O_RDONLY);
	ASSERT_LE(0, fd);
	for (i = 0; i < PAGES; i++)
		EXPECT_EQ(8, pread(fd, &entry, 8, ((uintptr_t)p / VFT_PAGE + i) * 8));
	close(fd);
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
}

/* copy_to_user() and copy_from_user() are accesses like any other. */
TEST_F(map, works_read_and_write)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	char *q = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	uint64_t word = 0;
	struct stat st;
	int pipes[2], socks[2], file;

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, pipe(pipes));
	/* never touched before: the copy itself faults */
	EXPECT_EQ(8, write(pipes[1], p + 5 * VFT_PAGE, 8));
	EXPECT_EQ(8, read(pipes[0], &word, 8));
	EXPECT_EQ(5, word);
	word = 77;
	EXPECT_EQ(8, write(pipes[1], &word, 8));
	EXPECT_EQ(8, read(pipes[0], q + 700 * VFT_PAGE + 8, 8));
	EXPECT_EQ(77, page_of(p, 700)[1]);

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, socks));
	EXPECT_EQ(VFT_PAGE, send(socks[0], p + 9 * VFT_PAGE, VFT_PAGE, 0));
	EXPECT_EQ(VFT_PAGE, recv(socks[1], p + 1030 * VFT_PAGE, VFT_PAGE, MSG_WAITALL));
	EXPECT_EQ(9, page_of(p, 1030)[0]);

	file = open("/tmp", O_TMPFILE | O_RDWR, 0600);
	ASSERT_LE(0, file);
	EXPECT_EQ(SIZE, write(file, p, SIZE));
	EXPECT_EQ(16 * VFT_PAGE, pread(file, p + 40 * VFT_PAGE, 16 * VFT_PAGE, 20 * VFT_PAGE));
	EXPECT_EQ(20, page_of(p, 40)[0]);
	EXPECT_EQ(35, page_of(p, 55)[0]);
	EXPECT_EQ(0, fstat(file, (struct stat *)(p + 60 * VFT_PAGE)));
	ASSERT_EQ(0, fstat(file, &st));
	EXPECT_EQ(st.st_ino, ((struct stat *)(p + 60 * VFT_PAGE))->st_ino);
}

/*
 * No pin may outlive a revocation, so nothing that pins pages works: each of
 * these must fail, and not silently do something else.
 */
TEST_F(map, fails_futex)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);

	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, vft_touch(p));
	EXPECT_EQ(-1, syscall(SYS_futex, p, FUTEX_WAKE, 1, NULL, NULL, 0));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, syscall(SYS_futex, p + 1024 * VFT_PAGE, FUTEX_WAIT, 1024, NULL, NULL, 0));
	EXPECT_EQ(EFAULT, errno);
}

static void *futex_waiter(void *word)
{
	uint32_t seen = *(uint32_t *)word;

	while (*(volatile uint32_t *)word == seen)
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
	return NULL;
}

/* A private one is named by its address, and needs no page. */
TEST_F(map, works_private_futex)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	volatile uint32_t *word = (void *)(p + 7 * VFT_PAGE);
	pthread_t thread;

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, pthread_create(&thread, NULL, futex_waiter, (void *)word));
	/* until it sleeps: only then is there one to be woken */
	vft_sleep_ms(50);
	EXPECT_EQ(7, *word);
	*word = 8;
	EXPECT_EQ(true, vft_until(2000, syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1,
						NULL, NULL, 0) == 1));
	pthread_join(thread, NULL);
}

/* A debugger of one's own process sees as little as /proc/PID/mem. */
TEST_F(map, fails_ptrace)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	uint64_t plain = 4711;
	pid_t pid;

	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
	pid = vft_fork();
	if (!pid)
		pause();
	ASSERT_EQ(0, ptrace(PTRACE_ATTACH, pid, NULL, NULL));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	errno = 0;
	EXPECT_EQ(4711, ptrace(PTRACE_PEEKDATA, pid, &plain, NULL));
	EXPECT_EQ(-1, ptrace(PTRACE_PEEKDATA, pid, p, NULL));
	EXPECT_EQ(EIO, errno);
	EXPECT_EQ(-1, ptrace(PTRACE_POKEDATA, pid, p, NULL));
	EXPECT_EQ(EIO, errno);
	EXPECT_EQ(SIGKILL, vft_kill(pid));
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
}

static size_t count_in_file(const char *path, uint64_t word)
{
	static uint64_t buf[8192];
	size_t n = 0, i;
	ssize_t got;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	while (fd >= 0 && (got = read(fd, buf, sizeof(buf))) > 0)
		for (i = 0; i < got / sizeof(*buf); i++)
			n += buf[i] == word;
	close(fd);
	return n;
}

/* Whatever the process asks for: windows are in no core dump. */
TEST_F(map, absent_from_core_dumps)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	char pattern[128], path[128], text[160];
	uint64_t *plain = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	size_t i;
	pid_t pid;

	ASSERT_NE(NULL, p);
	ASSERT_EQ(true, vft_read_text("/proc/sys/kernel/core_pattern", pattern, sizeof(pattern)));
	snprintf(path, sizeof(path), "/tmp/vft-core-%d", (int)getpid());
	snprintf(text, sizeof(text), "%s\n", path);
	ASSERT_EQ(true, vft_write_text("/proc/sys/kernel/core_pattern", text));
	ASSERT_EQ(true, vft_write_text("/proc/sys/kernel/core_uses_pid", "0"));
	pid = vft_fork();
	if (!pid) {
		struct sigaction dfl = { .sa_handler = SIG_DFL };

		setrlimit(RLIMIT_CORE, &unlimited);
		vft_write_text("/proc/self/coredump_filter", "0xff");
		/* words that are in memory nowhere else */
		for (i = 0; i < PAGES; i++) {
			page_of(p, i)[9] = ~0x1122334455667788ULL;
			page_of(plain, i)[9] = ~0x99aabbccddeeff00ULL;
		}
		sigaction(SIGABRT, &dfl, NULL);
		abort();
	}
	EXPECT_EQ(SIGABRT, vft_wait_pid(pid, 20000) & 0x7f);
	vft_write_text("/proc/sys/kernel/core_pattern", pattern);
	/* a dump of this process there is, without the window */
	EXPECT_LE(PAGES, count_in_file(path, ~0x99aabbccddeeff00ULL));
	EXPECT_GT(10, count_in_file(path, ~0x1122334455667788ULL));
	unlink(path);
}

TEST_F(map, fails_userfaultfd)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC);

	ASSERT_NE(NULL, p);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, ioctl(fd, UFFDIO_API, &api));
	reg.range.start = (uintptr_t)p;
	reg.range.len = VFT_HUGE;
	EXPECT_EQ(-1, ioctl(fd, UFFDIO_REGISTER, &reg));
	EXPECT_EQ(EINVAL, errno);
	close(fd);
}

/* Buffers that io_uring would pin */
TEST_F(map, fails_io_uring_buffers)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	char *plain = mmap(NULL, VFT_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	struct iovec iov = { plain, VFT_PAGE };
	struct io_uring_params params = { };
	int ring = syscall(SYS_io_uring_setup, 4, &params);

	ASSERT_NE(NULL, p);
	ASSERT_LE(0, ring);
	EXPECT_EQ(0, syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &iov, 1));
	EXPECT_EQ(0, syscall(SYS_io_uring_register, ring, IORING_UNREGISTER_BUFFERS, NULL, 0));
	EXPECT_EQ(0, vft_touch(p));
	iov.iov_base = p;
	EXPECT_EQ(-1, syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &iov, 1));
	EXPECT_EQ(EFAULT, errno);
	iov.iov_base = p + 600 * VFT_PAGE;
	EXPECT_EQ(-1, syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &iov, 1));
	EXPECT_EQ(EFAULT, errno);
	close(ring);
}

/* The owner's policy decides where pages are; they do not move. */
TEST_F(map, ignored_memory_policy)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	unsigned long nodes = 1;
	void *page = p;
	int node = 0, status = 0;

	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
	/* MPOL_BIND, MPOL_MF_MOVE */
	EXPECT_EQ(0, syscall(SYS_mbind, p, VFT_HUGE, 2, &nodes, 8 * sizeof(nodes), 2));
	EXPECT_EQ(0, syscall(SYS_move_pages, 0, 1UL, &page, &node, &status, 2));
	EXPECT_GT(0, status);
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
}

TEST_F(map, fails_process_vm_readv_and_writev)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	uint64_t word = 5;
	struct iovec local = { &word, 8 }, remote = { p + 2 * VFT_PAGE, 8 };

	ASSERT_NE(NULL, p);
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
	EXPECT_EQ(-1, process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, process_vm_writev(getpid(), &local, 1, &remote, 1, 0));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(2, page_of(p, 2)[0]);
	/* as the local side it is copied to, which works */
	local.iov_base = p + 3 * VFT_PAGE + 8;
	remote.iov_base = &word;
	EXPECT_EQ(8, process_vm_readv(getpid(), &local, 1, &remote, 1, 0));
	EXPECT_EQ(5, page_of(p, 3)[1]);
}

TEST_F(map, fails_vmsplice)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	struct iovec iov = { p, VFT_PAGE };
	int pipes[2];

	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, pipe(pipes));
	EXPECT_EQ(0, vft_touch(p));
	EXPECT_EQ(-1, vmsplice(pipes[1], &iov, 1, 0));
	EXPECT_EQ(EFAULT, errno);
	/* the half that a 2 MiB page maps is no exception */
	iov.iov_base = p + 512 * VFT_PAGE;
	EXPECT_EQ(0, vft_touch(iov.iov_base));
	EXPECT_EQ(-1, vmsplice(pipes[1], &iov, 1, 0));
	EXPECT_EQ(EFAULT, errno);
}

/*
 * O_DIRECT wants a file system that reads into the pages of the user: that of
 * the test's own program, which the VM has from the host.
 */
TEST_F(map, fails_o_direct)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	char *plain = mmap(NULL, VFT_PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int file = open("/proc/self/exe", O_RDONLY | O_DIRECT | O_CLOEXEC);

	ASSERT_NE(NULL, p);
	if (file < 0 && errno == EINVAL)
		SKIP(return, "the file system of the tests has no O_DIRECT");
	ASSERT_LE(0, file);
	/* it does work with ordinary memory */
	ASSERT_EQ(VFT_PAGE, pread(file, plain, VFT_PAGE, 0));
	EXPECT_EQ(0, memcmp(plain, "\177ELF", 4));
	/* touched or not, behind 2 MiB or 4 KiB entries */
	EXPECT_EQ(0, vft_touch(p));
	EXPECT_EQ(-1, pread(file, p, VFT_PAGE, 0));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, pread(file, p + 600 * VFT_PAGE, VFT_PAGE, 0));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, pread(file, p + 1100 * VFT_PAGE, VFT_PAGE, 0));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
}

TEST_F(map, fails_proc_self_mem)
{
	char *p = vft_map(self->peer, self->cookie, SIZE, PROT_READ | PROT_WRITE);
	int mem = open("/proc/self/mem", O_RDWR);
	uint64_t word = 5;

	ASSERT_NE(NULL, p);
	ASSERT_LE(0, mem);
	EXPECT_EQ(0, wrong_pages(p, 0, PAGES));
	EXPECT_EQ(-1, pread(mem, &word, 8, (off_t)(uintptr_t)p));
	EXPECT_EQ(EIO, errno);
	EXPECT_EQ(-1, pwrite(mem, &word, 8, (off_t)(uintptr_t)p));
	EXPECT_EQ(EIO, errno);
	EXPECT_EQ(0, page_of(p, 0)[0]);
}

/* --- faults ---------------------------------------------------------------- */

static long faults(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_minflt + r.ru_majflt;
}

static long first_touch_faults(char *p, size_t size)
{
	long before;
	size_t i;

	before = faults();		/* twice: the call itself may fault once */
	before = faults();
	for (i = 0; i < size; i += VFT_PAGE)
		((volatile char *)p)[i] = 1;
	return faults() - before;
}

/* 2 MiB at a time since 6.12; a page at a time on 6.1, which cannot. */
#define HUGE_WORKS	(vft_kernel() >= 612)

TEST_F(map, faults_of_first_touch)
{
	const size_t size = 64 << 20;
	uint64_t handle;
	char *mine, *theirs;
	long n;

	ASSERT_EQ(0, vft_alloc(self->owner, size, 0, VFT_RW, &handle));
	/* as everybody calls it: the kernel chooses the address */
	mine = vft_import_map(self->owner, handle, size, VFT_RW, 0);
	theirs = vft_import_map(self->peer, handle, size, VFT_RW, 0);
	ASSERT_NE(NULL, mine);
	ASSERT_NE(NULL, theirs);
	n = first_touch_faults(mine, size);
	EXPECT_EQ(HUGE_WORKS ? 32 : 16384, n);
	n = first_touch_faults(theirs, size);
	EXPECT_EQ(HUGE_WORKS ? 32 : 16384, n);
	/* and none on the second */
	EXPECT_EQ(0, first_touch_faults(theirs, size));
}

TEST_F(map, faults_by_pages_where_2_mib_do_not_fit)
{
	uint64_t handle, cookie;
	char *base = aligned_room(8 << 20, VFT_HUGE), *p;

	ASSERT_NE(NULL, base);
	ASSERT_EQ(0, vft_alloc(self->owner, 6 << 20, 0, VFT_RW, &handle));
	ASSERT_EQ(0, vft_import(self->peer, handle, VFT_RW, 0, &cookie));
	/* address and offset differ by a page: by pages */
	p = base + VFT_PAGE;
	ASSERT_EQ(p, mmap(p, 4 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			  self->peer, cookie));
	EXPECT_EQ(1024, first_touch_faults(p, 4 << 20));
	munmap(p, 4 << 20);
	/* it begins and ends inside of 2 MiB, with one whole between */
	p = base + VFT_HUGE - VFT_PAGE;
	ASSERT_EQ(p, mmap(p, 514 * VFT_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			  self->peer, cookie + VFT_HUGE - VFT_PAGE));
	EXPECT_EQ(HUGE_WORKS ? 3 : 514, first_touch_faults(p, 514 * VFT_PAGE));
}

/* A write fault after a read, and mprotect(): no endless faulting */
TEST_F(map, faults_of_reads_then_writes)
{
	char *p = aligned_room(SIZE, VFT_HUGE);
	volatile char *v = p;
	long before, n;

	ASSERT_EQ(p, mmap(p, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			  self->peer, self->cookie));
	(void)*v;
	before = faults();
	before = faults();
	*v = 0;
	n = faults() - before;
	EXPECT_GE(1, n);
	before = faults();
	*v = 0;
	EXPECT_EQ(0, faults() - before);
}

TEST_HARNESS_MAIN
