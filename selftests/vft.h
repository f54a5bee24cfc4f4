/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vft: what the tests of the module share: a raw client of both interfaces
 * (device and netlink), touching memory that may be gone, and waiting.
 *
 * It talks to the kernel directly and uses neither libvfab nor vfabctl, so
 * that a fault of those cannot hide one of the module.
 *
 * By example:
 *
 *	struct vft_domain dom;
 *	uint64_t h;
 *	int a, b;
 *	void *p;
 *
 *	vft_domain_create(&dom, 4, NULL);
 *	a = vft_join(&dom, 0);
 *	b = vft_join(&dom, 1);
 *	vft_alloc(a, 4096, 7, VFT_RW, &h);
 *	p = vft_import_map(b, h, 4096, VFT_RW, VFAB_LOSS_SIGBUS);
 *	vft_link(&dom, 1, -1, false);
 *	vft_store(p, 1);			// returns SIGBUS
 *	vft_domain_end(&dom);
 *
 * All functions that return int return 0 (or a file) or a negative errno,
 * unless they say otherwise.
 */
#ifndef VFT_H
#define VFT_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <linux/netlink.h>
#include <linux/vfabric.h>
#include <linux/vfabric_netlink.h>

#define VFT_PAGE	4096UL
#define VFT_HUGE	(2UL << 20)
#define VFT_R		VFAB_ACCESS_READ
#define VFT_RW		(VFAB_ACCESS_READ | VFAB_ACCESS_WRITE)

#define VFT_SEC		1000000000ULL
#define VFT_MS		1000000ULL

/* Time, CLOCK_MONOTONIC in nanoseconds */
uint64_t vft_now(void);
void vft_sleep_ms(unsigned int ms);

/* vft_until: wait up to @ms milliseconds for @cond; its value at the end */
#define vft_until(ms, cond) ({						\
	uint64_t __end = vft_now() + (ms) * VFT_MS;			\
	bool __is, __late;						\
									\
	do {								\
		__late = vft_now() >= __end;				\
		__is = (cond);						\
		if (!__is && !__late)					\
			vft_sleep_ms(1);				\
	} while (!__is && !__late);					\
	__is; })

/* Processes */
pid_t vft_fork(void);			/* a child that dies with its parent */
int vft_wait_pid(pid_t pid, unsigned int ms);	/* status, or -ETIMEDOUT */
int vft_kill(pid_t pid);		/* SIGKILL and reap */
void *vft_shared(size_t size);		/* zeroed memory shared with children */
unsigned int vft_random(unsigned int *state);
unsigned int vft_kernel(void);		/* 612 on Linux 6.12 */
bool vft_uml(void);	/* are we in User Mode Linux: one CPU, a process of a host? */
long vft_read_long(const char *path);	/* a number in a file, or -errno */
bool vft_read_text(const char *path, char *buf, size_t size);
bool vft_write_text(const char *path, const char *text);

/* A file by a socket of the family AF_UNIX; the sender exits if that fails */
void vft_send_fd(int sock, int fd);
int vft_recv_fd(int sock);		/* -1 if none came */

/*
 * Become another, in a child: @uid, without other groups and capabilities; with
 * CLONE_NEWUSER in @flags root of a user namespace that maps only him.
 */
int vft_become(uid_t uid, int flags);

/* The module: $VFABRIC_KO; unloading does not wait until nobody uses it */
int vft_module_load(const char *params);
int vft_module_unload(void);
bool vft_module_loaded(void);

/* A control group (memory, pids) for children to enter; false where there is none */
bool vft_cgroup_make(void);
bool vft_cgroup_enter(void);
int vft_cgroup_remove(void);
const char *vft_cgroup(const char *file);	/* its path; static buffer */
long vft_cgroup_event(const char *name);	/* of memory.events, with a blank behind it */

/* A point where processes wait for one another, in shared memory */
struct vft_gate {
	_Atomic unsigned int here;
	_Atomic unsigned int round;
};

/* All @count arrive before one leaves; -ETIMEDOUT after ten seconds */
int vft_gate(struct vft_gate *gate, unsigned int count);

/*
 * Touching memory that may be gone. They return 0, or the signal that the
 * access raised.
 */
int vft_load(const volatile void *p, uint64_t *value);
int vft_store(volatile void *p, uint64_t value);
int vft_touch(const volatile void *p);

/* Netlink, one request at a time */
#define VFT_ATTRS	(VFAB_A_MAX + 1)

struct vft_nl {
	int fd;
	unsigned int family;
	unsigned int group;
	unsigned int seq;
	/* of the last answer */
	char text[256];		/* extack sentence, "" where there is none */
	int bad_attr;		/* attribute that extack points at, 0 none, -1 header */
	int missing;		/* attribute that extack misses, 0 none */
	bool interrupted;	/* a dump was NLM_F_DUMP_INTR */
	size_t bufsize;		/* for receiving; 0: large */
};

struct vft_req {
	union {
		struct nlmsghdr nlh;
		char buf[16384];
	};
};

