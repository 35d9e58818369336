// SPDX-License-Identifier: Apache-2.0
// What CUDA C++ lacks for the C-like printer, printed before each kernel: vectors of any width with
// OpenCL's operators (a comparison gives lanes of 0 or -1), conversions, and memory forms of half
// and bfloat16. It needs no header of the toolkit.
#pragma once

#include <string_view>

namespace tilefuse::emit {

inline constexpr std::string_view kCudaPrologue = R"cuda(#ifndef tf_prologue
#define tf_prologue
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long long ulong;
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fc00000)
#define TF __device__ __forceinline__
#define TF_MEMBER static __device__ __forceinline__
#define TF_EACH for (int i = 0; i < N; ++i)
template <class T, int N> struct alignas(N * sizeof(T) % 16 == 0  ? 16
                                        : N * sizeof(T) % 8 == 0 ? 8 : alignof(T)) tf_vec { T v[N]; };
template <int N> struct alignas(N % 16 == 0 ? 16 : N % 8 == 0 ? 8 : 4) tf_vec<uchar, N> {
  union { uchar v[N]; uint w[(N + 3) / 4]; }; };
template <int N> struct alignas(N % 16 == 0 ? 16 : N % 8 == 0 ? 8 : 4) tf_vec<char, N> {
  union { char v[N]; uint w[(N + 3) / 4]; }; };
template <int BYTES> struct tf_int;
template <> struct tf_int<1> { typedef char type; };
template <> struct tf_int<2> { typedef short type; };
template <> struct tf_int<4> { typedef int type; };
template <> struct tf_int<8> { typedef long type; };
template <class V> struct tf_maker;
template <class T, int N> struct tf_maker<tf_vec<T, N>> {
  TF_MEMBER tf_vec<T, N> of(T a) { tf_vec<T, N> r; _Pragma("unroll") TF_EACH r.v[i] = a; return r; }
  template <class... A> TF_MEMBER tf_vec<T, N> of(T a, T b, A... rest) { return {{a, b, (T)rest...}}; }
};
#define TF_BINARY(OP) \
  template <class T, int N> TF tf_vec<T, N> operator OP(tf_vec<T, N> a, tf_vec<T, N> b) { \
    _Pragma("unroll") TF_EACH a.v[i] = (T)(a.v[i] OP b.v[i]); return a; } \
  template <class T, int N> TF tf_vec<T, N> operator OP(tf_vec<T, N> a, T b) { \
    _Pragma("unroll") TF_EACH a.v[i] = (T)(a.v[i] OP b); return a; }
TF_BINARY(+) TF_BINARY(-) TF_BINARY(*) TF_BINARY(/) TF_BINARY(%) TF_BINARY(&) TF_BINARY(|)
TF_BINARY(^) TF_BINARY(<<) TF_BINARY(>>)
#define TF_COMPARE(OP) \
  template <class T, int N> TF tf_vec<typename tf_int<sizeof(T)>::type, N> \
  operator OP(tf_vec<T, N> a, tf_vec<T, N> b) { \
    tf_vec<typename tf_int<sizeof(T)>::type, N> r; \
    _Pragma("unroll") TF_EACH r.v[i] = a.v[i] OP b.v[i] ? -1 : 0; return r; } \
  template <class T, int N> TF tf_vec<typename tf_int<sizeof(T)>::type, N> \
  operator OP(tf_vec<T, N> a, T b) { return a OP tf_maker<tf_vec<T, N>>::of(b); }
TF_COMPARE(==) TF_COMPARE(!=) TF_COMPARE(<) TF_COMPARE(<=) TF_COMPARE(>) TF_COMPARE(>=)
template <class T, int N> TF tf_vec<T, N> operator-(tf_vec<T, N> a) {
  _Pragma("unroll") TF_EACH a.v[i] = (T)-a.v[i]; return a; }
template <class T, int N> TF tf_vec<T, N> operator~(tf_vec<T, N> a) {
  _Pragma("unroll") TF_EACH a.v[i] = (T)~a.v[i]; return a; }
template <class M, class T, int N>
TF tf_vec<T, N> tf_select(tf_vec<M, N> m, tf_vec<T, N> a, tf_vec<T, N> b) {
  _Pragma("unroll") TF_EACH a.v[i] = m.v[i] ? a.v[i] : b.v[i]; return a; }
