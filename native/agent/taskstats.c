// SPDX-License-Identifier: Apache-2.0
#include "taskstats.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The next attribute of *data; NULL when there is none that is whole. */
static const struct nlattr *attribute(const char **data, size_t *size)
{
	const struct nlattr *found = (const void *)*data;

	if (*size < NLA_HDRLEN || found->nla_len < NLA_HDRLEN || found->nla_len > *size)
		return NULL;
	size_t step = NLA_ALIGN(found->nla_len);
	step = step < *size ? step : *size;
	*data += step;
	*size -= step;
	return found;
}

static const char *content(const struct nlattr *of)
{
	return (const char *)of + NLA_HDRLEN;
}

struct request {
	struct nlmsghdr head;
	struct genlmsghdr command;
	struct nlattr attribute;
	char text[28];
};

static bool send_request(int fd, struct request *r, size_t size)
{
	r->head.nlmsg_len = (uint32_t)size;
	return send(fd, r, size, 0) == (ssize_t)size;
}

/* The number of taskstats among the families, if this message tells of it. */
static void find_family(const char *at, size_t size, uint16_t *family)
{
	const struct nlattr *a;
	uint16_t number = 0;
	bool found = false;

	while ((a = attribute(&at, &size))) {
		size_t inside = a->nla_len - (size_t)NLA_HDRLEN;

		if (a->nla_type == CTRL_ATTR_FAMILY_ID && inside >= sizeof(number))
			memcpy(&number, content(a), sizeof(number));
		else if (a->nla_type == CTRL_ATTR_FAMILY_NAME && inside == sizeof(TASKSTATS_GENL_NAME))
			found = !memcmp(content(a), TASKSTATS_GENL_NAME, inside);
	}
	if (found)
		*family = number;
}

/* Reads what the kernel says to a request, up to its end; 0 or an error's number. */
static int answer(int fd, uint16_t *family)
{
	for (;;) {
		const char *at;
		ssize_t got = netlink_receive(fd, &at);
		size_t left = got > 0 ? (size_t)got : 0;

		if (got <= 0)
			return got < 0 ? errno : EPROTO;
		while (left >= NLMSG_HDRLEN) {
			const struct nlmsghdr *head = (const void *)at;
			size_t size = head->nlmsg_len, step = NLMSG_ALIGN(size);

			if (size < NLMSG_HDRLEN || size > left)
				return EPROTO;
			if (head->nlmsg_type == NLMSG_DONE)
				return 0;
			if (head->nlmsg_type == NLMSG_ERROR)
				return -((const struct nlmsgerr *)(const void *)(at + NLMSG_HDRLEN))->error;
			if (head->nlmsg_type == GENL_ID_CTRL && size >= NLMSG_HDRLEN + GENL_HDRLEN)
				find_family(at + NLMSG_HDRLEN + GENL_HDRLEN,
					    size - NLMSG_HDRLEN - GENL_HDRLEN, family);
			step = step < left ? step : left;
			at += step;
			left -= step;
		}
	}
}

