/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * vfabric: data plane of a scale-up memory fabric.
 *
 * Open /dev/vfabric/<domain> (the default partition),
 * /dev/vfabric/<domain>.<partition>, or the file of a channel of a partition,
 * /dev/vfabric/<domain>.<partition>.<channel>, for reading and writing (else
 * EACCES), then ATTACH: one open file is one endpoint. Endpoints use one
 * another's windows and doorbells within one channel; those that came by a
 * partition's own file are in none, and use those in none. Reachability, losses
 * and events are the partition's.
 *
 * All values are in host byte order; sizes and offsets are bytes; deadlines are
 * absolute CLOCK_MONOTONIC times in nanoseconds.
 *
 * What each errno means, for every ioctl of this header:
 *
 * ENOTTY       the ioctl number is not known to this kernel
 * E2BIG        the structure is longer than this kernel knows and the unknown
 *              tail is not zero (a shorter structure is zero-extended)
 * EOPNOTSUPP   a flag or an enumerated value is not known to this kernel
 * EINVAL       a field is out of range, misaligned, or must be zero and is not
 * EFAULT       the structure could not be read or written
 * EBADF        the file descriptor that the structure names is not open
 * ENODEV       the endpoint, its partition or its domain has ended
 * ENOTCONN     the file is not attached yet
 * EALREADY     the file is attached already
 * EBUSY        the rank is held by another file
 * EAGAIN       ATTACH: the rank is not ready, its fabric state is IN_PROGRESS;
 *              ATTACH, WINDOW_ALLOC: this node of a backplane was expelled, and
 *              another one may not have let go of its memory yet
 * EACCES       ATTACH: the rank is not in this file's partition; else: the rank
 *              is not in this endpoint's partition, or more access is asked for
 *              than the window gives
 * EPERM        the rank is in another channel of this partition
 * EXDEV        ATTACH: the domain lies on a backplane, and the rank is placed on
 *              another node
 * ENOENT       no such handle, tag or cookie: unknown, stale or freed
 * EEXIST       the endpoint has a window of this tag already
 * EHOSTUNREACH no route leads to that rank (link, switch, routing table), or
 *              nothing is attached there
 * EDQUOT       a limit of the domain, endpoint or user is reached
 * ENOSPC       the file has used up its mmap cookies for that rank; ATTACH,
 *              WINDOW_ALLOC: this node's part of the backplane has no memory
 *              left, or no record: of 1024 endpoints, or of 2048 windows, of
 *              which more must be free than the domain has on this node and the
 *              endpoint has, together
 * ENOMEM       out of memory (of the machine or of the memory cgroup)
 * ETIMEDOUT    the deadline passed
 * EINTR        a signal arrived
 *
 * A call that fails has changed nothing and leaves the structure as it was,
 * except that WAIT reports the current values with ETIMEDOUT, and that EFAULT
 * comes too late where the structure's memory is taken away during the call.
 * Any process that holds the file may make every call.
 */
#ifndef _UAPI_LINUX_VFABRIC_H
#define _UAPI_LINUX_VFABRIC_H

#include <linux/types.h>
#include <linux/ioctl.h>

#define VFAB_ABI		1
#define VFAB_MAX_WORLD		1024	/* endpoints in a domain */
#define VFAB_MAX_PLANES		64	/* ports of an endpoint */
#define VFAB_NAME_LEN		32	/* of a domain or partition, NUL apart */
#define VFAB_CHANNELS		2048	/* of a partition: 0 .. 2047 */
#define VFAB_VECTORS		64	/* doorbell vectors of an endpoint */
#define VFAB_RANK_ANY		0xffffffffU
#define VFAB_NO_DEADLINE	(~0ULL)	/* wait until something happens */

/* Access to a window; WRITE includes READ in what the hardware allows. */
#define VFAB_ACCESS_READ	(1 << 0)
#define VFAB_ACCESS_WRITE	(1 << 1)

/*
 * What an import does when its peer can no longer be reached. A later return
 * of the route revives either kind; a window that was freed, an endpoint that
 * ended or moved to another partition never comes back.
 */
enum vfab_loss {
	VFAB_LOSS_SIGBUS = 0,	/* every touch raises SIGBUS */
	/*
	 * One private page stands in for all of the import: it reads all ones
	 * until this importer stores to it, and nothing reaches the peer.
	 */
	VFAB_LOSS_ABSORB = 1,
};

