// SPDX-License-Identifier: GPL-2.0
/*
 * Tests of what reads scenarios, for the host. How to use, by example:
 *
 *	make -C tools tests
 *	build/tools/test/scentest			prints TAP
 *
 * Each mistake in a file is refused, at its line, with the word that names it; the
 * same seed chooses the same; names become values.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "duration.h"
#include "topo.h"
#include "duration.h"
#include "scenario.h"

static unsigned int count, bad;

static void result(bool ok, const char *name)
{
	printf("%s %u %s\n", ok ? "ok" : "not ok", ++count, name);
	bad += !ok;
}

#define HEAD "name: a\nteaches: b\n"
#define REST \
	"steps:\n- {run: topo $dom, fault: true}\n" \
	"verdict:\n- {name: v, run: topo $dom, expect: 0}\n"
#define GOOD HEAD "domain: --size 4\n" REST
#define PROG "programs:\n  p: {run: x, ranks: all}\n"

static const struct {
	const char *what, *text, *says;
} refusals[] = {
	{ "nothing", "", "this is no map: begin with \"name:\"" },
	{ "a list", "- a\n", "this is no map" },
	{ "an alias", "a: &a b\nc: *a\n", "f:1: anchors" },
	{ "two documents", GOOD "---\na: b\n", "one file is one scenario" },
	{ "no name", "teaches: b\ndomain: x\n" REST, "name is missing" },
	{ "a bad name", "name: 'a b'\nteaches: b\ndomain: x\n" REST, "f:1: \"a b\" is no name" },
	{ "an unknown key", GOOD "colour: red\n", "f:8: there is no key \"colour\"" },
	{ "no domain", HEAD "steps:\n- {start: p, fault: true}\n" PROG
	  "verdict:\n- {name: v, exit: 0}\n",
	  "there is no domain" },
	{ "domain twice", GOOD "domains: {dom: x}\n", "domain and domains both stand here" },
	{ "no steps", HEAD "domain: x\nverdict:\n- {name: v, run: x, expect: 0}\n",
	  "steps is missing" },
	{ "no verdict", HEAD "domain: x\nsteps:\n- {run: x, fault: true}\n",
	  "verdict is missing" },
	{ "no fault", HEAD "domain: x\nsteps:\n- run: x\n"
	  "verdict:\n- {name: v, run: x, expect: 0}\n",
	  "no step is marked as the fault" },
	{ "a variable without value", GOOD "setup: topo $who\n", "f:8: \"$who\" has no value" },
	{ "a lonely dollar", GOOD "setup: topo $\n", "f:8: \"$\" has no value" },
	{ "a brace", GOOD "setup: 'topo ${dom'\n", "has no value" },
	{ "an open quote", GOOD "setup: topo 'x\n", "f:8: a quote is not closed" },
	{ "no choice", GOOD "choose: {a: b}\n", "f:8: \"b\" is no choice" },
	{ "an empty choice", GOOD "choose: {a: 'one of x,,y'}\n", "is no choice" },
	{ "a range that goes down", GOOD "choose: {a: 7-3}\n", "is no choice" },
	{ "not what it is not", GOOD "choose: {a: 0-3 not b}\n", "is no choice" },
	{ "a choice twice", GOOD "choose: {dom: 0-3}\n", "$dom has a value already" },
	{ "a name with a dash", GOOD "choose: {a-b: 0-3}\n", "write _ instead" },
	{ "no such program", HEAD "domain: x\nsteps:\n- {start: q, fault: true}\n" PROG
	  "verdict:\n- {name: v, exit: 0}\n", "f:5: there is no program \"q\"" },
	{ "two actions", HEAD "domain: x\nsteps:\n- {run: x, shell: y, fault: true}\n"
	  "verdict:\n- {name: v, run: x, expect: 0}\n", "f:5: a step does one thing" },
	{ "no action", HEAD "domain: x\nsteps:\n- {name: x, fault: true}\n"
	  "verdict:\n- {name: v, run: x, expect: 0}\n", "f:5: this step does nothing" },
	{ "a bad point", HEAD "domain: x\nsteps:\n- {when: soon, fault: true}\n" PROG
	  "verdict:\n- {name: v, exit: 0}\n", "f:5: when is \"soon\"" },
	{ "a bad operation", HEAD "domain: x\nsteps:\n- {when: operation x, fault: true}\n" PROG
	  "verdict:\n- {name: v, exit: 0}\n", "wants a number" },
	{ "a bad time", HEAD "domain: x\nsteps:\n- {after: soon, fault: true}\n" PROG
	  "verdict:\n- {name: v, exit: 0}\n", "f:5: after is \"soon\"" },
	{ "a bad signal", HEAD "domain: x\nsteps:\n- {signal: BOO, fault: true}\n" PROG
	  "verdict:\n- {name: v, exit: 0}\n", "signal is \"BOO\"" },
	{ "a bad flag", HEAD "domain: x\nsteps:\n- {run: x, fault: maybe}\n"
	  "verdict:\n- {name: v, run: x, expect: 0}\n", "fault is \"maybe\"" },
	{ "no judgement", HEAD "domain: x\nsteps:\n- {run: x, fault: true}\n"
	  "verdict:\n- {name: v, run: x}\n", "f:7: a verdict wants one of" },
	{ "two judgements", HEAD "domain: x\nsteps:\n- {run: x, fault: true}\n"
	  "verdict:\n- {name: v, run: x, says: a, never: b}\n", "a verdict wants one of" },
	{ "exit of a command", HEAD "domain: x\nsteps:\n- {run: x, fault: true}\n"
	  "verdict:\n- {name: v, run: x, exit: 0}\n", "for run write expect" },
	{ "nobody to judge", HEAD "domain: x\nsteps:\n- {run: x, fault: true}\n"
	  "verdict:\n- {name: v, exit: 0}\n", "there is no program to judge" },
	{ "a count of nothing", HEAD "domain: x\nsteps:\n- {run: x, fault: true}\n"
	  "verdict:\n- {name: v, run: x, count: a}\n",
	  "count and sum want is, min, max or same-as" },
	{ "since nothing", HEAD "domain: x\nsteps:\n- {run: x, fault: true}\n" PROG
	  "verdict:\n- {name: v, exit: 0, since: s, within: 1}\n", "no step has the name \"s\"" },
	{ "within nothing", HEAD "domain: x\nsteps:\n- {run: x, fault: true}\n" PROG
	  "verdict:\n- {name: v, exit: 0, within: 1}\n", "within wants since" },
	{ "a bad status", HEAD "domain: x\nsteps:\n- {run: x, fault: true}\n" PROG
	  "verdict:\n- {name: v, exit: 999}\n", "exit is \"999\"" },
	{ "bad ranks", HEAD "domain: x\nsteps:\n- {run: x, fault: true}\n" PROG
	  "verdict:\n- {name: v, exit: 0, ranks: some}\n", "ranks is \"some\"" },
	{ "a rank above the limit", HEAD "domain: x\nsteps:\n- {run: x, fault: true}\n" PROG
	  "verdict:\n- {name: v, exit: 0, ranks: 0-1024}\n", "ranks is \"0-1024\"" },
	{ "no run", HEAD "domain: x\nprograms:\n  p: {ranks: all}\n", "f:5: run is missing" },
	{ "a map where a value goes", HEAD "domain: {a: b}\n" REST,
	  "domain is a map: it wants a value" },
	{ "an empty value", HEAD "domain: ''\n" REST, "domain is empty" },
	{ "two programs under test", GOOD "programs:\n  p: {run: x, ranks: all, under-test: true}\n"
	  "  q: {run: x, ranks: all, under-test: true}\n", "under-test stands at more than one" },
	{ "env of no name", GOOD "programs:\n  p: {run: x, ranks: all, env: {'=': y}}\n",
	  "is no name of a variable" },
};

static void refused(const char *what, const char *text, const char *says)
{
	static struct scenario s;
	char err[TOPO_ERR_LEN] = "", name[128];
	bool ok;

	ok = scenario_parse(&s, "f", text, strlen(text), err, sizeof(err)) && strstr(err, says);
	if (!ok)
		printf("# it says: %s\n", err);
	snprintf(name, sizeof(name), "%s is refused", what);
	result(ok, name);
	scenario_free(&s);
}

static void too_large(void)
{
	size_t len = MAX_SCENARIO + 1;
	char *text = malloc(len + 1);

	if (!text)
		abort();
	memset(text, ' ', len);
	text[len] = 0;
	refused("a large file", text, "this file is larger than");
	strcpy(text, GOOD "setup:\n");
	while (strlen(text) < 2000)
		strcat(text, "- topo $dom\n");
	refused("a long list", text, "setup wants 1 to 64 values");
	free(text);
}

static const char choices[] = HEAD "domain: x\nchoose:\n  a: 0-7\n  b: 0-7 not a\n"
	"  c: one of red, green, blue\n" REST;

static const char *value(const struct vars *vars, const char *name)
{
	uint32_t i;

	for (i = 0; i < vars->n; i++)
		if (!strcmp(vars->v[i].name, name))
			return vars->v[i].value;
	return "";
}

/* What a seed chooses never changes: somebody has written it down. */
static void chosen(void)
{
	static struct vars vars, again;
	static struct scenario s;
	char err[TOPO_ERR_LEN];
	bool differs = true;
	uint64_t seed;

	result(!scenario_parse(&s, "f", choices, strlen(choices), err, sizeof(err)),
	       "choices are read");
	vars_choose(&vars, &s, 1, NULL);
	result(!strcmp(value(&vars, "seed"), "1"), "the seed is a value");
	result(!strcmp(value(&vars, "a"), "1") && !strcmp(value(&vars, "b"), "0") &&
	       !strcmp(value(&vars, "c"), "red"), "seed 1 chooses what it always chose");
	vars_choose(&again, &s, 1, NULL);
	result(!strcmp(value(&vars, "a"), value(&again, "a")), "and does so again");
	again.n = 0;
	vars_choose(&again, &s, 1, (char *const []){ (char *)"a=5", NULL });
	result(!strcmp(value(&again, "a"), "5") && !strcmp(value(&again, "c"), "red"),
	       "what is set is not chosen, and nothing else changes");
	for (seed = 0; seed < 1000; seed++) {
		vars.n = 0;
		vars_choose(&vars, &s, seed, NULL);
		differs &= strcmp(value(&vars, "a"), value(&vars, "b")) != 0;
	}
	result(differs, "not: never the same");
	scenario_free(&s);
}

