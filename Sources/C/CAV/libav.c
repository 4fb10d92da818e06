#include "CAV.h"
#include <dlfcn.h>
#include <libavdevice/version.h>
#include <stdbool.h>

// Every function that is used: library, result, name, parameters, arguments.
#define FUNCTIONS(X, V) \
  X(avformat, int, avformat_open_input, (AVFormatContext **a, const char *b, const AVInputFormat *c, AVDictionary **d), (a, b, c, d)) \
  X(avformat, int, avformat_find_stream_info, (AVFormatContext *a, AVDictionary **b), (a, b)) \
  X(avformat, int, av_find_best_stream, (AVFormatContext *a, enum AVMediaType b, int c, int d, const AVCodec **e, int f), (a, b, c, d, e, f)) \
  X(avformat, int, av_read_frame, (AVFormatContext *a, AVPacket *b), (a, b)) \
  X(avformat, int, avformat_seek_file, (AVFormatContext *a, int b, int64_t c, int64_t d, int64_t e, int f), (a, b, c, d, e, f)) \
  X(avformat, int, av_seek_frame, (AVFormatContext *a, int b, int64_t c, int d), (a, b, c, d)) \
  X(avformat, const AVInputFormat *, av_find_input_format, (const char *a), (a)) \
  V(avformat, avformat_close_input, (AVFormatContext **a), (a)) \
  X(avformat, int, avformat_alloc_output_context2, (AVFormatContext **a, const AVOutputFormat *b, const char *c, const char *d), (a, b, c, d)) \
  X(avformat, AVStream *, avformat_new_stream, (AVFormatContext *a, const AVCodec *b), (a, b)) \
  X(avformat, int, avformat_write_header, (AVFormatContext *a, AVDictionary **b), (a, b)) \
  X(avformat, int, av_write_frame, (AVFormatContext *a, AVPacket *b), (a, b)) \
  X(avformat, int, av_write_trailer, (AVFormatContext *a), (a)) \
  V(avformat, avformat_free_context, (AVFormatContext *a), (a)) \
  X(avformat, int, avio_open, (AVIOContext **a, const char *b, int c), (a, b, c)) \
  X(avformat, int, avio_closep, (AVIOContext **a), (a)) \
  X(avcodec, const AVCodec *, avcodec_find_encoder_by_name, (const char *a), (a)) \
  X(avcodec, int, avcodec_parameters_from_context, (AVCodecParameters *a, const AVCodecContext *b), (a, b)) \
  X(avcodec, int, avcodec_parameters_copy, (AVCodecParameters *a, const AVCodecParameters *b), (a, b)) \
  X(avcodec, int, avcodec_send_frame, (AVCodecContext *a, const AVFrame *b), (a, b)) \
  X(avcodec, int, avcodec_receive_packet, (AVCodecContext *a, AVPacket *b), (a, b)) \
  V(avcodec, av_packet_rescale_ts, (AVPacket *a, AVRational b, AVRational c), (a, b, c)) \
  X(avcodec, const AVCodec *, avcodec_find_decoder, (enum AVCodecID a), (a)) \
  X(avcodec, AVCodecContext *, avcodec_alloc_context3, (const AVCodec *a), (a)) \
  X(avcodec, int, avcodec_parameters_to_context, (AVCodecContext *a, const AVCodecParameters *b), (a, b)) \
  X(avcodec, int, avcodec_open2, (AVCodecContext *a, const AVCodec *b, AVDictionary **c), (a, b, c)) \
  X(avcodec, int, avcodec_send_packet, (AVCodecContext *a, const AVPacket *b), (a, b)) \
  X(avcodec, int, avcodec_receive_frame, (AVCodecContext *a, AVFrame *b), (a, b)) \
  V(avcodec, avcodec_flush_buffers, (AVCodecContext *a), (a)) \
  V(avcodec, avcodec_free_context, (AVCodecContext **a), (a)) \
  X(avcodec, const AVCodec *, avcodec_find_encoder, (enum AVCodecID a), (a)) \
  X(avcodec, AVPacket *, av_packet_alloc, (void), ()) \
  V(avcodec, av_packet_unref, (AVPacket *a), (a)) \
  V(avcodec, av_packet_free, (AVPacket **a), (a)) \
  X(avutil, AVFrame *, av_frame_alloc, (void), ()) \
  X(avutil, int, av_frame_get_buffer, (AVFrame *a, int b), (a, b)) \
  X(avutil, int, av_frame_make_writable, (AVFrame *a), (a)) \
  X(avutil, void *, av_mallocz, (size_t a), (a)) \
  X(avutil, int, av_dict_set, (AVDictionary **a, const char *b, const char *c, int d), (a, b, c, d)) \
  V(avutil, av_dict_free, (AVDictionary **a), (a)) \
  V(avutil, av_frame_free, (AVFrame **a), (a)) \
  X(avutil, int64_t, av_rescale_q, (int64_t a, AVRational b, AVRational c), (a, b, c)) \
  X(avutil, int, av_strerror, (int a, char *b, size_t c), (a, b, c)) \
  V(avutil, av_log_set_level, (int a), (a)) \
  V(avutil, av_channel_layout_default, (AVChannelLayout *a, int b), (a, b)) \
  X(avutil, int, av_channel_layout_copy, (AVChannelLayout *a, const AVChannelLayout *b), (a, b)) \
  V(avutil, av_channel_layout_uninit, (AVChannelLayout *a), (a)) \
  X(swscale, struct SwsContext *, sws_getCachedContext, (struct SwsContext *a, int b, int c, enum AVPixelFormat d, int e, int f, enum AVPixelFormat g, int h, SwsFilter *i, SwsFilter *j, const double *k), (a, b, c, d, e, f, g, h, i, j, k)) \
  X(swscale, int, sws_scale, (struct SwsContext *a, const uint8_t *const b[], const int c[], int d, int e, uint8_t *const f[], const int g[]), (a, b, c, d, e, f, g)) \
  V(swscale, sws_freeContext, (struct SwsContext *a), (a)) \
  X(swresample, int, swr_alloc_set_opts2, (struct SwrContext **a, AVChannelLayout *b, enum AVSampleFormat c, int d, AVChannelLayout *e, enum AVSampleFormat f, int g, int h, void *i), (a, b, c, d, e, f, g, h, i)) \
  X(swresample, int, swr_init, (struct SwrContext *a), (a)) \
  X(swresample, int, swr_convert, (struct SwrContext *a, uint8_t **b, int c, const uint8_t **d, int e), (a, b, c, d, e)) \
  X(swresample, int, swr_get_out_samples, (struct SwrContext *a, int b), (a, b)) \
  V(swresample, swr_free, (struct SwrContext **a), (a))

