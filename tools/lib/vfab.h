/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * libvfab: processes on a vfabric memory fabric. How to use, by example:
 *
 *	struct vfab_ep *ep;
 *	struct vfab_mem mine, theirs;
 *	uint64_t handle;
 *
 *	vfab_open(&ep, NULL, VFAB_RANK_ENV);
 *	vfab_window_alloc(ep, 1 << 20, TAG, VFAB_ACCESS_WRITE, &mine);
 *	vfab_lookup(ep, peer, TAG, 5 * VFAB_SECOND, &handle);
 *	vfab_import(ep, handle, VFAB_ACCESS_WRITE, VFAB_LOSS_ABSORB, &theirs);
 *	memcpy(theirs.addr, data, len);
 *	vfab_ring(ep, peer, 0);
 *
 * or, one level up:
 *
 *	vfab_comm_create(ep, NULL, 0, TAG, 10 * VFAB_SECOND, &comm);
 *	vfab_allreduce(comm, in, out, count, VFAB_F32, VFAB_SUM);
 *
 * Calls that return int return 0, or a negative errno whose meaning is that of
 * linux/vfabric.h; vfab_strerror() turns it into a sentence with the remedy.
 * A call that failed has changed nothing, where it does not say otherwise.
 *
 * Sizes are bytes, ranks are 0 .. world - 1, timeouts are nanoseconds from
 * now: 0 does not wait, a negative one waits for ever.
 *
 * Any thread may call with the same endpoint, at any time but during
 * vfab_close(). A communicator is used by one thread at a time.
 *
 * The endpoint belongs to the process that opened it: a forked child may use
 * what is mapped, and loses it when that process ends.
 *
 * Loads and stores to mapped windows are plain ones: order them by C11
 * atomics. vfab_ring() releases what was stored before it, vfab_wait()
 * acquires it.
 */
#ifndef VFAB_H
#define VFAB_H

#include <stddef.h>
#include <stdint.h>
#include <linux/vfabric.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VFAB_DEV_DIR	"/dev/vfabric"
#define VFAB_SECOND	INT64_C(1000000000)
#define VFAB_FOREVER	INT64_C(-1)
#define VFAB_RANK_ENV	0xfffffffeU	/* as the environment says */

struct vfab_ep;
struct vfab_comm;

/**
 * vfab_strerror - what a call's error means and what to do about it
 * @err: what the call returned
 *
 * If @err is what the last failed call of this thread returned, the sentence
 * names the file, rank or value concerned. It stays valid until this thread's
 * next call.
 */
const char *vfab_strerror(int err);

/**
 * vfab_find - find a domain without attaching to it
 * @domain: a number, "dom" and a number, or a name, each of which may be
 *	followed by the number of a partition, ".1" or "/part1", and of a channel
 *	of it, ".1.3" or "/part1/ch3"; or the path of a device file; or
 *	"memfd:FD" or "memfd:PATH", see vfab_memfd_create();
 *	"backplane:SOCKET/DOMAIN", see vfab_open(3). NULL: the
 *	environment variable VFAB_DOMAIN, else the only domain there is.
 * @path: receives the path of the device file, or NULL
 * @len: bytes at @path
 * @info: receives what the file leads to, or NULL
 *
 * Names are looked for in the device files that the caller may open.
 * ENOENT: no such domain, or none at all. EACCES: the file may not be opened.
 * ENOTUNIQ: several domains and none named. ENAMETOOLONG: @len is too small.
 */
int vfab_find(const char *domain, char *path, size_t len, struct vfab_info *info);

/**
 * vfab_env_job - what the launcher says
 * @rank: own rank in the domain, or VFAB_RANK_ANY if it does not say
 * @ranks: receives the ranks of the job, in the job's order; room for
 *	VFAB_MAX_WORLD; or NULL
 * @n: how many there are; 0 if it does not say
 *
 * VFAB_RANK, VFAB_WORLD_SIZE and VFAB_RANKS (a list, "0,4-7") come first, then
 * RANK and WORLD_SIZE, then those of Slurm, Open MPI and PMI. Without a list,
 * rank i of the job has rank i of the domain. EINVAL: not a number in range.
 */
int vfab_env_job(uint32_t *rank, uint32_t *ranks, uint32_t *n);

