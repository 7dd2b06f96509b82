// SPDX-License-Identifier: Apache-2.0
/*
 * An application that works for its first picture as a video player does: frames come as 8 x 8 blocks of
 * cosines, are transformed and turned into colours, and the last one of FRAMES is shown. That is some 460
 * million instructions: ffmpeg, as published for a BeagleBone Black at 1 GHz, computes for 0.42 s.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WIDTH = 800, HEIGHT = 480, SIDE = 8, CELLS = SIDE * SIDE, FRAMES = 3, BITS = 11 };

/* cos((2 x + 1) u pi / 16) as parts of 1 << BITS, the first line for u = 0 divided by the square root of 2 */
static const int16_t cosines[SIDE][SIDE] = {
	{1448, 1448, 1448, 1448, 1448, 1448, 1448, 1448},
	{2009, 1703, 1138, 400, -400, -1138, -1703, -2009},
	{1892, 784, -784, -1892, -1892, -784, 784, 1892},
	{1703, -400, -2009, -1138, 1138, 2009, 400, -1703},
	{1448, -1448, -1448, 1448, 1448, -1448, -1448, 1448},
	{1138, -2009, 400, 1703, -1703, -400, 2009, -1138},
	{784, -1892, 1892, -784, -784, 1892, -1892, 784},
	{400, -1138, 1703, -2009, 2009, -1703, 1138, -400},
};

struct block {
	int16_t at[CELLS];
};

/* What a frame has of brightness (plane 0) and colour (1, 2) at a block, as a stream would give it. */
static struct block received(int frame, int plane, int bx, int by)
{
	struct block b = {.at = {0}};

	b.at[0] = (int16_t)(plane ? (bx * 37 + frame) % 512 - 256 : (by * 29 + frame) % 1024);
	for (int i = 1; i < SIDE; i++)
		b.at[i * SIDE % CELLS + i] = (int16_t)((bx * by + i * frame) % 64 - 32);
	return b;
}

/* Lines of one block times the cosines, turned: twice that, and the block is in its place again. */
static struct block turned(const struct block *in)
{
	struct block out;

	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++) {
			int sum = 0;

			for (int u = 0; u < SIDE; u++)
				sum += in->at[y * SIDE + u] * cosines[u][x];
			out.at[x * SIDE + y] = (int16_t)(sum >> (BITS + 1));
		}
	return out;
}

static struct block decoded(int frame, int plane, int bx, int by)
{
	struct block b = received(frame, plane, bx, by);

	b = turned(&b);
	return turned(&b);
}

static uint32_t limited(int value)
{
	return (uint32_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* Brightness and two differences of colour as a pixel, by the factors of JPEG's JFIF. */
static uint32_t coloured(int y, int blue, int red)
{
	uint32_t r = limited(y + (359 * red >> 8)), b = limited(y + (454 * blue >> 8));
	uint32_t g = limited(y - ((88 * blue + 183 * red) >> 8));

	return 0xff000000 | r << 16 | g << 8 | b;
}

static void decode(uint32_t *pixels, int frame)
{
	for (int by = 0; by < HEIGHT / SIDE; by++)
		for (int bx = 0; bx < WIDTH / SIDE; bx++) {
			struct block y = decoded(frame, 0, bx, by);
			struct block blue = decoded(frame, 1, bx, by), red = decoded(frame, 2, bx, by);

			for (int i = 0; i < CELLS; i++) {
				int line = by * SIDE + i / SIDE;

				pixels[line * WIDTH + bx * SIDE + i % SIDE] =
					coloured(y.at[i], blue.at[i], red.at[i]);
			}
		}
}

int main(void)
{
	size_t bytes = (size_t)WIDTH * HEIGHT * sizeof(uint32_t);
	uint32_t *frame = malloc(bytes);
	int fd = open("/dev/fb0", O_RDWR | O_CLOEXEC);
	uint32_t *screen = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (!frame || screen == MAP_FAILED) {
		perror("testcard: /dev/fb0");
		return 1;
	}
	for (int n = 0; n < FRAMES; n++)
		decode(frame, n);
	for (size_t i = 0; i < bytes / sizeof(uint32_t); i++)
		screen[i] = frame[i];
	puts("testcard: ready");
	fflush(stdout);
	for (;;)
		pause();
}
