// SPDX-License-Identifier: GPL-2.0
/*
 * The protocol of QEMU's ivshmem-server (docs/specs/ivshmem-spec): messages of 8
 * bytes, little-endian, some with a file descriptor, from here to the peers only.
 *
 *	0, own id, -1 + region, then, per peer there is and per vector,
 *	id + eventfd, its own ones last;
 *	later id + eventfd per vector when one joins, and the id alone when one leaves
 *
 * No peer is trusted, and none can make those that have joined wait: sends do not
 * block, what is to be sent is bounded, and who does not take it is served no
 * more. Such a peer is *mute*: others are told that it left, but its connection
 * stays open, as only the end of that says that it writes to the memory no more.
 *
 * No id is given twice: a QEMU that has seen a peer leave writes to freed memory
 * when one of the same id joins.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "vfabswitchd.h"

#define PROTOCOL	0
#define BEAT_MS		1000
#define ACCEPTS		16	/* of one socket, before others have their turn */

/* The eventfds of a peer, until the last message that names them is sent */
struct bells {
	unsigned int refs;
	int fd[VFAB_BP_MAX_VECTORS];
};

struct message {
	int64_t value;
	int fd;			/* -1: none */
	struct bells *bells;	/* whose @fd is, or NULL */
};

/**
 * struct peer - who is connected as a node
 * @fd:		-1: nobody
 * @why:	it is to be served no more, for this reason
 * @queue:	ring of @room messages from @head on
 * @stalled:	since when it has not taken all that it was told, 0: it has
 * @wait:	until the next beat: too many file descriptors are in flight
 */
struct peer {
	int fd;
	uint32_t id;
	const char *why;
	struct bells *bells;
	struct message *queue;
	unsigned int head, len;
	int64_t stalled;
	bool wait;
	uint32_t seq;
	struct vfab_bp_peer record;	/* state, pid, uid, ...: what is told */
};

static struct server {
	const struct config *cfg;
	struct region *region;
	struct place *place;
	struct peer peer[VFAB_BP_MAX_NODES];
	unsigned int room;
	int spare;			/* given up to accept, and refuse, one more */
	struct vfab_bp_header header;
	struct vfab_bp_switch sw;
	uint32_t seq;
	uint64_t beat;
	uint32_t next_id;
	uint64_t said, unsaid;		/* refusals of this second */
} sv;

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static uint64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void add(__le64 *word, uint64_t n)
{
	*word = cpu_to_le64(le64_to_cpu(*word) + n);
}

/* --- What is in the region ---------------------------------------------------------- */

static void publish_switch(void)
{
	vf_bp_write(&vf_bp_daemon(&sv.region->bp)->sw, &sv.sw, sizeof(sv.sw), &sv.seq);
}

static void publish_peer(struct peer *p)
{
	vf_bp_write(&vf_bp_daemon(&sv.region->bp)->peer[p - sv.peer], &p->record,
		    sizeof(p->record), &p->seq);
}

static void set_state(struct peer *p, enum vfab_bp_peer_state state)
{
	p->record.state = cpu_to_le32(state);
	p->record.since = cpu_to_le64(real_ns());
	publish_peer(p);
	publish_switch();
}

/* Once a second: a sign of life; and whatever a node wrote there is undone */
static void beat(void)
{
	struct vfab_bp_daemon *d = vf_bp_daemon(&sv.region->bp);
	unsigned int i;

	memcpy(sv.region->bp.base, &sv.header, sizeof(sv.header));
	publish_switch();
	for (i = 0; i < VFAB_BP_MAX_NODES; i++)
		publish_peer(&sv.peer[i]);
	vf_bp_store(&d->beat.beat, ++sv.beat);
}

/* --- Messages ----------------------------------------------------------------------- */

static void bells_put(struct bells *b)
{
	unsigned int i;

	if (!b || --b->refs)
		return;
	for (i = 0; i < sv.cfg->vectors; i++)
		if (b->fd[i] >= 0)
			close(b->fd[i]);
	free(b);
}

static struct bells *bells_make(void)
{
	struct bells *b = malloc(sizeof(*b));
	unsigned int i;
	bool ok = b;

	if (!b)
		return NULL;
	b->refs = 1;
	for (i = 0; i < sv.cfg->vectors; i++) {
		b->fd[i] = ok ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1;
		ok = ok && b->fd[i] >= 0;
	}
	if (ok)
		return b;
	bells_put(b);
	return NULL;
}

static bool served(const struct peer *p)
{
	return p->fd >= 0 && !p->why && p->record.state == cpu_to_le32(VFAB_BP_PEER_JOINED);
}

static void forget(struct peer *p)
{
	bells_put(p->queue[p->head].bells);
	p->head = (p->head + 1) % sv.room;
	p->len--;
}