/**
 * struct vfab_info - what this file leads to (may be asked before ATTACH)
 * @abi:	VFAB_ABI
 * @domain:	the domain's machine-wide id
 * @world:	endpoints in the domain
 * @planes:	ports of each endpoint
 * @partition:	id of the partition that the file admits to
 * @rank:	own rank, or VFAB_RANK_ANY before ATTACH
 * @vectors:	VFAB_VECTORS
 * @view_bytes:	size of the route view, a multiple of the page size
 * @view_cookie: mmap() offset of the route view (after ATTACH, read-only)
 * @window_max:	largest window, bytes
 * @uuid:	the domain's UUID
 * @name:	the domain's name, NUL-terminated
 * @channel:	of the partition that the file admits to, or VFAB_CHANNEL_NONE
 * @node:	own node, or VFAB_NODE_NONE before ATTACH
 * @nodes:	nodes that the domain models; its ranks are divided evenly among
 *		them, in order. On a backplane: the backplane's, on which ranks are
 *		placed as its creator said
 * @pad:	0
 */
struct vfab_info {
	__u32 abi;
	__u32 domain;
	__u32 world;
	__u32 planes;
	__u32 partition;
	__u32 rank;
	__u32 vectors;
	__u32 view_bytes;
	__u64 view_cookie;
	__u64 window_max;
	__u8 uuid[16];
	char name[40];
	__u32 channel;
	__u32 node;
	__u32 nodes;
	__u32 pad;
};

#define VFAB_CHANNEL_NONE	0xffffffffU
#define VFAB_NODE_NONE		0xffffffffU

/**
 * struct vfab_attach - take an endpoint
 * @rank:	in: the rank, or VFAB_RANK_ANY for the lowest free one of the
 *		partition; out: the rank taken
 * @flags:	0
 *
 * The endpoint ends at DETACH, when the last copy of the file is closed, or
 * when the process that attached exits, whatever children or mappings remain.
 * Its end frees its windows, revokes its imports (each as it asked for, enum
 * vfab_loss) and tells its peers. An ended
 * file stays dead: open a new one to attach again.
 * EHOSTUNREACH: VFAB_RANK_ANY and no rank of the partition is free. EAGAIN: the
 * rank, or with VFAB_RANK_ANY each that is free, is not ready: try again later.
 */
struct vfab_attach {
	__u32 rank;
	__u32 flags;
};

/**
 * struct vfab_window_alloc - export memory
 * @size:	bytes, a multiple of the page size, at most window_max
 * @tag:	name for LOOKUP, unique within the endpoint; 0: not looked up
 * @access:	greatest access that peers may have: VFAB_ACCESS_READ, or
 *		READ | WRITE
 * @flags:	0
 * @handle:	out: names the window in its domain; never 0, never reissued
 *
 * All pages are allocated, zeroed and charged before the call returns. The
 * owner maps it by importing its own handle, with any access.
 */
struct vfab_window_alloc {
	__u64 size;
	__u64 tag;
	__u32 access;
	__u32 flags;
	__u64 handle;
};

/**
 * struct vfab_window_free - take a window of one's own back
 * @handle:	from WINDOW_ALLOC
 *
 * When it returns, no access of any process reaches the memory.
 */
struct vfab_window_free {
	__u64 handle;
};

/**
 * struct vfab_lookup - find a peer's window by tag
 * @rank:	the peer, in the same partition
 * @flags:	0
 * @tag:	not 0
 * @deadline:	0: do not wait; else wait for the window to appear (also for
 *		the peer to attach)
 * @handle:	out
 * @size:	out: bytes
 * @access:	out: greatest access
 * @pad:	0
 * @channel:	out: the peer's channel, or VFAB_CHANNEL_NONE; IMPORT is refused
 *		(EPERM) unless it is one's own
 * @pad2:	0
 *
 * Without waiting: ENOENT when there is no such window. EHOSTUNREACH when the
 * route to the rank is or gets lost, EACCES when a partition border comes
 * between.
 */
struct vfab_lookup {
	__u32 rank;
	__u32 flags;
	__u64 tag;
	__u64 deadline;
	__u64 handle;
	__u64 size;
	__u32 access;
	__u32 pad;
	__u32 channel;
	__u32 pad2;
};