#define TF_MATH(NAME) \
  template <class T, int N> TF tf_vec<T, N> NAME(tf_vec<T, N> a) { \
    _Pragma("unroll") TF_EACH a.v[i] = NAME(a.v[i]); return a; }
#define TF_MATH2(NAME) \
  template <class T, int N> TF tf_vec<T, N> NAME(tf_vec<T, N> a, tf_vec<T, N> b) { \
    _Pragma("unroll") TF_EACH a.v[i] = NAME(a.v[i], b.v[i]); return a; }
TF_MATH(exp) TF_MATH(log) TF_MATH(sqrt) TF_MATH(tanh) TF_MATH(floor) TF_MATH(ceil) TF_MATH(rint)
TF_MATH(erf) TF_MATH(sin) TF_MATH(cos) TF_MATH(fabs) TF_MATH2(pow) TF_MATH2(fmod)
template <class T, int N> TF tf_vec<T, N> fma(tf_vec<T, N> a, tf_vec<T, N> b, tf_vec<T, N> c) {
  _Pragma("unroll") TF_EACH a.v[i] = fma(a.v[i], b.v[i], c.v[i]); return a; }
TF float tf_exp2(float x) { float r; asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x)); return r; }
TF float tf_coarse_exp(float x) { return tf_exp2(x * 1.44269504f); }
TF float tf_coarse_div(float a, float b) {
  const float t = fabs(b), s = t > 0x1p100f ? 0x1p-64f : t < 0x1p-100f ? 0x1p64f : 1.0f; float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b * s)); return a * s * r; }
TF float tf_coarse_tanh(float x) { const float t = fabs(x);
  const float far = copysign(1.0f - tf_coarse_div(2.0f, tf_exp2(t * 2.88539008f) + 1.0f), x);
  return t < 0.04f ? x - x * x * x * 0.333333333f : far; }
TF_MATH(tf_coarse_exp) TF_MATH(tf_coarse_tanh) TF_MATH2(tf_coarse_div)
template <class To, class From> struct tf_converter {
  TF_MEMBER To of(From a) { return (To)a; } };
#define TF_SATURATE(FROM, TO, LOW, HIGH) \
  template <> struct tf_converter<TO, FROM> { \
    TF_MEMBER TO of(FROM a) { return a != a ? (TO)0 : a <= (FROM)LOW ? (TO)LOW \
                                     : a >= (FROM)HIGH ? (TO)HIGH : (TO)a; } };
#define TF_SATURATE_ALL(FROM) \
  TF_SATURATE(FROM, char, -128, 127) TF_SATURATE(FROM, uchar, 0, 255) \
  TF_SATURATE(FROM, short, -32768, 32767) TF_SATURATE(FROM, ushort, 0, 65535) \
  TF_SATURATE(FROM, int, (-2147483647 - 1), 2147483647) TF_SATURATE(FROM, uint, 0, 4294967295U) \
  TF_SATURATE_LONG(FROM)
#define TF_SATURATE_LONG(FROM) \
  TF_SATURATE(FROM, long, (-9223372036854775807L - 1), 9223372036854775807L) \
  TF_SATURATE(FROM, ulong, 0, 18446744073709551615UL)
TF_SATURATE_ALL(double)
TF_SATURATE_LONG(float)
#define TF_CLAMP(TO, LOW, HIGH) \
  template <> struct tf_converter<TO, float> { \
    TF_MEMBER TO of(float a) { int r; asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(r) : "f"(a)); \
      return (TO)(r < LOW ? LOW : r > HIGH ? HIGH : r); } };
TF_CLAMP(char, -128, 127) TF_CLAMP(uchar, 0, 255) TF_CLAMP(short, -32768, 32767) TF_CLAMP(ushort, 0, 65535)
template <> struct tf_converter<int, float> {
  TF_MEMBER int of(float a) { int r; asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(r) : "f"(a)); return r; } };
template <> struct tf_converter<uint, float> {
  TF_MEMBER uint of(float a) { uint r; asm("cvt.rzi.u32.f32 %0, %1;" : "=r"(r) : "f"(a)); return r; } };