static void tell(struct peer *p, int64_t value, int fd, struct bells *b)
{
	if (p->why)
		return;
	if (p->len == sv.room) {	/* see crowded() */
		p->why = "it does not read what it is told";
		return;
	}
	if (b)
		b->refs++;
	p->queue[(p->head + p->len++) % sv.room] = (struct message) {
		.value = htole64(value), .fd = fd, .bells = b };
}

static void tell_bells(struct peer *p, const struct peer *of)
{
	unsigned int i;

	for (i = 0; i < sv.cfg->vectors; i++)
		tell(p, of->id, of->bells->fd[i], of->bells);
}

static void tell_others(const struct peer *of, bool joined)
{
	unsigned int i;

	for (i = 0; i < sv.cfg->nodes; i++) {
		struct peer *p = &sv.peer[i];

		if (p == of || !served(p))
			continue;
		if (joined)
			tell_bells(p, of);
		else
			tell(p, of->id, -1, NULL);
	}
}

static ssize_t send_message(int to, const void *data, size_t bytes, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .head = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS } };
	struct iovec iov = { (void *)data, bytes };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	return sendmsg(to, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Later, when it reads or is found gone, or never */
static void cannot_send(struct peer *p, int err)
{
	switch (err) {
	case ETOOMANYREFS:	/* file descriptors in flight, of all that this user sent */
	case ENOMEM:
	case ENOBUFS:
		p->wait = true;
		/* fall through */
	case EAGAIN:
		if (!p->stalled)
			p->stalled = now_ms();
		break;
	case EPIPE:
	case ECONNRESET:	/* the poll says so, too */
		break;
	default:
		p->why = "a message could not be sent";
	}
}

/* As much as it takes now */
static void flush(struct peer *p)
{
	while (p->len && !p->why) {
		struct message *m = &p->queue[p->head];
		ssize_t n = send_message(p->fd, &m->value, sizeof(m->value), m->fd);

		if (n == sizeof(m->value)) {
			forget(p);
			if (!p->len)
				p->stalled = 0;
		} else {
			cannot_send(p, n < 0 ? errno : EIO);
			return;
		}
	}
}

/* --- Peers -------------------------------------------------------------------------- */

static void drop_queue(struct peer *p)
{
	while (p->len)
		forget(p);
	bells_put(p->bells);
	p->bells = NULL;
	p->stalled = 0;
}

static void mute(struct peer *p)
{
	say("node %td: peer %u is served no more: %s (process %u)", p - sv.peer, p->id, p->why,
	    le32_to_cpu(p->record.pid));
	drop_queue(p);
	add(&sv.sw.muted, 1);
	set_state(p, VFAB_BP_PEER_MUTE);
	tell_others(p, false);
	p->why = NULL;
}

static void leave(struct peer *p)
{
	bool was_served = p->record.state == cpu_to_le32(VFAB_BP_PEER_JOINED);

	say("node %td: peer %u left (process %u)", p - sv.peer, p->id, le32_to_cpu(p->record.pid));
	close(p->fd);
	p->fd = -1;
	p->why = NULL;
	drop_queue(p);
	set_state(p, VFAB_BP_PEER_NONE);
	if (was_served)
		tell_others(p, false);
}

/* Whatever happened: send what can be sent, and be done with those that fail */
static void settle(void)
{
	unsigned int i;
	bool again;

	do {
		again = false;
		for (i = 0; i < sv.cfg->nodes; i++) {
			struct peer *p = &sv.peer[i];

			if (served(p) && !p->wait)
				flush(p);
			if (p->fd >= 0 && p->why) {
				mute(p);
				again = true;
			}
		}
	} while (again);
}

static void refuse(int fd, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void refuse(int fd, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	add(&sv.sw.refused, 1);
	if (sv.said++ < 5)
		say("refused: %s", text);
	else
		sv.unsaid++;
	close(fd);	/* who sees that can read why */
}

static bool allowed(uid_t uid)
{
	unsigned int i;

	for (i = 0; i < sv.cfg->nuids; i++)
		if (sv.cfg->uid[i] == uid)
			return true;
	return false;
}

/* The one that is asked for, or one that was never used, or was not for longest */
static struct peer *find_node(unsigned int want)
{
	struct peer *best = NULL;
	unsigned int i;

	if (want < sv.cfg->nodes)
		return sv.peer[want].fd < 0 ? &sv.peer[want] : NULL;
	for (i = 0; i < sv.cfg->nodes; i++) {
		struct peer *p = &sv.peer[i];

		if (p->fd < 0 && (!best || le64_to_cpu(p->record.since) <
				  le64_to_cpu(best->record.since)))
			best = p;
	}
	return best;
}

static void join(int fd, unsigned int want, const struct ucred *who)
{
	struct peer *p;
	unsigned int i;

	settle();	/* so that a newcomer is told of nobody who is about to go */
	p = find_node(want);
	if (!p && want < sv.cfg->nodes) {
		refuse(fd, "process %d wants to be node %u, which process %u is", who->pid, want,
		       le32_to_cpu(sv.peer[want].record.pid));
		return;
	}
	if (!p) {
		refuse(fd, "process %d: all %u nodes are taken: start with more --nodes", who->pid,
		       sv.cfg->nodes);
		return;
	}
	if (sv.next_id > VFAB_BP_MAX_PEER) {
		refuse(fd, "process %d: all %u peer ids were used: start vfabswitchd again",
		       who->pid, VFAB_BP_MAX_PEER + 1);
		return;
	}
	p->bells = bells_make();
	if (!p->bells) {
		refuse(fd, "process %d: no eventfds (%s): raise the limit of open files",
		       who->pid, strerror(errno));
		return;
	}
	p->fd = fd;
	p->id = sv.next_id++;
	p->head = 0;
	p->wait = false;
	p->record.peer = cpu_to_le32(p->id);
	p->record.pid = cpu_to_le32(who->pid);
	p->record.uid = cpu_to_le32(who->uid);
	add(&p->record.generation, 1);
	add(&sv.sw.joined, 1);
	set_state(p, VFAB_BP_PEER_JOINED);	/* before it can know its id */
	say("node %td: peer %u joined (process %d, user %u)", p - sv.peer, p->id, who->pid,
	    who->uid);

	tell(p, PROTOCOL, -1, NULL);
	tell(p, p->id, -1, NULL);
	tell(p, -1, sv.region->fd, NULL);
	for (i = 0; i < sv.cfg->nodes; i++)
		if (&sv.peer[i] != p && served(&sv.peer[i]))
			tell_bells(p, &sv.peer[i]);
	tell_others(p, true);
	tell_bells(p, p);	/* last: then it is complete */
}

/*
 * Somebody is behind with what it was told. Then nobody joins until it has read
 * that, or is mute: who comes and goes quickly drives no other one out. A queue
 * that is not beyond its half has room for one newcomer, and for all to leave.
 */
static bool crowded(void)
{
	unsigned int i;

	for (i = 0; i < sv.cfg->nodes; i++)
		if (served(&sv.peer[i]) && sv.peer[i].len > sv.room / 2)
			return true;
	return false;
}

/* Fits into an empty socket, and is all that is ever sent there */
static void answer(int fd)
{
	static struct backplane_answer a;
	unsigned int i;

	a.magic = BACKPLANE_MAGIC;
	a.bytes = sizeof(a);
	a.pid = getpid();
	a.now = real_ns();
	a.header = sv.header;
	a.daemon.sw = sv.sw;
	a.daemon.beat.beat = cpu_to_le64(sv.beat);
	for (i = 0; i < VFAB_BP_MAX_NODES; i++)
		a.daemon.peer[i] = sv.peer[i].record;
	send_message(fd, &a, sizeof(a), sv.region->read_only);
	close(fd);
}

/* Without a free file descriptor: with the spare one, so that it can be closed */
static int accept_any(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0 || (errno != EMFILE && errno != ENFILE))
		return fd;
	close(sv.spare);
	fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0)
		refuse(fd, "out of file descriptors: raise the limit of open files");
	sv.spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return -1;
}

