// SPDX-License-Identifier: GPL-2.0
/*
 * The text format 0.0.4 of Prometheus. All samples of a metric stand together,
 * below its HELP and TYPE; a counter that an object does not have has no sample.
 */
#include <stdio_ext.h>
#include <stdlib.h>
#include "export.h"

/* The link at a port */
struct port {
	uint64_t key;
	const struct tele_addr *peer;
};

struct ports {
	struct port *port;
	size_t n;
};

/**
 * struct writer - what is written, and where to
 * @labels: of @domain, "" at first; each byte of a name may be escaped
 */
struct writer {
	FILE *to;
	const struct tele *t;
	struct ports ports;
	uint32_t domain;
	char labels[2 * VFAB_NAME_LEN + 80];
};

static int compare(const void *left, const void *right)
{
	const struct port *a = left, *b = right;

	return a->key < b->key ? -1 : a->key > b->key;
}

static void find_peers(const struct tele *t, struct ports *ports)
{
	size_t i;

	ports->n = 0;
	ports->port = calloc(2 * t->nlinks + 1, sizeof(*ports->port));
	if (!ports->port)
		return;
	for (i = 0; i < t->nlinks; i++) {
		const struct tele_addr *end = t->links[i].end;

		ports->port[ports->n++] = (struct port){ tele_key(&end[0]), &end[1] };
		ports->port[ports->n++] = (struct port){ tele_key(&end[1]), &end[0] };
	}
	qsort(ports->port, ports->n, sizeof(*ports->port), compare);
}

static const struct tele_addr *peer_of(const struct ports *ports, const struct tele_addr *addr)
{
	const struct port want = { tele_key(addr), NULL };
	const struct port *found;

	if (!ports->n)
		return NULL;
	found = bsearch(&want, ports->port, ports->n, sizeof(want), compare);
	return found ? found->peer : NULL;
}

static void head(FILE *to, const char *name, const char *type, const char *help)
{
	fprintf(to, "# HELP %s ", name);
	for (; *help; help++) {
		if (*help == '\\' || *help == '\n')
			fputc('\\', to);
		fputc(*help == '\n' ? 'n' : *help, to);
	}
	fprintf(to, "\n# TYPE %s %s\n", name, type);
}

/* The value of a label, escaped, behind its name */
static char *label(char *p, const char *name, const char *value)
{
	p += sprintf(p, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '\\' || *value == '"' || *value == '\n')
			*p++ = '\\';
		*p++ = *value == '\n' ? 'n' : *value;
	}
	return stpcpy(p, "\"");
}

/*
 * The name of a sample and the labels of its domain, which are made once for many
 * samples; others may follow. A domain that was created after the domains were
 * read has only its id.
 */
static void begin(struct writer *w, const char *name, uint32_t domain)
{
	const struct tele_domain *d;
	char uuid[37], *p;

	if (!*w->labels || w->domain != domain) {
		d = tele_domain(w->t, domain);
		w->domain = domain;
		p = w->labels;
		if (d) {
			p = stpcpy(label(p, "domain", d->name), ",");
			label(p, "uuid", tele_uuid(d, uuid));
		} else {
			sprintf(p, "domain=\"dom%u\"", domain);
		}
	}
	fputs(name, w->to);
	fputc('{', w->to);
	fputs(w->labels, w->to);
}

static void object(FILE *to, const struct tele_addr *addr)
{
	fprintf(to, ",%s=\"%d\"", addr->is_switch ? "switch" : "rank", addr->index);
	if (addr->port >= 0)
		fprintf(to, ",port=\"%d\"", addr->port);
}

/* As in an address, without the domain: sw3/p5 */
static void peer(FILE *to, const struct tele_addr *addr)
{
	char text[TELE_ADDR];

	if (addr)
		fprintf(to, ",peer=\"%s\"", strchr(tele_text(addr, text), '/') + 1);
}

static void end(FILE *to, uint64_t value)
{
	fprintf(to, "} %llu\n", (unsigned long long)value);
}

/* --- States ----------------------------------------------------------------------- */

struct domain_metric {
	const char *name, *help;
	uint64_t (*value)(const struct tele_domain *d);
};

#define DOMAIN_VALUE(field)						\
	static uint64_t domain_##field(const struct tele_domain *d)	\
	{								\
		return d->field;					\
	}

DOMAIN_VALUE(world)
DOMAIN_VALUE(attached)
DOMAIN_VALUE(generation)
DOMAIN_VALUE(mem_used)

static const struct domain_metric domain_metrics[] = {
	{ "vfabric_domain_endpoints", "Endpoints of the domain.", domain_world },
	{ "vfabric_domain_attached", "Endpoints that are held.", domain_attached },
	{ "vfabric_domain_generation",
	  "Changes of topology, routing tables and partitions since the domain was created.",
	  domain_generation },
	{ "vfabric_domain_window_bytes", "Memory of all windows.", domain_mem_used },
};

static void write_domains(struct writer *w)
{
	const struct tele *t = w->t;
	FILE *to = w->to;
	size_t m, i;

	for (m = 0; m < sizeof(domain_metrics) / sizeof(domain_metrics[0]); m++) {
		const struct domain_metric *metric = &domain_metrics[m];

		head(to, metric->name, "gauge", metric->help);
		for (i = 0; i < t->ndomains; i++) {
			begin(w, metric->name, t->domains[i].id);
			end(to, metric->value(&t->domains[i]));
		}
	}
}

struct ep_metric {
	const char *name, *help;
	int64_t (*value)(const struct tele_ep *e);	/* negative: none */
};

#define EP_VALUE(field)						\
	static int64_t ep_##field(const struct tele_ep *e)	\
	{							\
		return e->field;				\
	}