/**
 * vfab_memfd_create - make a fabric without the module
 * @world: ranks, 1 to VFAB_MAX_WORLD
 *
 * Returns a file, opened close-on-exec, and the ranks that find it in their
 * environment as VFAB_DOMAIN=memfd:FD or memfd:/proc/PID/fd/FD share windows and
 * doorbells, all on this machine. Nothing is left of it when the last of them
 * has gone. There is no switch, and nobody is kept from anybody's memory.
 */
int vfab_memfd_create(uint32_t world);

/**
 * vfab_open - take a place in a domain
 * @ep: receives the endpoint
 * @domain: as for vfab_find()
 * @rank: a rank, VFAB_RANK_ANY for the lowest free one, or VFAB_RANK_ENV for
 *	the launcher's choice (VFAB_RANK_ANY if it made none)
 *
 * The file is opened close-on-exec. EBUSY: the rank is held. EINVAL: the domain
 * has no such rank, or a variable of the environment makes no sense.
 */
int vfab_open(struct vfab_ep **ep, const char *domain, uint32_t rank);

/**
 * vfab_close - give the place up
 *
 * Ends every window and import of the endpoint, and unmaps the doorbells and
 * the route view; destroy communicators before. Mappings of windows that are
 * left are lost: vfab_window_alloc()'s absorb, vfab_import()'s do as they asked
 * for. NULL is ignored.
 */
void vfab_close(struct vfab_ep *ep);

/* What the endpoint's file leads to; info.rank is the own rank. */
const struct vfab_info *vfab_info(const struct vfab_ep *ep);

/* The file, for poll(): POLLIN when vfab_event() has something. -1 without the module. */
int vfab_fd(const struct vfab_ep *ep);

/**
 * struct vfab_mem - mapped memory of a window, one's own or a peer's
 * @addr: of its first byte; 2 MiB-aligned if it is 2 MiB or larger
 * @size: bytes
 * @handle: of the window
 * @cookie: of the import
 * @rank: the owner
 * @access: VFAB_ACCESS_*
 * @loss: enum vfab_loss
 * @known: the library's, as is what follows
 */
struct vfab_mem {
	void *addr;
	uint64_t size;
	uint64_t handle;
	uint64_t cookie;
	uint32_t rank;
	uint32_t access;
	uint32_t loss;
	uint32_t known;
	uint64_t fate;
};

/**
 * vfab_window_alloc - export zeroed memory and map it
 * @size: rounded up to pages; see window_max of vfab_info()
 * @tag: for vfab_lookup() of peers, unique within the endpoint; 0: none
 * @access: VFAB_ACCESS_READ or VFAB_ACCESS_WRITE: the most that peers may have
 * @mem: receives the mapping, readable and writable
 *
 * All memory is there when it returns: ENOMEM and EDQUOT come from here, never
 * later. The own mapping absorbs (VFAB_LOSS_ABSORB) after the endpoint's end.
 */
int vfab_window_alloc(struct vfab_ep *ep, uint64_t size, uint64_t tag,
		      uint32_t access, struct vfab_mem *mem);

/**
 * vfab_window_free - unmap a window of one's own and take it back
 *
 * When it returns, no peer reaches the memory.
 */
int vfab_window_free(struct vfab_ep *ep, struct vfab_mem *mem);

/**
 * vfab_lookup - find a peer's window by its tag
 * @timeout: how long to wait for it to appear
 *
 * ENOENT: not there, and @timeout is 0. ETIMEDOUT: did not appear.
 * EHOSTUNREACH: no route leads to @rank, or was lost.
 */
int vfab_lookup(struct vfab_ep *ep, uint32_t rank, uint64_t tag,
		int64_t timeout, uint64_t *handle);

/**
 * vfab_import - map a window
 * @access: at most what the window gives
 * @loss: what touching it does when the peer is lost: VFAB_LOSS_SIGBUS, or
 *	VFAB_LOSS_ABSORB, where all of it reads all ones until the caller
 *	stores to it. With VFAB_LOSS_ABSORB, look at vfab_peer() after each
 *	read that matters.
 *
 * EPERM: the owner is in another channel of the partition; after vfab_lookup(),
 * the sentence of vfab_strerror() names the file to open.
 */
int vfab_import(struct vfab_ep *ep, uint64_t handle, uint32_t access,
		enum vfab_loss loss, struct vfab_mem *mem);

/* Unmap an imported window and give the import back. */
int vfab_release(struct vfab_ep *ep, struct vfab_mem *mem);