template <class To, int N, class From> struct tf_converter<tf_vec<To, N>, tf_vec<From, N>> {
  TF_MEMBER tf_vec<To, N> of(tf_vec<From, N> a) { tf_vec<To, N> r;
    _Pragma("unroll") TF_EACH r.v[i] = tf_converter<To, From>::of(a.v[i]); return r; } };
template <int N> struct tf_converter<tf_vec<float, N>, tf_vec<uchar, N>> {
  TF_MEMBER tf_vec<float, N> of(tf_vec<uchar, N> a) { tf_vec<float, N> r;
    _Pragma("unroll") for (int i = 0; i < N; i += 4) { uint word = 0;
      _Pragma("unroll") for (int k = i; k < N && k < i + 4; ++k) word |= (uint)a.v[k] << 8 * (k - i);
      _Pragma("unroll") for (int k = i; k < N && k < i + 4; ++k)
        r.v[k] = __uint_as_float(__byte_perm(word, 0x4B000000u, 0x7440u + (k - i))) - 8388608.0f; }
    return r; } };
template <class To, class From> TF To tf_convert(From a) { return tf_converter<To, From>::of(a); }
#define TF_BOUND(NAME, OP) \
  template <int N> TF tf_vec<float, N> NAME(tf_vec<float, N> a, float bound) { \
    _Pragma("unroll") TF_EACH asm(OP ".NaN.f32 %0, %0, %1;" : "+f"(a.v[i]) : "f"(bound)); return a; }
TF_BOUND(tf_no_less, "max") TF_BOUND(tf_no_more, "min")
template <class To> struct tf_packer;
#define TF_PACKER(TO, TYPE) \
  template <> struct tf_packer<TO> { TF_MEMBER uint of(float a, float b, uint above) { uint r; \
    asm("{ .reg .s32 x, y; cvt.rni.s32.f32 x, %1; cvt.rni.s32.f32 y, %2; " \
        "cvt.pack.sat." TYPE ".s32.b32 %0, y, x, %3; }" : "=r"(r) : "f"(a), "f"(b), "r"(above)); \
    return r; } };
TF_PACKER(char, "s8") TF_PACKER(uchar, "u8")
template <class To, int N> TF tf_vec<To, N> tf_rounded(tf_vec<float, N> a) { tf_vec<To, N> r;
  _Pragma("unroll") for (int i = 0; i < N; i += 4) {
    const uint above = i + 2 < N ? tf_packer<To>::of(a.v[i + 2], a.v[i + 3], 0) : 0;
    const uint word = tf_packer<To>::of(a.v[i], a.v[i + 1], above);
    _Pragma("unroll") for (int k = i; k < N && k < i + 4; ++k) r.v[k] = (To)(word >> 8 * (k - i)); }
  return r; }
TF float tf_half(ushort bits) { float r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(bits)); return r; }
TF ushort tf_half_bits(float a) { ushort r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(a)); return r; }
TF float tf_bfloat(ushort bits) { return __uint_as_float((uint)bits << 16); }
#if __CUDA_ARCH__ >= 800
TF ushort tf_bfloat_bits(float a) { ushort r; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(a)); return r; }
#else
TF ushort tf_bfloat_bits(float a) { const uint u = __float_as_uint(a);
  return (ushort)((u & 0x7fffffffu) > 0x7f800000u ? (u >> 16) | 0x40u
                                                  : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16); }
#endif
template <int N, class T> TF tf_vec<T, N> tf_load(const T *p) { tf_vec<T, N> r;
  _Pragma("unroll") TF_EACH r.v[i] = p[i]; return r; }
template <int N> TF tf_vec<float, N> tf_load_half(const ushort *p) { tf_vec<float, N> r;
  _Pragma("unroll") TF_EACH r.v[i] = tf_half(p[i]); return r; }
template <int N> TF tf_vec<float, N> tf_load_bfloat(const ushort *p) { tf_vec<float, N> r;
  _Pragma("unroll") TF_EACH r.v[i] = tf_bfloat(p[i]); return r; }
template <int N> TF tf_vec<int, N> tf_load_bool(const uchar *p) { tf_vec<int, N> r;
  _Pragma("unroll") TF_EACH r.v[i] = p[i] ? -1 : 0; return r; }