/**
 * struct vfab_import - get the right to map a window
 * @handle:	of a window of a reachable endpoint in the same partition and
 *		channel, or of one's own
 * @access:	VFAB_ACCESS_READ, or READ | WRITE; at most what the window gives
 * @loss:	enum vfab_loss
 * @cookie:	out: mmap() offset of the window's first byte; 2 MiB-aligned,
 *		never reissued for another import of this file
 * @size:	out: bytes
 * @rank:	out: the owner
 * @pad:	0
 */
struct vfab_import {
	__u64 handle;
	__u32 access;
	__u32 loss;
	__u64 cookie;
	__u64 size;
	__u32 rank;
	__u32 pad;
};

/**
 * struct vfab_release - give an import back
 * @cookie:	from IMPORT or BELL
 *
 * Its mappings, if any are left, raise SIGBUS from now on.
 */
struct vfab_release {
	__u64 cookie;
};

/**
 * struct vfab_bell - get the right to map an endpoint's doorbell pages
 * @rank:	the peer, or the own rank
 * @loss:	enum vfab_loss
 * @cookie:	out: mmap() offset of the page of counts; the page of armed
 *		words follows at cookie + page size. Map one page at a time.
 *
 * Counts may be written by every peer in the channel, armed words only by
 * the endpoint itself (mapping them writable elsewhere is EACCES).
 * Word of vector v: byte v * VFAB_BELL_STRIDE of the page, 64 bits.
 *
 * To ring v: store the payload; atomically add 1 to the count (release); full
 * fence; load the armed word; if it is not 0, call RING. The fence pairs with
 * the one between WAIT's store to the armed word and its load of the count:
 * either the ringer sees the word armed, or the waiter sees the count.
 */
struct vfab_bell {
	__u32 rank;
	__u32 loss;
	__u64 cookie;
};

#define VFAB_BELL_STRIDE	64

/**
 * struct vfab_ring - wake whoever waits on a doorbell; does not count by itself
 * @rank:	the peer
 * @vector:	0 .. VFAB_VECTORS - 1
 *
 * Waits only where a fault swallows what is sent there: EINTR (restarted by
 * SA_RESTART).
 */
struct vfab_ring {
	__u32 rank;
	__u32 vector;
};

enum vfab_wait_reason {
	VFAB_WAIT_COUNT = 1,	/* the count differs from the one given */
	VFAB_WAIT_LOSS = 2,	/* the loss generation differs (checked first) */
};

/**
 * struct vfab_wait - sleep until an own doorbell rings or something is lost
 * @vector:	0 .. VFAB_VECTORS - 1
 * @reason:	out: enum vfab_wait_reason
 * @count:	in: count seen; out: count now
 * @loss:	in: loss generation seen (route view); out: the one now
 * @deadline:	VFAB_NO_DEADLINE: none; a time in the past polls
 *
 * Ends with 0, ETIMEDOUT, EINTR (restarted by SA_RESTART) or ENODEV.
 * Counts are compared for being different, not for being larger: a peer may
 * write anything to them.
 */
struct vfab_wait {
	__u32 vector;
	__u32 reason;
	__u64 count;
	__u64 loss;
	__u64 deadline;
};

/**
 * struct vfab_eventfd - signal an eventfd when an own doorbell rings
 * @vector:	0 .. VFAB_VECTORS - 1
 * @fd:		an eventfd, or -1 to unbind
 *
 * A bound vector stays armed. Rings before the binding are not signalled:
 * read the count after binding. Rings may coalesce; the count tells.
 * EINVAL: not an eventfd. EBADF: not open.
 */
struct vfab_eventfd {
	__u32 vector;
	__s32 fd;
};

/**
 * struct vfab_counts - get the memory in which this endpoint counts
 * @cookie:	out: mmap() offset, for reading and writing
 * @bytes:	out: its size: VFAB_MAX_WORLD at most of struct vfab_count, by the
 *		rank of the peer, in whole pages
 * @flags:	0
 *
 * Zeroed at the first call; later calls give the same. The kernel adds what has
 * been added there to the counters of the endpoints concerned, and of the ports
 * that the routes lead over at that time, before any of these is shown and
 * before routes change. It believes at most 2^40 bytes and 10^9 operations per
 * second of a peer. The memory stays mapped when the endpoint ends.
 */
struct vfab_counts {
	__u64 cookie;
	__u32 bytes;
	__u32 flags;
};

/**
 * struct vfab_count - what an endpoint counts of one peer; each word only grows
 * @put_bytes:	bytes moved to the peer's memory
 * @put_ops:	in so many operations
 * @get_bytes:	bytes moved from the peer's memory
 * @get_ops:	in so many operations
 * @rings:	doorbells of the peer that were rung; each is 8 bytes and an
 *		operation
 * @reserved:	0
 */
