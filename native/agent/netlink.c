// SPDX-License-Identifier: Apache-2.0
#include "netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 4 << 20, MESSAGE = 16384 };

static char received[MESSAGE] __attribute__((aligned(8)));

int netlink_open(int protocol, uint32_t groups)
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

ssize_t netlink_receive(int fd, const char **data)
{
	*data = received;
	return recv(fd, received, sizeof(received), 0);
}

void netlink_drain(struct netlink *n, struct tasks *t, uint64_t now_ns,
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
