// SPDX-License-Identifier: GPL-2.0 OR LGPL-2.1
/* Reading and writing the memory of a backplane, see backplane_layout.h. */
#include "backplane_layout.h"

#define PAGE_BYTES	4096

static_assert(sizeof(struct vfab_bp_header) <= VFAB_BP_DAEMON_OFFSET, "header");
static_assert(sizeof(struct vfab_bp_daemon) <= VFAB_BP_SLOTS_OFFSET - VFAB_BP_DAEMON_OFFSET,
	      "daemon");
static_assert(sizeof(struct vfab_bp_slot) == VFAB_BP_SLOT_SIZE, "slot");
static_assert(sizeof(struct vfab_bp_domain) == 2048, "domain");
static_assert(sizeof(struct vfab_bp_endpoint) == 64, "endpoint");
static_assert(sizeof(struct vfab_bp_window) == 64, "window");

/* --- Where things are ------------------------------------------------------------- */

static u64 data_offset(u32 nodes)
{
	u64 end = VFAB_BP_SLOTS_OFFSET + nodes * VFAB_BP_SLOT_SIZE;

	return (end + VFAB_BP_DATA_ALIGN - 1) & ~(VFAB_BP_DATA_ALIGN - 1);
}

/**
 * vf_bp_least - the smallest region for so many nodes
 * @nodes: 1 to VFAB_BP_MAX_NODES
 *
 * Return: bytes, a power of two.
 */
u64 vf_bp_least(u32 nodes)
{
	u64 size = VFAB_BP_DATA_ALIGN;

	while (size < data_offset(nodes) + nodes * VFAB_BP_DATA_ALIGN)
		size *= 2;
	return size;
}

static bool name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* [A-Za-z0-9][A-Za-z0-9_.-]{0,31} and a NUL within @room bytes */
bool vf_bp_name_valid(const char *name, size_t room)
{
	size_t i;

	if (!room || !name_char(name[0]))
		return false;
	for (i = 1; i < room && i <= 32; i++) {
		if (!name[i])
			return true;
		if (!name_char(name[i]) && name[i] != '_' && name[i] != '.' && name[i] != '-')
			return false;
	}
	return false;
}

static int layout(struct vf_bp *bp, void *base, u64 size, u32 nodes, u32 vectors)
{
	if (!nodes || nodes > VFAB_BP_MAX_NODES || !vectors || vectors > VFAB_BP_MAX_VECTORS)
		return -EINVAL;
	if (size & (size - 1) || size < vf_bp_least(nodes) || size > VFAB_BP_MAX_SIZE)
		return -EINVAL;
	bp->base = base;
	bp->size = size;
	bp->nodes = nodes;
	bp->vectors = vectors;
	bp->data_offset = data_offset(nodes);
	bp->data_size = (size - bp->data_offset) / nodes & ~(VFAB_BP_DATA_ALIGN - 1);
	return 0;
}

/* What is there of another type may be loaded and stored as this one */
typedef u64 word_t __attribute__((may_alias));

/* Word by word, each one once */
static void copy(void *to, const void *from, size_t bytes)
{
	const word_t *src = from;
	word_t *dst = to;
	size_t i;

	for (i = 0; i < bytes / 8; i++)
		WRITE_ONCE(dst[i], READ_ONCE(src[i]));
}

/**
 * vf_bp_format - what a fresh region is to be, for vfabswitchd
 * @bp:		the outcome
 * @base:	zeroed, @size bytes
 * @size:	a power of two, at least vf_bp_least()
 * @nodes:	1 to VFAB_BP_MAX_NODES
 * @vectors:	1 to VFAB_BP_MAX_VECTORS
 * @uuid:	any
 * @name:	vf_bp_name_valid()
 *
 * Return: 0 or -EINVAL.
 */
int vf_bp_format(struct vf_bp *bp, void *base, u64 size, u32 nodes, u32 vectors,
		 const u8 uuid[16], const char *name)
{
	struct vfab_bp_header h;
	int ret;

	ret = layout(bp, base, size, nodes, vectors);
	if (ret || !vf_bp_name_valid(name, 33))
		return -EINVAL;
	memcpy(bp->uuid, uuid, sizeof(bp->uuid));
	memset(bp->name, 0, sizeof(bp->name));
	memcpy(bp->name, name, strlen(name));
	vf_bp_fill_header(bp, &h);
	copy(base, &h, sizeof(h));
	return 0;
}