struct vfab_count {
	__u64 put_bytes;
	__u64 put_ops;
	__u64 get_bytes;
	__u64 get_ops;
	__u64 rings;
	__u64 reserved[3];
};

#define VFAB_RING_BYTES		8

/* The bytes move from the peer to this endpoint, not the other way */
#define VFAB_PACE_GET		(1 << 0)

/**
 * struct vfab_pace - reserve time on the links to a peer
 * @rank:	the peer, not the own rank
 * @flags:	VFAB_PACE_*
 * @bytes:	in: to move, 1 to window_max; out: for how many of them time was
 *		reserved, which may be fewer, and 0
 * @at:		out: when they have all arrived; 0 where nothing is to be waited
 *		for, as shape is off in the domain. With @bytes 0: the endpoint has
 *		reserved too far ahead, this is when to ask again.
 *
 * Each link takes its share of the bytes at its rate, after what was reserved
 * on it before, of whomever; the latency of the route comes on top. Whether
 * shape is on, the route view tells without a call.
 */
struct vfab_pace {
	__u32 rank;
	__u32 flags;
	__u64 bytes;
	__u64 at;
};

#define VFAB_IOC_MAGIC		0xF6
#define VFAB_IOC_INFO		_IOR(VFAB_IOC_MAGIC, 0, struct vfab_info)
#define VFAB_IOC_ATTACH		_IOWR(VFAB_IOC_MAGIC, 1, struct vfab_attach)
#define VFAB_IOC_DETACH		_IO(VFAB_IOC_MAGIC, 2)
#define VFAB_IOC_WINDOW_ALLOC	_IOWR(VFAB_IOC_MAGIC, 3, struct vfab_window_alloc)
#define VFAB_IOC_WINDOW_FREE	_IOW(VFAB_IOC_MAGIC, 4, struct vfab_window_free)
#define VFAB_IOC_LOOKUP		_IOWR(VFAB_IOC_MAGIC, 5, struct vfab_lookup)
#define VFAB_IOC_IMPORT		_IOWR(VFAB_IOC_MAGIC, 6, struct vfab_import)
#define VFAB_IOC_RELEASE	_IOW(VFAB_IOC_MAGIC, 7, struct vfab_release)
#define VFAB_IOC_BELL		_IOWR(VFAB_IOC_MAGIC, 8, struct vfab_bell)
#define VFAB_IOC_RING		_IOW(VFAB_IOC_MAGIC, 9, struct vfab_ring)
#define VFAB_IOC_WAIT		_IOWR(VFAB_IOC_MAGIC, 10, struct vfab_wait)
#define VFAB_IOC_EVENTFD	_IOW(VFAB_IOC_MAGIC, 11, struct vfab_eventfd)
#define VFAB_IOC_COUNTS		_IOWR(VFAB_IOC_MAGIC, 12, struct vfab_counts)
#define VFAB_IOC_PACE		_IOWR(VFAB_IOC_MAGIC, 13, struct vfab_pace)

/* State of a peer, seen from the owner of a route view. */
enum vfab_peer_state {
	VFAB_PEER_UNREACHABLE = 0,	/* no route, or another partition */
	VFAB_PEER_VACANT = 1,		/* reachable, nothing attached */
	VFAB_PEER_HELD = 2,		/* reachable and attached */
	VFAB_PEER_RECOVERY = 3,		/* route lost, retry timeout running */
};

/**
 * struct vfab_peer - one rank in the route view
 * @generation:	changes whenever anything below changes; odd while it is
 *		being written
 * @losses:	how often this peer was lost to the view's owner: its route
 *		went away or its holder ended while it was HELD, or its route
 *		went away after the end while imports of its windows were kept
 *		(VFAB_PEER_DEATH_KEEP); wraps
 * @revoked:	how many windows of this peer were freed while the view's owner
 *		had imported them; wraps. Who relies on a window and sees this
 *		change asks LOOKUP whether the handle is still there.
 * @state:	enum vfab_peer_state
 * @paths:	live paths (planes) to it
 * @rate:	sum over the live paths, 10^6 bytes per second and direction
 * @latency:	nanoseconds, one way
 */
struct vfab_peer {
	__u64 generation;
	__u32 losses;
	__u32 revoked;
	__u32 state;
	__u32 paths;
	__u32 rate;
	__u32 latency;
};