template <int N, class T> TF void tf_store(T *p, tf_vec<T, N> a) {
  _Pragma("unroll") TF_EACH p[i] = a.v[i]; }
template <int N> TF void tf_store_half(ushort *p, tf_vec<float, N> a) {
  _Pragma("unroll") TF_EACH p[i] = tf_half_bits(a.v[i]); }
template <int N> TF void tf_store_bfloat(ushort *p, tf_vec<float, N> a) {
  _Pragma("unroll") TF_EACH p[i] = tf_bfloat_bits(a.v[i]); }
template <int N> TF void tf_store_bool(uchar *p, tf_vec<int, N> a) {
  _Pragma("unroll") TF_EACH p[i] = (uchar)(a.v[i] & 1); }
#define TF_BYTES(NAME, TYPE, OF) \
  template <int N> TF tf_vec<TYPE, N> NAME(tf_vec<TYPE, N> a, tf_vec<TYPE, N> b) { \
    _Pragma("unroll") for (int i = 0; i < N / 4; ++i) a.w[i] = OF(a.w[i], b.w[i]); return a; }
TF_BYTES(tf_bytes_max, uchar, __vmaxu4) TF_BYTES(tf_bytes_min, uchar, __vminu4)
TF_BYTES(tf_bytes_max, char, __vmaxs4) TF_BYTES(tf_bytes_min, char, __vmins4)
template <class T, int N> struct __align__(sizeof(T) * N > 16 ? 16 : sizeof(T) * N) tf_pack { T v[N]; };
template <int N, class T> TF tf_vec<T, N> tf_wide(const T *p) { tf_vec<T, N> r;
  if constexpr (sizeof(T) == 1 && N % 4 == 0) {
    const tf_pack<uint, N / 4> w = *(const tf_pack<uint, N / 4>*)p;
    _Pragma("unroll") for (int i = 0; i < N / 4; ++i) r.w[i] = w.v[i];
  } else { const tf_pack<T, N> w = *(const tf_pack<T, N>*)p;
    _Pragma("unroll") TF_EACH r.v[i] = w.v[i]; }
  return r; }
template <int N> TF tf_vec<float, N> tf_wide_half(const ushort *p) {
  const tf_pack<ushort, N> w = *(const tf_pack<ushort, N>*)p; tf_vec<float, N> r;
  _Pragma("unroll") TF_EACH r.v[i] = tf_half(w.v[i]); return r; }
template <int N> TF tf_vec<float, N> tf_wide_bfloat(const ushort *p) {
  const tf_pack<ushort, N> w = *(const tf_pack<ushort, N>*)p; tf_vec<float, N> r;
  _Pragma("unroll") TF_EACH r.v[i] = tf_bfloat(w.v[i]); return r; }
#define TF_READ_IF(CONDITION, POINTER, TEXT, ...) \
  asm volatile("{ .reg .pred q; setp.ne.s32 q, " CONDITION ", 0; @q ld.global.nc." TEXT ", [" POINTER "]; }" \
               : __VA_ARGS__ : "r"((int)c), "l"(p))
template <int N> TF tf_pack<uint, N> tf_words_if(const uint *p, bool c, uint fill) {
  tf_pack<uint, N> w; _Pragma("unroll") TF_EACH w.v[i] = fill;
  if constexpr (N == 1) TF_READ_IF("%1", "%2", "b32 %0", "+r"(w.v[0]));
  else if constexpr (N == 2) TF_READ_IF("%2", "%3", "v2.b32 {%0, %1}", "+r"(w.v[0]), "+r"(w.v[1]));
  else _Pragma("unroll") for (int i = 0; i < N; i += 4, p += 4)
    TF_READ_IF("%4", "%5", "v4.b32 {%0, %1, %2, %3}", "+r"(w.v[i]), "+r"(w.v[i + 1]), "+r"(w.v[i + 2]),
               "+r"(w.v[i + 3]));
  return w; }
