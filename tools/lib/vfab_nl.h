/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * The netlink client of libvfab: the control plane of vfabric over libmnl. How
 * to use, by example:
 *
 *	static int print(const struct vfab_nl_msg *msg, void *data)
 *	{
 *		printf("dom%u\n", (unsigned int)
 *		       vfab_nl_uint(vfab_nl_attr(msg, VFAB_A_DOMAIN)));
 *		return 0;
 *	}
 *
 *	struct vfab_nl *nl;
 *	struct nlmsghdr *req;
 *
 *	ret = vfab_nl_open(&nl);
 *	req = vfab_nl_begin(nl, VFAB_CMD_DOMAIN_CREATE);
 *	mnl_attr_put_u32(req, VFAB_A_WORLD, 72);
 *	ret = vfab_nl_do(nl, print, NULL);
 *	if (ret)
 *		fprintf(stderr, "%s\n", vfab_nl_error(nl));
 *	vfab_nl_close(nl);
 *
 * Commands and attributes are those of linux/vfabric_netlink.h. Calls that
 * return int return 0 or a negative errno, the kernel's where it refused. One
 * thread at a time uses a client.
 */
#ifndef VFAB_NL_H
#define VFAB_NL_H

#include <stdint.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <linux/vfabric_netlink.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vfab_nl;
struct vfab_nl_msg;

/**
 * typedef vfab_nl_cb - receives one message, which is valid meanwhile
 *
 * Return: 0 to go on; anything else ends the call, which returns it.
 */
typedef int (*vfab_nl_cb)(const struct vfab_nl_msg *msg, void *data);

/**
 * vfab_nl_open - connect to the module
 * @nl: receives the client; also on error, to ask vfab_nl_error(), and then
 *	good for vfab_nl_close() only. NULL where memory is exhausted.
 *
 * ENOENT: the module is not loaded.
 */
int vfab_nl_open(struct vfab_nl **nl);

/* NULL is ignored. */
void vfab_nl_close(struct vfab_nl *nl);

/**
 * vfab_nl_error - why the last call failed
 *
 * The kernel's own sentence where it gave one, else one for the errno. After a
 * vfab_nl_do() that did not fail: what the kernel had to say all the same, or "".
 * Valid until the next call.
 */
const char *vfab_nl_error(const struct vfab_nl *nl);

/**
 * vfab_nl_begin - start a request; add attributes with mnl_attr_put_*()
 * @cmd: VFAB_CMD_*
 *
 * Return: the request, which belongs to @nl and has room for 4000 bytes of
 * attributes.
 */
struct nlmsghdr *vfab_nl_begin(struct vfab_nl *nl, uint8_t cmd);

/**
 * vfab_nl_reserve - make room for more attributes in the request
 * @bytes: for so many besides the 4000, headers and padding included; 16 MiB at
 *	most
 *
 * Return: the request, which may have moved, or NULL: see vfab_nl_error().
 */
struct nlmsghdr *vfab_nl_reserve(struct vfab_nl *nl, size_t bytes);

/**
 * vfab_nl_do - send the request, and wait until it is done or refused
 * @cb: receives the reply, if there is one; may be NULL
 */
int vfab_nl_do(struct vfab_nl *nl, vfab_nl_cb cb, void *data);

/**
 * vfab_nl_dump - send the request as a dump
 * @cb: receives each message, after all have arrived: what it sees was true
 *	at one moment
 *
 * A dump during which something changed is repeated a few times. EAGAIN: it
 * changed all the time.
 */
int vfab_nl_dump(struct vfab_nl *nl, vfab_nl_cb cb, void *data);

/**
 * vfab_nl_subscribe - receive events from now on
 *
 * The client is good for vfab_nl_event() only afterwards: open another one
 * for requests.
 */
int vfab_nl_subscribe(struct vfab_nl *nl);

/**
 * vfab_nl_event - wait for events
 * @timeout: milliseconds; 0 does not wait, a negative one waits for ever
 *
 * ETIMEDOUT: none came. ENOBUFS: some were lost because they came faster than
 * they were read: look at the present state with a dump. EINTR: a signal.
 */
int vfab_nl_event(struct vfab_nl *nl, int timeout, vfab_nl_cb cb, void *data);

/* The socket, for poll(). */
int vfab_nl_fd(const struct vfab_nl *nl);

/* An attribute of the message, NULL where it is absent. */
const struct nlattr *vfab_nl_attr(const struct vfab_nl_msg *msg, uint16_t attr);

/**
 * vfab_nl_header - the message itself
 *
 * For attributes that occur several times (VFAB_A_HOP): walk them with
 * mnl_attr_for_each(attr, header, sizeof(struct genlmsghdr)).
 */
const struct nlmsghdr *vfab_nl_header(const struct vfab_nl_msg *msg);

/* The value of an unsigned attribute of any width; 0 if @attr is NULL. */
uint64_t vfab_nl_uint(const struct nlattr *attr);

/* The value of a string attribute; "" if @attr is NULL or no string. */
const char *vfab_nl_str(const struct nlattr *attr);

#ifdef __cplusplus
}
#endif
#endif