/**
 * vfab_put - copy into a mapped window
 * @mem: from vfab_import() or vfab_window_alloc()
 * @offset: bytes from the window's first one
 * @buf: what to copy
 * @len: how many bytes; 0 does nothing
 *
 * Plain stores, and then three things that those alone do not have. The copy is
 * known to have reached the peer when the call returns 0. Its bytes are
 * counted, as are those of vfab_get(), vfab_ring() and collectives ("vfabctl
 * counters"). Where shape is on in the domain ("vfabctl domain set"), the call
 * takes the time that the route asks for; the peer may see the bytes before it
 * returns. What goes to a window of one's own passes no link.
 *
 * EHOSTUNREACH: the peer was lost meanwhile; what has arrived is not known.
 * ENOENT: the window has been freed. EACCES: it was imported for reading.
 * EINVAL: @offset and @len are not within the window. ENODEV: the own endpoint
 * has ended. With VFAB_LOSS_SIGBUS a loss raises SIGBUS instead, as it would in
 * memcpy(). The first operation for which bytes are counted maps memory for
 * that: ENOMEM.
 */
int vfab_put(struct vfab_ep *ep, struct vfab_mem *mem, uint64_t offset,
	     const void *buf, size_t len);

/* Copy from a mapped window; as vfab_put(). On error, @buf is undefined. */
int vfab_get(struct vfab_ep *ep, struct vfab_mem *mem, uint64_t offset,
	     void *buf, size_t len);

/**
 * vfab_ring - notify a peer on one of its doorbells
 *
 * Adds one to the doorbell's count; enters the kernel only if somebody sleeps
 * on it, and at the first call for a peer, to map its doorbells. Where shape is
 * on in the domain, it rings when 8 bytes would have arrived.
 * EHOSTUNREACH: the peer is lost, the ring may not have arrived. EACCES: it is
 * in another partition. EPERM: it is in another channel. ENODEV: the own endpoint
 * has ended. 0: the ring is in the peer's count.
 */
int vfab_ring(struct vfab_ep *ep, uint32_t rank, uint32_t vector);

/* Rings of an own doorbell so far; acquires what was stored before them. */
uint64_t vfab_count(const struct vfab_ep *ep, uint32_t vector);

/**
 * vfab_wait - wait until an own doorbell rings
 * @count: in: count seen, from vfab_count() or an earlier call; out: count now
 * @loss: in: loss generation seen, from vfab_loss() or an earlier call; out:
 *	the one now. NULL: go on waiting when something is lost.
 *
 * 0: *@count has changed. ECONNRESET: *@loss has: some endpoint of the
 * partition ended or some route was lost; vfab_peer() tells whether it matters
 * to the caller. ETIMEDOUT, EINTR (a signal arrived), ENODEV (the endpoint
 * ended). *@count and *@loss are up to date in each case.
 */
int vfab_wait(struct vfab_ep *ep, uint32_t vector, uint64_t *count,
	      uint64_t *loss, int64_t timeout);

/**
 * vfab_wait_policy - how vfab_wait() waits before it sleeps in the kernel
 * @spin: nanoseconds to spin
 * @yields: times to call sched_yield() after that
 *
 * Default: 20 us and none where the process may run on several CPUs (on a
 * memfd: on as many as the world has ranks), else 0 and 10.
 * VFAB_WAIT=spin|yield|block|auto in the environment overrides default and call:
 * spin for ever, yield for ever, sleep at once, as said; vfab_open() refuses any
 * other value.
 */
void vfab_wait_policy(struct vfab_ep *ep, int64_t spin, uint32_t yields);

/**
 * vfab_eventfd - signal an eventfd whenever an own doorbell rings
 * @fd: an eventfd, or -1 to unbind
 *
 * Each ring then enters the kernel. Rings may coalesce: vfab_count() tells.
 * EOPNOTSUPP: on a memfd.
 */
int vfab_eventfd(struct vfab_ep *ep, uint32_t vector, int fd);

/**
 * struct vfab_stats - how often doorbells entered the kernel
 * @rings: calls of vfab_ring() that succeeded, those of communicators included
 * @ring_calls: of those, how many made a system call
 * @waits: calls of vfab_wait(), those of communicators included
 * @wait_calls: system calls made to sleep
 */
struct vfab_stats {
	uint64_t rings;
	uint64_t ring_calls;
	uint64_t waits;
	uint64_t wait_calls;
};

/* Approximate while other threads ring or wait. */
void vfab_stats(const struct vfab_ep *ep, struct vfab_stats *stats);

/**
 * vfab_peer - what the route view says of a peer, consistently
 *
 * EAGAIN: it changed all the time (for a second).
 */
