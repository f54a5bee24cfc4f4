/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Kernels of reduce.c, for one kind of machine: NAME(), VBYTES of a vector, and
 * STREAM() to store one past the caches. Included several times.
 */

/*
 * Four vectors at a time are computed in registers, from the first source to
 * the last. What is left goes through vectors, too: the lanes behind it are
 * computed, and dropped.
 */
#define FUSED(name, t, expr)							\
static void NAME(name)(char *const *dst, uint32_t dsts, const char *const *src,	\
		       uint32_t srcs, size_t bytes, uint32_t stream)		\
{										\
	typedef t v __attribute__((vector_size(VBYTES)));			\
	typedef t u __attribute__((vector_size(VBYTES), aligned(1), may_alias));	\
	uint32_t i, d;								\
	size_t at, n;								\
										\
	for (at = 0; at + 4 * VBYTES <= bytes; at += 4 * VBYTES) {		\
		const u *s = (const u *)(src[0] + at);				\
		v r0 = s[0], r1 = s[1], r2 = s[2], r3 = s[3];			\
										\
		for (i = 1; i < srcs; i++) {					\
			s = (const u *)(src[i] + at);				\
			r0 = expr(r0, s[0]);					\
			r1 = expr(r1, s[1]);					\
			r2 = expr(r2, s[2]);					\
			r3 = expr(r3, s[3]);					\
		}								\
		for (d = 0; d < dsts; d++) {					\
			u *to = (u *)(dst[d] + at);				\
										\
			if (d >= stream && !((uintptr_t)to % VBYTES)) {		\
				STREAM(to, r0);					\
				STREAM(to + 1, r1);				\
				STREAM(to + 2, r2);				\
				STREAM(to + 3, r3);				\
			} else {						\
				to[0] = r0;					\
				to[1] = r1;					\
				to[2] = r2;					\
				to[3] = r3;					\
			}							\
		}								\
	}									\
	for (; at < bytes; at += n) {						\
		v r = { 0 }, x = { 0 };						\
										\
		n = bytes - at < VBYTES ? bytes - at : VBYTES;			\
		memcpy(&r, src[0] + at, n);					\
		for (i = 1; i < srcs; i++) {					\
			memcpy(&x, src[i] + at, n);				\
			r = expr(r, x);						\
		}								\
		for (d = 0; d < dsts; d++)					\
			memcpy(dst[d] + at, &r, n);				\
	}									\
	if (stream < dsts)							\
		STREAM_END();							\
}

#if defined(__x86_64__)
#define STREAM_END()	_mm_sfence()
#else
#define STREAM_END()	((void)0)
#endif

#define SELECT(m, a, b)	((v)(((typeof(m))(a) & (m)) | ((typeof(m))(b) & ~(m))))
#define SUM(a, b)	((a) + (b))
#define PROD(a, b)	((a) * (b))
#define MIN(a, b)	SELECT((a) < (b), a, b)
#define MAX(a, b)	SELECT((a) > (b), a, b)
#define AND(a, b)	((a) & (b))
#define OR(a, b)	((a) | (b))
#define XOR(a, b)	((a) ^ (b))

