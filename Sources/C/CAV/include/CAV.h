// libavformat and its siblings, loaded when they are first needed: with what they depend on, they cost
// 26 MB and 30 ms in every process that links them, and most calls play no file.
#pragma once
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/channel_layout.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

// Macros, which Swift cannot import.
enum {
  OTCHAT_AVERROR_EOF = AVERROR_EOF,
  OTCHAT_AVERROR_EAGAIN = AVERROR(EAGAIN),
  OTCHAT_AVERROR_DECODER_NOT_FOUND = AVERROR_DECODER_NOT_FOUND
};
static const int64_t OTCHAT_AV_NOPTS_VALUE = AV_NOPTS_VALUE;

/// Loads the libraries; until then no function of them may be called but this. NULL, or the reason why they
/// cannot be had. May be called again; not from two threads at once.
const char *otchat_av_load(void);
/// The same for libavdevice, which makes libavformat know screens; after `otchat_av_load`.
const char *otchat_avdevice_load(void);
