// SPDX-License-Identifier: GPL-2.0
/* The state of a fabric as other tools read it. */
#include "export.h"

enum format { NVML_MOCK, PROMETHEUS };

static const char *const formats[] = { "nvml-mock", "prometheus", NULL };

/* What is to be read again for each request */
struct scrape {
	struct tele_client client;
	const struct tele_domref *dom;	/* NULL: all */
};

static const char *write_again(FILE *to, void *data)
{
	struct scrape *s = data;
	struct tele t = { 0 };
	int ret;

	ret = tele_read_again(&s->client, s->dom, PROMETHEUS_READS, &t);
	if (!ret)
		prometheus_write(to, &t);
	tele_free(&t);
	return ret ? vfab_nl_error(s->client.nl) : NULL;
}

static int prometheus(struct ctx *c, const struct addr *a, const char *where)
{
	struct tele_domref dom = { *a->name ? a->name : NULL, a->id };
	struct scrape s = { .dom = a->kind ? &dom : NULL };
	const struct page page = { "/metrics", PROMETHEUS_TYPE, write_again, &s };
	const char *why;
	int ret;

	request(c, VFAB_CMD_DOMAIN_GET, a);	/* opens the socket */
	ret = a->kind ? ask(c, NULL, NULL) : DONE;
	if (ret)
		return ret;
	if (where) {
		ret = http_serve(c, where, &page);
	} else {
		why = write_again(stdout, &s);
		if (why)
			error(c, "%s", why);
		ret = why ? REFUSED : DONE;
	}
	vfab_nl_close(s.client.nl);
	return ret;
}

static int export(struct ctx *c, int argc, char **argv)
{
	const char *format = NULL, *where = NULL, *pos[1];
	const struct opt opts[] = {
		{ "format", &format, NULL },
		{ "listen", &where, NULL },
		{ NULL, NULL, NULL }
	};
	enum format which;
	struct addr a;

	args_parse(c, argc, argv, opts, 0, 1, pos);
	if (!format)
		usage(c, "say in which format: --format nvml-mock or --format prometheus");
	which = arg_word(c, "format", format, formats);
	if (where && which != PROMETHEUS)
		usage(c, "--listen goes with --format prometheus");
	if (where)
		http_check(c, where);
	if (which == NVML_MOCK && !pos[0])
		usage(c, "a domain is missing");
	a = arg_addr(c, pos[0], which == NVML_MOCK ? ADDR_DOM | ADDR_NODE : ADDR_DOM);
	if (c->json)
		usage(c, "the format %s is no JSON", formats[which]);
	return which == NVML_MOCK ? export_nvml_mock(c, a) : prometheus(c, &a, where);
}

const struct verb export_verbs[] = {
	{ "", export, "--format nvml-mock|prometheus [D | D/nodeK] [--listen ADDR]",
	  "Write the state of a fabric as other tools read it.\n"
	  "\n"
	  "  --format nvml-mock   of a node: the fabric part of a configuration of NVIDIA's\n"
	  "                       mock of NVML: cluster UUID, clique, state and health of\n"
	  "                       each GPU; merge it into one of its profiles\n"
	  "  --format prometheus  of a domain, or all: states and counters in the text format\n"
	  "                       0.0.4; 'vfabctl counters describe' explains the counters\n"
	  "  --listen ADDR        with prometheus: answer HTTP requests for /metrics, until\n"
	  "                       ended by SIGINT or SIGTERM; 9400 listens on this machine\n"
	  "                       only, 0.0.0.0:9400 and [::]:9400 for all" },
	{ NULL, NULL, NULL, NULL }
};