static void expanded(const char *text, const char *want)
{
	static struct vars vars;
	char *have;

	vars.n = 0;
	vars_set(&vars, "dom", "scn1-dom");
	vars_set(&vars, "n", "3");
	have = vars_expand(&vars, text);
	result(have && !strcmp(have, want), text);
	free(have);
}

static void split(const char *text, const char *const *want)
{
	static struct vars vars;
	char **words;
	bool ok;
	int i;

	vars.n = 0;
	vars_set(&vars, "n", "a b");
	words = words_split(&vars, text);
	ok = words;
	for (i = 0; ok && (want[i] || words[i]); i++)
		ok = want[i] && words[i] && !strcmp(want[i], words[i]);
	result(ok, text);
	words_free(words);
}

static void values(void)
{
	static const char *const no_times[] = {
		"-1", "", "4000", "61m", "nan", "1e3", "1d", "0x10", "1.2.3", ".5", "2 s",
	};
	static bool ranks[MAX_WORLD];
	double s;
	size_t i;

	result(parse_seconds("0.5", 3600, &s) && s == 0.5, "0.5 seconds");
	result(parse_seconds("200ms", 3600, &s) && s > 0.19 && s < 0.21, "200ms");
	result(parse_seconds("2s", 3600, &s) && s == 2, "2s");
	result(parse_seconds("1h", 3600, &s) && s == 3600, "1h");
	for (i = 0; i < sizeof(no_times) / sizeof(no_times[0]); i++)
		result(!parse_seconds(no_times[i], 3600, &s), no_times[i]);
	result(parse_ranks("0-2,1023", ranks) && ranks[2] && !ranks[3] && ranks[1023], "ranks");
	result(!parse_ranks("", NULL) && !parse_ranks("1-", NULL) && !parse_ranks("3-1", NULL) &&
	       !parse_ranks("1024", NULL) && !parse_ranks("1,,2", NULL), "no ranks");
}

int main(void)
{
	static struct scenario s;
	char err[TOPO_ERR_LEN] = "";
	size_t i;

	result(!scenario_parse(&s, "f", GOOD, strlen(GOOD), err, sizeof(err)), "a file is read");
	scenario_free(&s);
	for (i = 0; i < COUNT(refusals); i++)
		refused(refusals[i].what, refusals[i].text, refusals[i].says);
	too_large();
	chosen();
	values();
	expanded("$dom/ep$n", "scn1-dom/ep3");
	expanded("${dom}x$$n", "scn1-domx$n");
	split("a  'b c' \"d\"e", (const char *const []){ "a", "b c", "de", NULL });
	split("x $n", (const char *const []){ "x", "a b", NULL });
	printf("1..%u\n", count);
	return bad != 0;
}