int vfab_peer(const struct vfab_ep *ep, uint32_t rank, struct vfab_peer *peer);

/* The partition's loss generation; acquires. */
uint64_t vfab_loss(const struct vfab_ep *ep);

/* The route view itself, read-only memory. */
const struct vfab_view *vfab_view(const struct vfab_ep *ep);

/**
 * vfab_event - take the next event
 *
 * ETIMEDOUT: none within @timeout. ENODEV: the endpoint ended and there are
 * no more. EINTR: a signal arrived. EOPNOTSUPP: on a memfd.
 */
int vfab_event(struct vfab_ep *ep, struct vfab_event *event, int64_t timeout);

/*
 * Communicators: collectives over a group of ranks.
 *
 * No call hangs because of another rank's fate: when one of the group dies,
 * is cut off or aborts, the calls of all others return ECONNRESET, within a
 * second where they are in one; every later call returns it, too. The call
 * that fails may have succeeded elsewhere; the one after it has not.
 * Then: vfab_comm_lost_rank() names the rank, vfab_comm_shrink() makes a group
 * of those who remain, vfab_comm_destroy() the broken one.
 *
 * No call returns 0 with a wrong result, whatever was lost meanwhile.
 */

/**
 * vfab_comm_create - meet the other ranks of a group
 * @ranks: the group's ranks, in the same order everywhere, the own one
 *	included; NULL: those of the job (vfab_env_job()), else of the domain
 * @n: how many; ignored if @ranks is NULL
 * @tag: window tag to meet under, the same everywhere, not 0, and another one
 *	for each group that is made
 * @timeout: to meet, and for each later call to complete
 * @comm: receives the communicator
 *
 * Every rank of the group calls it. Takes 512 KiB of window, 256 KiB where
 * there are more than 16 ranks (VFAB_COMM_BYTES in the environment, the same
 * everywhere) and, of the endpoint's doorbells, the last one. The windows of the
 * last few communicators that broke stay, too, until their tags are used again
 * or the endpoint ends.
 *
 * EINVAL: a rank twice or out of range, the own one missing, a rank of another
 * opinion about the group, or one that still uses @tag for an earlier group;
 * all who wait for one another then get it. ETIMEDOUT: not all came.
 * ECONNRESET, EHOSTUNREACH: one was lost meanwhile, left an earlier group of
 * this @tag meanwhile, or is out of reach. EEXIST: @tag is in use by a window
 * of this endpoint.
 */
int vfab_comm_create(struct vfab_ep *ep, const uint32_t *ranks, uint32_t n,
		     uint64_t tag, int64_t timeout, struct vfab_comm **comm);

/**
 * vfab_comm_destroy - leave a group
 *
 * Waits for the others to complete the last call, and to take what was sent to
 * them, as long as they can and the timeout lasts. Where they may still exchange
 * messages among themselves, call vfab_barrier() before. NULL is ignored.
 */
void vfab_comm_destroy(struct vfab_comm *comm);

/* How long each later call may take. A communicator starts with that of its creation. */
void vfab_comm_set_timeout(struct vfab_comm *comm, int64_t timeout);

/* End the current or next call of every rank of the group with ECONNRESET. */
void vfab_comm_abort(struct vfab_comm *comm);

/* Place of the caller in the group. */
uint32_t vfab_comm_index(const struct vfab_comm *comm);

/* Size of the group. */
uint32_t vfab_comm_size(const struct vfab_comm *comm);

/* Rank in the domain of the one at a place of the group, VFAB_RANK_ANY behind its end. */
uint32_t vfab_comm_rank(const struct vfab_comm *comm, uint32_t index);

/**
 * vfab_comm_lost_rank - who broke the group
 *
 * The rank in the domain, the own one if all others are out of reach; or
 * VFAB_RANK_ANY where nobody did. NULL: that of this thread's last
 * vfab_comm_create() that failed.
 */
uint32_t vfab_comm_lost_rank(const struct vfab_comm *comm);

/*
 * Elements. The last four floating-point types are computed in single precision,
 * rounded once, to nearest even, when all ranks' elements are in; those of one
 * byte are OCP's, and what is too large for them becomes their largest finite
 * value.
 */
enum vfab_type {
	VFAB_F32, VFAB_F64, VFAB_I32, VFAB_I64, VFAB_U32, VFAB_U64,
	VFAB_F16, VFAB_BF16, VFAB_I8, VFAB_U8, VFAB_I16, VFAB_U16,
	VFAB_F8E4M3, VFAB_F8E5M2,
	VFAB_TYPES
};