struct vft_msg {
	unsigned int cmd;
	unsigned int hops;			/* VFAB_A_HOP seen */
	const struct nlattr *hop[VFAB_MAX_PLANES];
	unsigned int counters;			/* VFAB_A_COUNTER seen */
	const struct nlattr *counter[64];
	const struct nlattr *a[VFT_ATTRS];
};

typedef void (*vft_cb)(const struct vft_msg *msg, void *arg);

int vft_nl_open(struct vft_nl *nl);
void vft_nl_close(struct vft_nl *nl);
int vft_nl_listen(struct vft_nl *nl);	/* join the group "events" */
struct vft_nl *vft_nl(void);		/* one of this thread and process */
void vft_nl_reset(void);		/* forget it: other namespace, module reloaded */

void vft_req(struct vft_req *req, const struct vft_nl *nl, int cmd, int flags);
void vft_put(struct vft_req *req, int attr, const void *data, size_t len);
void vft_put_u8(struct vft_req *req, int attr, uint8_t value);
void vft_put_u32(struct vft_req *req, int attr, uint32_t value);
void vft_put_u64(struct vft_req *req, int attr, uint64_t value);
void vft_put_str(struct vft_req *req, int attr, const char *value);
void vft_put_flag(struct vft_req *req, int attr);

int vft_send(struct vft_nl *nl, struct vft_req *req);
int vft_recv(struct vft_nl *nl, vft_cb cb, void *arg);	/* until ack, error or done */
int vft_call(struct vft_nl *nl, struct vft_req *req, vft_cb cb, void *arg);
/* One event, or -EAGAIN after @ms; -ENOBUFS where some were dropped */
int vft_event(struct vft_nl *nl, unsigned int ms, struct vft_msg *msg, void *buf, size_t size);

uint32_t vft_u32(const struct vft_msg *msg, int attr);	/* 0 where absent */
uint64_t vft_u64(const struct vft_msg *msg, int attr);
const char *vft_str(const struct vft_msg *msg, int attr);

/* Domains. An index of -1 leaves the attribute out: all of them. */
struct vft_domain {
	bool exists;		/* not deleted yet, as far as we know */
	uint32_t id;
	uint32_t world;
	uint32_t planes;
	char name[VFAB_NAME_LEN + 1];
};

struct vft_options {
	uint32_t planes;	/* 0: two */
	uint32_t mode;		/* 0: default */
	uint32_t uid;
	uint32_t gid;
	uint32_t peer_death;
	uint32_t retry_ms;
	uint64_t mem_limit;
	uint32_t nodes;		/* 0: default */
	uint32_t partitions;	/* VFAB_PARTITIONS_* */
	/* a list of links instead of planes */
	const struct vfab_link_spec *links;
	uint32_t nlinks;
	uint32_t switches;
	uint32_t switch_latency;
	bool forwarding;
	const char *name;	/* NULL: one of its own */
	const char *backplane;	/* NULL: none; @place: by rank */
	const uint8_t *place;
};

extern bool vft_quiet;			/* do not say why one could not be created */
int vft_domain_create(struct vft_domain *dom, uint32_t world, const struct vft_options *opt);
int vft_domain_find(struct vft_domain *dom, const char *name);
int vft_domain_delete(struct vft_domain *dom, bool force);
/*
 * The end of a test: waits until nothing is attached and no window is left,
 * which must come about by itself once the processes are gone, and deletes the
 * domain without force. Says on stderr what is wrong.
 */
int vft_domain_end(struct vft_domain *dom);
uint64_t vft_domain_get(const struct vft_domain *dom, int attr);	/* ~0 on error */
int vft_domain_set(const struct vft_domain *dom, int attr, uint64_t value);
unsigned int vft_domain_count(void);	/* in this network namespace */
unsigned int vft_domain_total(void);	/* on this machine */
uint64_t vft_everything(void);		/* a checksum of all that is shown here */
unsigned int vft_domain_sweep(const char *prefix);	/* force-delete; how many */

int vft_link(const struct vft_domain *dom, int rank, int sw, bool up);
/* a request about links for more attributes, and its answer */
void vft_link_req(struct vft_req *req, const struct vft_domain *dom, int rank, int sw, int port);
int vft_port(const struct vft_domain *dom, int rank, int sw, int port, bool up);
int vft_switch(const struct vft_domain *dom, int sw, bool up);
int vft_route_drop(const struct vft_domain *dom, int sw, uint32_t dest);
int vft_route_via(const struct vft_domain *dom, int sw, uint32_t dest, uint32_t port);
int vft_partition_create(const struct vft_domain *dom, uint32_t id, const char *name,
			 uint32_t first, uint32_t count);
int vft_partition_delete(const struct vft_domain *dom, uint32_t id);
int vft_partition_add(const struct vft_domain *dom, uint32_t id, uint32_t first, uint32_t count);
/* Refused where one of them is held */
int vft_partition_add_detached(const struct vft_domain *dom, uint32_t id, uint32_t first,
			       uint32_t count);