/* Integers are computed unsigned, where wrapping around is defined. */
#define FUSED_INT(t)				\
	FUSED(t##_min, t, MIN)			\
	FUSED(t##_max, t, MAX)			\
	FUSED(u##t##_sum, u##t, SUM)		\
	FUSED(u##t##_prod, u##t, PROD)		\
	FUSED(u##t##_min, u##t, MIN)		\
	FUSED(u##t##_max, u##t, MAX)		\
	FUSED(u##t##_and, u##t, AND)		\
	FUSED(u##t##_or, u##t, OR)		\
	FUSED(u##t##_xor, u##t, XOR)

#define FUSED_FLOAT(t)				\
	FUSED(t##_sum, t, SUM)			\
	FUSED(t##_prod, t, PROD)		\
	FUSED(t##_min, t, MIN)			\
	FUSED(t##_max, t, MAX)

FUSED_INT(int8_t)
FUSED_INT(int16_t)
FUSED_INT(int32_t)
FUSED_INT(int64_t)
FUSED_FLOAT(float)
FUSED_FLOAT(double)

#define DIVIDE(t, w)								\
static void NAME(t##_divide)(void *p, size_t n, uint32_t by)			\
{										\
	t *x = p;								\
	size_t i;								\
										\
	for (i = 0; i < n; i++)							\
		x[i] = x[i] / (w)by;						\
}

DIVIDE(float, float)
DIVIDE(double, double)
DIVIDE(int8_t, int32_t)
DIVIDE(uint8_t, uint32_t)
DIVIDE(int16_t, int32_t)
DIVIDE(uint16_t, uint32_t)
DIVIDE(int32_t, int32_t)
DIVIDE(uint32_t, uint32_t)
DIVIDE(int64_t, int64_t)
DIVIDE(uint64_t, uint64_t)

#define CONVERT(name, ...)	CONVERT_(name, __VA_ARGS__)
#define CONVERT_(name, t, width, mant, bias, special, max, over, nan)		\
static void NAME(name##_widen)(float *to, const void *from, size_t n)		\
{										\
	typedef t u __attribute__((aligned(1), may_alias));			\
	const u *x = from;							\
	size_t i;								\
										\
	for (i = 0; i < n; i++)							\
		to[i] = widen(x[i], width, mant, bias, special);		\
}										\
										\
static void NAME(name##_narrow)(void *to, const float *x, size_t n)		\
{										\
	t *y = to;								\
	size_t i;								\
										\
	for (i = 0; i < n; i++)							\
		y[i] = narrow(x[i], width, mant, bias, max, over, nan);		\
}

CONVERT(f16, F16)
CONVERT(bf16, BF16)
CONVERT(e4m3, E4M3)
CONVERT(e5m2, E5M2)

#define TABLE_FLOAT(t)		\
	{ NAME(t##_sum), NAME(t##_prod), NAME(t##_min), NAME(t##_max) }
#define TABLE_INT(t, u)		\
	{ NAME(u##_sum), NAME(u##_prod), NAME(t##_min), NAME(t##_max), NULL,	\
	  NAME(u##_and), NAME(u##_or), NAME(u##_xor) }

static const struct kernels NAME(kernels) = {
	.fused = {
		[VFAB_F32] = TABLE_FLOAT(float),
		[VFAB_F64] = TABLE_FLOAT(double),
		[VFAB_I8] = TABLE_INT(int8_t, uint8_t),
		[VFAB_U8] = TABLE_INT(uint8_t, uint8_t),
		[VFAB_I16] = TABLE_INT(int16_t, uint16_t),
		[VFAB_U16] = TABLE_INT(uint16_t, uint16_t),
		[VFAB_I32] = TABLE_INT(int32_t, uint32_t),
		[VFAB_U32] = TABLE_INT(uint32_t, uint32_t),
		[VFAB_I64] = TABLE_INT(int64_t, uint64_t),
		[VFAB_U64] = TABLE_INT(uint64_t, uint64_t),
	},
	.widen = {
		[VFAB_F16] = NAME(f16_widen), [VFAB_BF16] = NAME(bf16_widen),
		[VFAB_F8E4M3] = NAME(e4m3_widen), [VFAB_F8E5M2] = NAME(e5m2_widen),
	},
	.narrow = {
		[VFAB_F16] = NAME(f16_narrow), [VFAB_BF16] = NAME(bf16_narrow),
		[VFAB_F8E4M3] = NAME(e4m3_narrow), [VFAB_F8E5M2] = NAME(e5m2_narrow),
	},
	.divide = {
		[VFAB_F32] = NAME(float_divide), [VFAB_F64] = NAME(double_divide),
		[VFAB_I8] = NAME(int8_t_divide), [VFAB_U8] = NAME(uint8_t_divide),
		[VFAB_I16] = NAME(int16_t_divide), [VFAB_U16] = NAME(uint16_t_divide),
		[VFAB_I32] = NAME(int32_t_divide), [VFAB_U32] = NAME(uint32_t_divide),
		[VFAB_I64] = NAME(int64_t_divide), [VFAB_U64] = NAME(uint64_t_divide),
	},
};

#undef NAME
#undef VBYTES
#undef STREAM
#undef STREAM_END
#undef FUSED
#undef SELECT
#undef SUM
#undef PROD
#undef MIN
#undef MAX
#undef AND
#undef OR
#undef XOR
#undef FUSED_INT
#undef FUSED_FLOAT
#undef DIVIDE
#undef CONVERT
#undef CONVERT_
#undef TABLE_FLOAT
#undef TABLE_INT
