// SPDX-License-Identifier: Apache-2.0
#include "netlink.h"

#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 4 << 20, MESSAGE = 16384 };

static char received[MESSAGE] __attribute__((aligned(8)));

static int open_socket(int protocol, uint32_t groups)
{
	struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = groups};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, protocol), room = ROOM;

	if (fd < 0)
		return -1;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address))) {
		int error = errno;
		close(fd);
		errno = error;
		return -1;
	}
	/* Nothing is taken out of it between two samples. */
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	return fd;
}

/* Calls `take` with each message's payload, until there are no more. */
static void drain(struct netlink *n, struct tasks *t, uint64_t now_ns,
		  void (*take)(struct tasks *t, const char *data, size_t size, uint64_t now_ns))
{
	for (;;) {
		ssize_t size = recv(n->fd, received, sizeof(received), MSG_DONTWAIT);

		if (size < 0 && errno == ENOBUFS) {
			n->lost++;
			continue;
		}
		if (size < 0 && errno == EINTR)
			continue;
		if (size <= 0)
			return;
		struct nlmsghdr *message = (void *)received;
		size_t left = (size_t)size;

		while (left >= sizeof(*message) && message->nlmsg_len >= NLMSG_HDRLEN &&
		       message->nlmsg_len <= left) {
			take(t, (char *)message + NLMSG_HDRLEN, message->nlmsg_len - NLMSG_HDRLEN, now_ns);
			size_t step = NLMSG_ALIGN(message->nlmsg_len);
			if (step >= left)
				break;
			left -= step;
			message = (void *)((char *)message + step);
		}
	}
}

/* ---- the proc connector ---- */

bool connector_start(struct netlink *n)
{
	struct {
		struct nlmsghdr head;
		struct cn_msg message;
		uint32_t what;
	} __attribute__((packed)) ask = {
		.head = {.nlmsg_len = sizeof(ask), .nlmsg_type = NLMSG_DONE},
		.message = {.id = {CN_IDX_PROC, CN_VAL_PROC}, .len = sizeof(ask.what)},
		.what = PROC_CN_MCAST_LISTEN,
	};

	*n = (struct netlink){.fd = open_socket(NETLINK_CONNECTOR, CN_IDX_PROC)};
	if (n->fd < 0)
		return false;
	if (send(n->fd, &ask, sizeof(ask), 0) != sizeof(ask)) {
		int error = errno;
		close(n->fd);
		errno = error;
		return false;
	}
	return true;
}

/* The event behind the connector's header. Older kernels send less of it than ours knows. */
void connector_message(struct tasks *t, const char *data, size_t size)
{
	struct cn_msg head;
	struct proc_event from = {0};
	struct event event = {0};

	if (size < sizeof(head) + offsetof(struct proc_event, event_data))
		return;
	memcpy(&head, data, sizeof(head));
	if (head.id.idx != CN_IDX_PROC || head.id.val != CN_VAL_PROC)
		return;
	size -= sizeof(head);
	memcpy(&from, data + sizeof(head), size < sizeof(from) ? size : sizeof(from));
	event.ns = from.timestamp_ns;
	switch ((uint32_t)from.what) {
	case PROC_EVENT_FORK:
		event.pid = (uint32_t)from.event_data.fork.child_tgid;
		event.other = (uint32_t)from.event_data.fork.parent_tgid;
		event.kind = EV_FORK;
		if (event.pid != (uint32_t)from.event_data.fork.child_pid) {
			t->threads++;
			return;
		}
		break;
	case PROC_EVENT_EXEC:
		/* The name is not in it; the next sample gets it out of /proc. */
		event.pid = (uint32_t)from.event_data.exec.process_tgid;
		event.kind = EV_EXEC;
		break;
	case PROC_EVENT_COMM:
		event.pid = (uint32_t)from.event_data.comm.process_tgid;
		if (event.pid != (uint32_t)from.event_data.comm.process_pid)
			return;
		event.kind = EV_NAME;
		memcpy(event.name, from.event_data.comm.comm, TASK_NAME);
		event.name[TASK_NAME - 1] = 0;
		break;
	case PROC_EVENT_EXIT:
		event.pid = (uint32_t)from.event_data.exit.process_tgid;
		if (event.pid != (uint32_t)from.event_data.exit.process_pid)
			return;
		event.kind = EV_EXIT;
		event.other = from.event_data.exit.exit_code;
		event.spent.cpu_ns = event.spent.io_ns = UNKNOWN;
		break;
	default:
		return;
	}
	tasks_event(t, &event);
}

static void take_event(struct tasks *t, const char *data, size_t size, uint64_t now_ns)
{
	(void)now_ns;
	connector_message(t, data, size);
}

void connector_drain(struct netlink *n, struct tasks *t)
{
	drain(n, t, 0, take_event);
}

/* ---- taskstats ---- */

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
		ssize_t got = recv(fd, received, sizeof(received), 0);
		size_t left = got > 0 ? (size_t)got : 0;
		const char *at = received;

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

	*n = (struct netlink){.fd = open_socket(NETLINK_GENERIC, 0)};
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
	drain(n, t, now_ns, taskstats_message);
}