static void accept_some(unsigned int which)
{
	struct ucred who;
	socklen_t len;
	int fd, n;

	for (n = 0; n < ACCEPTS && (which == LISTEN_STATUS || !crowded()); n++) {
		fd = accept_any(sv.place->listener[which]);
		if (fd < 0)
			return;
		len = sizeof(who);
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len))
			close(fd);
		else if (!allowed(who.uid))
			refuse(fd, "process %d of user %u: start with --allow=%u to let it in",
			       who.pid, who.uid, who.uid);
		else if (which == LISTEN_STATUS)
			answer(fd);
		else
			join(fd, which, &who);
	}
}

/* --- The loop ------------------------------------------------------------------------ */

static int poll_peer(const struct peer *p, struct pollfd *pfd)
{
	pfd->fd = p->fd;
	pfd->events = !served(p) ? 0 : POLLIN | (p->len && !p->wait ? POLLOUT : 0);
	return p->fd >= 0;
}

static void heed(struct peer *p, short got)
{
	if (got & (POLLHUP | POLLERR | POLLNVAL))
		leave(p);
	else if (got & POLLIN)
		p->why = "it speaks, or has shut its connection, which no ivshmem device does";
}

static void tick(void)
{
	int64_t now = now_ms();
	unsigned int i;

	beat();
	if (sv.unsaid)
		say("refused: %llu more", (unsigned long long)sv.unsaid);
	sv.said = 0;
	sv.unsaid = 0;
	for (i = 0; i < sv.cfg->nodes; i++) {
		struct peer *p = &sv.peer[i];

		p->wait = false;
		if (served(p) && p->stalled && now - p->stalled > sv.cfg->stall_ms)
			p->why = "it has been behind with what it is told for too long";
	}
}