/* The header that says what @bp does */
void vf_bp_fill_header(const struct vf_bp *bp, struct vfab_bp_header *h)
{
	memset(h, 0, sizeof(*h));
	h->magic = cpu_to_le64(VFAB_BP_MAGIC);
	h->version = cpu_to_le32(VFAB_BP_VERSION);
	h->bytes = cpu_to_le32(sizeof(*h));
	h->size = cpu_to_le64(bp->size);
	h->nodes = cpu_to_le32(bp->nodes);
	h->vectors = cpu_to_le32(bp->vectors);
	h->slots_offset = cpu_to_le64(VFAB_BP_SLOTS_OFFSET);
	h->slot_size = cpu_to_le64(VFAB_BP_SLOT_SIZE);
	h->data_offset = cpu_to_le64(bp->data_offset);
	h->data_size = cpu_to_le64(bp->data_size);
	memcpy(h->uuid, bp->uuid, sizeof(h->uuid));
	memcpy(h->name, bp->name, sizeof(h->name));
}

/**
 * vf_bp_open - is this a backplane, and of which layout?
 * @bp:		the outcome
 * @base:	aligned to 8
 * @size:	bytes that may be read from there
 *
 * Writes nothing to the region.
 *
 * Return: 0; -ENOENT: it holds something else; -EPROTONOSUPPORT: it is a
 * backplane of another version; -EBADMSG: its header makes no sense.
 */
int vf_bp_open(struct vf_bp *bp, void *base, u64 size)
{
	struct vfab_bp_header h, want;

	if (size < sizeof(h))
		return -ENOENT;
	copy(&h, base, sizeof(h));
	if (h.magic != cpu_to_le64(VFAB_BP_MAGIC))
		return -ENOENT;
	if (h.version != cpu_to_le32(VFAB_BP_VERSION))
		return -EPROTONOSUPPORT;
	if (le64_to_cpu(h.size) != size || !vf_bp_name_valid(h.name, sizeof(h.name)) ||
	    layout(bp, base, size, le32_to_cpu(h.nodes), le32_to_cpu(h.vectors)))
		return -EBADMSG;
	memcpy(bp->uuid, h.uuid, sizeof(bp->uuid));
	memcpy(bp->name, h.name, sizeof(bp->name));
	vf_bp_fill_header(bp, &want);
	return memcmp(&h, &want, sizeof(h)) ? -EBADMSG : 0;
}

struct vfab_bp_daemon *vf_bp_daemon(const struct vf_bp *bp)
{
	return (void *)((u8 *)bp->base + VFAB_BP_DAEMON_OFFSET);
}

/* @node below bp->nodes */
struct vfab_bp_slot *vf_bp_slot(const struct vf_bp *bp, u32 node)
{
	return (void *)((u8 *)bp->base + VFAB_BP_SLOTS_OFFSET + node * VFAB_BP_SLOT_SIZE);
}

/* The offset of a node's data area */
u64 vf_bp_data(const struct vf_bp *bp, u32 node)
{
	return bp->data_offset + node * bp->data_size;
}

/* Is all of this in the data area of @node? */
bool vf_bp_inside(const struct vf_bp *bp, u32 node, u64 offset, u64 bytes)
{
	u64 start = vf_bp_data(bp, node);

	return offset >= start && offset - start <= bp->data_size &&
	       bytes <= bp->data_size - (offset - start);
}

/* --- Records and words ------------------------------------------------------------ */

/**
 * vf_bp_write - publish a record
 * @record:	in the region; begins with its seq
 * @from:	what it is to be, its seq apart
 * @bytes:	a multiple of 8
 * @seq:	the writer's own count, which is not in the region
 *
 * One writer at a time. Who goes on where another writer ended begins with the
 * even number behind the one that is there: the record is right after the first
 * write, and a reader in the middle of it does not find the number that it knows.
 */
