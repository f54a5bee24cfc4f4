// SPDX-License-Identifier: GPL-2.0
/*
 * A small HTTP/1.1 server: one page, one request per connection, one thread.
 *
 * No client is trusted. Each has a deadline for its request and for taking the
 * answer, which trickling bytes does not move; where all places are taken, a new
 * client gets that of the oldest. What is served is made at most once a second
 * and shared, so that neither many clients nor slow ones cost the kernel or the
 * memory much.
 */
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include "export.h"

#define LISTENERS	4
#define CLIENTS		64
#define REQUEST_MAX	8192
#define REQUEST_MS	5000		/* from the connection to the end of the request */
#define ANSWER_MS	30000
#define CLOSE_MS	1000
#define FRESH_MS	1000

/* What is being sent, by one client or several */
struct body {
	unsigned int users;
	size_t len;
	char *text;
};

enum stage { READING, ANSWERING, CLOSING };

struct client {
	int fd;				/* -1: the place is free */
	enum stage stage;
	int64_t since, deadline;	/* the deadline is that of the stage */
	char request[REQUEST_MAX];
	char head[512];
	struct body *body;		/* NULL: the head is all */
	size_t got, sent;
};

struct server {
	const struct page *page;
	int listener[LISTENERS];
	unsigned int nlisteners;
	struct client client[CLIENTS];
	struct body *fresh;
	int64_t made;			/* when @fresh was */
};

static volatile sig_atomic_t stop;

static void on_stop(int sig)
{
	stop = sig;
}

/* --- Pages ------------------------------------------------------------------------ */

static void body_put(struct body *body)
{
	if (!body || --body->users)
		return;
	free(body->text);
	free(body);
}

/* A reference to a page that is new enough, or NULL and @why */
static struct body *body_get(struct server *s, const char **why)
{
	struct body *body;
	FILE *to;

	if (s->fresh && now_ms() - s->made < FRESH_MS) {
		s->fresh->users++;
		return s->fresh;
	}
	*why = "out of memory";
	body = calloc(1, sizeof(*body));
	to = body ? open_memstream(&body->text, &body->len) : NULL;
	if (!to) {
		free(body);
		return NULL;
	}
	body->users = 1;
	*why = s->page->make(to, s->page->data);
	if (fclose(to) && !*why)
		*why = "out of memory";
	if (*why) {
		body_put(body);
		return NULL;
	}
	body_put(s->fresh);
	s->fresh = body;
	s->made = now_ms();
	body->users++;
	return body;
}

/* --- Clients ---------------------------------------------------------------------- */

static void client_end(struct client *cl)
{
	close(cl->fd);
	body_put(cl->body);
	cl->body = NULL;
	cl->fd = -1;
}

static void client_start(struct client *cl, int fd)
{
	cl->fd = fd;
	cl->stage = READING;
	cl->since = now_ms();
	cl->deadline = cl->since + REQUEST_MS;
	cl->got = 0;
	cl->sent = 0;
}

static void answer(struct client *cl, const char *status, const char *type, size_t len,
		   const char *text)
{
	static const char head[] =
		"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		"Allow: GET, HEAD\r\nConnection: close\r\n\r\n%s";

	snprintf(cl->head, sizeof(cl->head), head, status, type, len, text);
	cl->stage = ANSWERING;
	cl->deadline = now_ms() + ANSWER_MS;
}

/* With a sentence as the page; not for HEAD, which has none */
static void answer_text(struct client *cl, const char *status, const char *text, bool head_only)
{
	char page[256];

	snprintf(page, sizeof(page), "%s\n", text);
	answer(cl, status, "text/plain; charset=utf-8", strlen(page), head_only ? "" : page);
}

static void answer_page(struct server *s, struct client *cl, bool head_only)
{
	const char *why = NULL;

	cl->body = body_get(s, &why);
	if (!cl->body) {
		answer_text(cl, "503 Service Unavailable", why, head_only);
		return;
	}
	answer(cl, "200 OK", s->page->type, cl->body->len, "");
	if (head_only) {
		body_put(cl->body);
		cl->body = NULL;
	}
}

/* The request line "GET /metrics?x HTTP/1.1"; what follows it does not matter. */
static void handle(struct server *s, struct client *cl)
{
	char *method = cl->request, *path, *version, *end = strstr(cl->request, "\r\n");
	bool head_only;

	*end = 0;
	path = strchr(method, ' ');
	version = path ? strchr(path + 1, ' ') : NULL;
	if (!version || strncmp(version + 1, "HTTP/1.", 7) || strchr(version + 1, ' ')) {
		answer_text(cl, "400 Bad Request", "this is no request of HTTP/1.1", false);
		return;
	}
	*path++ = 0;
	*version = 0;
	path[strcspn(path, "?")] = 0;
	head_only = !strcmp(method, "HEAD");
	if (!head_only && strcmp(method, "GET"))
		answer_text(cl, "405 Method Not Allowed", "use GET", false);
	else if (strcmp(path, s->page->path))
		answer_text(cl, "404 Not Found", "there is only /metrics", head_only);
	else
		answer_page(s, cl, head_only);
}

