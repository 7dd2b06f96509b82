/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel tells in /proc, through a mount of our own that nobody else can see. */
#ifndef AGENT_PROC_H
#define AGENT_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "buf.h"
#include "tasks.h"

#define CENTISECOND_NS 10000000 /* the kernel's unit of time in most of /proc */

struct proc_stat {
	uint32_t pid, ppid;
	uint64_t start_ns;
	bool kernel;
	char name[TASK_NAME];
};

/* A descriptor of a proc file system: where there can be `mounted` one of that, else one mounted nowhere.
 * -1 with errno where there is none. */
int proc_open(bool mounted);

/* A descriptor of a file system of `type`, mounted nowhere that others could see; -1 with errno. `path`
 * is a folder that older kernels are told to mount it on for a moment. */
int private_mount(const char *type, const char *path);

/* Reads a file of /proc whole, or its first `room` bytes; the number of bytes or -1. */
ssize_t proc_read(int dir, const char *path, char *to, size_t room);

/* Puts a whole file behind `b`; false when it is not there or nothing was read. */
bool proc_append(int dir, const char *path, struct buf *b);

/* Takes a line of /proc/PID/stat apart. */
bool proc_parse(const char *line, size_t size, struct proc_stat *stat);

/* Reads /proc/PID/stat; false when there is no such process. */
bool proc_task(int dir, uint32_t pid, struct proc_stat *stat);

/* "PID/file" for the functions above. */
void proc_path(char to[40], uint32_t pid, const char *file);

/* The CPU time that a process has used so far, by its clock: one system call, no file. UNKNOWN when
 * there is no such process. */
uint64_t proc_cpu_ns(uint32_t pid);

/* The highest number that a process has been given, of text as in /proc/loadavg; 0 when it is odd. */
uint32_t proc_last_pid(const char *text, size_t size);

uint64_t now_ns(void);

#endif
