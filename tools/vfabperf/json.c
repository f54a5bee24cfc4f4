// SPDX-License-Identifier: GPL-2.0
/* JSON, written as it comes; without a file every call does nothing. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "vfabperf.h"

static FILE *out;
static int depth;
static bool first = true;

/* A file that there was not: none of earlier results is lost. */
static int create(const char *path, FILE **f)
{
	*f = fopen(path, "wxe");
	if (*f)
		return 0;
	if (errno == EEXIST)
		return setup_error("%s exists and is not overwritten: name another file", path);
	return setup_error("%s: %s", path, strerror(errno));
}

/* Before anything is measured: will there be one? */
int json_check(const char *path)
{
	FILE *f;
	int ret = path ? create(path, &f) : 0;

	if (path && !ret) {
		fclose(f);
		unlink(path);
	}
	return ret;
}

int json_open(const char *path)
{
	int ret = path ? create(path, &out) : 0;

	if (!path || ret)
		return ret;
	json_begin(NULL, '{');
	return 0;
}

static void stamp(const char *key)
{
	time_t t = time(NULL);
	char text[64];

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime(&t));
	json_str(key, text);
}

int json_close(void)
{
	int bad;

	if (!out)
		return 0;
	stamp("end_time");
	json_end('}');
	fputc('\n', out);
	bad = ferror(out);
	if (fclose(out) || bad) {
		fprintf(stderr, "vfabperf: the JSON file was not written: %s\n",
			strerror(errno));
		return EXIT_SETUP;
	}
	return 0;
}

static void quote(const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		unsigned char c = *s;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < ' ' || c > '~')
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static bool item(const char *key)
{
	if (!out)
		return false;
	fprintf(out, "%s%s%*s", first ? "" : ",", depth ? "\n" : "",
		2 * depth, "");
	first = false;
	if (key) {
		quote(key);
		fputs(": ", out);
	}
	return true;
}

void json_begin(const char *key, char bracket)
{
	if (!item(key))
		return;
	fputc(bracket, out);
	depth++;
	first = true;
}

void json_end(char bracket)
{
	if (!out)
		return;
	depth--;
	fprintf(out, "\n%*s%c", 2 * depth, "", bracket);
	first = false;
}

void json_str(const char *key, const char *value)
{
	if (item(key))
		quote(value);
}

void json_num(const char *key, double value)
{
	if (!item(key))
		return;
	/* Counts stay whole, the rest needs no more than this. */
	if (!isfinite(value))
		fputs("null", out);
	else if (value == floor(value) && fabs(value) < 1e15)
		fprintf(out, "%.0f", value);
	else
		fprintf(out, "%.6g", value);
}

void json_bool(const char *key, bool value)
{
	if (item(key))
		fputs(value ? "true" : "false", out);
}

void json_null(const char *key)
{
	if (item(key))
		fputs("null", out);
}

void json_stats_us(const struct stats *ns)
{
	json_num("iterations", ns->n);
	json_num("min_us", ns->min / 1e3);
	json_num("max_us", ns->max / 1e3);
	json_num("avg_us", ns->mean / 1e3);
	json_num("p50_us", ns->median / 1e3);
	json_num("p95_us", ns->p95 / 1e3);
	json_num("p99_us", ns->p99 / 1e3);
	json_num("p999_us", ns->p999 / 1e3);
	json_num("stdev_us", ns->stdev / 1e3);
	json_num("cv_pct", ns->mean ? 100 * ns->stdev / ns->mean : 0);
}

void json_head(const struct env *e, const struct run *r)
{
	const struct vfab_info *info = vfab_info(r->ep);
	uint32_t i;

	json_str("version", VFAB_VERSION);
	json_str("commit", e->commit);
	json_str("command", r->command);
	stamp("start_time");
	json_begin("args", '[');
	for (i = 0; r->argv[i]; i++)
		json_str(NULL, r->argv[i]);
	json_end(']');
	json_begin("env", '{');
	json_str("kernel", e->kernel);
	json_str("cpu", e->cpu);
	json_str("mode", e->mode);
	json_str("hostname", e->host);
	json_num("nproc", e->cpus);
	json_num("loadavg", e->load);
	json_num("calib_hop_ns", e->hop_ns);
	json_num("calib_memcpy_gbs", e->memcpy_gbs);
	json_end('}');
	json_begin("config", '{');
	json_str("domain", info->name);
	json_str("transport", r->memfd ? "memfd" : "kernel");
	json_num("world", info->world);
	json_num("planes", info->planes);
	json_num("ranks", r->size);
	json_num("ranks_per_cpu", (double)r->size / e->cpus);
	json_str("bytes", r->raw || r->memfd ? "uncounted" : "counted");
	json_str("time", run_paced(r) ? "paced" : "unpaced");
	json_num("shape_scale", vfab_view(r->ep)->shape);
}
