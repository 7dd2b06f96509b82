// SPDX-License-Identifier: Apache-2.0
/*
 * The same application after a look at its profile: the test card has only three different lines, so
 * those are worked out once and copied; the circle is put over them. Nothing is divided any more, which
 * this processor does by calling a function.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct screen {
	uint32_t *pixels;
	int width, height, stride; /* stride in pixels */
};

static void fail(const char *what)
{
	fprintf(stderr, "testcard: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct screen open_screen(const char *path)
{
	struct fb_var_screeninfo var;
	struct fb_fix_screeninfo fix;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	if (fd < 0 || ioctl(fd, FBIOGET_VSCREENINFO, &var) || ioctl(fd, FBIOGET_FSCREENINFO, &fix))
		fail(path);
	if (var.bits_per_pixel != 32) {
		errno = ENOTSUP;
		fail("this picture needs 32 bits a pixel");
	}
	struct screen s = {.width = (int)var.xres, .height = (int)var.yres,
			   .stride = (int)fix.line_length / 4};
	s.pixels = mmap(NULL, (size_t)fix.line_length * var.yres, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s.pixels == MAP_FAILED)
		fail("mmap");
	return s;
}

static uint32_t bar_colour(int bar)
{
	static const uint32_t colours[8] = {0xffffff, 0xffff00, 0x00ffff, 0x00ff00,
					    0xff00ff, 0xff0000, 0x0000ff, 0x101010};
	return colours[bar & 7];
}

/* The card: colour bars, a grey ramp below them, a grid over all, a circle in the middle. */
static uint32_t card_pixel(const struct screen *s, int x, int y)
{
	int dx = x - s->width / 2, dy = y - s->height / 2;
	int radius = s->height * 2 / 5, distance = dx * dx + dy * dy;
	uint32_t grey = (uint32_t)(x * 255 / s->width);

	if (distance < radius * radius && distance > (radius - 4) * (radius - 4))
		return 0xffffff;
	if (x % 80 == 0 || y % 80 == 0 || x == s->width - 1 || y == s->height - 1)
		return 0x808080;
	if (y > s->height * 3 / 4)
		return grey << 16 | grey << 8 | grey;
	return bar_colour(x * 8 / s->width);
}

/* The first x of a circle's half line: the smallest one whose square reaches `limit`, from a guess on. */
static int reach(int guess, int limit)
{
	while (guess > 0 && (guess - 1) * (guess - 1) >= limit)
		guess--;
	while (guess * guess < limit)
		guess++;
	return guess;
}

/* The three kinds of lines, without the circle. */
static void draw_lines(const struct screen *s, uint32_t *bars, uint32_t *ramp, uint32_t *grid)
{
	int bar = 0, bar_end = 0, to_grid = 0;
	uint32_t grey = 0, rest = 0, width = (uint32_t)s->width;

	for (int x = 0; x < s->width; x++) {
		while (bar_end <= x)
			bar_end = (++bar * s->width + 7) >> 3;
		int on_grid = to_grid == 0 || x == s->width - 1;

		grid[x] = 0xff808080;
		bars[x] = on_grid ? grid[x] : 0xff000000 | bar_colour(bar - 1);
		ramp[x] = on_grid ? grid[x] : 0xff000000 | grey << 16 | grey << 8 | grey;
		to_grid = to_grid == 79 ? 0 : to_grid + 1;
		/* What is x * 255 / width for the next x? */
		for (rest += 255; rest >= width; rest -= width)
			grey++;
	}
}

static void draw_circle_on(uint32_t *line, const struct screen *s, int from, int to)
{
	int middle = s->width / 2;

	for (int dx = from; dx < to; dx++)
		line[middle - dx] = line[middle + dx] = 0xffffffff;
}

static void draw_card(const struct screen *s)
{
	int size = s->width * 4, radius = s->height * 2 / 5, outer = 0, inner = 0, to_grid = 0;
	uint32_t *bars = malloc((size_t)size * 3), *ramp = bars + s->width, *grid = ramp + s->width;

	if (!bars)
		fail("malloc");
	draw_lines(s, bars, ramp, grid);
	for (int y = 0; y < s->height; y++) {
		int dy = y - s->height / 2, in = (radius - 4) * (radius - 4) - dy * dy;
		uint32_t *line = s->pixels + y * s->stride;
		const uint32_t *kind = y > s->height * 3 / 4 ? ramp : bars;

		memcpy(line, to_grid == 0 || y == s->height - 1 ? grid : kind, (size_t)size);
		to_grid = to_grid == 79 ? 0 : to_grid + 1;
		/* Points with (radius - 4)^2 < dx^2 + dy^2 < radius^2 */
		outer = reach(outer, radius * radius - dy * dy);
		inner = reach(inner, in + 1);
		if (radius * radius > dy * dy)
			draw_circle_on(line, s, inner, outer);
	}
	free(bars);
}

/* A ball of 32 pixels; outside of it the card shows again. */
static void draw_ball(const struct screen *s, int cx, int cy, int lit)
{
	for (int y = cy - 16; y < cy + 16; y++)
		for (int x = cx - 16; x < cx + 16; x++) {
			int inside = (x - cx) * (x - cx) + (y - cy) * (y - cy) < 256;
			uint32_t colour = lit && inside ? 0xffa000 : card_pixel(s, x, y);
			s->pixels[y * s->stride + x] = 0xff000000 | colour;
		}
}

static void play(const struct screen *s)
{
	const struct timespec frame = {.tv_nsec = 20000000};
	int x = 100, y = 100, dx = 5, dy = 3;

	for (;;) {
		draw_ball(s, x, y, 0);
		if (x + dx < 20 || x + dx > s->width - 20)
			dx = -dx;
		if (y + dy < 20 || y + dy > s->height - 20)
			dy = -dy;
		x += dx;
		y += dy;
		draw_ball(s, x, y, 1);
		nanosleep(&frame, NULL);
	}
}

int main(void)
{
	struct screen s = open_screen("/dev/fb0");

	draw_card(&s);
	puts("testcard: ready");
	fflush(stdout);
	play(&s);
}