void vf_bp_write(void *record, const void *from, size_t bytes, u32 *seq)
{
	__le32 *mark = record;
	const __le32 *rest = from;

	WRITE_ONCE(*mark, cpu_to_le32(*seq + 1));
	/* Odd before the rest changes; pairs with the reader's virt_rmb() */
	virt_wmb();
	WRITE_ONCE(mark[1], rest[1]);
	copy(mark + 2, rest + 2, bytes - 8);
	*seq += 2;
	/* Even after it has; pairs with the reader's virt_load_acquire() */
	virt_store_release(mark, cpu_to_le32(*seq));
}

/* Into @to, whose seq is then even; or -EAGAIN, and @to is zeroed */
static int read_record(void *to, const void *record, size_t bytes)
{
	const __le32 *mark = record;
	__le32 *copied = to;
	unsigned int i;

	for (i = 0; i < VFAB_BP_TRIES; i++) {
		/* Pairs with the writer's virt_store_release() */
		copied[0] = virt_load_acquire(mark);
		if (le32_to_cpu(copied[0]) & 1)
			continue;
		copied[1] = READ_ONCE(mark[1]);
		copy(copied + 2, mark + 2, bytes - 8);
		/* The rest was loaded before the seq is loaded again */
		virt_rmb();
		if (READ_ONCE(*mark) == copied[0])
			return 0;
	}
	memset(to, 0, bytes);
	return -EAGAIN;
}

/* One of the words outside of records; what was stored before it is seen */
u64 vf_bp_load(const __le64 *word)
{
	/* Pairs with vf_bp_store() */
	return le64_to_cpu(virt_load_acquire(word));
}

/* What was stored before is seen by who loads it */
void vf_bp_store(__le64 *word, u64 value)
{
	/* Pairs with vf_bp_load() */
	virt_store_release(word, cpu_to_le64(value));
}

/* --- The daemon's ----------------------------------------------------------------- */

int vf_bp_read_switch(const struct vf_bp *bp, struct vfab_bp_switch *to)
{
	int ret = read_record(to, &vf_bp_daemon(bp)->sw, sizeof(*to));

	if (ret)
		return ret;
	return le32_to_cpu(to->state) > VFAB_BP_SWITCH_SERVING ? -EBADMSG : 0;
}

/* @node below bp->nodes; state NONE is an answer, too: its generation counts */
int vf_bp_read_peer(const struct vf_bp *bp, u32 node, struct vfab_bp_peer *to)
{
	int ret = read_record(to, &vf_bp_daemon(bp)->peer[node], sizeof(*to));

	if (ret)
		return ret;
	if (le32_to_cpu(to->state) > VFAB_BP_PEER_MUTE ||
	    le32_to_cpu(to->peer) > VFAB_BP_MAX_PEER || le64_to_cpu(to->generation) >> 32)
		return -EBADMSG;
	return to->state && !to->generation ? -EBADMSG : 0;
}

/**
 * vf_bp_find_peer - which node has this peer id?
 * @bp:		the backplane
 * @peer:	what the device says in IVPosition
 * @to:		its record
 *
 * Return: the node, or -ENOENT. The daemon writes the record before it tells the
 * peer its id, so that there is no need to wait.
 */
int vf_bp_find_peer(const struct vf_bp *bp, u32 peer, struct vfab_bp_peer *to)
{
	u32 node;

	for (node = 0; node < bp->nodes; node++)
		if (!vf_bp_read_peer(bp, node, to) && to->state && le32_to_cpu(to->peer) == peer)
			return node;
	return -ENOENT;
}

/* --- A node's --------------------------------------------------------------------- */