/* False: the client is gone. */
static bool client_read(struct server *s, struct client *cl)
{
	size_t room = sizeof(cl->request) - 1 - cl->got;
	ssize_t n = recv(cl->fd, cl->request + cl->got, room, 0);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	cl->got += n;
	cl->request[cl->got] = 0;
	if (memchr(cl->request, 0, cl->got))
		answer_text(cl, "400 Bad Request", "there is a NUL in the request", false);
	else if (strstr(cl->request, "\r\n\r\n"))
		handle(s, cl);
	else if (cl->got == sizeof(cl->request) - 1)
		answer_text(cl, "431 Request Header Fields Too Large", "the request is too long",
			    false);
	return true;
}

/*
 * The head, then the page. A socket that is closed with something unread resets
 * the connection, and the client may lose its answer: so what it still sends is
 * read until it closes, too.
 */
static bool client_write(struct client *cl)
{
	size_t head_len = strlen(cl->head), body_len = cl->body ? cl->body->len : 0;
	const char *from = cl->head + cl->sent;
	size_t left = head_len - cl->sent;
	ssize_t n;

	if (cl->sent >= head_len) {
		from = cl->body ? cl->body->text + (cl->sent - head_len) : NULL;
		left = head_len + body_len - cl->sent;
	}
	n = left ? send(cl->fd, from, left, MSG_NOSIGNAL) : 0;
	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	cl->sent += n;
	if (cl->sent == head_len + body_len) {
		body_put(cl->body);
		cl->body = NULL;
		shutdown(cl->fd, SHUT_WR);
		cl->stage = CLOSING;
		cl->deadline = now_ms() + CLOSE_MS;
	}
	return true;
}

static bool client_drain(struct client *cl)
{
	char waste[4096];
	ssize_t n = recv(cl->fd, waste, sizeof(waste), 0);

	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static void client_ready(struct server *s, struct client *cl)
{
	bool stays = false;

	switch (cl->stage) {
	case READING:
		stays = client_read(s, cl);
		break;
	case ANSWERING:
		stays = client_write(cl);
		break;
	case CLOSING:
		stays = client_drain(cl);
		break;
	}
	if (!stays)
		client_end(cl);
}

/* A free place, or that of the client that is here longest */
static struct client *place(struct server *s)
{
	struct client *oldest = s->client;
	unsigned int i;

	for (i = 0; i < CLIENTS; i++) {
		if (s->client[i].fd < 0)
			return &s->client[i];
		if (s->client[i].since < oldest->since)
			oldest = &s->client[i];
	}
	client_end(oldest);
	return oldest;
}

static void welcome(struct server *s, int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0)
		client_start(place(s), fd);
	else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		poll(NULL, 0, 100);	/* others may leave some; do not spin meanwhile */
}

/* --- The loop --------------------------------------------------------------------- */

/* Fills in what to wait for. Return: milliseconds until the first deadline, or -1. */
static int prepare(struct server *s, struct pollfd *fds)
{
	int64_t first = INT64_MAX, left;
	unsigned int i;

	for (i = 0; i < s->nlisteners; i++)
		fds[i] = (struct pollfd){ s->listener[i], POLLIN, 0 };
	for (i = 0; i < CLIENTS; i++) {
		struct client *cl = &s->client[i];

		fds[s->nlisteners + i] = (struct pollfd){
			cl->fd, cl->stage == ANSWERING ? POLLOUT : POLLIN, 0
		};
		if (cl->fd >= 0 && cl->deadline < first)
			first = cl->deadline;
	}
	if (first == INT64_MAX)
		return -1;
	left = first - now_ms();
	return left < 0 ? 0 : left;
}

/* Signals are let in only while waiting, so that none is missed. */
static void serve(struct server *s, const sigset_t *waiting)
{
	struct pollfd fds[LISTENERS + CLIENTS];
	struct timespec ts;
	unsigned int i;
	int left;

	while (!stop) {
		left = prepare(s, fds);
		ts = (struct timespec){ left / 1000, left % 1000 * 1000000L };
		if (ppoll(fds, s->nlisteners + CLIENTS, left < 0 ? NULL : &ts, waiting) < 0)
			continue;
		for (i = 0; i < CLIENTS; i++) {
			struct client *cl = &s->client[i];

			if (cl->fd >= 0 && fds[s->nlisteners + i].revents)
				client_ready(s, cl);
			if (cl->fd >= 0 && now_ms() >= cl->deadline)
				client_end(cl);
		}
		for (i = 0; i < s->nlisteners; i++)
			if (fds[i].revents)
				welcome(s, s->listener[i]);
	}
}

