// SPDX-License-Identifier: Apache-2.0
/*
 * A splash that is drawn: a disc and a bar, and nothing of what is dark already. It needs four system calls, so
 * that it can do with the headers of the kernel's nolibc in the place of a C library.
 */
#ifndef NOLIBC
#include <fcntl.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#endif
#include <linux/fb.h>

struct screen {
	char *memory;
	int width, height, line_bytes, pixel_bytes;
};

static void draw_run(const struct screen *s, int x, int y, int pixels, uint32_t colour)
{
	char *line = s->memory + y * s->line_bytes;

	for (int i = x; i < x + pixels; i++) {
		if (s->pixel_bytes == 4)
			((uint32_t *)line)[i] = 0xff000000u | colour;
		else
			((uint16_t *)line)[i] = (uint16_t)((colour >> 19 & 0x1f) << 11 | (colour >> 10 & 0x3f) << 5 |
							   (colour >> 3 & 0x1f));
	}
}

static void draw(const struct screen *s)
{
	int radius = s->height / 5, middle = s->width / 2, centre = s->height * 2 / 5, half = 0;

	for (int y = -radius; y <= radius; y++) {
		while (half < radius && (half + 1) * (half + 1) + y * y <= radius * radius)
			half++;
		while (half && half * half + y * y > radius * radius)
			half--;
		draw_run(s, middle - half, centre + y, half * 2, 0xffffff);
	}
	for (int y = s->height * 7 / 10; y < s->height * 3 / 4; y++)
		draw_run(s, middle - s->width / 4, y, s->width / 4 * 2, 0xffa000);
}

int main(void)
{
	struct fb_var_screeninfo var;
	struct fb_fix_screeninfo fix;
	int fd = open("/dev/fb0", O_RDWR);

	if (fd < 0 || ioctl(fd, FBIOGET_VSCREENINFO, &var) || ioctl(fd, FBIOGET_FSCREENINFO, &fix))
		return 1;
	if (var.bits_per_pixel != 32 && var.bits_per_pixel != 16)
		return 2;
	struct screen s = {.width = (int)var.xres, .height = (int)var.yres, .line_bytes = (int)fix.line_length,
			   .pixel_bytes = (int)var.bits_per_pixel / 8};
	s.memory = mmap(0, (size_t)fix.line_length * var.yres, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s.memory == MAP_FAILED)
		return 3;
	draw(&s);
	return 0;
}