/**
 * struct vfab_view - the route view: read-only memory at view_cookie
 * @abi:	VFAB_ABI
 * @world:	entries of @peer
 * @rank:	whose view it is
 * @partition:	its partition now; VFAB_PARTITION_NONE after its end
 * @generation:	sum of all changes to @peer
 * @loss:	loss generation of the partition: a new, larger value whenever
 *		an endpoint of it ended, held endpoints of it lost their route
 *		to each other, or an imported window was freed. It is stored
 *		before access is taken away.
 * @ended:	not 0 once this endpoint has ended (the view itself stays)
 * @shape:	0, or where shape is on in the domain, its scale: transfers are to
 *		ask VFAB_IOC_PACE
 * @peer:	by rank
 *
 * Reader: load peer.generation (acquire), the fields, an acquire fence, and
 * peer.generation again; retry when odd or different.
 */
struct vfab_view {
	__u32 abi;
	__u32 world;
	__u32 rank;
	__u32 partition;
	__u64 generation;
	__u64 loss;
	__u32 ended;
	__u32 shape;
	__u32 reserved[6];
	struct vfab_peer peer[];
};

#define VFAB_PARTITION_NONE	0xffffffffU

enum vfab_event_type {
	VFAB_EVENT_OVERFLOW = 0,	/* records were dropped: read the view */
	VFAB_EVENT_PEER_LOST = 1,	/* @rank: reason says why */
	VFAB_EVENT_PEER_GAINED = 2,	/* @rank: reachable and attached (again) */
	VFAB_EVENT_WINDOW_REVOKED = 3,	/* @rank freed @handle, which we imported */
	VFAB_EVENT_MOVED = 4,		/* this endpoint changed its partition */
};

enum vfab_reason {
	VFAB_REASON_NONE = 0,
	VFAB_REASON_EXIT = 1,		/* the holder detached, closed or died */
	VFAB_REASON_LINK = 2,		/* link, port or switch state */
	VFAB_REASON_ROUTE = 3,		/* routing table, or one of the two is parked */
	VFAB_REASON_PARTITION = 4,	/* partition membership */
	VFAB_REASON_FREE = 5,		/* the owner freed the window */
	VFAB_REASON_DELETE = 6,		/* the domain or partition was deleted */
	VFAB_REASON_ATTACH = 7,		/* the peer attached */
};

/**
 * struct vfab_event - what read() returns, whole records only
 * @type:	enum vfab_event_type
 * @rank:	the peer concerned, or the own rank
 * @handle:	the window concerned, or 0
 * @loss:	loss generation at the time
 * @reason:	enum vfab_reason
 * @pad:	0
 *
 * read() with a buffer too small for one record is EINVAL; without a record
 * it sleeps, or returns EAGAIN with O_NONBLOCK; 0 once the endpoint has ended
 * and the queue is empty. poll(): EPOLLIN, and EPOLLHUP | EPOLLERR at the end.
 */
struct vfab_event {
	__u32 type;
	__u32 rank;
	__u64 handle;
	__u64 loss;
	__u32 reason;
	__u32 pad;
};

/*
 * Control plane: what netlink's domain-create takes as links.
 */

/* In vfab_link_spec.node: the switch of that index, not the rank */
#define VFAB_SPEC_SWITCH	0x8000

/**
 * struct vfab_link_spec - a link between two ports
 * @node:	its two ends: a rank, or VFAB_SPEC_SWITCH | a switch's index
 * @port:	the port at each: 0 to 63 of an endpoint, 0 to 4095 of a switch
 * @width:	lanes, 0 where it is not known
 * @pad:	0
 * @rate:	10^6 bytes per second and direction, from 1
 * @latency:	nanoseconds, one way
 */
struct vfab_link_spec {
	__u16 node[2];
	__u16 port[2];
	__u16 width;
	__u16 pad;
	__u32 rate;
	__u32 latency;
};

/**
 * struct vfab_entry_spec - an entry of a routing table, for route-set
 * @node:	whose table: VFAB_SPEC_SWITCH | a switch's index, or a rank
 * @dest:	destination rank
 * @egress:	the port of the lowest bit of @mask
 * @pad:	0
 * @mask:	its ports: bit i is port egress + i; 0: there is no entry
 */
struct vfab_entry_spec {
	__u16 node;
	__u16 dest;
	__u16 egress;
	__u16 pad;
	__u64 mask;
};

#endif