/* --- Listening -------------------------------------------------------------------- */

static int listen_at(const struct addrinfo *ai)
{
	int on = 1, fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (!bind(fd, ai->ai_addr, ai->ai_addrlen) && !listen(fd, 64))
		return fd;
	on = errno;
	close(fd);
	errno = on;
	return -1;
}

/* Takes "HOST:PORT", "[HOST]:PORT" or "PORT" apart; @host is "" for the last. */
static void split(struct ctx *c, const char *where, char host[256], const char **port)
{
	const char *colon = strrchr(where, ':'), *from = where;
	size_t len = colon ? (size_t)(colon - where) : 0;

	*port = colon ? colon + 1 : where;
	if (len >= 2 && *where == '[' && where[len - 1] == ']') {
		from++;
		len -= 2;
	} else if (memchr(where, ':', len)) {
		usage(c, "\"%s\": put an address of IPv6 into brackets, as in [::1]:9400",
		      escaped(where));
	}
	if ((colon && !len) || len >= 256)
		usage(c, "\"%s\" is not an address such as 9400, 10.0.0.1:9400 or [::]:9400",
		      escaped(where));
	memcpy(host, from, len);
	host[len] = 0;
	arg_uint(c, "port", *port, 0, 65535);
}

static int add_listeners(struct ctx *c, struct server *s, const char *host, const char *port,
			 const char *where)
{
	const struct addrinfo hints = {
		.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
	};
	struct addrinfo *list, *ai;
	int err, fd;

	err = getaddrinfo(host, port, &hints, &list);
	if (err) {
		error(c, "cannot listen on %s: %s", escaped(where), gai_strerror(err));
		return USAGE;
	}
	errno = 0;
	for (ai = list; ai && s->nlisteners < LISTENERS; ai = ai->ai_next) {
		fd = listen_at(ai);
		if (fd >= 0)
			s->listener[s->nlisteners++] = fd;
	}
	err = errno;
	freeaddrinfo(list);
	if (s->nlisteners)
		return DONE;
	error(c, "cannot listen on %s: %s", escaped(where), strerror(err));
	return USAGE;
}

/* Where the server is found; port 0 is one that the kernel chose. */
static void announce(const struct server *s)
{
	char host[256] = "?", port[32] = "?";
	struct sockaddr_storage addr;
	socklen_t len;
	unsigned int i;

	for (i = 0; i < s->nlisteners; i++) {
		len = sizeof(addr);
		if (!getsockname(s->listener[i], (struct sockaddr *)&addr, &len))
			getnameinfo((struct sockaddr *)&addr, len, host, sizeof(host), port,
				    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
		printf(addr.ss_family == AF_INET6 ? "listening on http://[%s]:%s%s\n" :
						    "listening on http://%s:%s%s\n",
		       host, port, s->page->path);
	}
	fflush(stdout);
}

static void catch_signals(sigset_t *waiting)
{
	struct sigaction sa = { .sa_handler = on_stop };
	sigset_t stops;

	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigprocmask(SIG_BLOCK, &stops, waiting);
	sigdelset(waiting, SIGINT);
	sigdelset(waiting, SIGTERM);
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Does not return where @where is no address to listen on. */
void http_check(struct ctx *c, const char *where)
{
	const char *port;
	char host[256];

	split(c, where, host, &port);
}

/**
 * http_serve - answer requests for one page, until a signal ends it
 * @where: a port of this machine, HOST:PORT, or [HOST]:PORT
 *
 * Return: an exit status.
 */
int http_serve(struct ctx *c, const char *where, const struct page *page)
{
	static struct server s;
	char host[256];
	const char *port;
	sigset_t waiting;
	unsigned int i;
	int ret;

	s.page = page;
	for (i = 0; i < CLIENTS; i++)
		s.client[i].fd = -1;
	split(c, where, host, &port);
	/* A port alone is for this machine only */
	ret = add_listeners(c, &s, *host ? host : "127.0.0.1", port, where);
	if (ret)
		return ret;
	catch_signals(&waiting);
	announce(&s);
	if (!ferror(stdout))
		serve(&s, &waiting);
	for (i = 0; i < CLIENTS; i++)
		if (s.client[i].fd >= 0)
			client_end(&s.client[i]);
	for (i = 0; i < s.nlisteners; i++)
		close(s.listener[i]);
	body_put(s.fresh);
	return DONE;
}
