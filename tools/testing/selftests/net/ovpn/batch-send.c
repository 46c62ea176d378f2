// SPDX-License-Identifier: GPL-2.0
/* Send what makes batches, in the ways that put unusual memory into them, and
 * see that the sender gets its memory back.
 *
 * The bytes of a UDP stream follow from their position in it, across all of its
 * datagrams, so that the receiver notices loss, damage and a wrong order alike.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/sock_diag.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "batch.h"

#ifndef SO_MEMINFO
#define SO_MEMINFO	55
#endif

#define MAX_LEN		65536
#define CHUNK		(256 << 10)
#define PATIENCE_MS	20000

static unsigned int completions;

static __u8 byte_at(__u32 at)
{
	return at * 2654435761u >> 17;
}

static int open_receiver(const char *addr, const char *port)
{
	int fd = open_socket(SOCK_DGRAM, addr, port, true);

	set_receive_buffer(fd, 256 << 20);
	return fd;
}

/* take what the error queue has; false where it is empty */
static bool read_completion(int fd)
{
	struct sock_extended_err *ee;
	char control[256];
	struct msghdr msg = {
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *cm;

	if (recvmsg(fd, &msg, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
		if (errno == EAGAIN)
			return false;
		err(1, "error queue");
	}
	cm = CMSG_FIRSTHDR(&msg);
	if (!cm)
		errx(1, "empty message in the error queue");
	ee = (void *)CMSG_DATA(cm);
	if (ee->ee_origin != SO_EE_ORIGIN_ZEROCOPY || ee->ee_errno)
		errx(1, "error %u of origin %u", ee->ee_errno, ee->ee_origin);
	completions += ee->ee_data - ee->ee_info + 1;
	return true;
}

/* until every send is completed and the socket owns no memory any more */
static int settle(int fd, unsigned int want)
{
	__u32 mem[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(mem);
	int waited;

	for (waited = 0; waited < PATIENCE_MS; waited++) {
		while (read_completion(fd))
			;
		len = sizeof(mem);
		if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, mem, &len))
			err(1, "SO_MEMINFO");
		if (completions == want && !mem[SK_MEMINFO_WMEM_ALLOC] &&
		    !mem[SK_MEMINFO_WMEM_QUEUED])
			return 0;
		usleep(1000);
	}
	warnx("%u of %u completions, %u bytes in flight, %u queued",
	      completions, want, mem[SK_MEMINFO_WMEM_ALLOC],
	      mem[SK_MEMINFO_WMEM_QUEUED]);
	return 1;
}

static int do_send(int argc, char **argv)
{
	bool zerocopy = false, flood = false, small = false, keep = false;
	unsigned int sends = 0, count = 1;
	int fd, opt, i, seg = 0, flags = 0;
	static __u8 *buf;
	__u32 at = 0;
	long len, j;

	while ((opt = getopt(argc, argv, "g:n:zfbk")) != -1) {
		if (opt == 'g')
			seg = atoi(optarg);
		else if (opt == 'n')
			count = atoi(optarg);
		else if (opt == 'z')
			zerocopy = true;
		else if (opt == 'f')
			flood = true;
		else if (opt == 'b')
			small = true;
		else if (opt == 'k')
			keep = true;
		else
			return -1;
	}
	if (argc - optind < 3)
		return -1;
	fd = open_socket(SOCK_DGRAM, argv[optind], argv[optind + 1], false);
	if (!small)
		set_send_buffer(fd, 32 << 20);
	if (seg)
		set_segment(fd, seg);
	if (zerocopy) {
		set(fd, SOL_SOCKET, SO_ZEROCOPY, 1, "SO_ZEROCOPY");
		flags = MSG_ZEROCOPY;
	}
	/* pages on loan must not change: each send has its own */
	buf = mmap(NULL, zerocopy ? (size_t)count * (argc - optind - 2) *
		   MAX_LEN : MAX_LEN, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buf == MAP_FAILED)
		err(1, "mmap");
	while (flood || count--) {
		for (i = optind + 2; i < argc; i++) {
			len = atol(argv[i]);
			if (len < 1 || len > MAX_LEN)
				errx(1, "bad length %s", argv[i]);
			for (j = 0; j < len; j++)
				buf[j] = byte_at(at++);
			/* who floods does not care what becomes of it */
			if (send(fd, buf, len, flags) != len && !flood)
				err(1, "send %ld bytes", len);
			if (zerocopy)
				buf += MAX_LEN;
			sends++;
		}
	}
	if (keep)
		keep_cpu();
	return settle(fd, zerocopy ? sends : 0);
}

static int do_recv(int argc, char **argv)
{
	static __u8 buf[MAX_LEN];
	struct pollfd pfd;
	__u32 at = 0, want;
	ssize_t len, i;
	int fd;

	if (argc != 4)
		return -1;
	want = strtoul(argv[3], NULL, 0);
	fd = open_receiver(argv[1], argv[2]);
	say("ready");
	pfd.fd = fd;
	pfd.events = POLLIN;
	while (at < want) {
		if (poll(&pfd, 1, PATIENCE_MS) <= 0)
			errx(1, "got %u of %u bytes", at, want);
		len = recv(fd, buf, sizeof(buf), 0);
		if (len < 0)
			err(1, "recv");
		for (i = 0; i < len; i++, at++)
			if (buf[i] != byte_at(at))
				errx(1, "lost, damaged or out of order at %u",
				     at);
	}
	return at != want;
}

static int do_file(int argc, char **argv)
{
	bool zerocopy = false, page_cache = false;
	unsigned int sends = 0;
	size_t size, at = 0, n;
	struct stat st;
	ssize_t sent;
	int fd, in, opt;
	off_t off = 0;
	__u8 *map;

	while ((opt = getopt(argc, argv, "zp")) != -1) {
		if (opt == 'z')
			zerocopy = true;
		else if (opt == 'p')
			page_cache = true;
		else
			return -1;
	}
	if (argc - optind != 3)
		return -1;
	in = open(argv[optind + 2], O_RDONLY);
	if (in < 0 || fstat(in, &st))
		err(1, "%s", argv[optind + 2]);
	size = st.st_size;
	map = mmap(NULL, size, PROT_READ, MAP_SHARED, in, 0);
	if (map == MAP_FAILED)
		err(1, "mmap");
	fd = open_socket(SOCK_STREAM, argv[optind], argv[optind + 1], false);
	if (zerocopy)
		set(fd, SOL_SOCKET, SO_ZEROCOPY, 1, "SO_ZEROCOPY");
	while (at < size) {
		n = size - at < CHUNK ? size - at : CHUNK;
		if (page_cache) {
			sent = sendfile(fd, in, &off, n);
		} else {
			sent = send(fd, map + at, n,
				    zerocopy ? MSG_ZEROCOPY : 0);
			if (sent < 0 && errno == ENOBUFS && zerocopy) {
				/* too many pages on loan: wait for some */
				while (read_completion(fd))
					;
				usleep(1000);
				continue;
			}
			sends++;
		}
		if (sent <= 0)
			err(1, "send");
		at += sent;
		if (zerocopy)
			while (read_completion(fd))
				;
	}
	if (settle(fd, zerocopy ? sends : 0))
		return 1;
	close(fd);
	return 0;
}

static const struct command commands[] = {
	{ "send", do_send },
	{ "recv", do_recv },
	{ "file", do_file },
};

int main(int argc, char **argv)
{
	return run_command(commands, ARRAY_SIZE(commands), argc, argv,
	"usage: batch-send send [-g SEGMENT] [-n COUNT] [-z] [-f] [-b] [-k] ADDR PORT LEN...\n"
	"       batch-send recv ADDR PORT BYTES\n"
	"       batch-send file [-z | -p] ADDR PORT FILE\n"
	"  -g  cut each LEN into datagrams of SEGMENT bytes\n"
	"  -z  MSG_ZEROCOPY, and wait for all completions\n"
	"  -f  on and on, whatever becomes of it\n"
	"  -b  wait where the socket's default send buffer is full\n"
	"  -k  keep the CPU busy until standard input ends\n"
	"  -p  pages of the page cache (sendfile)\n");
}
