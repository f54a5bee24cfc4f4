/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * vfabric: what is where in the memory of a backplane.
 *
 * A backplane is one region of memory that the kernels of several VMs, and
 * processes of their host, have mapped: its *nodes*. vfabswitchd(8) makes it,
 * gives each node a number, and joins their interrupts (QEMU's ivshmem-doorbell
 * device, whose peer ids are not the nodes' numbers).
 *
 *   0                       struct vfab_bp_header    by vfabswitchd
 *   VFAB_BP_DAEMON_OFFSET   struct vfab_bp_daemon    by vfabswitchd
 *   VFAB_BP_SLOTS_OFFSET    struct vfab_bp_slot      one per node, by that node
 *   header.data_offset      data areas               one per node, see below
 *
 * All values are little-endian, all structures are of multiples of 64 bytes and
 * aligned so, all offsets count from the first byte of the region.
 *
 * One writer: what stands in a slot is written by its node only, what stands in
 * the header and in the daemon's slot by vfabswitchd only, so that no lock is
 * ever held across kernels. A node's data area is handed out by that node; what
 * is in a window or a doorbell page there may be written by whoever imported it.
 *
 * Records: a structure that begins with @seq is read and written as a whole.
 *   Writer: store seq + 1, which is odd; wmb; store the rest; store seq + 2
 *   (release). What seq was comes from the writer's own memory.
 *   Reader: load seq (acquire); if even, load each word of the rest once; rmb;
 *   load seq again; right if it is the same. After VFAB_BP_TRIES the record is
 *   not read now, but at the next interrupt or beat: whoever writes without end
 *   keeps only himself from being read.
 * Words outside of records (those of struct vfab_bp_beat and struct
 * vfab_bp_rings) are stored and loaded one by one, 8 bytes, aligned.
 *
 * Nothing in the region can be trusted: any node can write anything anywhere.
 * A reader copies once, checks the copy against the constants and against its
 * own copy of the header, and never bounds a loop by what it has not checked.
 *
 * Order of a change: store the records; add 1 to beat.change (release); ring
 * vector VFAB_BP_VECTOR_CHANGE of each node. A follower loads beat.change
 * (acquire), reads the records, does what follows from them, up to the last
 * mapping revoked, and stores what it had loaded to its follow[].change.
 *
 * Who follows: a node stores LIVE and the other's incarnation to its follow[]; full
 * fence; loads the other's beat.change and its records. Who changed something stores
 * it and beat.change; full fence; loads follow[] of all. Either it sees that the
 * other one follows, and waits for it, or the other one has not read what was there
 * before the change: nobody has mapped what nobody waits for. A node follows an
 * ACTIVE one whose beat it has seen move, and a new incarnation only after nothing
 * of the one before is mapped any more: that it follows is the proof of that, too.
 *
 * Expulsion: who finds a node silent or behind stores EXPELLED and its incarnation to
 * its own follow[], loses all of it, and never follows that incarnation again. A
 * node looks at what all others say of it before it judges any of them. Where
 * its own incarnation is expelled it fences itself: it ends all that it has, says
 * FENCED, and comes back as another incarnation. But where it has itself expelled the
 * incarnation that expelled it, the one with the lower number stays.
 *
 * So of two that expel one another exactly one ends. What a node decides, it decides
 * under one lock: it either fences itself, and expels nobody any more in this
 * incarnation, or it has expelled first and reads the other's verdict after that. If
 * both have expelled, both words stay, as an incarnation takes neither back, and each
 * node reads the other's: the higher number fences itself, the lower one does not. If
 * one has fenced itself before it expelled, the other one finds no verdict. (Three that
 * expel one another in a ring all end, and come back.) Meanwhile the stores of the one
 * that is to end may still reach memory: that is why memory which an expelled node
 * could touch is not used again before it says FENCED or LEFT, has another
 * incarnation, or struct vfab_bp_peer says that its connection ended.
 *
 * Interrupts coalesce, and one to a peer that is not ready yet is lost. They
 * only say "look": the words decide. Who waits for another to follow rings
 * again, and who is rung looks at least once per beat.
 *
 * Nobody rings a node that says LEFT: its device may be taken out of its VM. Who
 * joins rings the others.
 *
 * Ages are measured by the observer's clock, since it last saw a word change, and
 * only while the observer ran: what passes between two of its own beats counts as two
 * periods at most. Whoever was stopped does not find that all others are dead. No
 * time of another node's clock is compared with one's own.
 */
#ifndef _UAPI_LINUX_VFABRIC_BACKPLANE_H
#define _UAPI_LINUX_VFABRIC_BACKPLANE_H

#include <linux/types.h>

#define VFAB_BP_MAGIC		0x6e6c706262616676ULL	/* "vfabbpln" */
#define VFAB_BP_VERSION		1

#define VFAB_BP_MAX_NODES	64
#define VFAB_BP_MAX_VECTORS	16
#define VFAB_BP_DOMAINS		16	/* owned by a node */
#define VFAB_BP_ENDPOINTS	1024	/* held on a node, of all domains */
#define VFAB_BP_WINDOWS		2048	/* of the endpoints held on a node */
#define VFAB_BP_RINGS		16	/* last doorbells rung, per pair of nodes */
#define VFAB_BP_CHANNELS	2048	/* of a domain */
#define VFAB_BP_BLOBS		8	/* of a domain */
#define VFAB_BP_MAX_WORLD	1024	/* VFAB_MAX_WORLD */
#define VFAB_BP_TRIES		8	/* to read a record */
#define VFAB_BP_MAX_PEER	65535	/* highest peer id */

#define VFAB_BP_DAEMON_OFFSET	0x1000ULL
#define VFAB_BP_SLOTS_OFFSET	0x10000ULL
#define VFAB_BP_SLOT_SIZE	0x40000ULL
#define VFAB_BP_DATA_ALIGN	0x200000ULL	/* of data areas: a huge page */
#define VFAB_BP_MAX_SIZE	(1ULL << 40)	/* of the region */

/* What an interrupt of a vector means; of fewer vectors: vector % vectors */
#define VFAB_BP_VECTOR_CHANGE	0	/* look at beat.change and at follow[] */
#define VFAB_BP_VECTOR_RINGS	1	/* look at rings[] */

/**
 * struct vfab_bp_header - what is agreed before anything else is read
 * @magic:	VFAB_BP_MAGIC
 * @version:	VFAB_BP_VERSION; a reader of another one leaves the region alone
 * @bytes:	sizeof(struct vfab_bp_header)
 * @size:	of the region: a power of two, VFAB_BP_MAX_SIZE at most
 * @nodes:	slots and data areas, 1 to VFAB_BP_MAX_NODES
 * @vectors:	interrupts of each peer, 1 to VFAB_BP_MAX_VECTORS
 * @slots_offset: VFAB_BP_SLOTS_OFFSET
 * @slot_size:	VFAB_BP_SLOT_SIZE
 * @data_offset: of node 0's data area: the end of the last slot, rounded up to
 *		VFAB_BP_DATA_ALIGN
 * @data_size:	of each data area, which follow one another: what is left divided
 *		by @nodes, rounded down to VFAB_BP_DATA_ALIGN; never 0
 * @uuid:	of the backplane: another one after each start of vfabswitchd
 * @name:	[A-Za-z0-9][A-Za-z0-9_.-]{0,31}, NUL-terminated
 * @reserved:	0
 *
 * Written by vfabswitchd before it lets anybody join; afterwards it stores the
 * same again once a second. Read by each node once, into its own memory: what it
 * then believes of sizes and offsets never changes. With @size, @nodes and
 * VFAB_BP_VERSION the rest of the layout is determined; a header that says
 * otherwise is refused.
 */
struct vfab_bp_header {
	__le64 magic;
	__le32 version;
	__le32 bytes;
	__le64 size;
	__le32 nodes;
	__le32 vectors;
	__le64 slots_offset;
	__le64 slot_size;
	__le64 data_offset;
	__le64 data_size;
	__u8 uuid[16];
	char name[40];
	__u8 reserved[72];
};

enum vfab_bp_switch_state {
	VFAB_BP_SWITCH_ENDED = 0,	/* in good order; nobody can join any more */
	VFAB_BP_SWITCH_SERVING = 1,
};

/**
 * struct vfab_bp_switch - the daemon itself
 * @seq:	this is a record
 * @state:	enum vfab_bp_switch_state
 * @joined:	peers that joined so far, which is the next peer id
 * @refused:	connections that were refused (uid, no free node, limits)
 * @muted:	peers that were no longer served, see VFAB_BP_PEER_MUTE
 * @reserved:	0
 *
 * Written by vfabswitchd, read by whoever shows it.
 */
struct vfab_bp_switch {
	__le32 seq;
	__le32 state;
	__le64 joined;
	__le64 refused;
	__le64 muted;
	__u8 reserved[32];
};

enum vfab_bp_peer_state {
	VFAB_BP_PEER_NONE = 0,	/* no connection: nobody can touch memory as this node */
	VFAB_BP_PEER_JOINED = 1,
	/*
	 * Connected, but it does not read, or speaks: it is told of nobody any
	 * more and rung by nobody who joins. It may still write to the memory.
	 */
	VFAB_BP_PEER_MUTE = 2,
};

/**
 * struct vfab_bp_peer - who is connected as a node
 * @seq:	this is a record
 * @state:	enum vfab_bp_peer_state
 * @peer:	id to ring it by (IVPosition); no id is ever given twice
 * @uid:	of its process, as vfabswitchd sees it
 * @pid:	the same
 * @pad:	0
 * @generation:	how often this node was given to a connection, 1 to 2^32 - 1 from
 *		the first one on; 0: never
 * @since:	of @state: nanoseconds of CLOCK_REALTIME on the host
 * @reserved:	0
 *
 * Written by vfabswitchd: before it tells the newcomer its id, and when it has
 * seen the connection closed. A node finds itself by its peer id. What was
 * mapped from a node that was lost may be reused once its @state is NONE or its
 * @generation has changed.
 */
struct vfab_bp_peer {
	__le32 seq;
	__le32 state;
	__le32 peer;
	__le32 uid;
	__le32 pid;
	__le32 pad;
	__le64 generation;
	__le64 since;
	__u8 reserved[24];
};

/**
 * struct vfab_bp_beat - words that tell of life
 * @beat:	changes once per period while its writer lives
 * @change:	grows by 1 with each change of the writer's records; 0 at the
 *		beginning of an incarnation
 * @loss:	grows with each change that takes something away from somebody: an
 *		end of an endpoint or of a domain, a window freed, a route lost
 * @reserved:	0
 *
 * Each word by itself, no record. The daemon's has @beat only. @loss is stored
 * before @change.
 */
struct vfab_bp_beat {
	__le64 beat;
	__le64 change;
	__le64 loss;
	__u8 reserved[40];
};

/**
 * struct vfab_bp_daemon - vfabswitchd's slot
 * @sw:		how it is
 * @beat:	changes once a second
 * @peer:	by node
 */
struct vfab_bp_daemon {
	struct vfab_bp_switch sw;
	struct vfab_bp_beat beat;
	struct vfab_bp_peer peer[VFAB_BP_MAX_NODES];
};

enum vfab_bp_node_state {
	VFAB_BP_NODE_NONE = 0,
	VFAB_BP_NODE_JOINING = 1,	/* fills its slot; nothing else counts yet */
	VFAB_BP_NODE_ACTIVE = 2,
	VFAB_BP_NODE_LEFT = 3,		/* in good order: touches nothing any more */
	VFAB_BP_NODE_FENCED = 4,	/* saw that it was expelled: the same */
};

/* A process without a module: it does as it is told, and nothing makes it */
#define VFAB_BP_NODE_COOPERATIVE	(1 << 0)

/**
 * struct vfab_bp_node - a node itself
 * @seq:	this is a record
 * @state:	enum vfab_bp_node_state
 * @incarnation: vfab_bp_peer.generation in the high half; the low half is
 *		another one, never 0, after each start on the same connection. Two
 *		incarnations are the same or are not: they have no order
 * @flags:	VFAB_BP_NODE_*
 * @period_ms:	of its beat, 1 to 60000
 * @timeout_ms:	how long others may see no beat of it before they expel it, at
 *		least twice @period_ms, 600000 at most
 * @endpoints:	records of endpoint[] in use: none at or above this index
 * @windows:	the same of window[]
 * @reserved:	0
 *
 * Written by the node, read by all: first, and again before an effect of other
 * records of the slot is made, as they count for this incarnation only.
 */
struct vfab_bp_node {
	__le32 seq;
	__le32 state;
	__le64 incarnation;
	__le32 flags;
	__le32 period_ms;
	__le32 timeout_ms;
	__le32 endpoints;
	__le32 windows;
	__u8 reserved[28];
};

enum vfab_bp_follow_state {
	VFAB_BP_FOLLOW_NONE = 0,	/* not seen yet */
	VFAB_BP_FOLLOW_LIVE = 1,
	/*
	 * Lost to this node: it had no beat, or did not acknowledge in time, or ended
	 * by itself. An incarnation never comes back from this; whoever reads it of
	 * himself fences himself, see above.
	 */
	VFAB_BP_FOLLOW_EXPELLED = 2,
};

/**
 * struct vfab_bp_follow - what a node has seen of another one
 * @seq:	this is a record
 * @state:	enum vfab_bp_follow_state
 * @incarnation: of the other one, that all of this is about
 * @change:	its beat.change that has been followed: all that it takes away is
 *		revoked and unmapped here
 * @rings:	its rings[].count, of those to this node, that has been looked at
 * @reserved:	0
 *
 * Written by the node whose slot it is in, at the index of the other one. Read
 * by that other one, who waits for @change after something was lost; all read
 * @state.
 */
struct vfab_bp_follow {
	__le32 seq;
	__le32 state;
	__le64 incarnation;
	__le64 change;
	__le64 rings;
	__u8 reserved[32];
};

/**
 * struct vfab_bp_rings - doorbells rung by this node on another one
 * @count:	how many, in this incarnation
 * @reserved:	0
 * @ring:	the last ones: number n (from 0) is at n % VFAB_BP_RINGS, see
 *		VFAB_BP_RING()
 *
 * No record: the count that a doorbell counts is in the endpoint's page and has
 * been added to before. Ringing: store @ring; add 1 to @count (release); full
 * fence; interrupt, if follow[].rings of the other one is not behind already. A
 * reader that is VFAB_BP_RINGS or more behind, before or after it loaded @ring,
 * or reads what makes no sense, wakes all that wait, and has lost nothing.
 */
struct vfab_bp_rings {
	__le64 count;
	__u8 reserved[56];
	__le64 ring[VFAB_BP_RINGS];
};

/* Owner and index of the domain, rank, doorbell vector */
#define VFAB_BP_RING(node, domain, rank, vector) \
	((__u64)(node) << 48 | (__u64)(domain) << 32 | (__u64)(rank) << 16 | (vector))

/**
 * struct vfab_bp_blob - something of a domain that is too large for its record
 * @offset:	of the region, in the data area of the domain's owner
 * @bytes:	0: there is none
 * @generation:	another one whenever the contents are
 *
 * What a blob holds is never changed while it is published: the owner writes a
 * new one elsewhere, publishes that, and reuses the old memory once all have
 * followed. Who finds another @generation after copying copies again.
 */
struct vfab_bp_blob {
	__le64 offset;
	__le64 bytes;
	__le64 generation;
};

/*
 * What the blobs of a domain are, by index; values in them are little-endian.
 * LINKS never changes in a generation, and says how many links there are. A router
 * is a switch, by number, and then, where endpoints forward, an endpoint, by rank.
 */
#define VFAB_BP_BLOB_LINKS	0	/* struct vfab_link_spec, as built */
#define VFAB_BP_BLOB_ENTRIES	1	/* struct vfab_bp_entry [router][destination] */
#define VFAB_BP_BLOB_STATES	2	/* struct vfab_bp_link by link, __u8 up by switch */
#define VFAB_BP_BLOB_MEMBERS	3	/* __le32 partition by rank, VFAB_BP_MEMBER_* */
#define VFAB_BP_BLOB_PARTITIONS	4	/* struct vfab_bp_partition, by rising id */
#define VFAB_BP_BLOB_CHANNELS	5	/* struct vfab_bp_channel, by rising partition and id */

/**
 * struct vfab_bp_entry - of a routing table
 * @mask:	bit i: port @base + i is in the set; 0: there is no entry
 * @base:	number of a port of the router
 * @pad:	0
 */
struct vfab_bp_entry {
	__le64 mask;
	__le32 base;
	__le32 pad;
};

/* Link admin states */
#define VFAB_BP_LINK_UP		0
#define VFAB_BP_LINK_DOWN	1
#define VFAB_BP_LINK_DRAIN	2	/* works, but no route uses it */

/* What a link is down by, whatever the admin wants */
#define VFAB_BP_LINK_OUTAGE	(1 << 0)	/* for a moment */
#define VFAB_BP_LINK_BROKEN	(1 << 1)

/**
 * struct vfab_bp_link - how a link is
 * @rate:	as it is, not 0; so are @latency and @width
 * @admin:	VFAB_BP_LINK_UP to VFAB_BP_LINK_DRAIN
 * @down:	VFAB_BP_LINK_OUTAGE, VFAB_BP_LINK_BROKEN
 * @pad:	0
 */
struct vfab_bp_link {
	__le32 rate;
	__le32 latency;
	__le16 width;
	__u8 admin;
	__u8 down;
	__le32 pad;
};

/* In no partition; parked in it */
#define VFAB_BP_MEMBER_NONE	0xffffffffU
#define VFAB_BP_MEMBER_PARKED	(1U << 31)

/**
 * struct vfab_bp_partition - a partition
 * @id:		0 to 65535
 * @resiliency:	enum vfabric_resiliency
 * @name:	as vfab_bp_header.name
 */
struct vfab_bp_partition {
	__le32 id;
	__le32 resiliency;
	char name[40];
};

/**
 * struct vfab_bp_channel - a channel of a partition
 * @partition:	its id
 * @channel:	0 to 2047
 * @mode:	of its device file, as of the domain's
 * @pad:	0
 */
struct vfab_bp_channel {
	__le32 partition;
	__le32 channel;
	__le32 mode;
	__le32 pad;
};

#define VFAB_BP_NO_NODE		0xff

/* Endpoints pass on what is for others */
#define VFAB_BP_DOMAIN_FORWARDS	(1 << 0)

enum vfab_bp_domain_state {
	VFAB_BP_DOMAIN_NONE = 0,
	VFAB_BP_DOMAIN_LIVE = 1,
};

/**
 * struct vfab_bp_domain - a domain that this node owns
 * @seq:	this is a record
 * @state:	enum vfab_bp_domain_state
 * @generation:	another one for each domain that this record was used for
 * @changes:	grows with each change of topology, tables or partitions
 * @uuid:	of the domain, which all nodes show
 * @name:	as vfab_bp_header.name
 * @world:	endpoints, 1 to VFAB_BP_MAX_WORLD
 * @planes:	ports of an endpoint, 1 to 64
 * @switches:	0 to 1024
 * @format:	of the blobs: 0
 * @blob:	VFAB_BP_BLOB_*
 * @place:	by rank: the node that may attach it; VFAB_BP_NO_NODE: none.
 *		From @world on VFAB_BP_NO_NODE. Never changes in a @generation
 * @flags:	VFAB_BP_DOMAIN_*; this and what follows never changes either
 * @switch_latency: nanoseconds
 * @retry_ms:	for how long an access waits for its route to return
 * @mode:	of the device files, which are root's on all nodes but the owner
 * @mem_limit:	bytes of windows on each node; 0: none
 * @partitions:	enum vfabric_partition_mode
 * @pad:	0
 * @reserved:	0
 *
 * Written by the owner, mirrored by all: topology, link states, tables and
 * partitions are changed here and nowhere else. The owner's loss is the domain's.
 */
struct vfab_bp_domain {
	__le32 seq;
	__le32 state;
	__le64 generation;
	__le64 changes;
	__u8 uuid[16];
	char name[40];
	__le32 world;
	__le32 planes;
	__le32 switches;
	__le32 format;
	struct vfab_bp_blob blob[VFAB_BP_BLOBS];
	__u8 place[VFAB_BP_MAX_WORLD];
	__le32 flags;
	__le32 switch_latency;
	__le32 retry_ms;
	__le32 mode;
	__le64 mem_limit;
	__le32 partitions;
	__le32 pad;
	__u8 reserved[704];
};

enum vfab_bp_endpoint_state {
	VFAB_BP_ENDPOINT_NONE = 0,
	VFAB_BP_ENDPOINT_HELD = 1,
};

/* Which domain: the owner's node and the index of the record in its slot */
#define VFAB_BP_DOMAIN_ID(node, index)	((node) << 8 | (index))

/**
 * struct vfab_bp_endpoint - an endpoint that is attached on this node
 * @seq:	this is a record
 * @state:	enum vfab_bp_endpoint_state
 * @domain:	VFAB_BP_DOMAIN_ID()
 * @rank:	below the domain's world, and placed on this node; in one record only
 * @domain_generation: of the domain: what it says is about no other
 * @generation:	another one for each attachment, never 0
 * @bell:	offset of the region of its two doorbell pages of 4096 bytes, in
 *		this node's data area: counts, then armed words
 * @partition:	that it was admitted to; where it is now, the domain's owner says
 * @channel:	that it was admitted to, or VFAB_CHANNEL_NONE
 * @reserved:	0
 *
 * Written by the node that holds it. Gone (@state or @generation): all that was
 * imported of it is lost.
 */
struct vfab_bp_endpoint {
	__le32 seq;
	__le32 state;
	__le32 domain;
	__le32 rank;
	__le64 domain_generation;
	__le64 generation;
	__le64 bell;
	__le32 partition;
	__le32 channel;
	__u8 reserved[16];
};

enum vfab_bp_window_state {
	VFAB_BP_WINDOW_NONE = 0,
	VFAB_BP_WINDOW_LIVE = 1,
};

/**
 * struct vfab_bp_window - a window of an endpoint that is attached on this node
 * @seq:	this is a record
 * @state:	enum vfab_bp_window_state
 * @endpoint:	index of the endpoint's record
 * @access:	VFAB_ACCESS_READ, or READ | WRITE: the greatest that peers may have
 * @endpoint_generation: of that record
 * @handle:	in the domain; 0 is none. Bits 24 to 31 are the node's number, so
 *		that no two nodes give the same
 * @tag:	for LOOKUP; 0: not looked up
 * @offset:	of the region: a multiple of 4096, in this node's data area
 * @size:	a multiple of 4096, not 0
 * @generation:	another one for each window that this record was used for
 *
 * Written by the node whose memory it is, which has zeroed it before. What it
 * freed it hands out again when every node has followed that change, or is gone
 * as struct vfab_bp_peer says.
 */
struct vfab_bp_window {
	__le32 seq;
	__le32 state;
	__le32 endpoint;
	__le32 access;
	__le64 endpoint_generation;
	__le64 handle;
	__le64 tag;
	__le64 offset;
	__le64 size;
	__le64 generation;
};

/**
 * struct vfab_bp_slot - what one node says
 * @node:	itself
 * @beat:	its life and its changes
 * @pad:	0
 * @follow:	by node: what it has seen of that one
 * @rings:	by node: doorbells rung there
 * @domain:	that it owns
 * @endpoint:	that are attached on it
 * @window:	that these have
 * @reserved:	0
 *
 * While its state is JOINING a node makes all its records NONE and its words 0,
 * whatever an earlier incarnation or a stranger left in them.
 */
struct vfab_bp_slot {
	struct vfab_bp_node node;
	struct vfab_bp_beat beat;
	__u8 pad[3968];
	struct vfab_bp_follow follow[VFAB_BP_MAX_NODES];
	struct vfab_bp_rings rings[VFAB_BP_MAX_NODES];
	struct vfab_bp_domain domain[VFAB_BP_DOMAINS];
	struct vfab_bp_endpoint endpoint[VFAB_BP_ENDPOINTS];
	struct vfab_bp_window window[VFAB_BP_WINDOWS];
	__u8 reserved[12288];
};

#endif
