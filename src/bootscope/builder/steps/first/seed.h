/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A seed for the kernel's random numbers that the boot before has left in a sector of the card: a mark, and
 * behind it the seed, all zeros where no boot has left one yet. Whoever credits a seed replaces it before
 * anybody can ask for a random number, so that no two boots have the same ones.
 */
#ifndef NOLIBC
#include <sys/ioctl.h>
#include <sys/random.h>
#else
#define getrandom(to, bytes, flags) my_syscall3(__NR_getrandom, to, bytes, flags)
#endif
#include <linux/random.h>

#define SECTOR_BYTES 512
#define SEED_BYTES 32
#define MARK "bootscope seed 1"
#define MARK_BYTES (sizeof(MARK) - 1)

/* As struct rand_pool_info of linux/random.h, with room for the seed. */
struct credit {
	int bits, bytes;
	unsigned char seed[SEED_BYTES];
};

static int is_empty(const unsigned char *seed)
{
	for (int at = 0; at < SEED_BYTES; at++)
		if (seed[at])
			return 0;
	return 1;
}

static int credited(const unsigned char *seed)
{
	struct credit credit = {8 * SEED_BYTES, SEED_BYTES, {0}};
	int pool = open("/dev/random", O_RDWR), failed;

	if (pool < 0)
		return 0;
	memcpy(credit.seed, seed, SEED_BYTES);
	failed = ioctl(pool, RNDADDENTROPY, &credit);
	close(pool);
	return !failed;
}

static const char *take_seed(int card)
{
	/* O_DIRECT reads and writes this sector and nothing around it; it wants memory that is aligned. */
	static unsigned char sector[SECTOR_BYTES] __attribute__((aligned(4096)));
	unsigned char *seed = sector + MARK_BYTES;

	if (lseek(card, SEED_OFFSET, SEEK_SET) < 0 || read(card, sector, SECTOR_BYTES) != SECTOR_BYTES)
		return "cannot read ";
	if (memcmp(sector, MARK, MARK_BYTES))
		return "no seed's place on ";
	/* Without a seed the next call gathers noise as long as it takes, as the first program to ask would. */
	if (!is_empty(seed) && !credited(seed))
		return "/dev/random takes none from ";
	if (getrandom(seed, SEED_BYTES, 0) != SEED_BYTES)
		return "no random numbers for ";
	if (lseek(card, SEED_OFFSET, SEEK_SET) < 0 || write(card, sector, SECTOR_BYTES) != SECTOR_BYTES)
		return "cannot write ";
	return 0;
}

static void seed_kernel(void)
{
	int card = open(SEED_DEVICE, O_RDWR | O_DIRECT | O_DSYNC);
	const char *fault = card < 0 ? "cannot open " : take_seed(card);

	if (card >= 0)
		close(card);
	if (fault) {
		say("small-init: seed: ");
		complain(fault, SEED_DEVICE);
	}
}