int vf_bp_read_node(const struct vf_bp *bp, u32 node, struct vfab_bp_node *to)
{
	int ret = read_record(to, &vf_bp_slot(bp, node)->node, sizeof(*to));
	u32 state = le32_to_cpu(to->state), period = le32_to_cpu(to->period_ms);
	u32 timeout = le32_to_cpu(to->timeout_ms);
	u64 incarnation = le64_to_cpu(to->incarnation);

	if (ret)
		return ret;
	if (!state)
		return -ENOENT;
	if (state > VFAB_BP_NODE_FENCED || !(u32)incarnation || !(incarnation >> 32) ||
	    period < 1 || period > 60000 || timeout < 2 * period || timeout > 600000 ||
	    le32_to_cpu(to->flags) & ~VFAB_BP_NODE_COOPERATIVE ||
	    le32_to_cpu(to->endpoints) > VFAB_BP_ENDPOINTS ||
	    le32_to_cpu(to->windows) > VFAB_BP_WINDOWS)
		return -EBADMSG;
	return 0;
}

/**
 * vf_bp_bell - by which peer id is a node rung?
 * @bp:		the backplane
 * @node:	below bp->nodes
 *
 * Nobody rings one that has left: its device may be taken out of its VM.
 *
 * Return: the id; -ENOENT: it is not to be rung; or an error, where it cannot be said.
 */
int vf_bp_bell(const struct vf_bp *bp, u32 node)
{
	struct vfab_bp_peer peer;
	struct vfab_bp_node n;
	int ret = vf_bp_read_peer(bp, node, &peer);

	if (ret)
		return ret;
	if (!peer.state || (!vf_bp_read_node(bp, node, &n) &&
			    le32_to_cpu(n.state) == VFAB_BP_NODE_LEFT))
		return -ENOENT;
	return le32_to_cpu(peer.peer);
}

/* What @node has seen of node @of */
int vf_bp_read_follow(const struct vf_bp *bp, u32 node, u32 of, struct vfab_bp_follow *to)
{
	int ret = read_record(to, &vf_bp_slot(bp, node)->follow[of], sizeof(*to));

	if (ret)
		return ret;
	if (!to->state)
		return -ENOENT;
	return le32_to_cpu(to->state) > VFAB_BP_FOLLOW_EXPELLED ? -EBADMSG : 0;
}

static bool blob_valid(const struct vf_bp *bp, u32 node, const struct vfab_bp_blob *b)
{
	return !b->bytes || (!(le64_to_cpu(b->offset) % 8) &&
			     vf_bp_inside(bp, node, le64_to_cpu(b->offset), le64_to_cpu(b->bytes)));
}

int vf_bp_read_domain(const struct vf_bp *bp, u32 node, u32 index, struct vfab_bp_domain *to)
{
	int ret = read_record(to, &vf_bp_slot(bp, node)->domain[index], sizeof(*to));
	u32 world = le32_to_cpu(to->world), planes = le32_to_cpu(to->planes), i;

	if (ret)
		return ret;
	if (!to->state)
		return -ENOENT;
	if (le32_to_cpu(to->state) > VFAB_BP_DOMAIN_LIVE || !world || world > VFAB_BP_MAX_WORLD ||
	    !planes || planes > 64 || le32_to_cpu(to->switches) > 1024 || to->format ||
	    !vf_bp_name_valid(to->name, sizeof(to->name)))
		return -EBADMSG;
	for (i = 0; i < VFAB_BP_BLOBS; i++)
		if (!blob_valid(bp, node, &to->blob[i]))
			return -EBADMSG;
	for (i = 0; i < VFAB_BP_MAX_WORLD; i++)
		if (to->place[i] != VFAB_BP_NO_NODE && (i >= world || to->place[i] >= bp->nodes))
			return -EBADMSG;
	return 0;
}

int vf_bp_read_endpoint(const struct vf_bp *bp, u32 node, u32 index, struct vfab_bp_endpoint *to)
{
	int ret = read_record(to, &vf_bp_slot(bp, node)->endpoint[index], sizeof(*to));
	u64 bell = le64_to_cpu(to->bell);
	u32 domain = le32_to_cpu(to->domain);

	if (ret)
		return ret;
	if (!to->state)
		return -ENOENT;
	if (le32_to_cpu(to->state) > VFAB_BP_ENDPOINT_HELD || domain >> 8 >= bp->nodes ||
	    (domain & 0xff) >= VFAB_BP_DOMAINS || le32_to_cpu(to->rank) >= VFAB_BP_MAX_WORLD ||
	    !to->generation || bell % PAGE_BYTES || !vf_bp_inside(bp, node, bell, 2 * PAGE_BYTES))
		return -EBADMSG;
	return 0;
}