/*
 * VFAB_AVG is the sum by the size of the group; of integers, the sum as it
 * wrapped around, rounded toward 0. VFAB_AND, VFAB_OR and VFAB_XOR are for
 * integers. A NaN may get lost in VFAB_MIN and VFAB_MAX: each is
 * a < b ? a : b, or a > b ? a : b.
 */
enum vfab_op {
	VFAB_SUM, VFAB_PROD, VFAB_MIN, VFAB_MAX,
	VFAB_AVG, VFAB_AND, VFAB_OR, VFAB_XOR,
	VFAB_OPS
};

/* Bytes of an element, 0 if there is no such type. */
size_t vfab_type_size(enum vfab_type type);

/*
 * Collectives. Every rank of the group makes the same calls in the same order,
 * with the same @count, @type, @op and @root; who does not gets EINVAL, with
 * all others, where that shows. @count is in elements and may be 0; a root is a
 * place in the group. Buffers may lie anywhere and need no alignment; from some
 * size on, a call copies less where they lie in windows that vfab_window_alloc()
 * of this endpoint made (with VFAB_ACCESS_WRITE, for results).
 *
 * Where @in and @out are different buffers they must not overlap. The same
 * buffer for both, in place, means what each call says.
 *
 * Elements are reduced in the order of the group, so that all ranks get the
 * same bits, and the same in every run and by every algorithm. Integers wrap
 * around.
 *
 * After an error, results are undefined and the communicator is broken, except
 * where an argument was refused (EINVAL). Somebody who has not noticed yet may
 * still store to a result in a window then, until vfab_comm_shrink() returns or
 * the window has been freed.
 */

/**
 * vfab_allreduce - reduce elementwise over the group, result to all
 * @in: @count elements; in place: @out
 * @out: receives @count elements
 */
int vfab_allreduce(struct vfab_comm *comm, const void *in, void *out,
		   size_t count, enum vfab_type type, enum vfab_op op);

/**
 * vfab_reduce_scatter - reduce elementwise, a share of the result to each
 * @in: @count elements for each rank, in the group's order
 * @out: receives @count elements; in place: the own share of @in
 */
int vfab_reduce_scatter(struct vfab_comm *comm, const void *in, void *out,
			size_t count, enum vfab_type type, enum vfab_op op);

/**
 * vfab_allgather - everybody's elements to all
 * @in: @count elements; in place: the own share of @out
 * @out: receives @count elements of each rank, in the group's order
 */
int vfab_allgather(struct vfab_comm *comm, const void *in, void *out,
		   size_t count, enum vfab_type type);

/**
 * vfab_alltoall - different elements from each to each
 * @in: @count elements for each rank, in the group's order; in place: @out
 * @out: receives @count elements of each rank, in the group's order
 */
int vfab_alltoall(struct vfab_comm *comm, const void *in, void *out,
		  size_t count, enum vfab_type type);

/**
 * vfab_alltoallv - as vfab_alltoall(), as many as each pair likes
 * @in_counts: elements for each rank
 * @in_offsets: where they begin in @in, in elements
 * @out_counts: elements of each rank: as many as it has for the caller
 * @out_offsets: where they begin in @out, in elements
 *
 * In place, the counts and offsets of @in are those of @out.
 */
int vfab_alltoallv(struct vfab_comm *comm, const void *in,
		   const size_t *in_counts, const size_t *in_offsets,
		   void *out, const size_t *out_counts,
		   const size_t *out_offsets, enum vfab_type type);

/**
 * vfab_broadcast - elements of one rank to all
 * @in: @count elements; at @root alone, ignored elsewhere; in place: @out
 * @out: receives @count elements, at @root, too
 */
int vfab_broadcast(struct vfab_comm *comm, const void *in, void *out,
		   size_t count, enum vfab_type type, uint32_t root);

/**
 * vfab_reduce - reduce elementwise over the group, result to one
 * @in: @count elements; in place at @root: @out
 * @out: receives @count elements; at @root alone, ignored elsewhere
 */
int vfab_reduce(struct vfab_comm *comm, const void *in, void *out,
		size_t count, enum vfab_type type, enum vfab_op op, uint32_t root);

/**
 * vfab_gather - everybody's elements to one
 * @in: @count elements; in place at @root: the own share of @out
 * @out: receives @count elements of each rank, in the group's order; at @root
 *	alone, ignored elsewhere
 */
