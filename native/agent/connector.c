// SPDX-License-Identifier: Apache-2.0
#include "connector.h"

#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

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

	*n = (struct netlink){.fd = netlink_open(NETLINK_CONNECTOR, CN_IDX_PROC)};
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
	netlink_drain(n, t, 0, take_event);
}