/* Asks for all families: asked for one that it has not, the kernel would start modprobe. */
static uint16_t family_of(int fd)
{
	uint16_t family = 0;
	struct request r = {
		.head = {.nlmsg_type = GENL_ID_CTRL, .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.command = {.cmd = CTRL_CMD_GETFAMILY, .version = 1},
	};

	if (!send_request(fd, &r, offsetof(struct request, attribute)) || answer(fd, &family))
		return 0;
	return family;
}

/* Has accounts of processes that end on `cpus` sent to us; 0 or an error's number. */
static int listen_on(int fd, uint16_t family, const char *cpus)
{
	size_t size = strlen(cpus) + 1;
	struct request r = {
		.head = {.nlmsg_type = family, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
		.command = {.cmd = TASKSTATS_CMD_GET, .version = 1},
		.attribute = {.nla_type = TASKSTATS_CMD_ATTR_REGISTER_CPUMASK,
			      .nla_len = (uint16_t)(NLA_HDRLEN + size)},
	};

	memcpy(r.text, cpus, size);
	if (!send_request(fd, &r, offsetof(struct request, text) + NLA_ALIGN(size)))
		return errno;
	return answer(fd, &family);
}

bool taskstats_start(struct netlink *n)
{
	/* The kernel says no to CPUs that it cannot have, so the number is found by trying. */
	static const char cpus[][8] = {"0-1023", "0-255", "0-127", "0-63", "0-31", "0-15", "0-7", "0-3", "0-1", "0"};
	int error = ENOENT;

	*n = (struct netlink){.fd = netlink_open(NETLINK_GENERIC, 0)};
	if (n->fd < 0)
		return false;
	uint16_t family = family_of(n->fd);
	for (size_t i = 0; family && error && i < sizeof(cpus) / sizeof(*cpus); i++)
		error = listen_on(n->fd, family, cpus[i]);
	if (!error)
		return true;
	close(n->fd);
	errno = error;
	return false;
}

/* The account of a thread: `size` bytes of it, which grew with the kernel's versions. */
static bool get_stats(struct taskstats *s, const char *data, size_t size)
{
	memset(s, 0, sizeof(*s));
	if (size < offsetof(struct taskstats, ac_minflt))
		return false;
	memcpy(s, data, size < sizeof(*s) ? size : sizeof(*s));
	return true;
}

static bool is_thread(const struct taskstats *s)
{
#if TASKSTATS_VERSION >= 12
	return s->version >= 12 && s->ac_tgid && s->ac_tgid != s->ac_pid;
#else
	(void)s;
	return false;
#endif
}

/* Where accounts are all that tells of ends. */
static void end(struct tasks *t, struct taskstats *s, uint64_t now_ns)
{
	struct event event = {.ns = now_ns, .pid = s->ac_pid, .other = s->ac_exitcode, .kind = EV_EXIT};
	struct task *task = tasks_find(t, s->ac_pid);
	uint64_t lived_ns = s->ac_etime * 1000;
	uint32_t from = tasks_events(t);

	event.spent.cpu_ns = event.spent.io_ns = UNKNOWN;
	if (!task || !task->live) {
		task = tasks_add(t, s->ac_pid, s->ac_ppid, now_ns > lived_ns ? now_ns - lived_ns : 0);
		if (!task)
			return;
	}
	s->ac_comm[TASK_NAME - 1] = 0;
	tasks_set_name(task, s->ac_comm);
	if (tasks_event(t, &event))
		tasks_apply(t, from);
}

/* Names come late where it was only told that a program was started. */
static void name(struct tasks *t, struct task *task, char *comm, uint64_t now_ns)
{
	struct event event = {.ns = now_ns, .pid = task->pid, .kind = EV_NAME};

	memcpy(event.name, comm, TASK_NAME);
	event.name[TASK_NAME - 1] = 0;
	tasks_set_name(task, event.name);
	task->rename = false;
	tasks_event(t, &event);
}

static void account_thread(struct tasks *t, const char *data, size_t size, uint64_t now_ns)
{
	struct taskstats s;

	if (!get_stats(&s, data, size) || is_thread(&s))
		return;
	struct task *task = tasks_find(t, s.ac_pid);

	if (!t->told)
		end(t, &s, now_ns);
	else if (task && task->rename)
		name(t, task, s.ac_comm, now_ns);
	/* By the scheduler's count where the kernel keeps it, else by the tick's. */
	uint64_t cpu_ns = s.cpu_run_virtual_total;
	tasks_account(t, s.ac_pid, cpu_ns ? cpu_ns : (s.ac_utime + s.ac_stime) * 1000, s.blkio_delay_total);
}

/* The sum of all threads of a process, sent when the last one has ended. */
static void account_group(struct tasks *t, uint32_t pid, const char *data, size_t size)
{
	struct taskstats s;

	if (get_stats(&s, data, size) && s.cpu_run_virtual_total)
		tasks_account(t, pid, s.cpu_run_virtual_total, s.blkio_delay_total);
}

void taskstats_message(struct tasks *t, const char *data, size_t size, uint64_t now_ns)
{
	const struct nlattr *outer, *inner;

	if (size < GENL_HDRLEN)
		return;
	data += GENL_HDRLEN;
	size -= GENL_HDRLEN;
	while ((outer = attribute(&data, &size))) {
		const char *at = content(outer);
		size_t left = outer->nla_len - (size_t)NLA_HDRLEN;

		uint32_t pid = 0;

		if (outer->nla_type != TASKSTATS_TYPE_AGGR_PID && outer->nla_type != TASKSTATS_TYPE_AGGR_TGID)
			continue;
		while ((inner = attribute(&at, &left))) {
			size_t inside = inner->nla_len - (size_t)NLA_HDRLEN;

			if (inner->nla_type == TASKSTATS_TYPE_TGID && inside >= sizeof(pid))
				memcpy(&pid, content(inner), sizeof(pid));
			else if (inner->nla_type == TASKSTATS_TYPE_STATS && pid)
				account_group(t, pid, content(inner), inside);
			else if (inner->nla_type == TASKSTATS_TYPE_STATS)
				account_thread(t, content(inner), inside, now_ns);
		}
	}
}

void taskstats_drain(struct netlink *n, struct tasks *t, uint64_t now_ns)
{
	netlink_drain(n, t, now_ns, taskstats_message);
}