int vfab_gather(struct vfab_comm *comm, const void *in, void *out,
		size_t count, enum vfab_type type, uint32_t root);

/**
 * vfab_scatter - different elements of one rank to each
 * @in: @count elements for each rank, in the group's order; at @root alone,
 *	ignored elsewhere
 * @out: receives @count elements; in place at @root: the own share of @in
 */
int vfab_scatter(struct vfab_comm *comm, const void *in, void *out,
		 size_t count, enum vfab_type type, uint32_t root);

/**
 * vfab_send - send elements to one rank
 * @to: its place in the group, not the own one
 *
 * Messages from one rank to another arrive in the order in which they were sent,
 * each by one vfab_recv() with the same @count and @type. Returns when @in may
 * be used again, which may be before the other one has called.
 */
int vfab_send(struct vfab_comm *comm, const void *in, size_t count,
	      enum vfab_type type, uint32_t to);

/**
 * vfab_recv - receive what one rank sends
 * @from: its place in the group, not the own one
 *
 * EINVAL, for both and the group: the message has another @count or @type.
 */
int vfab_recv(struct vfab_comm *comm, void *out, size_t count,
	      enum vfab_type type, uint32_t from);

/* Wait until every rank of the group has called it. */
int vfab_barrier(struct vfab_comm *comm);

enum vfab_coll {
	VFAB_ALLREDUCE, VFAB_REDUCE_SCATTER, VFAB_ALLGATHER, VFAB_ALLTOALL,
	VFAB_ALLTOALLV, VFAB_BROADCAST, VFAB_REDUCE, VFAB_GATHER, VFAB_SCATTER,
	VFAB_SEND, VFAB_RECV, VFAB_BARRIER,
	VFAB_COLLS
};

/**
 * struct vfab_call - a call by its arguments, which are those of the function
 * @kind: which function
 * @root: also @to and @from of vfab_send() and vfab_recv()
 *
 * Members that the function has no argument for are ignored.
 */
struct vfab_call {
	enum vfab_coll kind;
	enum vfab_type type;
	enum vfab_op op;
	uint32_t root;
	const void *in;
	void *out;
	size_t count;
	const size_t *in_counts;
	const size_t *in_offsets;
	const size_t *out_counts;
	const size_t *out_offsets;
};

struct vfab_req;

/**
 * vfab_start - begin a call without waiting for it to complete
 * @call: copied; buffers, and the arrays of counts and offsets, are not, and stay
 *	the call's until it is complete
 * @req: receives what vfab_test() and vfab_finish() take
 *
 * Calls of one communicator complete in the order in which they began; those
 * that send or receive, each on its own. Nothing moves but in calls of the
 * library for the same communicator. Where shape is on in the domain, each of
 * those may wait for the fabric.
 */
int vfab_start(struct vfab_comm *comm, const struct vfab_call *call,
	       struct vfab_req **req);

/**
 * vfab_test - move on, and see whether a call is complete
 * @done: receives 1 if it is, or failed; else 0
 *
 * The call's error, if it failed.
 */
int vfab_test(struct vfab_req *req, int *done);

/**
 * vfab_finish - wait for a call to complete, and forget it
 *
 * The call's result. Also after vfab_test() said that it is complete; before
 * vfab_comm_destroy().
 */
int vfab_finish(struct vfab_req *req);

/**
 * vfab_comm_split - make groups of those who name the same color
 * @color: any number; below 0: none, and @out receives NULL
 * @key: the group's order; where it is the same, that of @comm
 * @out: receives the communicator
 *
 * Every rank of @comm calls it. Takes up to the timeout of @comm, which the new
 * one starts with.
 */
int vfab_comm_split(struct vfab_comm *comm, int color, int key,
		    struct vfab_comm **out);

/**
 * vfab_comm_shrink - make a group of those who remain of a broken one
 * @timeout: to meet, and for each later call of @out
 * @out: receives the communicator
 *
 * Every rank of @comm that is left calls it, also those whom vfab_comm_abort()
 * or a timeout broke it for; @comm is destroyed after it as ever. Who is lost
 * meanwhile is left out as well. All who are left get the same group; it may be
 * broken already, by a loss at that moment, which its first call tells. Ranks that
 * do not come before half of @timeout has passed are left out and get ETIMEDOUT or
 * ECONNRESET.
 */
int vfab_comm_shrink(struct vfab_comm *comm, int64_t timeout,
		     struct vfab_comm **out);

#ifdef __cplusplus
}
#endif
#endif
