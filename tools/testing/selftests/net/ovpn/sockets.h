/* SPDX-License-Identifier: GPL-2.0 */
/* What the programs that send and receive have in common: sockets, and the
 * choice of what to do by the first argument.
 *
 * For programs of one file, which end where something is not possible.
 */

#ifndef SOCKETS_H
#define SOCKETS_H

#include <err.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT	103
#endif

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static inline void set(int fd, int level, int name, int value,
		       const char *what)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)))
		err(1, "%s", what);
}

static inline void set_segment(int fd, int size)
{
	set(fd, IPPROTO_UDP, UDP_SEGMENT, size, "UDP_SEGMENT");
}

static inline void set_send_buffer(int fd, int size)
{
	set(fd, SOL_SOCKET, SO_SNDBUFFORCE, size, "SO_SNDBUFFORCE");
}

static inline void set_receive_buffer(int fd, int size)
{
	set(fd, SOL_SOCKET, SO_RCVBUFFORCE, size, "SO_RCVBUFFORCE");
}

static inline struct addrinfo *resolve(int type, const char *addr,
				       const char *port)
{
	struct addrinfo hints = {
		.ai_socktype = type,
		.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
	};
	struct addrinfo *ai;
	int ret;

	ret = getaddrinfo(addr, port, &hints, &ai);
	if (ret)
		errx(1, "%s: %s", addr, gai_strerror(ret));
	return ai;
}

/* a socket that is bound to the address, if passive, or connected to it */
static inline int open_socket(int type, const char *addr, const char *port,
			      bool passive)
{
	struct addrinfo *ai = resolve(type, addr, port);
	int fd, ret;

	fd = socket(ai->ai_family, type, 0);
	if (fd < 0)
		err(1, "socket");
	ret = passive ? bind(fd, ai->ai_addr, ai->ai_addrlen) :
			connect(fd, ai->ai_addr, ai->ai_addrlen);
	if (ret)
		err(1, "%s port %s", addr, port);
	freeaddrinfo(ai);
	return fd;
}

/* tell the script that started us */
static inline void say(const char *what)
{
	puts(what);
	fflush(stdout);
}

struct command {
	const char *name;
	/* below zero where the arguments are not understood */
	int (*run)(int argc, char **argv);
};

static inline int run_command(const struct command *commands, size_t n,
			      int argc, char **argv, const char *usage)
{
	int ret = -1;
	size_t i;

	for (i = 0; i < n && argc > 1; i++)
		if (!strcmp(argv[1], commands[i].name))
			ret = commands[i].run(argc - 1, argv + 1);
	if (ret < 0) {
		fputs(usage, stderr);
		return 1;
	}
	return ret;
}

#endif /* SOCKETS_H */