static void loop(int signals)
{
	struct pollfd pfd[1 + LISTENERS + VFAB_BP_MAX_NODES];
	unsigned int who[1 + LISTENERS + VFAB_BP_MAX_NODES];
	int64_t next = now_ms();
	unsigned int i, n;

	for (;;) {
		int64_t now = now_ms();

		if (now >= next) {
			tick();
			next = now + BEAT_MS;
		}
		settle();
		pfd[0] = (struct pollfd){ .fd = signals, .events = POLLIN };
		n = 1;
		/* Peers first: a node that was left is free for who comes now */
		for (i = 0; i < sv.cfg->nodes; i++)
			if (poll_peer(&sv.peer[i], &pfd[n]))
				who[n++] = LISTENERS + i;
		for (i = 0; i < LISTENERS; i++)
			if (sv.place->listener[i] >= 0 && (i == LISTEN_STATUS || !crowded())) {
				pfd[n] = (struct pollfd){ .fd = sv.place->listener[i],
							  .events = POLLIN };
				who[n++] = i;
			}
		if (poll(pfd, n, next > now ? next - now : 0) <= 0)
			continue;
		if (pfd[0].revents)
			return;
		for (i = 1; i < n; i++) {
			if (!pfd[i].revents)
				continue;
			if (who[i] < LISTENERS)
				accept_some(who[i]);
			else
				heed(&sv.peer[who[i] - LISTENERS], pfd[i].revents);
		}
	}
}

/* What it holds open at most, unless several peers are stuck at once */
static int open_files(void)
{
	rlim_t need = 32 + LISTENERS + sv.cfg->nodes * (1 + sv.cfg->vectors) + sv.room;
	struct rlimit has;

	if (getrlimit(RLIMIT_NOFILE, &has))
		return -errno;
	if (has.rlim_cur < need) {
		has.rlim_cur = need;
		if (has.rlim_max < need || setrlimit(RLIMIT_NOFILE, &has)) {
			say("needs %lu open files, the limit is %lu: raise it, or take fewer nodes",
			    (unsigned long)need, (unsigned long)has.rlim_max);
			return -EMFILE;
		}
	}
	return 0;
}

static int begin(void)
{
	unsigned int i;

	/* Half of it is twice what a newcomer is told */
	sv.room = 4 * (sv.cfg->nodes + 1) * (sv.cfg->vectors + 1);
	vf_bp_fill_header(&sv.region->bp, &sv.header);
	sv.sw.state = cpu_to_le32(VFAB_BP_SWITCH_SERVING);
	for (i = 0; i < VFAB_BP_MAX_NODES; i++) {
		sv.peer[i].fd = -1;
		if (i < sv.cfg->nodes)
			sv.peer[i].queue = calloc(sv.room, sizeof(struct message));
		if (i < sv.cfg->nodes && !sv.peer[i].queue)
			return -ENOMEM;
	}
	sv.spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return sv.spare < 0 ? -errno : open_files();
}

/**
 * serve - let peers come and go, until SIGTERM, SIGINT or SIGHUP
 *
 * Return: 0, or a negative errno: it could not begin, and it was said why.
 */
int serve(const struct config *cfg, struct region *r, struct place *p)
{
	sigset_t set;
	int signals, ret;

	sv.cfg = cfg;
	sv.region = r;
	sv.place = p;
	ret = begin();
	if (ret) {
		say("cannot begin: %s", strerror(-ret));
		return ret;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	if (signals < 0) {
		say("no signalfd: %s", strerror(errno));
		return -errno;
	}
	beat();
	say("serves %s: %llu MiB, %u nodes of %llu MiB, %u vectors", p->path,
	    (unsigned long long)(cfg->size >> 20), cfg->nodes,
	    (unsigned long long)(r->bp.data_size >> 20), cfg->vectors);
	notify("READY=1");
	loop(signals);
	notify("STOPPING=1");
	sv.sw.state = cpu_to_le32(VFAB_BP_SWITCH_ENDED);
	publish_switch();
	say("ends: %llu peers joined, %llu were refused",
	    (unsigned long long)le64_to_cpu(sv.sw.joined),
	    (unsigned long long)le64_to_cpu(sv.sw.refused));
	return 0;
}