EP_VALUE(state)
EP_VALUE(health)
EP_VALUE(partition)
EP_VALUE(ports_up)
EP_VALUE(held)
EP_VALUE(windows)

static const struct ep_metric ep_metrics[] = {
	{ "vfabric_endpoint_state",
	  "NVML's fabric state: 0 not supported, 1 not started, 2 in progress, 3 completed.",
	  ep_state },
	{ "vfabric_endpoint_health",
	  "NVML's health summary: 0 not supported, 1 healthy, 2 unhealthy, 3 limited capacity.",
	  ep_health },
	{ "vfabric_endpoint_partition",
	  "Id of the endpoint's partition; absent where it is in none.",
	  ep_partition },
	{ "vfabric_endpoint_ports_up", "Ports whose link carries traffic.", ep_ports_up },
	{ "vfabric_endpoint_held", "1 where a process holds the endpoint.", ep_held },
	{ "vfabric_endpoint_windows", "Windows that the endpoint exports.", ep_windows },
};

static void write_eps(struct writer *w)
{
	const struct tele *t = w->t;
	FILE *to = w->to;
	size_t m, i;

	for (m = 0; m < sizeof(ep_metrics) / sizeof(ep_metrics[0]); m++) {
		const struct ep_metric *metric = &ep_metrics[m];

		head(to, metric->name, "gauge", metric->help);
		for (i = 0; i < t->neps; i++) {
			const struct tele_ep *e = &t->eps[i];
			int64_t value = metric->value(e);

			if (value < 0)
				continue;
			begin(w, metric->name, e->domain);
			fprintf(to, ",rank=\"%u\",node=\"%u\"", e->rank, e->node);
			end(to, value);
		}
	}
}

struct link_metric {
	const char *name, *help;
	uint64_t (*value)(const struct tele_link *l);
};

static uint64_t link_state(const struct tele_link *l)
{
	return l->state;
}

static uint64_t link_up(const struct tele_link *l)
{
	return l->state == VFAB_LINK_ACTIVE || l->state == VFAB_LINK_DEGRADED;
}

static uint64_t link_rate(const struct tele_link *l)
{
	return l->rate * 1000000ULL;
}

static const struct link_metric link_metrics[] = {
	{ "vfabric_link_state",
	  "0 off, 1 init, 2 train, 3 active, 4 degraded, 5 recovery, 6 fault.", link_state },
	{ "vfabric_link_up", "1 where the link is active or degraded.", link_up },
	{ "vfabric_link_rate_bytes_per_second", "Rate of the link, in each direction.", link_rate },
};

static void write_links(struct writer *w)
{
	const struct tele *t = w->t;
	FILE *to = w->to;
	size_t m, i;

	for (m = 0; m < sizeof(link_metrics) / sizeof(link_metrics[0]); m++) {
		const struct link_metric *metric = &link_metrics[m];

		head(to, metric->name, "gauge", metric->help);
		for (i = 0; i < t->nlinks; i++) {
			const struct tele_link *l = &t->links[i];

			begin(w, metric->name, l->end[0].domain);
			object(to, &l->end[0]);
			peer(to, &l->end[1]);
			end(to, metric->value(l));
		}
	}
}

static void write_switches(struct writer *w)
{
	const struct tele *t = w->t;
	FILE *to = w->to;
	size_t i;

	head(to, "vfabric_switch_up", "gauge", "1 unless the switch was set down.");
	for (i = 0; i < t->nswitches; i++) {
		begin(w, "vfabric_switch_up", t->switches[i].domain);
		fprintf(to, ",switch=\"%u\"", t->switches[i].index);
		end(to, t->switches[i].up);
	}
	head(to, "vfabric_switch_ports_up", "gauge", "Ports whose link carries traffic.");
	for (i = 0; i < t->nswitches; i++) {
		begin(w, "vfabric_switch_ports_up", t->switches[i].domain);
		fprintf(to, ",switch=\"%u\"", t->switches[i].index);
		end(to, t->switches[i].ports_up);
	}
}

/* --- Counters --------------------------------------------------------------------- */

static void end_counter(FILE *to, unsigned int counter, uint64_t value)
{
	if (tele_is_time(counter))
		fprintf(to, "} %llu.%09llu\n", (unsigned long long)value / 1000000000,
			(unsigned long long)value % 1000000000);
	else
		end(to, value);
}

static void write_counter(struct writer *w, unsigned int counter)
{
	const struct tele *t = w->t;
	FILE *to = w->to;
	char name[TELE_METRIC], help[160];
	bool any = false;
	size_t i;

	tele_metric(counter, name);
	snprintf(help, sizeof(help), "%s (%s).", tele_counters[counter].event,
		 tele_is_time(counter) ? "seconds" : tele_counters[counter].unit);
	for (i = 0; i < t->nobjects; i++) {
		const struct tele_object *o = &t->objects[i];

		if (!tele_has(o, counter))
			continue;
		if (!any)
			head(to, name, "counter", help);
		any = true;
		begin(w, name, o->addr.domain);
		object(to, &o->addr);
		if (o->addr.port >= 0)
			peer(to, peer_of(&w->ports, &o->addr));
		end_counter(to, counter, o->value[counter]);
	}
}

void prometheus_write(FILE *to, const struct tele *t)
{
	struct writer w = { .to = to, .t = t };
	unsigned int i;

	/* Many small pieces, and nobody else who writes them */
	__fsetlocking(to, FSETLOCKING_BYCALLER);
	write_domains(&w);
	write_eps(&w);
	write_switches(&w);
	write_links(&w);
	find_peers(t, &w.ports);
	for (i = 0; i < TELE_COUNTERS; i++)
		write_counter(&w, i);
	free(w.ports.port);
}
