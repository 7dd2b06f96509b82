/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps still what differs each time a program makes a file system from a folder: who owns the files, when
 * they were made, which inodes they have, in which order they are found, which identifiers are drawn.
 * Loaded into that program (LD_PRELOAD). The time is SOURCE_DATE_EPOCH.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

enum { FIRST_INODE = 1000, MOST_FILES = 65536 };

static time_t epoch(void)
{
	const char *text = getenv("SOURCE_DATE_EPOCH");
	return text ? (time_t)strtoll(text, NULL, 10) : 0;
}

/* The number of a file in the order in which files are asked for. Too many files would only make the image
 * differ from one run to the next, so the search is left simple. */
static ino_t number_of(dev_t device, ino_t inode)
{
	static struct { dev_t device; ino_t inode; } seen[MOST_FILES];
	static unsigned count;
	unsigned i;
	for (i = 0; i < count; i++)
		if (seen[i].device == device && seen[i].inode == inode)
			return FIRST_INODE + i;
	if (count == MOST_FILES)
		return inode;
	seen[count].device = device;
	seen[count].inode = inode;
	return FIRST_INODE + count++;
}

static int steady(int result, struct stat *st)
{
	struct timespec when = { .tv_sec = epoch() };
	/* The folder has the build's time: by that it is told from disks and whatever else is asked for. */
	if (result || st->st_mtim.tv_sec != epoch())
		return result;
	st->st_uid = st->st_gid = 0;
	st->st_ino = number_of(st->st_dev, st->st_ino);
	st->st_atim = st->st_mtim = st->st_ctim = when;
	return 0;
}

/* The next one that would have been called. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int stat(const char *restrict path, struct stat *restrict st)
{
	return steady(NEXT(stat)(path, st), st);
}

int lstat(const char *restrict path, struct stat *restrict st)
{
	return steady(NEXT(lstat)(path, st), st);
}

/* On hosts of 64 bits these are the same structures under other names. */
_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "a host of 64 bits");

int stat64(const char *restrict path, struct stat64 *restrict st)
{
	return steady(NEXT(stat64)(path, st), (struct stat *)st);
}

int lstat64(const char *restrict path, struct stat64 *restrict st)
{
	return steady(NEXT(lstat64)(path, st), (struct stat *)st);
}

typedef int compare_fn(const struct dirent **, const struct dirent **);
typedef int compare64_fn(const struct dirent64 **, const struct dirent64 **);

int scandir(const char *restrict path, struct dirent ***restrict list,
	    int (*filter)(const struct dirent *), compare_fn *compare)
{
	return NEXT(scandir)(path, list, filter, compare ? compare : alphasort);
}

int scandir64(const char *restrict path, struct dirent64 ***restrict list,
	      int (*filter)(const struct dirent64 *), compare64_fn *compare)
{
	return NEXT(scandir64)(path, list, filter, compare ? compare : alphasort64);
}

/* The C library's own nftw asks itself for times and order, out of our reach: this one asks us. */
static int walk(const char *path, int base, int level, __nftw_func_t call)
{
	struct FTW at = { .base = base, .level = level };
	struct dirent **list;
	struct stat st;
	int count, i, type, result;

	if (lstat(path, &st))
		return level ? call(path, &st, FTW_NS, &at) : -1;
	type = S_ISDIR(st.st_mode) ? FTW_D : S_ISLNK(st.st_mode) ? FTW_SL : FTW_F;
	count = type == FTW_D ? scandir(path, &list, NULL, alphasort) : 0;
	if (count < 0)
		return call(path, &st, FTW_DNR, &at);
	result = call(path, &st, type, &at);
	for (i = 0; i < count; i++) {
		const char *name = list[i]->d_name;
		char *inside;

		if (!result && strcmp(name, ".") && strcmp(name, "..")) {
			int length = asprintf(&inside, "%s/%s", path, name);

			if (length < 0) {
				result = -1;
			} else {
				result = walk(inside, length - (int)strlen(name), level + 1, call);
				free(inside);
			}
		}
		free(list[i]);
	}
	if (type == FTW_D)
		free(list);
	return result;
}

int nftw(const char *path, __nftw_func_t call, int most_open, int flags)
{
	const char *last = strrchr(path, '/');

	if (flags != FTW_PHYS)
		return NEXT(nftw)(path, call, most_open, flags);
	return walk(path, last && last[1] ? (int)(last + 1 - path) : 0, 0, call);
}

int nftw64(const char *path, __nftw64_func_t call, int most_open, int flags)
{
	return nftw(path, (__nftw_func_t)call, most_open, flags);
}

time_t time(time_t *where)
{
	if (where)
		*where = epoch();
	return epoch();
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	(void)zone;
	*now = (struct timeval){ .tv_sec = epoch() };
	return 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock != CLOCK_REALTIME)
		return NEXT(clock_gettime)(clock, now);
	*now = (struct timespec){ .tv_sec = epoch() };
	return 0;
}

/* XFS draws the generation of each inode. */
ssize_t getrandom(void *out, size_t size, unsigned int flags)
{
	static uint64_t state = 1;
	unsigned char *byte = out;
	size_t i;

	(void)flags;
	for (i = 0; i < size; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		byte[i] = (unsigned char)(state >> 56);
	}
	return (ssize_t)size;
}

/* libuuid's: identifiers of version 4, each another one. */
void uuid_generate(unsigned char out[16])
{
	static unsigned char drawn;
	static const unsigned char text[16] = { 'b', 'o', 'o', 't', 's', 'c', 0x4f, 'p', 0xa5 };
	memcpy(out, text, 16);
	out[15] = ++drawn;
}