#define TF_IF(FORM) \
  TF float tf_one_if##FORM(const ushort *p, bool c, float fill) { \
    ushort bits = fill == 0.0f ? 0 : tf##FORM##_bits(fill); \
    TF_READ_IF("%1", "%2", "b16 %0", "+h"(bits)); return tf##FORM(bits); } \
  template <int N> TF tf_vec<float, N> tf_wide_if##FORM(const ushort *p, bool c, float fill) { \
    const uint bits = fill == 0.0f ? 0 : tf##FORM##_bits(fill); tf_vec<float, N> r; \
    const tf_pack<uint, N / 2> w = tf_words_if<N / 2>((const uint*)p, c, bits << 16 | bits); \
    _Pragma("unroll") TF_EACH r.v[i] = tf##FORM((ushort)(w.v[i / 2] >> i % 2 * 16)); return r; }
TF_IF(_half) TF_IF(_bfloat)
template <int N, class T> TF void tf_store_wide(T *p, tf_vec<T, N> a) {
  if constexpr (sizeof(T) == 1 && N % 4 == 0) { tf_pack<uint, N / 4> w;
    _Pragma("unroll") for (int i = 0; i < N; i += 4)
      w.v[i / 4] = (uint)(uchar)a.v[i] | (uint)(uchar)a.v[i + 1] << 8 |
                   (uint)(uchar)a.v[i + 2] << 16 | (uint)(uchar)a.v[i + 3] << 24;
    *(tf_pack<uint, N / 4>*)p = w;
  } else { tf_pack<T, N> w; _Pragma("unroll") TF_EACH w.v[i] = a.v[i]; *(tf_pack<T, N>*)p = w; } }
template <int N> TF void tf_store_wide_half(ushort *p, tf_vec<float, N> a) { tf_pack<ushort, N> w;
  _Pragma("unroll") TF_EACH w.v[i] = tf_half_bits(a.v[i]); *(tf_pack<ushort, N>*)p = w; }
template <int N> TF void tf_store_wide_bfloat(ushort *p, tf_vec<float, N> a) { tf_pack<ushort, N> w;
  _Pragma("unroll") TF_EACH w.v[i] = tf_bfloat_bits(a.v[i]); *(tf_pack<ushort, N>*)p = w; }
#if __CUDA_ARCH__ >= 800
#define TF_WORD(FORM, TYPE) TF uint tf_word##FORM(tf_vec<float, 2> a) { uint r; \
  asm("cvt.rn." TYPE "x2.f32 %0, %1, %2;" : "=r"(r) : "f"(a.v[1]), "f"(a.v[0])); return r; }
TF_WORD(_half, "f16") TF_WORD(_bfloat, "bf16")
#endif
template <class T> TF void tf_store_one(T *p, T a) { *p = a; }
TF void tf_store_one_half(ushort *p, float a) { *p = tf_half_bits(a); }
TF void tf_store_one_bfloat(ushort *p, float a) { *p = tf_bfloat_bits(a); }
#define TF_PART(FORM, VALUE, BITS) \
  template <int N> TF tf_vec<VALUE, N> tf_part##FORM(const BITS *p, int valid, VALUE fill) { \
    tf_vec<VALUE, N> r = tf_maker<tf_vec<VALUE, N>>::of(fill); \
    if (valid > 0) { r = tf_wide##FORM<N>(p); \
      _Pragma("unroll") TF_EACH r.v[i] = i < valid ? r.v[i] : fill; } \
    return r; } \
  template <int N> TF void tf_store_part##FORM(BITS *p, tf_vec<VALUE, N> a, int valid) { \
    if (valid >= N) tf_store_wide##FORM<N>(p, a); \
    else { _Pragma("unroll") TF_EACH if (i < valid) tf_store_one##FORM(p + i, a.v[i]); } }
TF_PART(_half, float, ushort) TF_PART(_bfloat, float, ushort)
TF_PART(, float, float) TF_PART(, double, double) TF_PART(, char, char) TF_PART(, uchar, uchar)
TF_PART(, short, short) TF_PART(, ushort, ushort) TF_PART(, int, int) TF_PART(, uint, uint)
TF_PART(, long, long) TF_PART(, ulong, ulong)
TF uint tf_shared(const void *p) { return (uint)__cvta_generic_to_shared(p); }
TF void tf_await_earlier() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
TF void tf_let_later() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
TF int tf_copied(int valid, int elems) { return valid <= 0 ? 0 : valid < elems ? valid : elems; }
#endif
)cuda";

} // namespace tilefuse::emit