int vf_bp_read_window(const struct vf_bp *bp, u32 node, u32 index, struct vfab_bp_window *to)
{
	int ret = read_record(to, &vf_bp_slot(bp, node)->window[index], sizeof(*to));
	u64 offset = le64_to_cpu(to->offset), size = le64_to_cpu(to->size);
	u32 access = le32_to_cpu(to->access);

	if (ret)
		return ret;
	if (!to->state)
		return -ENOENT;
	/* Readable (1), or also writable (2) */
	if (le32_to_cpu(to->state) > VFAB_BP_WINDOW_LIVE || (access != 1 && access != 3) ||
	    le32_to_cpu(to->endpoint) >= VFAB_BP_ENDPOINTS || !to->handle || !size ||
	    offset % PAGE_BYTES || size % PAGE_BYTES || !vf_bp_inside(bp, node, offset, size))
		return -EBADMSG;
	return 0;
}

/**
 * vf_bp_belongs - may an endpoint on this node be one of this domain?
 * @dom:	from vf_bp_read_domain(), of the record that @ep names
 * @node:	in whose slot @ep was
 * @ep:		from vf_bp_read_endpoint()
 */
bool vf_bp_belongs(const struct vfab_bp_domain *dom, u32 node, const struct vfab_bp_endpoint *ep)
{
	u32 rank = le32_to_cpu(ep->rank);

	return ep->domain_generation == dom->generation && rank < VFAB_BP_MAX_WORLD &&
	       dom->place[rank] == node;
}

/* --- Doorbells -------------------------------------------------------------------- */

/**
 * vf_bp_ring - tell of a doorbell that was rung
 * @to:		in one's own slot, of the node to be told
 * @count:	how many there were before, by one's own memory
 * @ring:	the doorbell
 *
 * One writer at a time. A full fence, then the interrupt, are the caller's.
 */
void vf_bp_ring(struct vfab_bp_rings *to, u64 count, const struct vf_bp_ring *ring)
{
	u64 word = VFAB_BP_RING(ring->node, ring->domain, ring->rank, ring->vector);

	WRITE_ONCE(to->ring[count % VFAB_BP_RINGS], cpu_to_le64(word));
	vf_bp_store(&to->count, count + 1);
}

/**
 * vf_bp_read_rings - which doorbells were rung?
 * @bp:		the backplane
 * @from:	the node that rang
 * @to:		one's own
 * @seen:	rings that were looked at before; then also these
 * @ring:	room for what was rung
 *
 * The writer fills the place of ring number count before it counts: what is
 * VFAB_BP_RINGS behind may be that one already.
 *
 * Return: how many, in order; or -EOVERFLOW: too many, or nonsense, wake all.
 */
int vf_bp_read_rings(const struct vf_bp *bp, u32 from, u32 to, u64 *seen,
		     struct vf_bp_ring ring[VFAB_BP_RINGS])
{
	const struct vfab_bp_rings *r = &vf_bp_slot(bp, from)->rings[to];
	u64 first = *seen, count = vf_bp_load(&r->count), word;
	u32 n, i;

	*seen = count;
	if (count - first >= VFAB_BP_RINGS)
		return -EOVERFLOW;
	n = count - first;
	for (i = 0; i < n; i++) {
		word = le64_to_cpu(READ_ONCE(r->ring[(first + i) % VFAB_BP_RINGS]));
		ring[i].node = word >> 48;
		ring[i].domain = word >> 32 & 0xffff;
		ring[i].rank = word >> 16 & 0xffff;
		ring[i].vector = word & 0xffff;
		if (ring[i].node >= bp->nodes || ring[i].domain >= VFAB_BP_DOMAINS ||
		    ring[i].rank >= VFAB_BP_MAX_WORLD || ring[i].vector >= 64)
			return -EOVERFLOW;
	}
	/* They were loaded before the count is loaded again */
	virt_rmb();
	if (n && le64_to_cpu(READ_ONCE(r->count)) - first >= VFAB_BP_RINGS)
		return -EOVERFLOW;
	return n;
}
