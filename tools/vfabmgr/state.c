// SPDX-License-Identifier: GPL-2.0
/*
 * The manager of a domain tells the kernel now and then that it is there, and
 * says goodbye at its end. The kernel knows it by its socket: killed, it is lost
 * at once; stuck, when its own timeout is over.
 */
#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include "state.h"

#define BEAT_MS		1000	/* at most between two signs of life */
#define BEATS		4	/* and at least so many within the timeout */
#define TAKE_MS		1000	/* one that was killed lets go so soon */

double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

/**
 * state_beat - a sign of life
 *
 * Return: 0, or a negative errno and why in @c; EBUSY: another took over.
 */
int state_beat(struct state *s, struct client *c)
{
	char note[NOTE_LEN + 1];
	int ret;

	snprintf(note, sizeof(note), "engine %s, last look %s, %u pairs lost", s->engine,
		 s->result, s->pairs.lost);
	ret = client_beat(c, s->timeout_ms, note);
	s->known |= !ret;
	s->next = now_ms() + min(BEAT_MS, s->timeout_ms / BEATS);
	return ret;
}

/* Be the manager. Return: as state_beat(); EBUSY: there is one. */
int state_take(struct state *s, struct client *c)
{
	double until = now_ms() + TAKE_MS;
	int ret;

	s->result = "to come";
	while ((ret = state_beat(s, c)) == -EBUSY && now_ms() < until)
		usleep(10000);
	return ret;
}

void state_drop(struct state *s, struct client *c)
{
	if (s->known)
		client_goodbye(c);
	s->known = false;
}

/* Print how it is. Return: STATE_* */
int state_show(const struct domain *d)
{
	switch (d->manager) {
	case VFAB_MANAGER_NONE:
		printf("dom%u: none: no manager, or it ended by itself\n", d->id);
		return STATE_NONE;
	case VFAB_MANAGER_ALIVE:
		printf("dom%u: alive: ", d->id);
		break;
	default:
		printf("dom%u: lost: ", d->id);
	}
	if (d->pid)
		printf("pid %u, ", d->pid);
	printf("%s, sign of life %u ms ago\n", d->note, d->age_ms);
	return d->manager == VFAB_MANAGER_ALIVE ? STATE_ALIVE : STATE_LOST;
}