int vft_partition_active(const struct vft_domain *dom, uint32_t id, bool active, bool force);
int vft_partition_del(const struct vft_domain *dom, uint32_t id, uint32_t first, uint32_t count);
/* @mode 0: the domain's mode, uid and gid */
int vft_channel_create(const struct vft_domain *dom, uint32_t partition, uint32_t channel,
		       uint32_t mode, uint32_t uid, uint32_t gid);
int vft_channel_delete(const struct vft_domain *dom, uint32_t partition, uint32_t channel,
		       bool force);
int vft_evict(const struct vft_domain *dom, uint32_t rank);
int vft_evict_node(const struct vft_domain *dom, uint32_t node);
int vft_link_node(const struct vft_domain *dom, uint32_t node, bool up);
/* an attribute of endpoint-get, ~0 on error or where it is absent */
uint64_t vft_endpoint_get(const struct vft_domain *dom, uint32_t rank, int attr);
/* a counter (VFAB_COUNTER_*), ~0 where it is absent; of a message, of an object */
uint64_t vft_msg_counter(const struct vft_msg *msg, uint32_t id);
uint64_t vft_counter(const struct vft_domain *dom, int rank, int sw, int port, uint32_t id);
int vft_counter_clear(const struct vft_domain *dom, int rank, int sw, int port);

/* Device files */
const char *vft_path(const struct vft_domain *dom, uint32_t partition);	/* static buffer */
int vft_open(const struct vft_domain *dom, uint32_t partition);
int vft_attach(int fd, uint32_t rank);
int vft_detach(int fd);
int vft_join(const struct vft_domain *dom, uint32_t rank);	/* open and attach */
int vft_join_part(const struct vft_domain *dom, uint32_t partition, uint32_t rank);
const char *vft_channel_path(const struct vft_domain *dom, uint32_t partition,
			     uint32_t channel);		/* static buffer */
int vft_open_channel(const struct vft_domain *dom, uint32_t partition, uint32_t channel);
int vft_join_channel(const struct vft_domain *dom, uint32_t partition, uint32_t channel,
		     uint32_t rank);
int vft_alloc(int fd, uint64_t size, uint64_t tag, uint32_t access, uint64_t *handle);
int vft_free(int fd, uint64_t handle);
int vft_lookup(int fd, uint32_t rank, uint64_t tag, uint64_t deadline, uint64_t *handle);
int vft_import(int fd, uint64_t handle, uint32_t access, uint32_t loss, uint64_t *cookie);
int vft_release(int fd, uint64_t cookie);
int vft_bell(int fd, uint32_t rank, uint64_t *cookie);
int vft_ring(int fd, uint32_t rank, uint32_t vector);
int vft_eventfd(int fd, uint32_t vector, int eventfd);
/* the memory in which an endpoint counts, by peer; NULL on error (errno) */
struct vfab_count *vft_counts(int fd);
int vft_pace(int fd, uint32_t rank, uint32_t flags, uint64_t *bytes, uint64_t *at);
int vft_wait(int fd, uint32_t vector, uint64_t *count, uint64_t *loss, uint64_t deadline,
	     uint32_t *reason);

/* mmap() by cookie, shared; NULL on error (errno) */
void *vft_map(int fd, uint64_t cookie, size_t size, int prot);
void *vft_import_map(int fd, uint64_t handle, size_t size, uint32_t access, uint32_t loss);
const struct vfab_view *vft_view(int fd);
void vft_peer(const struct vfab_view *view, uint32_t rank, struct vfab_peer *peer);

/* The two pages of an endpoint's doorbell, seen by a peer or by itself */
struct vft_bells {
	int fd;
	uint32_t rank;
	volatile char *counts;
	const volatile char *armed;
};

int vft_bells(struct vft_bells *bells, int fd, uint32_t rank);
_Atomic uint64_t *vft_count(const struct vft_bells *bells, uint32_t vector);
uint64_t vft_armed(const struct vft_bells *bells, uint32_t vector);
/* The whole protocol: count, fence, look, and ring if armed */
int vft_ding(const struct vft_bells *bells, uint32_t vector);

/* An ioctl number with the size of its structure changed */
#define VFT_RESIZE(cmd, size) \
	(((cmd) & ~(_IOC_SIZEMASK << _IOC_SIZESHIFT)) | ((size) << _IOC_SIZESHIFT))

/*
 * The call must fail with @err and leave the structure as it was; for use in
 * the harness's tests.
 */
#define EXPECT_IOCTL_FAILS(err, fd, cmd, arg) do {			\
	__typeof__(arg) __arg = (arg);					\
	__typeof__(*__arg) __was = *__arg;				\
	int __err = (err);						\
									\
	errno = 0;							\
	EXPECT_EQ(-1, ioctl(fd, cmd, __arg));				\
	EXPECT_EQ(__err, errno) {					\
		TH_LOG("%s: %s, expected %s", #cmd, strerror(errno), strerror(__err)); \
	}								\
	EXPECT_EQ(0, memcmp(&__was, __arg, sizeof(__was))) {		\
		TH_LOG("%s: the failing call changed the structure", #cmd); \
	}								\
} while (0)

#endif
