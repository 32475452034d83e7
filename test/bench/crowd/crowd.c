// SPDX-License-Identifier: Apache-2.0

// crowd PROCESSES DESCRIPTORS: starts so many processes with so many descriptors each, as a
// server has: sockets, files, eventfds. It says "ready", and all end with its input.

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static int open_one(int kind) {
	switch (kind) {
	case 0:
		return socket(AF_UNIX, SOCK_STREAM, 0);
	case 1:
		return socket(AF_INET, SOCK_DGRAM, 0);
	case 2:
		return eventfd(0, 0);
	case 3:
		return open("/dev/null", O_RDONLY);
	}
	return open("/proc/self/exe", O_RDONLY);
}

int main(int argc, char **argv) {
	if (argc != 3) {
		fputs("want: crowd PROCESSES DESCRIPTORS\n", stderr);
		return 2;
	}
	int processes = atoi(argv[1]), descriptors = atoi(argv[2]);
	pid_t parent = getpid();
	for (int i = 3; i < descriptors; i++) {
		if (open_one(i % 5) < 0) {
			perror("open");
			return 1;
		}
	}
	for (int i = 0; i < processes; i++) {
		pid_t pid = fork();
		if (pid < 0) {
			perror("fork");
			return 1;
		}
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			while (getppid() == parent)
				pause();
			_exit(0);
		}
	}
	puts("ready");
	fflush(stdout);
	return getchar() == EOF ? 0 : 1;
}