static struct {
#define MEMBER(library, result, name, parameters, arguments) result(*name) parameters;
#define VOID_MEMBER(library, name, parameters, arguments) void(*name) parameters;
  FUNCTIONS(MEMBER, VOID_MEMBER)
} table;

// Hidden, or the libraries would find these in place of each other's.
#define STUB(library, result, name, parameters, arguments) \
  __attribute__((visibility("hidden"))) result name parameters { return table.name arguments; }
#define VOID_STUB(library, name, parameters, arguments) \
  __attribute__((visibility("hidden"))) void name parameters { table.name arguments; }
FUNCTIONS(STUB, VOID_STUB)

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)
#define OPEN(library, major) \
  void *library = dlopen("lib" #library ".so." TEXT(major), RTLD_NOW | RTLD_LOCAL); \
  if (!library) return dlerror();
#define FIND(library, result, name, parameters, arguments) \
  if (!(table.name = dlsym(library, #name))) return dlerror();
#define VOID_FIND(library, name, parameters, arguments) FIND(library, void, name, parameters, arguments)

const char *otchat_av_load(void) {
  static bool loaded;
  if (loaded) return NULL;
  OPEN(avutil, LIBAVUTIL_VERSION_MAJOR)
  OPEN(avcodec, LIBAVCODEC_VERSION_MAJOR)
  OPEN(avformat, LIBAVFORMAT_VERSION_MAJOR)
  OPEN(swscale, LIBSWSCALE_VERSION_MAJOR)
  OPEN(swresample, LIBSWRESAMPLE_VERSION_MAJOR)
  FUNCTIONS(FIND, VOID_FIND)
  loaded = true;
  return NULL;
}

const char *otchat_avdevice_load(void) {
  OPEN(avdevice, LIBAVDEVICE_VERSION_MAJOR)
  void (*register_all)(void) = (void (*)(void))dlsym(avdevice, "avdevice_register_all");
  if (!register_all) return dlerror();
  register_all();
  return NULL;
}
