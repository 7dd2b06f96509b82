// SPDX-License-Identifier: Apache-2.0
/*
 * A test card on a frame buffer, also where the kernel has no driver for it: then the device tree says where it
 * lies and how large it is, and /dev/mem gives it, as it is no memory of the kernel's.
 */
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define NODE "/sys/firmware/devicetree/base/chosen/framebuffer/"
#define BARS 8

static void fail(const char *what)
{
	fprintf(stderr, "testcard: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Reads a property of the node; it must have so many bytes. */
static void property(const char *name, void *value, size_t size)
{
	char path[sizeof(NODE) + 16];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s", NODE, name);
	f = fopen(path, "re");
	if (!f || fread(value, 1, size, f) != size)
		fail(path);
	fclose(f);
}

static uint32_t cell(const char *name)
{
	uint32_t value;

	property(name, &value, sizeof(value));
	return be32toh(value);
}

/* Colour bars above, a grey ramp below them, a grid over all. */
static uint32_t card_pixel(uint32_t x, uint32_t y, uint32_t width, uint32_t height)
{
	static const uint32_t colours[BARS] = {0xffffff, 0xffff00, 0x00ffff, 0x00ff00,
					       0xff00ff, 0xff0000, 0x0000ff, 0x101010};
	uint32_t grey = x * 255 / width;

	if (x % 80 == 0 || y % 80 == 0 || x == width - 1 || y == height - 1)
		return 0x808080;
	return y > height * 3 / 4 ? grey << 16 | grey << 8 | grey : colours[x * BARS / width];
}

struct screen {
	uint32_t *pixels;
	uint32_t width, height, stride; /* stride in bytes */
};

static uint32_t *mapped(int fd, const struct screen *s, off_t at)
{
	void *found = mmap(NULL, (size_t)s->stride * s->height, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);

	if (found == MAP_FAILED)
		fail("mmap");
	return found;
}

static struct screen by_driver(int fd)
{
	struct fb_var_screeninfo var;
	struct fb_fix_screeninfo fix;

	if (ioctl(fd, FBIOGET_VSCREENINFO, &var) || ioctl(fd, FBIOGET_FSCREENINFO, &fix))
		fail("/dev/fb0");
	struct screen s = {.width = var.xres, .height = var.yres, .stride = fix.line_length};
	s.pixels = mapped(fd, &s, 0);
	return s;
}

static struct screen by_device_tree(void)
{
	struct screen s = {.width = cell("width"), .height = cell("height"), .stride = cell("stride")};
	uint64_t place[2]; /* address and size */
	int fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);

	property("reg", place, sizeof(place));
	if (fd < 0)
		fail("/dev/mem");
	s.pixels = mapped(fd, &s, (off_t)be64toh(place[0]));
	return s;
}

int main(void)
{
	int fd = open("/dev/fb0", O_RDWR | O_CLOEXEC);
	struct screen s = fd < 0 ? by_device_tree() : by_driver(fd);

	for (uint32_t y = 0; y < s.height; y++)
		for (uint32_t x = 0; x < s.width; x++)
			s.pixels[y * (s.stride / 4) + x] = 0xff000000 | card_pixel(x, y, s.width, s.height);
	puts("testcard: ready");
	fflush(stdout);
	pause();
}
